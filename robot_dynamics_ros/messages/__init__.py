"""ROS messages as bytes, without ROS."""
