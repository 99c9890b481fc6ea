"""Parameters of the nodes, without ROS: declarations, checks and parameter files."""
