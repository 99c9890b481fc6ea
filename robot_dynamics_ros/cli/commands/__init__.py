"""Commands of robot_dynamics, by the table in main.py: add_<command> declares arguments, run_<command> runs it."""
