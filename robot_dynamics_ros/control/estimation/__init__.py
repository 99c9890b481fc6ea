"""Times of a cycle, and the estimate of the joint state. Start with estimator.py."""
