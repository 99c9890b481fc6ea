"""Fixtures for tests of single nodes."""

from collections.abc import Iterator

import pytest
import rclpy

from robot_dynamics_ros.cli.processes import private_domain


@pytest.fixture(scope="module")
def context() -> Iterator[rclpy.Context]:
    """Yield a ROS context in a domain of its own."""
    with private_domain() as domain:
        context = rclpy.Context()
        context.init(domain_id=domain)
        yield context
        context.try_shutdown()
