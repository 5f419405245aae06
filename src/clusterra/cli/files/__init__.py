"""`clusterra files`, a file for each thing one does."""
