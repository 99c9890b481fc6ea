"""The ROS 2 nodes, the only place that imports rclpy: messages and parameters in, messages out."""
