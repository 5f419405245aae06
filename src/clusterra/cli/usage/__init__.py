"""`clusterra usage`: what was spent, and the statement of a month."""
