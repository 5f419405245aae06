"""`clusterra templates`: recipes for jobs."""
