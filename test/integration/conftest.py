"""What several files of integration tests start from."""

from collections.abc import Iterator

import pytest
from integration.robot import Robot, one_robot


@pytest.fixture(scope="module")
def module_robot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Robot]:
    with one_robot(tmp_path_factory.mktemp("robot")) as robot:
        yield robot


@pytest.fixture
def robot(module_robot: Robot) -> Iterator[Robot]:
    """Whatever a test sends, only finite numbers are published."""
    yield module_robot
    module_robot.edit = lambda state: None
    module_robot.assert_finite()
