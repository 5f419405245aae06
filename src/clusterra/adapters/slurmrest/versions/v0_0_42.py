"""Slurm 24.11, the oldest we speak."""

from clusterra.adapters.slurmrest.versions.dialect import Dialect

DIALECT = Dialect(version="v0.0.42")
