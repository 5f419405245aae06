"""`clusterra jobs …`: one file per thing done with jobs."""
