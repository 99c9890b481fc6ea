"""Parameters of nodes, without ROS: what they are, what they may be, and parameter files."""
