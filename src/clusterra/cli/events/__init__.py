"""`clusterra events …`: one file per thing done with events."""
