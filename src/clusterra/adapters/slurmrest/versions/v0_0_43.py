"""Slurm 25.05 adds `stdout_expanded` and `stderr_expanded`, and stops expanding the old members."""

from dataclasses import replace

from clusterra.adapters.slurmrest.versions import v0_0_42

DIALECT = replace(v0_0_42.DIALECT, version="v0.0.43", output_patterns=True)
