"""Time limits of the integration tests."""

from pathlib import Path

import pytest

from support.ros import PATIENCE


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Set timeouts that are longer than those of the tests, which report the logs of nodes."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.timeout(3 * PATIENCE))
