"""Process that calls a service as fast as possible, with requests that must be refused or have no effect."""

from __future__ import annotations

import argparse
import math
import time
from typing import Any

import rclpy
from rcl_interfaces.srv import SetParameters
from rclpy.node import Node
from rclpy.parameter import Parameter
from std_srvs.srv import Trigger

from robot_dynamics_ros.ros.nodes.node_program import make_executor

WAITING = 100  # maximum number of pending calls
PATIENCE = 10.0  # s, limit for finding the service and for the last responses
BAD = Parameter("gains.natural_frequency", value=math.nan)


def request_for(service: str) -> tuple[Any, Any]:
    """Return type and request: a parameter that is refused, or a trigger."""
    if service.endswith("set_parameters"):
        return SetParameters, SetParameters.Request(parameters=[BAD.to_parameter_msg()])
    return Trigger, Trigger.Request()


def main(arguments: list[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.chaos.calls", description=__doc__)
    parser.add_argument("service")
    parser.add_argument("--seconds", type=float, default=3.0, help="(default: %(default)g)")
    options = parser.parse_args(arguments)
    kind, request = request_for(options.service)
    rclpy.init(args=[])
    node: Node = rclpy.create_node("caller")
    executor = make_executor()
    executor.add_node(node)
    client = node.create_client(kind, options.service)
    if not client.wait_for_service(PATIENCE):
        raise SystemExit(f"{options.service} has no server")
    answers: list[float] = []
    print("begin", flush=True)
    count, begin = 0, time.monotonic()
    while time.monotonic() - begin < options.seconds:
        if count - len(answers) < WAITING:
            client.call_async(request).add_done_callback(lambda future: answers.append(time.monotonic()))
            count += 1
            executor.spin_once(timeout_sec=0.0)
        else:
            executor.spin_once(timeout_sec=0.01)
    seconds = time.monotonic() - begin
    while len(answers) < count and time.monotonic() - begin < options.seconds + PATIENCE:
        executor.spin_once(timeout_sec=0.1)
    print(f"{count} calls in {seconds:.3f} s, {len(answers)} responses", flush=True)
    rclpy.shutdown()


if __name__ == "__main__":
    main()
