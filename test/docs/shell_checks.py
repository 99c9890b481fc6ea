"""What can be told of a command without running it: that every program, file, parameter and topic in it exists."""

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from docs.markdown_blocks import ROOT

from docs import ros_names
from robot_dynamics_ros.cli.main import main

#: Subcommands of robot_dynamics that only end by Ctrl-C or need a running ROS graph.
FOR_EVER = ("play", "record", "view")

_PACKAGE = "robot_dynamics_ros"
_SHELL = {"cat", "cd", "cp", "export", "git", "head", "ls", "mkdir", "sudo", "source"}
_NODES = tuple(ros_names.PARAMETERS)
#: Names of ROS packages that commands of the pages use beside this one.
_OTHER_PACKAGES = {"controller_manager", "rqt_robot_monitor", "rqt_plot", "plotjuggler", "rviz2", "xacro"}


class _ParsedError(Exception):
    """The arguments were understood; nothing is run."""


def check(words: list[str], where: str) -> None:
    """Raise AssertionError, with the place, for a command that is unknown or names what is not there."""
    program = words[0].rpartition("/")[2]
    if program == "sudo":
        check(words[1:], where)
    elif program == "robot_dynamics":
        _check_arguments(words[1:], where)
    elif program == "make":
        _check_targets(words[1:], where)
    elif program == "ros2":
        _check_ros2(words[1:], where)
    elif program in ("pip", "pip3") or words[1:3] == ["-m", "pip"]:
        _check_extras(words, where)
    elif program in ("python", "python3") and words[1] == "-m":
        module = (ROOT / words[2].replace(".", "/")).with_suffix(".py")
        assert words[2] in ("pytest", "venv") or module.exists(), f"{where}: {words}"
    elif program == "colcon":
        assert words[1] in ("build", "test", "test-result"), where
    elif program == "rosdep":
        assert words[1] in ("init", "update", "install"), where
    elif program in ("apt", "apt-get"):
        assert words[1] in ("install", "update"), where
    else:
        assert program in _SHELL | {"python", "python3", "pytest"}, f"{where}: unknown command {words}"


def _check_arguments(arguments: list[str], where: str) -> None:
    """Let the command line's own parser read them, and stop there."""
    parse = argparse.ArgumentParser.parse_args

    def parse_only(self: argparse.ArgumentParser, *given: object, **named: object) -> None:
        parse(self, *given, **named)  # type: ignore[call-overload]
        raise _ParsedError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(argparse.ArgumentParser, "parse_args", parse_only)
        try:
            main(arguments)
        except _ParsedError:
            return
        except SystemExit as end:
            assert end.code == 0, f"{where}: {arguments}"  # --help and --version


def _check_targets(words: list[str], where: str) -> None:
    """Each word is a target, or sets a variable that the Makefile lets its user set."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    known = {name for line in re.findall(r"^\.PHONY: (.+)$", text, flags=re.MULTILINE) for name in line.split()}
    known |= set(re.findall(r"^(\w+) \?= ?", text, flags=re.MULTILINE)) | {"PYTHON"}
    for word in words:
        assert word.partition("=")[0] in known, f"{where}: make {word}"


def _check_extras(words: list[str], where: str) -> None:
    setup = (ROOT / "setup.py").read_text(encoding="utf-8")
    for extras in re.findall(r"\[([\w,]+)\]", " ".join(words)):
        for extra in extras.split(","):
            assert f'"{extra}": ' in setup, f"{where}: no extra {extra}"


def _check_ros2(words: list[str], where: str) -> None:
    verb, *rest = words
    if verb == "launch":
        _check_launch(rest, where)
    elif verb == "run":
        _check_run(rest, where)
    elif verb == "param":
        _check_parameter(rest, where)
    elif verb in ("topic", "service", "action"):
        _check_interface(verb, rest, where)
    elif verb == "bag":
        assert rest[0] in ("record", "play", "info"), where
        for topic in (word for word in rest[1:] if word.startswith("/")):
            _check_name(topic, where)
    elif verb == "lifecycle":
        assert rest[0] in ("list", "get", "set", "nodes"), where
        _check_node(rest[1:2], where)
    elif verb == "node":
        assert rest[0] in ("list", "info"), where
    else:
        assert verb == "control" and rest[0] in ("list_controllers", "list_hardware_interfaces"), f"{where}: {words}"


def _check_launch(words: list[str], where: str) -> None:
    package, file, *arguments = words
    assert package == _PACKAGE and (ROOT / "launch" / file).is_file(), f"{where}: {words}"
    known = ros_names.launch_arguments(file)
    for argument in arguments:
        name, assigned, _ = argument.partition(":=")
        assert argument == "--show-args" or (assigned and name in known), f"{where}: {file} has no argument {name}"


def _check_run(words: list[str], where: str) -> None:
    package, program, *rest = words
    if package in _OTHER_PACKAGES:
        return
    assert package == _PACKAGE and program in ros_names.executables(), f"{where}: {words}"
    arguments = iter(rest)
    for word in arguments:
        if word == "-p":
            name, _, text = next(arguments).partition(":=")
            check_parameter(program, name, yaml.safe_load(text), where)
        elif word == "-r":
            old, _, _ = next(arguments).partition(":=")
            names = {found.name for found in ros_names.interfaces() if found.node == program}
            assert old in names | {"__ns", "__node"}, f"{where}: {program} has no {old}"
        elif word == "--params-file":
            next(arguments)
        else:
            assert word == "--ros-args", f"{where}: {word}"


def check_parameter(node: str, name: str, value: object, where: str) -> None:
    """Raise where the node has no such parameter, or refuses the value."""
    declared = ros_names.PARAMETERS[node]
    assert name in declared or name in ros_names.OF_EVERY_NODE, f"{where}: {node} has no parameter {name}"
    if name in declared:
        declared[name].check(value)


def _check_parameter(words: list[str], where: str) -> None:
    verb, *rest = words
    assert verb in ("list", "get", "set", "describe", "dump"), where
    _check_node(rest[:1], where)
    node = rest[0].rpartition("/")[2] if rest else ""
    if verb == "set":
        check_parameter(node, rest[1], yaml.safe_load(rest[2]), where)
    elif verb in ("get", "describe"):
        for name in rest[1:]:
            assert name in ros_names.PARAMETERS[node], f"{where}: {node} has no parameter {name}"


def _check_node(words: list[str], where: str) -> None:
    for word in words:
        assert word.rpartition("/")[2] in _NODES, f"{where}: no node {word}"


def _check_interface(verb: str, words: list[str], where: str) -> None:
    action, *rest = words
    assert action in ("echo", "pub", "hz", "list", "info", "call", "send_goal"), where
    named = [word for word in rest if word.startswith("/")]
    types = [word for word in rest if re.fullmatch(r"\w+/(msg|srv|action)/\w+", word)]
    for name in named:
        _check_name(name, where, types)


def _check_name(name: str, where: str, types: list[str] | None = None) -> None:
    """Raise where no node has a topic or service of this full name and, where one is given, type."""
    fitting = [found for found in ros_names.interfaces() if _full(found).endswith(f"/{name.lstrip('/')}")]
    fitting = fitting or [found for found in ros_names.interfaces() if name.endswith(_full(found))]
    assert fitting, f"{where}: nothing here is called {name}"
    for kind in types or []:
        assert kind.rpartition("/")[2] in {found.type for found in fitting}, f"{where}: {name} is no {kind}"


def _full(found: ros_names.Interface) -> str:
    """The name in the root namespace."""
    return "/" + re.sub("^~", found.node, found.name).lstrip("/")


def needed_files(words: list[str]) -> Iterator[Path]:
    """Yield the files of this package that a command names."""
    for word in words:
        if re.match(r"(config|urdf|examples|launch)/", word):
            yield ROOT / word
