"""What this package's speed and its operation counts are measured with; no part of what is installed."""
