"""`clusterra fleet …`: one file per thing done with the workers of a cluster."""
