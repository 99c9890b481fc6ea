"""View of a robot in a browser: at given joint positions, from a bag, or live. Does not import ROS."""
