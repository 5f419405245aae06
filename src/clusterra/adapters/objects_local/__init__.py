"""The Objects port over a directory that jobs see too, behind links that we sign."""

from clusterra.adapters.objects_local.objects import LocalObjects as LocalObjects
