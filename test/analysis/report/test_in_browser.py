"""The page in a real browser without network: everything is drawn, and nothing is asked for or goes wrong."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.analysis.diagnosis.hints import hints
from robot_dynamics_ros.analysis.report import read_recording, write_report
from robot_dynamics_ros.base.resources import robot_urdf
from robot_dynamics_ros.cli.main import main
from support.report_recordings import ARM, STATES, fault, record

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
OPTIONS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()

pytest.importorskip("plotly")
api = pytest.importorskip("playwright.sync_api")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium"),
]


@pytest.fixture
def context() -> Iterator[Any]:
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        context = browser.new_context(viewport={"width": 1240, "height": 900})
        context.set_offline(True)
        yield context
        browser.close()


@pytest.mark.parametrize("whole", [True, False])
def test_opens_and_draws(whole: bool, tmp_path: Path, context: Any) -> None:
    reported = [
        (100, fault("active", "hold")),
        (150, fault("hold", "fault")),
        (200, fault("fault", "active")),
    ]
    bag = record(
        tmp_path / "bag",
        reported=reported if whole else (),
        commands=whole,
        efforts=whole,
    )
    model = RobotModel.from_urdf(ARM) if whole else None
    write_report(read_recording(bag, STATES, model=model), tmp_path / "report.html")
    page = context.new_page()
    troubles: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: troubles.append(message.text))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    address = (tmp_path / "report.html").as_uri()
    page.goto(address)
    page.wait_for_selector("body[data-drawn]", timeout=60_000)
    assert len(page.query_selector_all(".js-plotly-plot")) == (4 if whole else 1)
    assert kinds(page) == (["good", "bad", "good", "bad"] if whole else ["unknown"] * 3)
    _open_joints(page)
    plots = page.query_selector_all(".js-plotly-plot")
    assert len(plots) == len(page.query_selector_all(".figure")) == (8 if whole else 3)
    for plot in plots:
        marks = plot.query_selector_all(
            ".scatterlayer path.js-line, .scatterlayer path.point, .barlayer .point path"
        )
        shapes = [mark.get_attribute("d") or "" for mark in marks]
        assert shapes and any(len(shape) > 10 for shape in shapes)
        assert "NaN" not in "".join(shapes)
    _zoom_together(page)
    _print(page)
    assert troubles == []
    assert [
        url for url in requests if url != address and not url.startswith("data:")
    ] == []


def kinds(page: Any) -> list[str]:
    """Return the kinds of the statements of the verdict."""
    return [
        one.get_attribute("class")
        for one in page.query_selector_all("#verdict > div:not(.figure)")
    ]


def _open_joints(page: Any) -> None:
    """A joint is drawn as wide as the page when it opens, also after the window has changed while it was closed."""
    page.click("#joint-0 summary")
    page.wait_for_selector("#joint-0 .main-svg")
    assert page.locator("#joint-0 .main-svg").first.bounding_box()["width"] > 1000
    page.click("#joint-0 summary")
    assert not page.is_visible("#joint-0 .main-svg")
    page.set_viewport_size({"width": 1920, "height": 1080})
    page.click("text=open all")
    for joint in ("#joint-0", "#joint-1"):
        width = f"document.querySelector('{joint} .main-svg')?.clientWidth"
        page.wait_for_function(
            f"{width} > 1500 && {width} === document.querySelector('{joint}').clientWidth"
        )


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], ["good", "good", "good", "good"]),
        (["--law", "pd", "--mass-scale", "1.5"], ["bad", "good", "good", "bad"]),
        (["--config", "fast.yaml"], ["good", "bad", "good", "good"]),
    ],
)
def test_verdict_on_a_simulation(
    options: list[str],
    expected: list[str],
    tmp_path: Path,
    context: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The causes are those of the command torque."""
    monkeypatch.chdir(tmp_path)
    fast = {
        "trajectory_limits": "off",
        "trajectory": {"amplitude": [0.4, 0.5], "frequency": [3.0]},
    }
    Path("fast.yaml").write_text(yaml.safe_dump({"/**": {"ros__parameters": fast}}))
    main(["simulate", "planar_2r", *options, "-o", "bag"])
    main(["report", "bag"])
    page = context.new_page()
    page.goto((tmp_path / "report.html").as_uri())
    page.wait_for_selector("body[data-drawn]", timeout=60_000)
    assert kinds(page) == expected
    recording = read_recording(
        "bag", STATES, model=RobotModel.from_urdf_file(robot_urdf("planar_2r"))
    )
    assert page.locator("#verdict li").all_inner_texts() == hints(
        recording.model, recording.analysis
    )
    if expected[1] == "bad":
        first = recording.diagnostics.events[0]
        for text in (f"{recording.fault_times[0]:.3f} s", first.cause, first.joint):
            assert text in page.inner_text("#verdict .bad")


def _zoom_together(page: Any) -> None:
    """All plots over time show the same range."""
    page.evaluate(
        "Plotly.relayout(document.querySelector('#joint-1 .figure'), {'xaxis.range': [1, 2]})"
    )
    page.wait_for_function("""[...document.querySelectorAll('.timed')].every(plot => {
        const range = plot.layout.xaxis.range; return Math.abs(range[0] - 1) + Math.abs(range[1] - 2) < 1e-6; })""")


def _print(page: Any) -> None:
    """On paper nothing is wider than the page; the screen is as it was afterwards."""
    widths = (
        "[...document.querySelectorAll('.timed')].map(plot => plot._fullLayout.width)"
    )
    before = page.evaluate(widths)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.wait_for_function(f"{widths}.every(width => width < 700)")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.wait_for_function(
        f"JSON.stringify({widths}) === '{json.dumps(before, separators=(',', ':'))}'"
    )
