"""ROS 2 nodes, which convert between ROS messages and the package's own types. No other subpackage imports rclpy."""
