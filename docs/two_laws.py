"""Make the animation of README, one trajectory under two control laws: `make pictures`, a minute.

Both runs are those of `robot_dynamics simulate panda`: same arm, same trajectory, same gains.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.analysis.view.scene_state import read_motion
from robot_dynamics_ros.base.resources import dynamics_file, robot_urdf
from robot_dynamics_ros.cli.main import main as robot_dynamics

OUTPUT = Path(__file__).resolve().parent / "images" / "two_laws.webp"
ROBOT = "panda"
COLOURS = {"pd": "#d1495b", "computed_torque": "#00798c"}
DESIRED = "#8fb8de"
LINKS = [f"panda_link{number}" for number in range(9)]
STEP = 0.125  # s of motion in a frame, shown in real time
# The box that is shown (m).
CENTRE = np.array([0.25, 0.05, 0.5])
HALF = 0.45


def main() -> None:
    """Simulate, draw and save."""
    model = RobotModel.from_urdf_file(
        robot_urdf(ROBOT), dynamics=dynamics_file(None, ROBOT)
    )
    with tempfile.TemporaryDirectory() as folder:
        runs = {law: _run(model, law, Path(folder) / law) for law in COLOURS}
    end = min(time[-1] for time, _, _ in runs.values())
    times = np.arange(0.0, end, STEP)
    actual = {law: _sampled(times, time, rows) for law, (time, rows, _) in runs.items()}
    desired = {
        law: _sampled(times, time, rows) for law, (time, _, rows) in runs.items()
    }

    figure = plt.figure(figsize=(8.4, 5.2), dpi=100)
    grid = figure.add_gridspec(
        2,
        2,
        height_ratios=(3.2, 1.0),
        left=0.08,
        right=0.98,
        top=0.93,
        bottom=0.11,
        hspace=0.08,
    )
    scenes = {
        law: figure.add_subplot(grid[0, k], projection="3d", computed_zorder=False)
        for k, law in enumerate(COLOURS)
    }
    errors = {
        law: 1e3 * np.linalg.norm(actual[law][:, -1] - desired[law][:, -1], axis=1)
        for law in COLOURS
    }
    chart = figure.add_subplot(grid[1, :])
    chart.set(
        xlim=(0.0, end), ylim=(0.0, 1.1 * max(error.max() for error in errors.values()))
    )
    chart.set(xlabel="time, s", ylabel="flange error, mm")
    chart.grid(alpha=0.3)
    lines = {
        law: chart.plot([], [], color=colour, lw=2.0, label=law)[0]
        for law, colour in COLOURS.items()
    }
    chart.legend(loc="upper left", ncols=2, frameon=False)

    figure.text(0.5, 0.94, "light blue: desired", ha="center", color="#5b8db8")

    frames = []
    for k in range(len(times)):
        for law, scene in scenes.items():
            _draw(scene, law, actual[law][k], desired[law][k], errors[law][k])
            lines[law].set_data(times[: k + 1], errors[law][: k + 1])
        figure.canvas.draw()
        frames.append(Image.fromarray(np.asarray(figure.canvas.buffer_rgba())[..., :3]))  # type: ignore[attr-defined]
    first, *others = frames
    first.save(
        OUTPUT,
        save_all=True,
        append_images=others,
        duration=round(1e3 * STEP),
        loop=0,
        quality=60,
        method=4,
    )
    print(f"{OUTPUT}: {len(frames)} frames, {OUTPUT.stat().st_size / 1e6:.2f} MB")


def _run(model: RobotModel, law: str, bag: Path) -> tuple[NDArray[np.float64], ...]:
    """Simulate; return times (m,), and positions (m, 9, 3) of the link frames: actual and desired, in m."""
    assert robot_dynamics(["simulate", ROBOT, "--law", law, "-o", str(bag)]) == 0
    recording, _ = read_motion(bag, "/joint_states", model)
    desired = recording.desired
    assert desired is not None
    time = recording.q.time
    references = np.array([desired.at(t) for t in time])
    return time - time[0], _frames(model, recording.q.rows), _frames(model, references)


def _frames(model: RobotModel, rows: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.stack([model.link_pose(rows, link)[..., :3, 3] for link in LINKS], axis=1)


def _sampled(
    times: NDArray[np.float64], time: NDArray[np.float64], rows: NDArray[np.float64]
) -> NDArray[np.float64]:
    return rows[np.searchsorted(time, times).clip(0, len(time) - 1)]


def _draw(
    scene: Any,
    law: str,
    actual: NDArray[np.float64],
    desired: NDArray[np.float64],
    error: float,
) -> None:
    scene.clear()
    scene.set_axis_off()
    for axis, centre in zip("xyz", CENTRE, strict=True):
        scene.set(**{f"{axis}lim": (centre - HALF, centre + HALF)})
    scene.set_box_aspect((1, 1, 1), zoom=1.6)
    scene.view_init(elev=14, azim=-62)
    x, y = np.meshgrid((-0.3, 0.3), (-0.3, 0.3))
    scene.plot_surface(x, y, np.zeros_like(x), color="#e4e4e4", shade=False)
    scene.plot(*desired.T, color=DESIRED, lw=11, alpha=0.55, solid_capstyle="round")
    scene.plot(*actual.T, color=COLOURS[law], lw=5, solid_capstyle="round")
    scene.plot(*actual.T, "o", color="#333333", ms=4)
    scene.set_title(f"{law}: {error:.2f} mm", color=COLOURS[law], fontweight="bold")


if __name__ == "__main__":
    main()
