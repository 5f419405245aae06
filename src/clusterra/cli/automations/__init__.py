"""`clusterra automations`, one file per command or two."""
