"""Task-space control: the law, its targets and settings, and poses."""
