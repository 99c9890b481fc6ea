"""The reference pages say what the code declares: parameters.md its parameters, topics.md its topics and services."""

import re
import runpy

import pytest
import yaml
from docs.markdown_blocks import ROOT
from docs.ros_names import PARAMETERS, Interface, interfaces
from docs.shell_checks import check

TOPICS = (ROOT / "docs" / "topics.md").read_text(encoding="utf-8")
_ROW = re.compile(r"^\| `(?P<name>[~/\w]+)` \| `\w+/(?P<of>\w+)/(?P<type>\w+)` \| (?P<kind>in|out|service|action)\b")

#: What troubleshooting.md quotes of ROS, the shell and the system.
OF_OTHERS = {
    "/dev/shm",
    "No executable found",
    "RTPS_TRANSPORT_SHM",
    "computed_torque_node: controller",
    "rm /dev/shm/fastrtps_* /dev/shm/fastdds_*",
    "use_sim_time: true",
    "~/.cache/robot_dynamics_ros",
}


def test_parameters_page_is_current() -> None:
    write = runpy.run_path(str(ROOT / "docs" / "write_parameters.py"))
    assert write["PAGE"].read_text(encoding="utf-8") == write["page"](), "run: python docs/write_parameters.py"


@pytest.mark.parametrize("node", PARAMETERS)
def test_topics_page_has_each_topic_with_its_type(node: str) -> None:
    (section,) = re.findall(rf"^## {node}\n(.*?)(?=^## |\Z)", TOPICS, flags=re.MULTILINE | re.DOTALL)
    rows = [match for line in section.splitlines() if (match := _ROW.match(line))]
    described = {Interface(node, row["kind"], row["name"], row["type"]) for row in rows}
    assert described == {found for found in interfaces() if found.node == node}


def _is_known(words: str, sources: str) -> bool:
    """Whether the package says these words, or they are a command, or a parameter with a value that it takes."""
    if words.split()[0] in ("robot_dynamics", "ros2", "rosdep", "source"):
        check(words.split(), "troubleshooting.md")
        return True
    name, separator, text = words.partition(": ")
    for declared in (node[name] for node in PARAMETERS.values() if separator and text != "..." and name in node):
        declared.check(yaml.safe_load(text))
        return True
    return words.removesuffix(" ...").removesuffix(":") in sources


def test_what_troubleshooting_quotes_is_what_the_package_says() -> None:
    """Log lines, parameters, causes and values of /diagnostics; the rest are names of ROS and of the system."""
    page = re.sub(r"^```.*?^```$", "", (ROOT / "docs" / "troubleshooting.md").read_text("utf-8"), flags=re.M | re.S)
    files = [*(ROOT / "robot_dynamics_ros").rglob("*.py"), ROOT / "setup.py"]
    sources = re.sub(r'"\s*\n\s*f?"', "", "".join(path.read_text(encoding="utf-8") for path in files))
    quoted = set(re.findall(r"`([^`]+)`", page))
    assert {words for words in quoted if not _is_known(words, sources)} == OF_OTHERS


def test_installation_has_each_extra() -> None:
    setup = (ROOT / "setup.py").read_text(encoding="utf-8")
    extras = re.findall(r'^        "(\w+)": [A-Z]+,$', setup, flags=re.MULTILINE)
    described = re.findall(
        r"^\| `(\w+)` \|", (ROOT / "docs" / "installation.md").read_text("utf-8"), flags=re.MULTILINE
    )
    assert set(described) | {"test", "lint"} == set(extras)
