"""What jobs write: followed by many, read once."""
