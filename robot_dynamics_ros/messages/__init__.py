"""Serialized ROS messages (CDR), read and written without ROS."""
