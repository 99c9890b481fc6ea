"""Static checks of commands: programs, arguments, parameters and topics of this package exist."""

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from robot_dynamics_ros.cli.main import main
from support.documents import ros_names
from support.documents.markdown_blocks import ROOT
from support.launch_files import arguments_of

#: Subcommands of robot_dynamics that only end by Ctrl-C or need a running ROS graph.
FOR_EVER = ("node", "play", "record", "view")

_PACKAGE = "robot_dynamics_ros"


class _ParsedError(Exception):
    """Exception that stops a command after its arguments are parsed."""


def check(words: list[str], where: str) -> None:
    """Raise AssertionError, with the place, for a command of this package with a name that does not exist."""
    program = words[0].rpartition("/")[2]
    if program == "robot_dynamics":
        _check_arguments(words[1:], where)
    elif program == "make":
        _check_targets(words[1:], where)
    elif words[:2] == ["ros2", "launch"]:
        _check_launch(words[2:], where)
    elif words[:3] == ["ros2", "run", _PACKAGE]:
        _check_run(words[3:], where)
    elif program in ros_names.executables():
        _check_run(words, where)
    elif words[:2] == ["ros2", "param"]:
        _check_parameters(words[2:], where)
    elif program == "ros2" and words[1] in ("topic", "service", "action", "bag"):
        for name in (word for word in words[3:] if word.startswith("/")):
            _check_name(name, words[3:], where)


def needed_files(words: list[str]) -> Iterator[Path]:
    """Yield the files of this package that a command names, for an output of the demo the URDF of its robot."""
    for word in words:
        if word.startswith("demo_output/"):
            yield ROOT / "urdf" / f"{Path(word).parts[1]}.urdf"
        if re.match(r"(config|urdf|examples|launch)/", word):
            yield ROOT / word


def _check_arguments(arguments: list[str], where: str) -> None:
    """Parse the arguments with the command's own parser, without running it."""
    parse = argparse.ArgumentParser.parse_args

    def parse_only(
        self: argparse.ArgumentParser, *given: object, **named: object
    ) -> None:
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
    """Check that each word is a target, or sets a variable of the Makefile."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    known = {
        name
        for line in re.findall(r"^\.PHONY: (.+)$", text, flags=re.MULTILINE)
        for name in line.split()
    }
    known |= set(re.findall(r"^(\w+) \?= ?", text, flags=re.MULTILINE)) | {"PYTHON"}
    for word in words:
        assert word.partition("=")[0] in known, f"{where}: make {word}"


def _check_launch(words: list[str], where: str) -> None:
    package, file, *arguments = words
    assert package == _PACKAGE, f"{where}: {words}"
    known = arguments_of(ROOT / "launch" / file)
    for argument in arguments:
        name, assigned, _ = argument.partition(":=")
        assert argument == "--show-args" or (assigned and name in known), (
            f"{where}: {file} has no argument {name}"
        )


def _check_run(words: list[str], where: str) -> None:
    program, *rest = words
    assert program in ros_names.executables(), f"{where}: {words}"
    for flag, word in zip(rest, rest[1:], strict=False):
        if flag == "-p":
            name, _, text = word.partition(":=")
            _check_parameter(program, name, text, where)
        elif flag == "-r" and not word.startswith("__"):
            old = word.partition(":=")[0].replace("~", program)
            assert old in {
                found.name for found in ros_names.interfaces() if found.node == program
            }, f"{where}: {old}"


def _check_parameters(words: list[str], where: str) -> None:
    verb, *rest = words
    if verb not in ("set", "get", "describe"):
        return
    node, *names = rest
    if verb == "set":
        _check_parameter(node.rpartition("/")[2], names[0], names[1], where)
    else:
        assert set(names) <= ros_names.PARAMETERS[node.rpartition("/")[2]].keys(), (
            f"{where}: {names}"
        )


def _check_parameter(node: str, name: str, text: str, where: str) -> None:
    declared = ros_names.PARAMETERS[node]
    assert name in declared or name in ros_names.OF_EVERY_NODE, (
        f"{where}: {node} has no parameter {name}"
    )
    if name in declared:
        declared[name].check(yaml.safe_load(text))


def _check_name(name: str, words: list[str], where: str) -> None:
    """Raise if no node has a topic or service of this name, in any namespace, and of the type among words."""
    known = [
        (f"/{found.name.lstrip('/')}", found.type) for found in ros_names.interfaces()
    ]
    fitting = {of for full, of in known if full.endswith(name) or name.endswith(full)}
    assert fitting, f"{where}: nothing here is called {name}"
    for kind in (
        word for word in words if re.fullmatch(r"\w+/(msg|srv|action)/\w+", word)
    ):
        assert kind.rpartition("/")[2] in fitting, f"{where}: {name} is no {kind}"
