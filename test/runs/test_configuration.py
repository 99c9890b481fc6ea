"""Configuration of a controller in bags."""

import json
from dataclasses import replace

from robot_dynamics_ros.control.configuration.settings import ALL, read_settings
from robot_dynamics_ros.runs.configuration import Configuration

VALUES = {parameter.name: parameter.default for parameter in ALL} | {"ramp_time": 7.5}
GIVEN = Configuration.of(VALUES.get, "<robot/>", "joints: {}")


def test_it_is_read_as_it_was_written() -> None:
    result = Configuration.parse(GIVEN.text())
    assert result is not None
    assert (
        result.robot_description,
        result.dynamics_file,
        result.values("ramp_time"),
    ) == (
        "<robot/>",
        "joints: {}",
        7.5,
    )


def test_a_recorded_value_precedes_the_default() -> None:
    """Also the empty list, which was the default of the rate limit."""
    recorded = replace(GIVEN, parameters={"torque_rate_limit": []})
    result = Configuration.parse(recorded.text())
    assert result is not None
    assert read_settings(result.values).torque_rate_limit == ()


def test_it_names_no_files_of_this_machine() -> None:
    text = replace(
        GIVEN, parameters={"dynamics_file": "/etc/passwd", "robot_description": "/x"}
    ).text()
    result = Configuration.parse(text)
    assert (
        result is not None
        and not result.values("dynamics_file")
        and not result.values("robot_description")
    )


def test_other_texts_are_none() -> None:
    for text in ("", "[]", "null", "{}", json.dumps({"version": 1}), GIVEN.text()[:-9]):
        assert Configuration.parse(text) is None
