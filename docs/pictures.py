"""Make the pictures of the demo, `robot_dynamics view` and `report` for docs: `make pictures`, a few minutes.

The pages are photographed in headless Chromium, in windows of two sizes.
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.analysis.view.playback import bag_view
from robot_dynamics_ros.analysis.view.scene_state import read_motion
from robot_dynamics_ros.analysis.view.viewer import Viewer, pose_view
from robot_dynamics_ros.base.resources import robot_urdf
from robot_dynamics_ros.cli.main import main as robot_dynamics

IMAGES = Path(__file__).resolve().parent / "images"
ADDRESS = ("127.0.0.1", 18280)
LAWS = ("pd", "computed_torque")
SIZES = {(1280, 800): "", (1920, 1080): "_1920"}  # px, and the end of the file name
TIME = 5.0  # s of the recordings
CHROMIUM = (
    "--headless --no-sandbox --disable-quic --no-first-run --disable-background-networking --disable-component-update "
    "--disable-sync --use-gl=angle --use-angle=swiftshader --enable-unsafe-swiftshader --ignore-gpu-blocklist"
).split()


def main() -> None:
    """Make all pictures; exit with an error without Chromium."""
    with tempfile.TemporaryDirectory() as folder, _browser() as browser:
        demo, heavier, html = (
            Path(folder) / name for name in ("demo", "simulated/panda", "report.html")
        )
        heavier.parent.mkdir()
        assert robot_dynamics(["demo", "--output", str(demo)]) == 0
        _save(Image.open(demo / "tracking.png"), "tracking.png")
        assert (
            robot_dynamics(
                ["simulate", "panda", "--mass-scale", "1.2", "-o", str(heavier)]
            )
            == 0
        )
        assert robot_dynamics(["report", str(heavier), "-o", str(html)]) == 0
        for name, viewer in (("view", _recordings(demo)), ("view_pose", _pose("ur5e"))):
            for size, suffix in SIZES.items():
                _save(_photograph(browser, viewer, size), f"{name}{suffix}.webp")
            viewer.close()
        for (width, _), suffix in SIZES.items():
            _save(_report(browser, html, width), f"report{suffix}.png")


def _save(picture: Image.Image, name: str) -> None:
    path = IMAGES / name
    if path.suffix == ".png":
        picture.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(
            path, optimize=True
        )
    else:
        picture.save(path, quality=80, method=6)
    print(f"{path}: {path.stat().st_size / 1e3:.0f} kB")


def _report(browser: Any, html: Path, width: int) -> Image.Image:
    """Return the top of a report, and one of its joints."""
    page = browser.new_page(viewport={"width": width, "height": 5000})
    page.goto(html.as_uri())
    page.wait_for_selector("body[data-drawn]")
    page.click("#joint-3 summary")
    page.wait_for_selector("#joint-3 .main-svg")
    top, joint, end = (
        round(page.locator(name).bounding_box()["y"])
        for name in ("#recording", "#joint-3", "#joint-4")
    )
    image = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    page.close()
    picture = Image.new("RGB", (image.width, top + end - joint))
    picture.paste(image.crop((0, 0, image.width, top)))
    picture.paste(image.crop((0, joint, image.width, end)), (0, top))
    return picture


def _recordings(demo: Path) -> Viewer:
    """Return a page with the Panda of the demo under two laws."""
    model = RobotModel.shipped("panda")
    urdf = robot_urdf("panda")
    recordings = [
        (law, read_motion(demo / law / "bag", "/joint_states", model)) for law in LAWS
    ]
    viewer, update = bag_view(
        model, urdf.read_bytes(), urdf.parent, recordings, ADDRESS
    )
    time.sleep(1.0)  # texts are updated ten times a second
    update(TIME)
    return viewer


def _pose(robot: str) -> Viewer:
    """Return a page with a robot in the middle of its range."""
    urdf = robot_urdf(robot)
    return pose_view(
        RobotModel.shipped(robot), urdf.read_bytes(), urdf.parent, ADDRESS
    )[0]


@contextmanager
def _browser() -> Iterator[Any]:
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        sys.exit("there is no chromium. Cure: apt install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=CHROMIUM)
        yield browser
        browser.close()


def _photograph(browser: Any, viewer: Viewer, size: tuple[int, int]) -> Image.Image:
    page = browser.new_page(viewport=dict(zip(("width", "height"), size, strict=True)))
    page.set_default_timeout(120_000)
    page.goto(viewer.url)
    page.wait_for_selector("canvas")
    # without a graphics card it says so
    page.locator(".mantine-Notification-closeButton").click()
    while not viewer.server.get_clients():
        page.wait_for_timeout(100)
    page.wait_for_timeout(2000)  # shadows and the panel's place
    (client,) = viewer.server.get_clients().values()
    # comes when all that was sent before is drawn
    client.get_render(height=32, width=32, timeout=120.0)
    page.wait_for_timeout(500)
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    page.close()
    return picture


if __name__ == "__main__":
    main()
