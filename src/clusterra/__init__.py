"""Clusterra: an open control plane for Slurm."""

__version__ = "0.1.0"
