"""What several files of integration tests start from."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.robot import Robot, one_robot
from support.ros import PATIENCE


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Before it is given up here, a node that does not answer has been waited for, and its log is shown."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.timeout(3 * PATIENCE))


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
