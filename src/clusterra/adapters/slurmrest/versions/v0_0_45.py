"""Slurm 26.05 adds requeueing, and `/conf` with the moment slurmctld started."""

from dataclasses import replace

from clusterra.adapters.slurmrest.versions import v0_0_44

DIALECT = replace(v0_0_44.DIALECT, version="v0.0.45", boot_time=True, requeue=True)
