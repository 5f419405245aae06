"""Slurm 24.11, the oldest we speak: output paths arrive already expanded."""

from clusterra.adapters.slurmrest.versions.dialect import Dialect

DIALECT = Dialect(version="v0.0.42")
