"""The page in a real browser without network: everything is drawn, and nothing is asked for or goes wrong."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.report import read_recording, write_report
from support.report_recordings import ARM, STATES, fault, record

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
OPTIONS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()

pytest.importorskip("plotly")
api = pytest.importorskip("playwright.sync_api")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium")]


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
    reported = [(100, fault("active", "hold")), (150, fault("hold", "fault")), (200, fault("fault", "active"))]
    bag = record(tmp_path / "bag", reported=reported if whole else (), commands=whole, efforts=whole)
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
    plots = page.query_selector_all(".js-plotly-plot")
    assert len(plots) == len(page.query_selector_all(".figure")) == (6 if whole else 4)
    for plot in plots:
        marks = plot.query_selector_all(".scatterlayer path.js-line, .scatterlayer path.point, .barlayer .point path")
        shapes = [mark.get_attribute("d") or "" for mark in marks]
        assert shapes and any(len(shape) > 10 for shape in shapes)
        assert "NaN" not in "".join(shapes)
    _choose_joints(page)
    _zoom_together(page)
    _print(page)
    assert troubles == []
    assert [url for url in requests if url != address and not url.startswith("data:")] == []


def _choose_joints(page: Any) -> None:
    def visible() -> list[bool]:
        return [page.is_visible(f"#joint-{j}") for j in range(2)]

    assert visible() == [True, True]
    page.uncheck("input[data-joint=joint-0]")
    assert visible() == [False, True]
    page.click("button:has-text('none')")
    assert visible() == [False, False]
    page.click("button:has-text('all')")
    assert visible() == [True, True]


def _zoom_together(page: Any) -> None:
    """All plots over time show the same range."""
    page.evaluate("Plotly.relayout(document.querySelector('#joint-1 .figure'), {'xaxis.range': [1, 2]})")
    page.wait_for_function("""[...document.querySelectorAll('.timed')].every(plot => {
        const range = plot.layout.xaxis.range; return Math.abs(range[0] - 1) + Math.abs(range[1] - 2) < 1e-6; })""")


def _print(page: Any) -> None:
    """On paper nothing is wider than the page; the screen is as it was afterwards."""
    widths = "[...document.querySelectorAll('.timed')].map(plot => plot._fullLayout.width)"
    before = page.evaluate(widths)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.wait_for_function(f"{widths}.every(width => width < 700)")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.wait_for_function(f"JSON.stringify({widths}) === '{json.dumps(before, separators=(',', ':'))}'")
