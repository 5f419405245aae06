"""`clusterra webhooks …`: one file per thing done with webhooks."""
