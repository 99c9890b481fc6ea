"""Makes the pictures of `robot_dynamics view` for docs: `make pictures`, a few minutes.

A demo run is recorded, shown in headless Chromium, and photographed step by step.
"""

from __future__ import annotations

import argparse
import io
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from playwright.sync_api import Page, sync_playwright

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.resources import robot_dynamics_file, robot_urdf
from robot_dynamics_ros.view.motion import read_motion
from robot_dynamics_ros.view.bags import bag_view
from robot_dynamics_ros.view.viewer import Viewer, pose_view

IMAGES = Path(__file__).resolve().parent / "images"
ADDRESS = ("127.0.0.1", 18280)
SIZE = {"width": 960, "height": 560}
CHROMIUM = (
    "--headless --no-sandbox --disable-quic --no-first-run --disable-background-networking --disable-component-update "
    "--disable-sync --use-gl=angle --use-angle=swiftshader --enable-unsafe-swiftshader --ignore-gpu-blocklist"
).split()

STEP = 0.4  # s of the recording
FRAME = 160  # ms


def main() -> None:
    """Make all pictures, or say what is missing."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--bag", type=Path, help="a recording of the robot panda (default: the demo's law pd, run anew)"
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, _browser() as browser:
        bag = arguments.bag or _record(Path(folder))
        _moving(browser, bag, IMAGES / "view.webp")
        _still(browser, "ur5e", IMAGES / "view_pose.png")


def _record(folder: Path) -> Path:
    command = [
        sys.executable,
        "-m",
        "robot_dynamics_ros.cli.main",
        "demo",
        "--law",
        "pd",
        "--output",
        str(folder / "d"),
    ]
    subprocess.run(command, check=True)
    return folder / "d" / "pd" / "bag"


def _moving(browser: Any, bag: Path, output: Path) -> None:
    """The arm, and where it should be, along a recording."""
    model, urdf = _robot("panda")
    topic = "/joint_states"
    recording, notes = read_motion(bag, topic, model)
    viewer, update = bag_view(model, urdf.read_bytes(), urdf.parent, [("pd", (recording, notes))], ADDRESS)
    assert recording.desired is not None
    moving = np.abs(np.diff(recording.desired.rows, axis=0)).max(axis=1) > 1e-6
    begin, *_, end = recording.desired.time[1:][moving]
    update(begin - STEP)
    with _page(browser, viewer) as page:
        frames = []
        for _ in np.arange(begin, end, STEP):
            update(STEP)
            frames.append(_photograph(page, viewer))
    first, *others = frames
    first.save(output, save_all=True, append_images=others, duration=FRAME, loop=0, quality=70, method=4)
    print(f"{output}: {len(frames)} frames, {output.stat().st_size / 1e6:.2f} MB")


def _still(browser: Any, robot: str, output: Path) -> None:
    """A robot in the middle of its range."""
    model, urdf = _robot(robot)
    viewer, _ = pose_view(model, urdf.read_bytes(), urdf.parent, ADDRESS)
    with _page(browser, viewer) as page:
        _photograph(page, viewer).save(output, optimize=True)
    print(f"{output}: {output.stat().st_size / 1e6:.2f} MB")


def _robot(name: str) -> tuple[RobotModel, Path]:
    urdf = robot_urdf(name)
    return RobotModel.from_urdf_file(urdf, dynamics=robot_dynamics_file(name)), urdf


@contextmanager
def _browser() -> Iterator[Any]:
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        sys.exit("there is no chromium. Cure: apt install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=CHROMIUM)
        yield browser
        browser.close()


@contextmanager
def _page(browser: Any, viewer: Viewer) -> Iterator[Page]:
    page = browser.new_page(viewport=SIZE)
    page.set_default_timeout(120_000)
    page.goto(viewer.url)
    page.wait_for_selector("canvas")
    page.locator(".mantine-Notification-closeButton").click()  # without a graphics card it says so
    while not viewer.server.get_clients():
        page.wait_for_timeout(100)
    page.wait_for_timeout(2000)  # shadows and the panel's place
    yield page
    page.close()
    viewer.close()


def _photograph(page: Page, viewer: Viewer) -> Image.Image:
    (client,) = viewer.server.get_clients().values()
    client.get_render(height=32, width=32, timeout=120.0)  # comes when all that was sent before is drawn
    page.wait_for_timeout(100)
    return Image.open(io.BytesIO(page.screenshot())).convert("RGB")


if __name__ == "__main__":
    main()
