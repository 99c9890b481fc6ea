"""Checks of code blocks by their language; a language without a check is an error."""

import ast
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import yaml

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.base.parameters.file import read_parameter_file
from robot_dynamics_ros.dynamics.description.dynamics_file import read_dynamics_file
from robot_dynamics_ros.runs.trajectory_file import read_trajectory_file
from support.documents import ros_names
from support.documents.markdown_blocks import Block
from support.documents.shell_checks import check, needed_files
from support.documents.shell_lines import commands
from support.launch_files import flat

_DYNAMICS = {
    "gravity",
    "joints",
    "links",
    "rotors",
    "coordinates",
    "couplings",
    "loops",
    "payload",
}


def check_block(block: Block, folder: Path) -> None:
    """Raise if a block is not valid in its language; ``folder`` is for files that blocks need."""
    if block.language == "python":
        ast.parse(block.text, block.where)
    elif block.language in ("sh", "console"):
        _check_shell(block)
    elif block.language == "yaml":
        _check_yaml(block, folder)
    elif block.language == "xml":
        _check_xml(block.text)
    elif block.language == "json":
        json.loads(block.text)
    else:
        assert block.language == "text", (
            f"{block.where}: no test knows blocks of {block.language or 'no language'}"
        )


def _check_shell(block: Block) -> None:
    """Check the lines after $ of a console, or all lines of a script."""
    text = block.text
    if block.language == "console":
        prompts = [
            line[2:].removesuffix("\\")
            for line in text.splitlines()
            if line.startswith("$ ")
        ]
        assert prompts, f"{block.where}: no line begins with $"
        text = "\n".join(prompts)
    for command in commands(text):
        check(command.words, block.where)
        for file in needed_files(command.words):
            assert file.exists(), f"{block.where}: {file}"


def _check_xml(text: str) -> None:
    if text.lstrip().startswith("<?xml"):
        RobotModel.from_urdf(text)
    else:
        ElementTree.fromstring(f"<part>{text}</part>")


def _check_yaml(block: Block, folder: Path) -> None:
    content = yaml.safe_load(block.text)
    assert isinstance(content, dict), block.where
    path = folder / "block.yaml"
    path.write_text(block.text, encoding="utf-8")
    if "controller_manager" in content:
        return  # for ros2_control
    if "ros__parameters" in block.text:
        _check_parameters(path, content, block)
    elif {"joint_names", "points"} <= content.keys():
        read_trajectory_file(path)
    else:
        assert content.keys() <= _DYNAMICS, (
            f"{block.where}: not a dynamics file: {', '.join(content)}"
        )
        read_dynamics_file(path)


def _check_parameters(path: Path, content: dict[str, Any], block: Block) -> None:
    """Check that every parameter belongs to a node of the file and has a valid value."""
    files_nodes = {key.rpartition("/")[2] for key in content}
    nodes = [node for node in ros_names.PARAMETERS if files_nodes & {node, "*", "**"}]
    assert nodes, f"{block.where}: for none of our nodes"
    known: set[str] = set()
    for node in nodes:
        declared = ros_names.PARAMETERS[node]
        known |= declared.keys()
        values = read_parameter_file(path, f"/arm/{node}", declared.values())
        for parameter in declared.values():
            parameter.read(values)
    for name in (
        name for table in content.values() for name, _ in flat(table["ros__parameters"])
    ):
        assert name in known | ros_names.OF_EVERY_NODE or name.startswith(
            "qos_overrides."
        ), f"{block.where}: {name}"
