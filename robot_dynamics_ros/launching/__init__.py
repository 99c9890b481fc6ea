"""What the launch files share. Only arguments.py and companions.py need launch and launch_ros."""
