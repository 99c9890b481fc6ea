"""Recordings: rosbags and the messages in them, as bytes, with or without ROS.

Imports ``base`` and ``dynamics``: it knows no controller. ``bags`` reads, writes and compares; ``messages`` converts
bytes to states, trajectories and back; ``tables`` reads recordings in other formats. Start with ``bags.reader``.
"""
