#!/bin/bash
#SBATCH --job-name=fail
#SBATCH --time=5
# Ends with exit code 7, which `clusterra jobs submit examples/fail.sh --wait` hands on.

echo "About to fail, on purpose." >&2
exit 7
