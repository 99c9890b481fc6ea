"""Reading and writing of serialized ROS messages (CDR), without ROS."""
