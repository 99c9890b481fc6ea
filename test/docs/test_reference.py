"""The reference pages have all topics, services and public names; `make docs` checks the generated ones."""

import re
from importlib import import_module

import pytest

from robot_dynamics_ros.control.configuration.settings import SafetySettings
from robot_dynamics_ros.control.safety import Cause
from support.documents.markdown_blocks import ROOT
from support.documents.ros_names import PARAMETERS, Interface, interfaces

TOPICS = (ROOT / "docs" / "topics.md").read_text(encoding="utf-8")
API = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
SAFETY = (ROOT / "docs" / "safety.md").read_text(encoding="utf-8")
_ROW = re.compile(
    r"^\| `(?P<name>[~/\w]+)` \| `\w+/(?P<of>\w+)/(?P<type>\w+)` \| (?P<kind>in|out|service|action)\b"
)


@pytest.mark.parametrize("node", PARAMETERS)
def test_topics_page_has_each_topic_with_its_type(node: str) -> None:
    (section,) = re.findall(
        rf"^## {node}\n(.*?)(?=^## |\Z)", TOPICS, flags=re.MULTILINE | re.DOTALL
    )
    rows = [match for line in section.splitlines() if (match := _ROW.match(line))]
    described = {
        Interface(node, row["kind"], row["name"].replace("~", node), row["type"])
        for row in rows
    }
    assert described == {found for found in interfaces() if found.node == node}


@pytest.mark.parametrize(
    "package", re.findall(r"^\| `(robot_dynamics_ros\S*)` \|", API, flags=re.MULTILINE)
)
def test_api_page_has_each_public_name(package: str) -> None:
    modules = re.findall(r"^\.\. automodule:: (\S+)$", API, flags=re.MULTILINE)
    described = set(
        re.findall(r"^\.\. auto\w+:: \S+\.(\w+)$", API, flags=re.MULTILINE)
    ) | {"__version__"}
    described |= {name for module in modules for name in dir(import_module(module))}
    assert set(getattr(import_module(package), "__all__", ())) <= described


def test_safety_page_has_each_cause_with_the_default_settings() -> None:
    checks = SAFETY.partition("## Checks")[2].partition("\n## ")[0]
    row = r"^\| `(\w+)` \| .+ \| (.+) \| .+ \|$"
    rows = re.findall(row, checks, flags=re.MULTILINE)
    # The node itself stops the arm for deactivation, which is no failed check.
    causes = {cause.value for cause in Cause} - {"deactivated"}
    assert {cause for cause, _ in rows} == causes and len(rows) == len(causes)
    cells = " ".join(cell for _, cell in rows)
    described = dict(re.findall(r"`(\w+): (\S+)`", cells))
    parameters = SafetySettings.parameters()
    assert len(described) > 5
    assert described == {name: str(parameters[name].default) for name in described}
