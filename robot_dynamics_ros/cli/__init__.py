"""Command-line interface: the robot_dynamics command."""
