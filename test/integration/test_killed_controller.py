"""kill -9 of the controller in a motion, with drives that have a loop of their own."""

from pathlib import Path
from typing import Any

import numpy as np
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from oracles import tsai_planar_2r
from robot_dynamics_ros.base.joint_messages import DriveCommand
from robot_dynamics_ros.ros.conversions import nanoseconds, trajectory_message
from support.arms import Array
from support.robot import move
from support.ros import PLANAR, TSAI, Graph, Log, gravity
from support.simulation import Simulation

CONTROLLER = "computed_torque_node"
Q = (-0.6, 0.9)
GOAL = (0.9, -0.4)
FREQUENCY = 10.0  # rad/s
TIMEOUT = 0.01  # s
#: Simulated time is slow, so that delays of a busy machine are short.
PARAMETERS = {
    **PLANAR,
    "command_interfaces": list(DriveCommand._fields),
    "gains": {"natural_frequency": [FREQUENCY]},
    "use_sim_time": True,
    "publish_clock": True,
    "real_time_factor": 0.1,
    "initial_positions": list(Q),
    "command_timeout": TIMEOUT,
    "on_command_timeout": "hold",
}


def _killed(folder: Path) -> tuple[Array, Array, DriveCommand, Array]:
    """Return position and velocity at the kill, the last command, and the positions of the next 5 s (k, 2)."""
    with Graph(folder) as graph:
        plant = Simulation(graph, PARAMETERS)
        node = graph.start(CONTROLLER, PARAMETERS)
        tables: list[Any] = graph.collect(Float64MultiArray, "drive_commands")
        motions = graph.publisher(JointTrajectory, f"/{CONTROLLER}/joint_trajectory")
        plant.await_start()
        graph.wait(lambda: len(tables) > 20, "the commands")
        graph.wait(motions.get_subscription_count, "the controller to listen")
        motions.publish(trajectory_message(move(GOAL, 2.0)))
        graph.await_log(Log(node.log, 0), "following a trajectory")

        def half_way() -> bool:
            return bool(plant.states[-1].position[0] > 0.5 * (Q[0] + GOAL[0]))

        graph.wait(half_way, "the middle of the motion")
        node.process.kill()
        node.process.wait()
        graph.processes.members.remove(node)
        graph.spin_for(0.2)
        plant.set(real_time_factor=2.0)
        *stamp, last = tables[-1].data[0], tables[-1].data[1], tables[-1].data[2:]
        at = round(stamp[0]) * 1_000_000_000 + round(stamp[1])
        stamps = [nanoseconds(state.header.stamp) for state in plant.states]
        k = stamps.index(at)
        end = at + 5_000_000_000
        graph.wait(lambda: nanoseconds(plant.states[-1].header.stamp) > end, "the stop")
        after = np.array([state.position for state in plant.states[k:]])
        assert np.abs(plant.states[-1].velocity).max() < 0.01, "at rest"
        state = plant.states[k]
        command = DriveCommand(*np.array(last).reshape(5, 2))
        return np.array(state.position), np.array(state.velocity), command, after


def test_drives_that_hold_stop_near_the_last_set_point(tmp_path: Path) -> None:
    """A critically damped joint goes on by v / (e omega), here 1.5 times that, and by the error of the feedforward."""
    q, qd, command, after = _killed(tmp_path)
    np.testing.assert_allclose(
        command.stiffness,
        FREQUENCY**2 * tsai_planar_2r.mass_matrix(TSAI, command.position).diagonal(),
        rtol=0.05,
    )
    assert (np.abs(qd) > 0.5).all(), "in motion"
    beyond = (np.sign(qd) * (after - q)).max(axis=0)
    error = np.abs(command.effort - gravity(after[-1])) / command.stiffness
    assert (beyond <= 1.5 * np.abs(qd) / (np.e * FREQUENCY) + error).all()
