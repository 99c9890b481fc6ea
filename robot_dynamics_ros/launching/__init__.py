"""Code that the launch files share. Only actions.py needs launch and launch_ros."""
