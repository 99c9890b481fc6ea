"""The page in a real browser: the arm is drawn and follows sliders and time, without requests to other servers."""

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robot_dynamics_ros import RobotModel
from support.report_recordings import ARM, STATES, record

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
OPTIONS = (
    "--headless --no-sandbox --disable-quic --no-first-run --disable-background-networking --disable-component-update "
    "--disable-sync --use-gl=angle --use-angle=swiftshader --enable-unsafe-swiftshader --ignore-gpu-blocklist"
).split()

pytest.importorskip("viser")
pytest.importorskip("yourdfpy")
api = pytest.importorskip("playwright.sync_api")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium")]

ADDRESS = ("127.0.0.1", 18180)


class Page:
    """Browser page with a viewer that is updated."""

    def __init__(self, browser: Any, viewer: Any, update: Callable[[float], None]) -> None:
        self.viewer = viewer
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(update,))
        self._thread.start()
        self.page = browser.new_page(viewport={"width": 1000, "height": 640})
        self.troubles: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", self._note)
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(viewer.url, timeout=120_000)
        self.page.wait_for_selector("canvas", timeout=120_000)
        self.until(lambda: len(viewer.server.get_clients()) == 1)

    def _note(self, message: Any) -> None:
        if message.type == "error":
            self.troubles.append(message.text)

    def _run(self, update: Callable[[float], None]) -> None:
        def until_the_end(seconds: float) -> None:
            if self._end.is_set():
                raise SystemExit
            update(seconds)

        with suppress(SystemExit):
            self.viewer.run(until_the_end)

    def close(self) -> None:
        self._end.set()
        self._thread.join()
        self.viewer.close()
        self.page.close()

    def picture(self) -> Any:
        """Return the scene without the panel: (height, width, 3) from 0 to 255."""
        (client,) = self.viewer.server.get_clients().values()
        return client.get_render(height=300, width=400, timeout=60.0).astype(float)

    def numbers(self) -> list[list[str]]:
        """Return the rows of the table below the heading."""
        rows = self.page.query_selector_all("table tr")[1:]
        return [[cell.inner_text().strip() for cell in row.query_selector_all("td")] for row in rows]

    def is_still(self) -> bool:
        """True if half a second changes no number."""
        before = self.numbers()
        self.page.wait_for_timeout(500)
        return self.numbers() == before

    def enter(self, box: int, text: str) -> None:
        """Type into a text box."""
        self.page.locator("input[type=text]").nth(box).fill(text)
        self.page.locator("input[type=text]").nth(box).press("Enter")

    def until(self, true: Callable[[], bool]) -> None:
        """Wait while the page is updated."""
        for _ in range(600):
            if true():
                return
            self.page.wait_for_timeout(100)
        raise AssertionError(f"it did not come: {self.numbers()}")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield browser
        browser.close()


@pytest.fixture
def shown(browser: Any) -> Iterator[Callable[..., Page]]:
    pages: list[Page] = []

    def show(viewer: Any, update: Callable[[float], None]) -> Page:
        pages.append(Page(browser, viewer, update))
        return pages[-1]

    yield show
    for page in pages:
        page.close()
        assert page.troubles == []
        assert [url for url in page.requests if not url.startswith((page.viewer.url, "blob:", "data:"))] == []


def test_pose(shown: Callable[..., Page], urdf_path: Callable[[str], Path]) -> None:
    from robot_dynamics_ros.view.viewer import pose_view

    path = urdf_path("panda")
    model = RobotModel.from_urdf_file(path)
    page = shown(*pose_view(model, path.read_bytes(), path.parent, ADDRESS))
    before = page.picture()
    assert before.std() > 10.0, "an empty picture"
    q = 0.5 * (model.position_lower + model.position_upper)
    assert page.numbers()[1][2] == f"{model.gravity_torque(q)[1]:.1f} Nm"
    page.enter(1, "1.2")
    q[1] = 1.2
    page.until(lambda: page.numbers()[1][2] == f"{model.gravity_torque(q)[1]:.1f} Nm")
    assert page.numbers()[1][1] == "1.200 rad"
    assert (np.abs(page.picture() - before).max(axis=2) > 30.0).mean() > 0.02, "the arm has not moved"


def test_recording(shown: Callable[..., Page], tmp_path: Path) -> None:
    from robot_dynamics_ros.view.motion import read_motion
    from robot_dynamics_ros.view.viewer import recording_view

    model = RobotModel.from_urdf(ARM)
    recording, notes = read_motion(record(tmp_path / "bag"), STATES, model)
    page = shown(*recording_view(model, ARM, tmp_path, recording, ADDRESS, notes))
    first = page.numbers()
    page.until(lambda: page.numbers() != first)
    page.page.get_by_role("checkbox").first.uncheck(force=True)
    page.until(page.is_still)
    still = page.numbers()
    assert -4.0 <= float(still[0][2].removesuffix(" mrad")) <= 3.0, "the error that was recorded"
    pictures = []
    for time in (1.0, 3.0):
        page.enter(0, str(time))
        position = f"{recording.q.at(time)[1]:.3f} m"
        page.until(lambda position=position: page.numbers()[1][1] == position)
        pictures.append(page.picture())
    assert pictures[0].std() > 10.0, "an empty picture, though the model says what to draw"
    assert (np.abs(pictures[1] - pictures[0]).max(axis=2) > 30.0).mean() > 0.01, "the arm has not moved"
