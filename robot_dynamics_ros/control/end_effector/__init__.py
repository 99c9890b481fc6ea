"""Desired motion of the end effector, and the task-space law. Start with task_space.py."""
