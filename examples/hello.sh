#!/bin/bash
#SBATCH --job-name=hello
#SBATCH --time=5
# Says where it runs, as whom, and when.

echo "Hello from $(hostname), as $(id -un), in job ${SLURM_JOB_ID}."
date
