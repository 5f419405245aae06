"""Slurm 25.05 adds the expanded output paths, which the decoder takes where they are."""

from dataclasses import replace

from clusterra.adapters.slurmrest.versions import v0_0_42

DIALECT = replace(v0_0_42.DIALECT, version="v0.0.43")
