"""The edge side: what runs beside somebody's Slurm and tells us about it.

Standard library and msgspec only, so that it can be put on a head node as it is.
"""
