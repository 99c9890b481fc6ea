"""The outcome of a comparison as JUnit XML, which CI servers show: a test case for each topic."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from pathlib import Path
from xml.etree import ElementTree

from robot_dynamics_ros.bags.comparison_table import Comparison, topic_table
from robot_dynamics_ros.errors import BagError

_SUITE = "robot_dynamics.compare"
# What XML 1.0 can hold: section 2.2.
_IMPOSSIBLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(
    outcome: Comparison | BagError, path: str | Path, seconds: float = 0.0, *, overwrite: bool = False
) -> None:
    """Write the outcome of `compare_bags`, or why there is none; ``seconds`` is how long it took.

    Topics that differ are failures, with the table of what differs; a BagError is one test case with an error.
    The elements and attributes are those that Jenkins' and Ant's schemas both take. Raises BagError where the file
    cannot be written, or exists and ``overwrite`` is False.
    """
    suites = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(suites, "testsuite")
    failures = errors = tests = 0
    ElementTree.SubElement(suite, "properties")
    if isinstance(outcome, BagError):
        tests = errors = 1
        _problem(_case(suite, "bags"), "error", str(outcome), "BagError", str(outcome))
    else:
        for topic in outcome.topics:
            tests += 1
            case = _case(suite, topic.topic)
            if not topic.matches:
                failures += 1
                table = topic_table(topic)
                _problem(case, "failure", table.split("\n", 1)[0], "difference", table)
        for name in outcome.alone:
            tests, failures = tests + 1, failures + 1
            _problem(_case(suite, name), "failure", f"{name}: only one bag has it", "difference", str(outcome))
    output = "" if isinstance(outcome, BagError) else str(outcome)
    ElementTree.SubElement(suite, "system-out").text = _IMPOSSIBLE.sub("?", output)
    ElementTree.SubElement(suite, "system-err")
    suite.attrib.update(
        package="robot_dynamics",
        id="0",
        name=_SUITE,
        timestamp=datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S"),
        hostname="localhost",
        tests=str(tests),
        failures=str(failures),
        errors=str(errors),
        time=f"{seconds:.3f}",
    )
    ElementTree.indent(suites)
    try:
        with Path(path).open("wb" if overwrite else "xb") as file:
            ElementTree.ElementTree(suites).write(file, encoding="utf-8", xml_declaration=True)
    except OSError as problem:
        raise BagError(f"{path}: {problem.strerror}. Cure: name another file") from None


def _case(suite: ElementTree.Element, name: str) -> ElementTree.Element:
    attributes = {"classname": _SUITE, "name": _IMPOSSIBLE.sub("?", name), "time": "0"}
    return ElementTree.SubElement(suite, "testcase", attributes)


def _problem(case: ElementTree.Element, kind: str, message: str, name: str, text: str) -> None:
    attributes = {"message": _IMPOSSIBLE.sub("?", message), "type": name}
    ElementTree.SubElement(case, kind, attributes).text = _IMPOSSIBLE.sub("?", text)
