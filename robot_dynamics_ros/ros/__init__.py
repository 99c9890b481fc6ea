"""Nodes and launch files, the only package that imports rclpy.

Imports all packages but ``cli``. ``nodes`` converts between messages and the controller, the simulated arm or a
recording; ``launching`` has the actions of the launch files. Start with ``nodes.computed_torque_node``.
"""
