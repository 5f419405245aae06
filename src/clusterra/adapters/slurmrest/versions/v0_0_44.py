"""Slurm 25.11 adds nothing that we use."""

from dataclasses import replace

from clusterra.adapters.slurmrest.versions import v0_0_43

DIALECT = replace(v0_0_43.DIALECT, version="v0.0.44")
