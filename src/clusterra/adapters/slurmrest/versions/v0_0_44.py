"""Slurm 25.11 lets an operator comment on jobs that have ended."""

from dataclasses import replace

from clusterra.adapters.slurmrest.versions import v0_0_43

DIALECT = replace(v0_0_43.DIALECT, version="v0.0.44", past_comments=True)
