"""The Slurm port over slurmrestd, API v0.0.42 to v0.0.45."""

from clusterra.adapters.slurmrest.slurm import SlurmRest as SlurmRest
