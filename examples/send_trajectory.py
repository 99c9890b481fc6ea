"""A node that sends one trajectory to computed_torque_node and waits for the end of the motion.

``python examples/send_trajectory.py [JOINT=POSITION ...]`` moves these joints (rad or m) in three seconds; by default
the first joint by 0.2. It ends with an error if the controller reports a fault, refuses the trajectory or does not
follow it, or if a joint is far from its goal at the end.
"""

import sys
import time
from collections.abc import Callable

import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.duration import Duration
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

CONTROLLER = "computed_torque_node"
SECONDS = 3.0
PATIENCE = 5.0  # s without motion
FAR = 0.1  # rad or m


def main() -> None:
    """Send the trajectory when the controller listens, and return when its desired position is the goal at rest."""
    if not all("=" in argument for argument in sys.argv[1:]):
        sys.exit(__doc__)
    rclpy.init()
    node = rclpy.create_node("send_trajectory")
    states: list[JointState] = []  # desired positions and velocities of the controller
    node.create_subscription(
        JointState, f"{CONTROLLER}/command_states", states.append, 10
    )
    measured: dict[str, float] = {}  # positions of the arm, rad or m
    node.create_subscription(
        JointState,
        "joint_states",
        lambda message: measured.update(
            zip(message.name, message.position, strict=False)
        ),
        10,
    )
    publisher = node.create_publisher(
        JointTrajectory, f"{CONTROLLER}/joint_trajectory", 1
    )
    status = DiagnosticStatus()  # last report of the controller: mode, cause and cure

    def report(message: DiagnosticArray) -> None:
        nonlocal status
        status = next(
            (one for one in message.status if one.name == f"{CONTROLLER}: controller"),
            status,
        )

    node.create_subscription(DiagnosticArray, "/diagnostics", report, 10)

    def value(key: str) -> str:
        return next((pair.value for pair in status.values if pair.key == key), "")

    def refusals() -> int:  # an inactive controller reports its mode alone
        return int(value("refused trajectories") or 0)

    def wait(true: Callable[[], bool]) -> None:
        """Receive messages until ``true()`` holds; exit if the controller reports a fault."""
        while not true():
            shown = status.message
            rclpy.spin_once(node, timeout_sec=0.1)
            del states[:-1]
            if status.level == DiagnosticStatus.ERROR:
                sys.exit(
                    f"{CONTROLLER} follows no trajectory: {status.message}. Then call ~/clear_fault, as by "
                    "robot_dynamics node clear_fault"
                )
            if not states and status.message != shown:
                print(f"{CONTROLLER} is not active: {status.message}", flush=True)

    # A recorder may subscribe first: one subscriber is not yet the controller.
    def listens() -> bool:
        infos = node.get_subscriptions_info_by_topic(publisher.topic_name)
        return any(info.node_name == CONTROLLER for info in infos)

    print(f"waiting for {CONTROLLER}", flush=True)
    wait(lambda: bool(states and status.name) and listens())
    names = list(states[-1].name)
    start = list(states[-1].position)
    try:
        given = {
            name: float(at) for name, at in (one.split("=") for one in sys.argv[1:])
        } or {names[0]: start[0] + 0.2}
    except ValueError:
        sys.exit(
            f"{' '.join(sys.argv[1:])}: not JOINT=POSITION. Cure: give positions in rad or m, as {names[0]}=0.2"
        )
    if unknown := set(given) - set(names):
        sys.exit(f"no joint {', '.join(sorted(unknown))}. Cure: use {', '.join(names)}")
    goal = [
        given.get(name, position) for name, position in zip(names, start, strict=True)
    ]
    point = JointTrajectoryPoint(
        positions=goal, time_from_start=Duration(seconds=SECONDS).to_msg()
    )
    refused = refusals()
    publisher.publish(JointTrajectory(joint_names=names, points=[point]))
    print(f"sent: {given} in {SECONDS:g} s", flush=True)

    moved = time.monotonic()
    last = states[-1].position

    def far() -> list[str]:
        return [
            f"{name} is at {measured[name]:.3g}, not at {position:.3g}"
            for name, position in zip(names, goal, strict=True)
            if name in measured and not abs(measured[name] - position) < FAR
        ]

    def arrived() -> bool:
        nonlocal moved, last
        if refusals() > refused:
            sys.exit(f"{CONTROLLER} has refused the trajectory: {value('refusal')}")
        if states[-1].position != last:
            moved = time.monotonic()
            last = states[-1].position
        if time.monotonic() - moved > PATIENCE:
            where = "".join(f"; {joint}" for joint in far())
            sys.exit(
                f"no motion for {PATIENCE:g} s{where}. Cure: read the log of the arm's driver, and that of "
                f"{CONTROLLER}, which reports: {status.message}"
            )
        ended = list(states[-1].position) == goal and not any(states[-1].velocity)
        return ended and not far()

    wait(arrived)
    print("the motion has ended")
    node.destroy_node()
    rclpy.shutdown()


if __name__ == "__main__":
    main()
