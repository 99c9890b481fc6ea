"""Time limits of the integration tests."""

from pathlib import Path

import pytest

from support.ros import PATIENCE


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Before it is given up here, a node that does not answer has been waited for, and its log is shown."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.timeout(3 * PATIENCE))
