"""JUnit XML as CI servers read it: https://github.com/windyroad/JUnit-Schema, and Jenkins' junit-10.xsd."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from robot_dynamics_ros.bags.comparison_table import Comparison
from robot_dynamics_ros.bags.differences import FieldDifference
from robot_dynamics_ros.bags.junit import write_junit
from robot_dynamics_ros.bags.topic_comparison import TopicDifference
from robot_dynamics_ros.errors import BagError


def outcome(*topics: tuple[str, float]) -> Comparison:
    """Topics and how much their only field differs."""
    found = [
        TopicDifference(
            topic,
            "std_msgs/msg/Float64",
            False,
            7,
            0,
            0,
            None,
            None,
            (FieldDifference("data", 7, int(largest > 0), 0, 0, largest, largest / 7, None, None, 0.0, largest),),
        )
        for topic, largest in topics
    ]
    return Comparison(Path("first"), Path("second"), 0.0, 0.0, tuple(found), ("a note",))


def read(path: Path) -> ElementTree.Element:
    suites = ElementTree.parse(path).getroot()
    assert suites.tag == "testsuites"
    (suite,) = suites
    # What the stricter schema requires, and the order of its sequence.
    assert suite.tag == "testsuite"
    assert {"package", "id", "name", "timestamp", "hostname", "tests", "failures", "errors", "time"} == set(
        suite.attrib
    )
    tags = [child.tag for child in suite]
    assert tags == ["properties", *["testcase"] * int(suite.attrib["tests"]), "system-out", "system-err"]
    for case in suite.iter("testcase"):
        assert {"classname", "name", "time"} == set(case.attrib)
        assert all({"message", "type"} == set(problem.attrib) for problem in case)
    for kind in ("failures", "errors"):
        assert int(suite.attrib[kind]) == len(list(suite.iter(kind[:-1])))
    return suite


def test_a_case_for_each_topic(tmp_path: Path) -> None:
    write_junit(outcome(("/x", 0.0), ("/y", 0.5)), tmp_path / "out.xml", 1.25)
    suite = read(tmp_path / "out.xml")
    assert (suite.attrib["tests"], suite.attrib["failures"], suite.attrib["time"]) == ("2", "1", "1.250")
    x, y = suite.iter("testcase")
    assert x.attrib["name"] == "/x" and len(x) == 0
    assert y.attrib["name"] == "/y"
    (failure,) = y
    assert failure.attrib["message"] == "/y: 7 pairs of std_msgs/msg/Float64, 1 field, 1 differ"
    assert "A 0.0, B 0.5" in (failure.text or "") and "/x" not in (failure.text or "")
    assert "note: a note" in (suite.findtext("system-out") or "")


def test_what_cannot_be_compared_is_an_error(tmp_path: Path) -> None:
    write_junit(BagError("bag: no such <bag>. Cure: check the path"), tmp_path / "out.xml")
    suite = read(tmp_path / "out.xml")
    (error,) = suite.iter("error")
    assert error.attrib["message"] == "bag: no such <bag>. Cure: check the path"


def test_names_that_xml_cannot_hold(tmp_path: Path) -> None:
    write_junit(outcome(('/a<b>&"\x01\ud800', 1.0)), tmp_path / "out.xml")
    (case,) = read(tmp_path / "out.xml").iter("testcase")
    assert case.attrib["name"] == '/a<b>&"??'


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(BagError, match=r"missing/out\.xml: .*Cure"):
        write_junit(outcome(), tmp_path / "missing" / "out.xml")
