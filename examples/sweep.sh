#!/bin/bash
#SBATCH --job-name=sweep
#SBATCH --array=0-9%4
#SBATCH --time=5
#SBATCH --output=sweep_%A_%a.out
# Ten tasks, at most four at a time; each takes one learning rate.

rates=(0.1 0.05 0.02 0.01 0.005 0.002 0.001 0.0005 0.0002 0.0001)
rate=${rates[$SLURM_ARRAY_TASK_ID]}

echo "Task ${SLURM_ARRAY_TASK_ID} tries learning rate ${rate} on $(hostname)."
sleep 2
echo "Done."
