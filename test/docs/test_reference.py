"""The reference pages agree with the code: parameters in parameters.md, topics and services in topics.md."""

import re
import runpy

import pytest

from support.documents.markdown_blocks import ROOT
from support.documents.ros_names import PARAMETERS, Interface, interfaces

TOPICS = (ROOT / "docs" / "topics.md").read_text(encoding="utf-8")
_ROW = re.compile(r"^\| `(?P<name>[~/\w]+)` \| `\w+/(?P<of>\w+)/(?P<type>\w+)` \| (?P<kind>in|out|service|action)\b")


def test_parameters_page_is_current() -> None:
    write = runpy.run_path(str(ROOT / "docs" / "write_parameters.py"))
    assert write["PAGE"].read_text(encoding="utf-8") == write["page"](), "run: python docs/write_parameters.py"


@pytest.mark.parametrize("node", PARAMETERS)
def test_topics_page_has_each_topic_with_its_type(node: str) -> None:
    (section,) = re.findall(rf"^## {node}\n(.*?)(?=^## |\Z)", TOPICS, flags=re.MULTILINE | re.DOTALL)
    rows = [match for line in section.splitlines() if (match := _ROW.match(line))]
    described = {Interface(node, row["kind"], row["name"].replace("~", node), row["type"]) for row in rows}
    assert described == {found for found in interfaces() if found.node == node}
