"""Our own figures, each beside the raw part it stands on, measured in the same run."""
