"""Make the pictures of `robot_dynamics view` and `report` for docs: `make pictures`, a few minutes.

Two laws are simulated, and the pages are photographed in headless Chromium. `python docs/pictures.py --size 1920 1080
--output FOLDER` shows the same pages on a larger screen.
"""

from __future__ import annotations

import argparse
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
from robot_dynamics_ros.cli.main import main as robot_dynamics
from robot_dynamics_ros.resources import robot_dynamics_file, robot_urdf
from robot_dynamics_ros.view.bags import bag_view
from robot_dynamics_ros.view.motion import read_motion
from robot_dynamics_ros.view.viewer import Viewer, pose_view

IMAGES = Path(__file__).resolve().parent / "images"
ADDRESS = ("127.0.0.1", 18280)
LAWS = ("pd", "computed_torque")
TIME = 5.0  # s of the recordings
CHROMIUM = (
    "--headless --no-sandbox --disable-quic --no-first-run --disable-background-networking --disable-component-update "
    "--disable-sync --use-gl=angle --use-angle=swiftshader --enable-unsafe-swiftshader --ignore-gpu-blocklist"
).split()


def main() -> None:
    """Make all pictures; exit with an error without Chromium."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, nargs=2, default=(1280, 800), help="of the window, px (default: 1280 800)")
    parser.add_argument("--output", type=Path, default=IMAGES, help="folder (default: docs/images)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, _browser() as browser:
        views = {"view": _recordings(Path(folder)), "view_pose": _pose("ur5e")}
        for name, viewer in views.items():
            output = arguments.output / f"{name}.webp"
            _photograph(browser, viewer, arguments.size).save(output, quality=80, method=6)
            viewer.close()
            print(f"{output}: {output.stat().st_size / 1e3:.0f} kB")
        _report(browser, Path(folder), arguments.size[0], arguments.output / "report.png")


def _report(browser: Any, folder: Path, width: int, output: Path) -> None:
    """Save the top of the report on a simulated arm that is heavier than the model, and one of its joints."""
    bag, html = folder / "simulated" / "panda", folder / "report.html"
    bag.parent.mkdir()
    assert robot_dynamics(["simulate", "panda", "--mass-scale", "1.2", "-o", str(bag)]) == 0
    assert robot_dynamics(["report", str(bag), "-o", str(html)]) == 0
    page = browser.new_page(viewport={"width": width, "height": 5000})
    page.goto(html.as_uri())
    page.wait_for_selector("body[data-drawn]")
    page.click("#joint-3 summary")
    page.wait_for_selector("#joint-3 .main-svg")
    top, joint, end = (round(page.locator(name).bounding_box()["y"]) for name in ("#recording", "#joint-3", "#joint-4"))
    image = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    page.close()
    picture = Image.new("RGB", (image.width, top + end - joint))
    picture.paste(image.crop((0, 0, image.width, top)))
    picture.paste(image.crop((0, joint, image.width, end)), (0, top))
    picture.quantize(256, dither=Image.Dither.NONE).save(output, optimize=True)
    print(f"{output}: {output.stat().st_size / 1e3:.0f} kB")


def _recordings(folder: Path) -> Viewer:
    """Return a page with a motion of the Panda under two laws."""
    model, urdf = _robot("panda")
    recordings = []
    for law in LAWS:
        assert robot_dynamics(["simulate", "panda", "--law", law, "-o", str(folder / law)]) == 0
        recordings.append((law, read_motion(folder / law, "/joint_states", model)))
    viewer, update = bag_view(model, urdf.read_bytes(), urdf.parent, recordings, ADDRESS)
    time.sleep(1.0)  # texts are updated ten times a second
    update(TIME)
    return viewer


def _pose(robot: str) -> Viewer:
    """Return a page with a robot in the middle of its range."""
    model, urdf = _robot(robot)
    return pose_view(model, urdf.read_bytes(), urdf.parent, ADDRESS)[0]


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


def _photograph(browser: Any, viewer: Viewer, size: tuple[int, int]) -> Image.Image:
    page = browser.new_page(viewport=dict(zip(("width", "height"), size, strict=True)))
    page.set_default_timeout(120_000)
    page.goto(viewer.url)
    page.wait_for_selector("canvas")
    page.locator(".mantine-Notification-closeButton").click()  # without a graphics card it says so
    while not viewer.server.get_clients():
        page.wait_for_timeout(100)
    page.wait_for_timeout(2000)  # shadows and the panel's place
    (client,) = viewer.server.get_clients().values()
    client.get_render(height=32, width=32, timeout=120.0)  # comes when all that was sent before is drawn
    page.wait_for_timeout(500)
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    page.close()
    return picture


if __name__ == "__main__":
    main()
