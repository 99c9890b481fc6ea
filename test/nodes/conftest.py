"""What tests of single nodes share."""

from collections.abc import Iterator

import pytest
import rclpy

from robot_dynamics_ros.cli.processes import private_domain


@pytest.fixture(scope="module")
def context() -> Iterator[rclpy.Context]:
    """A ROS context in a domain that nobody else uses."""
    with private_domain() as domain:
        context = rclpy.Context()
        context.init(domain_id=domain)
        yield context
        context.try_shutdown()
