"""Prerequisites of a page: files that its reader has, and names that it has defined."""

import shutil
from pathlib import Path
from typing import Any

from robot_dynamics_ros.base.resources import robot_urdf
from robot_dynamics_ros.cli.main import main
from support.arms import Arm, Joint, Link, thin_rod
from support.mechanisms import four_bar


def prepare(page: str) -> dict[str, Any]:
    """Fill the working directory for a page; return the names that it defines."""
    if page == "README.md":
        shutil.copy(robot_urdf("ur5e"), "my.urdf")
    elif page == "docs/test_from_a_bag.md":
        _run("simulate", "panda", "--duration", "8", "-o", "BAG")
        _run("replay", "BAG", "-o", "golden")
    elif page == "docs/report.md":
        _run("simulate", "panda", "--duration", "8", "-o", "BAG")
    elif page == "docs/identify.md":
        # within the limits with the hand too
        slow = ("--margin", "0.3", "-o", "controller.yaml")
        _run("excite", "--robot", "panda", "--duration", "8", "--restarts", "1", *slow)
        motion = ("simulate", "panda", "--config", "controller.yaml", "-o")
        _run(*motion, "BAG")
        _run(*motion, "TOOL_BAG", "--plant-dynamics", "panda_hand")
    elif page == "docs/tutorials/gravity_compensation.md":
        _run("simulate", "panda", "--duration", "8", "-o", "moved")
    elif page == "docs/drives.md":
        Path("openarm.urdf").write_text(_light_arm().urdf, encoding="utf-8")
    elif page == "docs/dynamics_file.md":
        return {"model": four_bar(), "guess": [0.3, 1.0, -1.5]}
    return {}


def _light_arm() -> Arm:
    """Return a hanging chain of seven light links, with the joint names of a public arm."""
    links = [Link("link0")]
    joints = []
    for i in range(1, 8):
        links.append(Link(f"link{i}", 0.5, (0.0, 0.0, -0.05), thin_rod(0.5, 0.1, 2)))
        joints.append(
            Joint(
                f"openarm_joint{i}",
                "revolute",
                links[i - 1].name,
                links[i].name,
                xyz=(0.0, 0.0, -0.1),
                axis=(i % 2, (i + 1) % 2, 0),
                limit='<limit lower="-1" upper="1" effort="20" velocity="5"/>',
            )
        )
    return Arm(tuple(links), tuple(joints))


def _run(*arguments: str) -> None:
    assert main(arguments) == 0
