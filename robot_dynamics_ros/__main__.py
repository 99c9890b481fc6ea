"""`python -m robot_dynamics_ros` is the command robot_dynamics."""

from robot_dynamics_ros.cli.executables import robot_dynamics

if __name__ == "__main__":
    robot_dynamics()
