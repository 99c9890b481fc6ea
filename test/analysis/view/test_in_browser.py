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
pytest.importorskip("trimesh")
api = pytest.importorskip("playwright.sync_api")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium"),
]

ADDRESS = ("127.0.0.1", 18180)
SIZE = {"width": 1280, "height": 800}
LONG = ("left_shoulder_flexion_extension_joint", "x" * 40)

#: Elements with text that is wider than they are, or that are not on the page; bars of sliders are always wider.
CLIPPED = """() => [...document.querySelectorAll("body *")].filter(e => e.clientWidth && e.innerText
    && !e.closest(".mantine-Slider-root")
    && (e.scrollWidth > e.clientWidth + 1 || e.getBoundingClientRect().right > innerWidth)).map(e => e.outerHTML)"""


class Page:
    """Browser page with a viewer that is updated."""

    def __init__(
        self, browser: Any, viewer: Any, update: Callable[[float], None]
    ) -> None:
        self.viewer = viewer
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(update,))
        self._thread.start()
        self.page = browser.new_page(viewport=SIZE)
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
        """Return the rows of all tables of joints below their headings."""
        rows = self.page.query_selector_all("table:has(th) tr + tr")
        return [
            [cell.inner_text().strip() for cell in row.query_selector_all("td")]
            for row in rows
        ]

    def time(self) -> str:
        """Return the text of the time slider."""
        return self.page.get_by_role("textbox").first.input_value()

    def is_still(self) -> bool:
        """True if half a second changes neither time nor numbers."""
        before = self.time(), self.numbers()
        self.page.wait_for_timeout(500)
        return (self.time(), self.numbers()) == before

    def enter(self, box: int, text: str) -> None:
        """Type into a text box."""
        self.page.get_by_role("textbox").nth(box).fill(text)
        self.page.get_by_role("textbox").nth(box).press("Enter")

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
        assert [
            url
            for url in page.requests
            if not url.startswith((page.viewer.url, "blob:", "data:"))
        ] == []


def test_pose(shown: Callable[..., Page], urdf_path: Callable[[str], Path]) -> None:
    from robot_dynamics_ros.analysis.view.viewer import pose_view

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
    assert (np.abs(page.picture() - before).max(axis=2) > 30.0).mean() > 0.02, (
        "the arm has not moved"
    )


def test_nothing_is_clipped(shown: Callable[..., Page], tmp_path: Path) -> None:
    from robot_dynamics_ros.analysis.view.viewer import pose_view

    urdf = ARM.replace('name="a"', f'name="{LONG[0]}"').replace(
        'name="b"', f'name="{LONG[1]}"'
    )
    page = shown(*pose_view(RobotModel.from_urdf(urdf), urdf, tmp_path, ADDRESS))
    page.until(lambda: page.numbers()[1][0] == LONG[1])
    assert page.page.evaluate(CLIPPED) == []
    for text in (
        "joint torque (gravity)",
        "joint force",
        "centre of mass",
        "0.1 m is 13 N",
    ):
        assert page.page.get_by_text(text).first.is_visible()
    assert not page.page.get_by_text("desired position").count(), "nothing is desired"
    # in a folder that is closed
    page.page.get_by_label("centre of mass").dispatch_event("click")
    page.until(lambda: not page.page.get_by_text("of all moving links").count())


def test_recordings(shown: Callable[..., Page], tmp_path: Path) -> None:
    from robot_dynamics_ros.analysis.view.playback import bag_view
    from robot_dynamics_ros.analysis.view.scene_state import read_motion

    model = RobotModel.from_urdf(ARM)
    bags = {
        "first law": record(tmp_path / "first"),
        "second law": record(tmp_path / "second", commands=False),
    }
    recordings = [
        (label, read_motion(bag, STATES, model)) for label, bag in bags.items()
    ]
    page = shown(*bag_view(model, ARM, tmp_path, recordings, ADDRESS))
    texts = (*bags, "desired position", "measured effort")
    page.until(
        lambda: all(page.page.get_by_text(text).first.is_visible() for text in texts)
    )
    before = page.time(), page.numbers()
    page.until(lambda: page.time() != before[0] and page.numbers() != before[1])
    page.page.get_by_role("button", name="pause").click()
    page.until(page.is_still)
    pictures = []
    for time in (1.0, 3.0):
        page.enter(0, str(time))
        positions = [
            f"{motion.q.at(time + shift)[1]:.3f} m"
            for (_, (motion, _)), shift in zip(recordings, (0.01, 0.0), strict=True)
        ]
        page.until(
            lambda positions=positions: (
                [row[1] for row in page.numbers()[1::2]] == positions
            )
        )
        pictures.append(page.picture())
    error = float(page.numbers()[0][2].removesuffix(" mrad"))
    assert error in (-4.0, 3.0), "the error that was recorded"
    assert pictures[0].std() > 10.0, (
        "an empty picture, though the model says what to draw"
    )
    assert (np.abs(pictures[1] - pictures[0]).max(axis=2) > 30.0).mean() > 0.01, (
        "the arms have not moved"
    )
    page.page.get_by_role("button", name="play").click()
    page.until(lambda: page.time() != "3")
