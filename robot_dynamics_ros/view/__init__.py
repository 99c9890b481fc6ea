"""The arm in a browser: from its joint positions, from a bag, or live. Nothing here imports ROS."""
