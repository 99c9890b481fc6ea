"""Control without ROS and without a clock: laws, trajectories, references, limits and safety."""
