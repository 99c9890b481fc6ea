"""Comparison of two recordings; its table and its JUnit XML report."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from xml.etree import ElementTree

from robot_dynamics_ros.base.errors import BagError
from robot_dynamics_ros.base.progress import progress
from robot_dynamics_ros.dynamics.kernels.types import IntArray
from robot_dynamics_ros.recordings.bags.alignment import (
    align,
    message_times,
    paired,
    stamp_reader,
    time_shift,
)
from robot_dynamics_ros.recordings.bags.differences import (
    FieldComparison,
    FieldDifference,
    TopicDifference,
)
from robot_dynamics_ros.recordings.bags.joint_series import answers, read_joint_states
from robot_dynamics_ros.recordings.bags.reader import (
    CONFIGURATION_TOPIC,
    BagReader,
    require_topics,
)
from robot_dynamics_ros.recordings.bags.storage import (
    DIAGNOSTIC_ARRAY,
    JOINT_TRAJECTORY,
    TEXT,
    known,
)
from robot_dynamics_ros.recordings.messages.joint_state import renaming

_ROWS = 40  # maximum of a table
_LONG = 40  # maximum of characters of a value


def compare_bags(
    a: str | Path,
    b: str | Path,
    topics: Sequence[str] | None = None,
    atol: float = 0.0,
    rtol: float = 0.0,
    rename: Mapping[str, str] | None = None,
    common: bool = False,
) -> Comparison:
    """Compare two recordings, B with A, by the rule |a - b| <= atol + rtol |b|.

    Messages are paired by header.stamp, those of drive_commands by the stamp in their data, repeated stamps in their
    order. Messages without a stamp are paired by their order on the topic. Times of arrival are not compared.
    JointState and JointTrajectory are compared joint by joint, in any order of the joints. Texts and integers must be
    equal; NaN equals NaN. Topics, messages and fields that only one recording has are differences. A constant shift of
    all stamps of a topic is a difference; messages are then paired by the shifted stamps.

    Parameters
    ----------
    a, b
        The recordings: folder or file of an MCAP or sqlite3 bag.
    topics
        The topics to compare, with or without the slash in front. Default: all topics but ~/configuration and, with
        ``common``, those of type DiagnosticArray.
    atol, rtol
        Absolute tolerance, in the unit of each field, and relative tolerance.
    rename
        Old to new names or prefixes of joints, in both recordings.
    common
        True to compare only topics and messages that both have, as for live recordings, whose topics begin and end at
        different times. The other topics, and the number of other messages, are still reported. A topic whose type
        differs is a difference all the same.

    Raises
    ------
    BagError
        If a recording cannot be read, one of ``topics`` is missing, no topic or message can be compared, or a tolerance
        is negative or NaN.
    """
    if not (atol >= 0.0 and rtol >= 0.0):
        raise BagError(
            f"tolerances {atol}, {rtol}: negative or NaN. Cure: give 0 or more"
        )
    with BagReader(a) as reader_a, BagReader(b) as reader_b:
        names, alone, notes = _common(reader_a, reader_b, topics, common)
        times_a = message_times(reader_a, names)
        times_b = message_times(reader_b, names)
        if not any(
            len(times.times) for times in (*times_a.values(), *times_b.values())
        ):
            raise BagError(
                f"{a}, {b}: no messages on {', '.join(names)}. Cure: choose other topics"
            )
        kinds = {name: reader_a.topics[name] for name in names}
        stamped = {name: stamp_reader(name, kinds[name]) is not None for name in names}
        shifts = {
            name: time_shift(times_a[name], times_b[name]) if stamped[name] else 0
            for name in names
        }
        known_shift = next((shift for shift in shifts.values() if shift), 0)
        differences = []
        for name in names:
            start_a = _start(
                [
                    times_a[other].times
                    for other in names
                    if stamped[other] == stamped[name]
                ]
            )
            start_b = _start(
                [times_b[other].times for other in names if not stamped[other]]
            )
            shift = shifts[name]
            if known_shift and stamped[name] and not shift:  # a topic of few messages
                shift = time_shift(times_a[name], times_b[name], known_shift)
            starts = start_a, start_a + shift if stamped[name] else start_b
            pairs = align(
                times_a[name].times, times_b[name].times, stamped[name], starts, shift
            )
            fields = FieldComparison(kinds[name], renaming(rename or {}), atol, rtol)
            messages = paired(
                reader_a.messages([name]), reader_b.messages([name]), pairs
            )
            fields.add(progress(messages, name, len(pairs.a)))
            differences.append(fields.result(name, pairs, common))
        for topic in differences:
            if topic.topic.endswith("/command_states") and not topic.matches:
                notes += missed_trajectory(reader_a, reader_b, topic.topic)
        unknown = sorted({kind for kind in kinds.values() if not known(kind)})
        notes += [
            f"{kind} is unknown: its messages are compared byte by byte"
            for kind in unknown
        ]
        notes += [
            f"{name} has no stamps: paired by order"
            for name in names
            if not stamped[name]
        ]
    return Comparison(
        Path(a), Path(b), atol, rtol, tuple(differences), tuple(notes), tuple(alone)
    )


def assert_bags_match(
    a: str | Path,
    b: str | Path,
    *,
    topics: Sequence[str] | None = None,
    atol: float = 0.0,
    rtol: float = 0.0,
    common: bool = False,
) -> None:
    """Raise AssertionError, with a table of the differences, unless bag B matches bag A by |a - b| <= atol + rtol |b|.

    ``atol`` is in the unit of each field. ``topics`` are those to compare (None: all but ~/configuration). ``common``
    is True to ignore topics and messages that only one bag has, and /diagnostics. Raises BagError as ``compare_bags``.
    """
    comparison = compare_bags(a, b, topics, atol, rtol, common=common)
    if not comparison.matches:
        raise AssertionError(str(comparison))


def _common(
    a: BagReader, b: BagReader, chosen: Sequence[str] | None, common: bool
) -> tuple[list[str], list[str], list[str]]:
    """Return the topics to compare, the topics that differ without being compared, and notes."""
    if chosen is not None:
        chosen = [
            topic if topic in a.topics or topic.startswith("/") else f"/{topic}"
            for topic in chosen
        ]
        require_topics(a, chosen)
        require_topics(b, chosen)
    topics_a = _motion_topics(a, common)
    topics_b = _motion_topics(b, common)
    names = (
        sorted(topics_a & topics_b) if chosen is None else list(dict.fromkeys(chosen))
    )
    retyped = [name for name in names if a.topics[name] != b.topics[name]]
    notes = [
        f"{name} is not compared: its type is {a.topics[name]} in A, {b.topics[name]} in B"
        for name in retyped
    ]
    names = [name for name in names if name not in retyped]
    if not names:
        reason = "; ".join(notes) or "no topic in common"
        topics = ", ".join(sorted(a.topics))
        raise BagError(
            f"{a.path}, {b.path}: {reason}. Cure: record the same topics ({topics})"
        )
    alone = []
    for reader, others in (
        (a, sorted(topics_a - topics_b)),
        (b, sorted(topics_b - topics_a)),
    ):
        if chosen is None and others:
            alone += others
            notes.append(f"only in {reader.path}: {', '.join(others)}")
    left_out = (a.topics.keys() | b.topics.keys()) - (topics_a | topics_b)
    notes += [
        f"{name} is not compared: it describes the nodes"
        for name in sorted(left_out)
        if chosen is None
    ]
    return names, retyped if common else retyped + alone, notes


def _motion_topics(reader: BagReader, common: bool) -> set[str]:
    """Return the topics to compare by default; ``common`` is True for live recordings.

    Nodes report their state in /diagnostics at times of their own, which a replay does not repeat.
    """
    return {
        topic
        for topic, kind in reader.topics.items()
        if not (kind == TEXT and topic.rpartition("/")[2] == CONFIGURATION_TOPIC)
        and not (kind == DIAGNOSTIC_ARRAY and common)
    }


def _start(topics: list[IntArray]) -> int:
    """Return the first time of all topics (ns); 0 if all stamps are unset (zero)."""
    return min(
        (int(times[times > 0].min()) for times in topics if (times > 0).any()),
        default=0,
    )


def missed_trajectory(bag: BagReader, other: BagReader, commands: str) -> list[str]:
    """Return a note if the commands of ``bag`` follow a trajectory although it has none; else an empty list.

    Their desired position moves at stamps at which that of ``other``, such as the replay of ``bag``, rests.
    ``commands`` is the topic of the commands in both.
    """
    topics = [name for name, kind in bag.topics.items() if kind == JOINT_TRAJECTORY]
    if bag.count(topics):
        return []
    try:
        live, again = (
            read_joint_states(one, [commands])[commands] for one in (bag, other)
        )
    except BagError:  # no commands
        return []
    pairs = answers(live, again)
    moves = (abs(live.velocity[pairs.states]) > 0.0).any(axis=1)
    rests = ~again.velocity[pairs.commands].any(axis=1)
    note = (
        f"{bag.path}: the desired position moves without a trajectory: the recorder missed it, or it came by an "
        "action. Cure: start the recorder first, and use ~/joint_trajectory"
    )
    return [note] if (moves & rests).any() else []


@dataclass(frozen=True)
class Comparison:
    """Differences of two recordings; ``str()`` returns them as a table.

    Attributes
    ----------
    a, b
        The recordings.
    atol, rtol
        The tolerance: |a - b| <= atol + rtol |b|.
    topics
        The topics that were compared.
    notes
        Remarks on topics that were not compared, and on the pairing of messages.
    alone
        Topics that only one recording has, unless these are no difference, and those that have another type in B.
    """

    a: Path
    b: Path
    atol: float
    rtol: float
    topics: tuple[TopicDifference, ...]
    notes: tuple[str, ...]
    alone: tuple[str, ...] = ()

    @property
    def matches(self) -> bool:
        """True if all topics match within the tolerance and ``alone`` is empty."""
        return not self.alone and all(topic.matches for topic in self.topics)

    @property
    def largest(self) -> float:
        """The largest absolute difference of numbers (float); 0 if there is none, inf if only one of two is finite."""
        return max((topic.largest for topic in self.topics), default=0.0)

    def __str__(self) -> str:
        differing = [
            *(topic.topic for topic in self.topics if not topic.matches),
            *self.alone,
        ]
        count = sum(topic.count for topic in self.topics)
        verdict = f"these differ: {', '.join(differing)}" if differing else "they match"
        compared = f"{_count(count, 'pair')} of messages on {_count(len(self.topics), 'topic')}"
        lines = [
            f"A {self.a}",
            f"B {self.b}",
            f"{compared}, atol {self.atol:g}, rtol {self.rtol:g}: {verdict}",
        ]
        lines += [f"note: {note}" for note in self.notes]
        for topic in self.topics:
            lines += ["", topic_table(topic)]
        return "\n".join(lines)


def topic_table(topic: TopicDifference) -> str:
    """Return text: a summary of one topic, and a table of the fields that differ, also within the tolerance."""
    lines = [f"{topic.topic}: {_summary(topic)}"]
    for name, count, first in (
        ("A", topic.only_a, topic.first_only_a),
        ("B", topic.only_b, topic.first_only_b),
    ):
        if count and first is not None:
            lines.append(
                f"  {_count(count, 'message')} only in {name}, the first at {first}"
            )
    differing = [field for field in topic.fields if not field.equal]
    if differing:
        lines += _rows(differing[:_ROWS])
    if len(differing) > _ROWS:
        lines.append(f"  and {len(differing) - _ROWS} more fields")
    return "\n".join(lines)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _summary(topic: TopicDifference) -> str:
    if not topic.count:
        return (
            "no messages are paired" if topic.only_a or topic.only_b else "no messages"
        )
    fields = f"{_count(topic.count, 'pair')} of {topic.kind}, {_count(len(topic.fields), 'field')}"
    if topic.shift:
        later = "later" if topic.shift > 0 else "earlier"
        fields += (
            f", stamps of B are {abs(topic.shift) * 1e-9:.9f} s {later} than those of A"
        )
    beyond = sum(not field.matches for field in topic.fields)
    within = sum(not field.equal for field in topic.fields) - beyond
    if not beyond and not within:
        return f"{fields}, all equal"
    parts = [f"{beyond} differ"] if beyond else []
    parts += [f"{within} differ within the tolerance"] if within else []
    return f"{fields}, {', '.join(parts)}"


def _rows(fields: list[FieldDifference]) -> list[str]:
    heads = ("field", "compared", "beyond", "largest", "RMS", "where")
    cells = [heads, *(_cells(field) for field in fields)]
    widths = [max(len(row[k]) for row in cells) for k in range(len(heads) - 1)]
    lines = []
    for row in cells:
        numbers = "  ".join(
            f"{cell:>{width}}"
            for cell, width in zip(row[1:-1], widths[1:], strict=True)
        )
        lines.append(f"  {row[0]:<{widths[0]}}  {numbers}  {row[-1]}".rstrip())
    return lines


def _cells(field: FieldDifference) -> tuple[str, ...]:
    where = [
        f"only in {name} in {_count(count, 'message')}"
        for name, count in (("A", field.only_a), ("B", field.only_b))
        if count
    ]
    if field.largest_at is not None:
        where.append(str(field.largest_at))
    if field.largest or field.beyond:
        where.append(f"A {_value(field.a)}, B {_value(field.b)}")
    if field.offset is not None and field.rms is not None:
        deviation = max(0.0, field.rms**2 - field.offset**2) ** 0.5
        spread = f" +- {deviation:.2g}" if deviation > 1e-6 * field.rms else ""
        where.append(f"constant offset B - A = {field.offset:.6g}{spread}")
    if (
        field.beyond > 1
        and field.first_at is not None
        and field.first_at != field.largest_at
    ):
        where.append(f"first at {field.first_at}")
    largest = "" if field.largest is None else f"{field.largest:.4g}"
    rms = "" if field.rms is None else f"{field.rms:.4g}"
    return (
        field.name,
        str(field.count),
        str(field.beyond),
        largest,
        rms,
        "; ".join(where),
    )


def _value(content: object) -> str:
    text = repr(content)
    return text if len(text) <= _LONG else text[: _LONG - 3] + "..."


_SUITE = "robot_dynamics.compare"
_TYPES = {"error": "BagError", "failure": "difference"}
# section 2.2 of XML 1.0
_INVALID_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(
    outcome: Comparison | BagError,
    path: str | Path,
    seconds: float = 0.0,
    *,
    overwrite: bool = False,
) -> None:
    """Write the result of ``compare_bags``, or the BagError that it raised, as JUnit XML to the file ``path``.

    Topics that differ are failures, with the table of the differences; a BagError is one test case with an error.
    ``seconds`` (s) is the duration of the comparison. Raises BagError if the file cannot be written, or exists and
    ``overwrite`` is False.
    """
    cases = []  # name, element, message, text
    if isinstance(outcome, BagError):
        cases.append(("bags", "error", str(outcome), str(outcome)))
    else:
        for topic in outcome.topics:
            table = "" if topic.matches else topic_table(topic)
            cases.append((topic.topic, "failure", table.split("\n", 1)[0], table))
        cases += [
            (
                name,
                "failure",
                f"{name}: not in both bags with the same type",
                str(outcome),
            )
            for name in outcome.alone
        ]
    suites = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(suites, "testsuite")
    ElementTree.SubElement(suite, "properties")
    for name, element, message, text in cases:
        case = ElementTree.SubElement(
            suite, "testcase", classname=_SUITE, name=_xml(name), time="0"
        )
        if text:
            ElementTree.SubElement(
                case, element, message=_xml(message), type=_TYPES[element]
            ).text = _xml(text)
    output = "" if isinstance(outcome, BagError) else str(outcome)
    ElementTree.SubElement(suite, "system-out").text = _xml(output)
    ElementTree.SubElement(suite, "system-err")
    suite.attrib.update(
        package="robot_dynamics",
        id="0",
        name=_SUITE,
        timestamp=datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S"),
        hostname="localhost",
        tests=str(len(cases)),
        failures=str(len(suite.findall("testcase/failure"))),
        errors=str(len(suite.findall("testcase/error"))),
        time=f"{seconds:.3f}",
    )
    ElementTree.indent(suites)
    try:
        with Path(path).open("wb" if overwrite else "xb") as file:
            ElementTree.ElementTree(suites).write(
                file, encoding="utf-8", xml_declaration=True
            )
    except OSError as error:
        raise BagError(f"{path}: {error.strerror}. Cure: name another file") from None


def _xml(text: str) -> str:
    return _INVALID_IN_XML.sub("?", text)
