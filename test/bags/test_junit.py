"""JUnit XML as CI servers read it: https://github.com/windyroad/JUnit-Schema, and Jenkins' junit-10.xsd."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from robot_dynamics_ros.bags.comparison import Comparison, write_junit
from robot_dynamics_ros.bags.differences import FieldDifference, TopicDifference
from robot_dynamics_ros.errors import BagError


def outcome(*topics: tuple[str, float]) -> Comparison:
    found = []
    for topic, largest in topics:
        field = FieldDifference("data", 7, int(largest > 0), 0, 0, largest, largest / 7, None, None, 0.0, largest)
        found.append(TopicDifference(topic, "std_msgs/msg/Float64", False, 7, 0, 0, None, None, (field,)))
    return Comparison(Path("first"), Path("second"), 0.0, 0.0, tuple(found), ("a note",), ("/alone",))


def read(path: Path) -> ElementTree.Element:
    suites = ElementTree.parse(path).getroot()
    assert suites.tag == "testsuites"
    (suite,) = suites
    assert suite.tag == "testsuite"
    # What the stricter schema requires, and the order of its sequence.
    required = {"package", "id", "name", "timestamp", "hostname", "tests", "failures", "errors", "time"}
    assert set(suite.attrib) == required
    tags = [child.tag for child in suite]
    assert tags == ["properties", *["testcase"] * int(suite.attrib["tests"]), "system-out", "system-err"]
    for case in suite.iter("testcase"):
        assert {"classname", "name", "time"} == set(case.attrib)
        assert all({"message", "type"} == set(problem.attrib) for problem in case)
    for kind in ("failures", "errors"):
        assert int(suite.attrib[kind]) == len(list(suite.iter(kind[:-1])))
    return suite


def test_a_case_for_each_topic(tmp_path: Path) -> None:
    """Names of topics and texts may hold what XML cannot."""
    write_junit(outcome(("/x", 0.0), ('/a<b>&"\x01\ud800', 0.5)), tmp_path / "out.xml", 1.25)
    suite = read(tmp_path / "out.xml")
    assert (suite.attrib["tests"], suite.attrib["failures"], suite.attrib["time"]) == ("3", "2", "1.250")
    x, y, alone = suite.iter("testcase")
    assert (x.attrib["name"], y.attrib["name"], alone.attrib["name"]) == ("/x", '/a<b>&"??', "/alone")
    assert len(x) == 0 and len(alone) == 1
    (failure,) = y
    assert failure.attrib["message"] == '/a<b>&"??: 7 pairs of std_msgs/msg/Float64, 1 field, 1 differ'
    assert "A 0.0, B 0.5" in (failure.text or "") and "/x" not in (failure.text or "")
    assert "a note" in (suite.findtext("system-out") or "")


def test_what_cannot_be_compared_is_an_error(tmp_path: Path) -> None:
    write_junit(BagError("no such <bag>"), tmp_path / "out.xml")
    (error,) = read(tmp_path / "out.xml").iter("error")
    assert error.attrib["message"] == error.text == "no such <bag>"


def test_no_file_is_overwritten_unasked(tmp_path: Path) -> None:
    write_junit(outcome(), tmp_path / "out.xml")
    for taken in (tmp_path / "out.xml", tmp_path / "missing" / "out.xml"):
        with pytest.raises(BagError, match=f"{taken}: "):
            write_junit(outcome(), taken)
    write_junit(outcome(), tmp_path / "out.xml", overwrite=True)
