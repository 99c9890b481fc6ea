"""Installs robot_dynamics_ros, by pip as well as by colcon (ament_python)."""

import sys
from glob import glob
from pathlib import Path
from xml.etree import ElementTree

from setuptools import find_packages, setup

# Older versions of pip search the dependencies first, and end with a list of their versions.
if sys.version_info < (3, 10):  # noqa: UP036 - read by older versions, too
    raise SystemExit(
        f"robot_dynamics_ros needs Python 3.10 to 3.13, and this is {sys.version.split()[0]}. "
        "Cure: install it with one of these, for instance python3.12 -m pip install ."
    )

PACKAGE = "robot_dynamics_ros"
SHARE = f"share/{PACKAGE}"
# colcon build --symlink-install runs a link to this file in a folder that holds only what is installed.
HERE = Path(__file__).resolve().parent
README = HERE / "README.md"
MANIFEST = ElementTree.parse(HERE / "package.xml").getroot()
MAINTAINER = MANIFEST.find("maintainer")

# The ROS 2 wheels on PyPI; beside a ROS installation they are not needed.
ROS = [
    "ros-rclpy",
    "ros-rmw-fastrtps-cpp",
    "ros-builtin-interfaces",
    "ros-diagnostic-msgs",
    "ros-geometry-msgs",
    "ros-lifecycle-msgs",
    "ros-rcl-interfaces",
    "ros-rosgraph-msgs",
    "ros-sensor-msgs",
    "ros-std-msgs",
    "ros-std-srvs",
    "ros-trajectory-msgs",
]
REPORT = ["plotly"]
EQUATIONS = ["sympy"]
VIEW = ["viser>=1.1", "trimesh[easy]"]
XACRO = ["xacro"]
ROBOTS = ["robot_descriptions>=1.23", "xacrodoc"]
DEMO = [
    *REPORT,
    *EQUATIONS,
    *VIEW,
    "matplotlib",
]  # without ROS, which only --live needs
LINT = ["ruff", "mypy", "scipy-stubs", "types-PyYAML", "types-tqdm"]
TEST = [
    *ROS,
    *DEMO,
    *XACRO,
    *ROBOTS,
    "catkin-pkg",
    "colcon-common-extensions",
    "example-robot-data",
    "hypothesis",
    "mcap",
    "mujoco",
    "pin",
    "playwright",
    "pytest",
    "pytest-timeout",
    "setuptools<80",
    "wheel",
]

setup(
    name=PACKAGE,
    version="0.1.0",  # catkin_prepare_release writes it here and into package.xml, from where __version__ comes
    description="Computed-torque control of robot arms: rigid-body dynamics from a URDF, for ROS 2",
    long_description=README.read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    maintainer=MAINTAINER.text,
    maintainer_email=MAINTAINER.get("email"),
    project_urls={url.get("type"): url.text for url in MANIFEST.findall("url")},
    license="Apache-2.0",
    keywords=["ROS", "robotics", "dynamics", "computed torque"],
    classifiers=[
        "Development Status :: 4 - Beta",
        "Intended Audience :: Developers",
        "Intended Audience :: Science/Research",
        "Operating System :: POSIX :: Linux",
        "Programming Language :: Python :: 3",
        "Programming Language :: Python :: 3.10",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Topic :: Scientific/Engineering",
        "Typing :: Typed",
    ],
    python_requires=">=3.10",
    packages=find_packages(include=[PACKAGE, f"{PACKAGE}.*"]),
    package_data={
        PACKAGE: [
            "py.typed",
            "analysis/report/page.css",
            "analysis/report/page.js",
            "dynamics/codegen/c_templates/*",
        ]
    },
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (SHARE, ["package.xml", "LICENSE", "NOTICE"]),
        (f"{SHARE}/urdf", sorted(glob("urdf/*.urdf"))),
        (f"{SHARE}/textbook_arms", sorted(glob("textbook_arms/*.yaml"))),
        (
            f"{SHARE}/config",
            sorted(glob("config/*.yaml")) + ["config/sros2_policies.xml"],
        ),
        (f"{SHARE}/launch", sorted(glob("launch/*.launch.py"))),
        (f"{SHARE}/rviz", sorted(glob("rviz/*.rviz"))),
        (f"{SHARE}/recordings", sorted(glob("recordings/*"))),
    ],
    zip_safe=False,
    # Ubuntu 22.04's versions, but for rosbags, which it does not have.
    install_requires=[
        "argcomplete>=1.8.1",
        "numpy>=1.21.5",
        "scipy>=1.8.0",
        "numba>=0.55.1",
        "PyYAML>=5.4.1",
        "rosbags>=0.11.7",
        "tqdm>=4.57",
        "urdf-parser-py>=0.0.4",
    ],
    extras_require={
        "ros": ROS,
        "report": REPORT,
        "equations": EQUATIONS,
        "view": VIEW,
        "xacro": XACRO,
        "robots": ROBOTS,
        "demo": DEMO,
        "test": TEST,
        "lint": LINT,
    },
    entry_points={
        "console_scripts": [
            f"computed_torque_node = {PACKAGE}.cli.executables:computed_torque_node",
            f"simulation_node = {PACKAGE}.cli.executables:simulation_node",
            f"trajectory_node = {PACKAGE}.cli.executables:trajectory_node",
            f"robot_dynamics = {PACKAGE}.cli.executables:robot_dynamics",
        ],
    },
)
