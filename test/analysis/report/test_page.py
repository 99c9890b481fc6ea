"""The page as text: self-contained, escaped, and complete about what is missing."""

import base64
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.analysis.identification.recorded_motion import RecordedMotion
from robot_dynamics_ros.analysis.report import read_recording, write_report
from robot_dynamics_ros.base.errors import BagError
from support.report_recordings import ARM, COMMANDS, STATES, diagnostics, fault, record

pytest.importorskip("plotly")
EVIL = '</script><script>alert("x")</script><u>&amp;'


class _Page(HTMLParser):
    """Parser of a page: requested resources, texts without scripts, and figures."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.outside: list[str] = []
        self.texts: list[str] = []
        self.tags: list[str] = []
        self.scripts = 0
        self.html = path.read_text(encoding="utf-8")
        found = re.search(
            r'<script type="application/json" id="figures">(.*?)</script>',
            self.html,
            re.DOTALL,
        )
        assert found
        self.figures: dict[str, Any] = json.loads(found[1])
        self.feed(self.html)

    def handle_starttag(
        self, tag: str, attributes: list[tuple[str, str | None]]
    ) -> None:
        self.tags.append(tag)
        for name, value in attributes:
            if name in ("src", "href", "srcset", "data") and not (
                value or ""
            ).startswith(("#", "data:,")):
                self.outside.append(value or "")

    def handle_data(self, data: str) -> None:
        if self.tags[-1:] not in (["script"], ["style"]):
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(self.texts)


def report(bag: Path, topic: str = STATES, **options: Any) -> _Page:
    output = bag.parent / "report.html"
    write_report(read_recording(bag, topic, **options), output)
    return _Page(output)


def traces(page: _Page, name: str) -> list[np.ndarray]:
    """The y of all traces of this name."""
    found = [
        trace
        for figure in page.figures.values()
        for trace in figure["data"]
        if trace["name"] == name
    ]
    return [numbers(trace["y"]) for trace in found]


def numbers(array: dict[str, str]) -> np.ndarray:
    return np.frombuffer(base64.b64decode(array["bdata"]), "<" + array["dtype"])


def test_a_whole_recording_has_every_figure_and_table(tmp_path: Path) -> None:
    reported = [
        (100, fault("active", "hold")),
        (150, fault("hold", "fault")),
        (200, fault("fault", "active")),
    ]
    page = report(
        record(tmp_path / "bag", reported=reported), model=RobotModel.from_urdf(ARM)
    )
    assert page.outside == []
    assert 'class="unknown"' not in page.html.partition("<main>")[2]
    for text in (
        "velocity_limit",
        "active → hold",
        "mm",
        "3.536",
        "effort limit ±8 Nm",
    ):
        assert text in page.text
    # Errors of all joints, the modes, two of timing (arrivals follow stamps exactly), two a joint.
    assert len(page.figures) == 8
    np.testing.assert_allclose(
        traces(page, "tracking error")[0], np.tile([3.0, -4.0], 200), rtol=1e-4
    )
    assert np.abs(traces(page, "tracking error")[1]).max() < 1e-9
    assert np.unique(np.abs(np.concatenate(traces(page, "effort limit")))).tolist() == [
        8.0
    ]
    assert (
        len(traces(page, "torque residual")) == 6
        and len(traces(page, "model torque")) == 2
    ), "three plots a joint"
    lines = [trace for trace in page.figures["figure-6"]["data"] if trace["showlegend"]]
    assert len({trace["line"]["color"] for trace in lines}) == len(lines), (
        "no colour has two meanings"
    )
    for name, fields in (
        ("actual", 2),
        ("desired", 2),
        ("measured torque", 1),
        ("commanded torque", 1),
    ):
        assert [len(values) for values in traces(page, name)] == [400, 400] * fields, (
            "position and velocity, or torque"
        )
    shapes = page.figures["figure-4"]["layout"]["shapes"]
    assert [shape["x0"] for shape in shapes if shape["type"] == "line"] == [
        pytest.approx(1.0, abs=1e-6)
    ], "where it left the active mode"


def test_torque_comes_first_and_rest_is_shaded(tmp_path: Path) -> None:
    """Joints in the robot's order; two models; friction is the measured minus the rigid-body torque."""
    model = RobotModel.from_urdf(ARM)
    bag = record(tmp_path / "bag", names=("b", "a"))
    (tmp_path / "friction.yaml").write_text(
        "joints: {a: {viscous: 0.1}}", encoding="utf-8"
    )
    other = "second", RobotModel.from_urdf(ARM, dynamics=tmp_path / "friction.yaml")
    recording = read_recording(
        bag, STATES, model=model, other=other, drive_gains={"a": 2.0}
    )
    write_report(recording, tmp_path / "report.html")
    page = _Page(tmp_path / "report.html")
    motion = recording.analysis.motion
    assert page.html.index("<b>a</b>") < page.html.index("<b>b</b>")
    for text in (
        "residual, RMS, second",
        "tilting moment, Nm",
        *model_loads(model, motion),
    ):
        assert text in page.html
    time, scatter = [page.figures[f"figure-{k}"] for k in (3, 4)]
    assert time["layout"]["yaxis1"]["title"]["text"] == "torque, Nm"
    assert {"measured torque", "model torque"} <= {
        one["name"] for one in time["data"] if one["yaxis"] == "y1"
    }
    np.testing.assert_allclose(
        numbers(time["data"][0]["y"])[:2], 2.0 * (3.0 + np.cos([0.0, 0.1])), rtol=1e-6
    )
    (turns,) = [
        shape["path"] for shape in time["layout"]["shapes"] if shape["type"] == "path"
    ]
    first = [float(x) for x in re.findall(r"M([\d.]+),", turns)]
    np.testing.assert_allclose(
        np.array(first) + 0.15, np.pi * (np.arange(len(first)) + 0.5) / 5.0, atol=0.02
    )
    named = {one["name"]: one for one in scatter["data"]}
    speed = motion.qd[:, 0]
    j = 0
    friction = motion.tau - model.inverse_dynamics(motion.q, motion.qd, motion.qdd)
    np.testing.assert_allclose(
        numbers(named["measured minus rigid-body torque"]["x"]), speed, atol=1e-5
    )
    np.testing.assert_allclose(
        numbers(named["measured minus rigid-body torque"]["y"]),
        friction[:, j],
        atol=1e-4,
    )
    gap = numbers(named["torque residual"]["y"]) - numbers(
        named["torque residual, second"]["y"]
    )
    np.testing.assert_allclose(gap, 0.1 * motion.qd[:, 0], atol=0.02)


def model_loads(model: RobotModel, motion: RecordedMotion) -> list[str]:
    """Return the largest loads on the bearings as texts of the table."""
    return [
        f">{load:.4g}<"
        for load in model.bearing_loads(motion.q, motion.qd, motion.qdd)
        .max(axis=0)
        .ravel()
    ]


def test_what_is_missing_is_named_once(tmp_path: Path) -> None:
    page = report(record(tmp_path / "bag", commands=False, efforts=False))
    for cure in (
        "~/command_states",
        "/diagnostics",
        "give model",
        "driver fills effort",
    ):
        assert page.text.count(cure) == 1
    assert page.html.count('class="unknown"') == 3, (
        "tracking and timing lack the same topic"
    )
    assert not {"faults", "tracking", "torque"} & set(
        re.findall('<section id="([^"]+)"', page.html)
    )
    assert traces(page, "desired") == [] and len(traces(page, "actual")) == 4


def test_a_replay_has_commands_and_no_measurements(tmp_path: Path) -> None:
    page = report(record(tmp_path / "bag"), topic=COMMANDS)
    assert [len(values) for values in traces(page, "desired")] == [400] * 4 and len(
        traces(page, "commanded torque")
    )
    for name in ("actual", "measured torque", "torque residual", "tracking error"):
        assert traces(page, name) == []
    assert "no measurements" in page.text


def test_diagnostics_without_messages_are_not_missing(tmp_path: Path) -> None:
    """A simulation without fault has the topic, and no message on it."""
    silent = report(record(tmp_path / "bag", reported=[], silent_diagnostics=True))
    assert "record /diagnostics" not in silent.text and "No fault" in silent.text


def test_modes_are_drawn_from_the_first_to_the_last_sample(tmp_path: Path) -> None:
    page = report(
        record(
            tmp_path / "bag",
            reported=[(100, fault("active", "hold")), (150, fault("hold", "fault"))],
        )
    )
    line, marks = page.figures["figure-1"]["data"]
    np.testing.assert_allclose(numbers(line["x"]), [0.0, 1.0, 1.5, 3.99], atol=1e-3)
    assert line["y"] == ["active", "hold", "fault", "fault"] and marks["y"] == [
        "hold",
        "fault",
    ]
    np.testing.assert_allclose(numbers(marks["x"]), [1.0, 1.5], atol=1e-6)


def test_names_of_a_bag_are_text(tmp_path: Path) -> None:
    bag = tmp_path / "a<b>&"
    record(
        bag,
        names=(EVIL, "b"),
        reported=[(5, diagnostics(2, EVIL, name=EVIL, mode=EVIL, previous_mode="<i>"))],
    )
    page = report(bag)
    assert (
        page.tags.count("script") == 3 and "u" not in page.tags and "i" not in page.tags
    )
    assert EVIL in page.texts and f"<i> → {EVIL}" in page.texts
    errors, modes = (page.figures[name]["data"] for name in ("figure-0", "figure-1"))
    assert all("<" not in trace["name"] for trace in errors)
    assert all(
        "<" not in text for trace in modes for text in [trace["name"], *trace["y"]]
    )


def test_a_report_of_one_message_and_none_over_another_unasked(tmp_path: Path) -> None:
    bag = record(tmp_path / "bag", cycles=1)
    model = RobotModel.from_urdf(ARM)
    page = report(bag, model=model)
    with pytest.raises(BagError, match=r"report\.html"):
        report(bag, model=model)
    assert (
        "No statement on the torque residual" in page.text
        and [len(values) for values in traces(page, "actual")] == [1] * 4
    )
