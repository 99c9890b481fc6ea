"""Comparing two recordings: topic by topic, joint by joint, aligned by the stamps of their messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from robot_dynamics_ros.bags.alignment import Times, align, paired
from robot_dynamics_ros.bags.comparison_table import Comparison
from robot_dynamics_ros.bags.contents import has_stamp, known
from robot_dynamics_ros.bags.differences import Tolerance
from robot_dynamics_ros.bags.message_types import TEXT
from robot_dynamics_ros.bags.reader import BagReader
from robot_dynamics_ros.bags.topic_comparison import FieldComparison, Places
from robot_dynamics_ros.errors import BagError
from robot_dynamics_ros.messages.renaming import renaming
from robot_dynamics_ros.parameters import configuration
from robot_dynamics_ros.progress import progress


def compare_bags(
    a: str | Path,
    b: str | Path,
    topics: Sequence[str] | None = None,
    atol: float = 0.0,
    rtol: float = 0.0,
    rename: Mapping[str, str] | None = None,
    common: bool = False,
) -> Comparison:
    """Compare two recordings, B with A as the rule |a - b| <= atol + rtol |b| says.

    Messages are paired by header.stamp, repeated stamps in their order; messages without a header by their order
    on the topic. When they arrived does not matter. JointState and JointTrajectory are compared joint by joint,
    whatever the order of the joints; texts and integers must be equal; NaN equals NaN. Topics, messages and fields
    that only one recording has are differences.

    Parameters
    ----------
    a, b
        The recordings, in any form that BagReader reads.
    topics
        What to compare, with or without the slash in front. Default: all topics but ~/configuration.
    atol, rtol
        Absolute tolerance, in the unit of each field, and relative tolerance.
    rename
        Old to new names or prefixes of joints, in both recordings.
    common
        Whether only topics and messages that both have are compared: one of them was recorded live, and recorders
        begin and end at one topic before another. Topics and numbers of the others are still reported.

    Raises
    ------
    BagError
        Where a recording cannot be read, or they have nothing that can be compared.
    """
    if not (atol >= 0.0 and rtol >= 0.0):
        raise BagError(f"tolerances {atol}, {rtol}: they must not be negative. Cure: give 0 or more")
    with BagReader(a) as reader_a, BagReader(b) as reader_b:
        names, alone, notes = _common(reader_a, reader_b, topics)
        times_a, times_b = _times(reader_a, names), _times(reader_b, names)
        if not any(len(times.values) for times in (*times_a.values(), *times_b.values())):
            raise BagError(f"{a}, {b}: no messages on {', '.join(names)}. Cure: name other topics to compare")
        tolerance, joints = Tolerance(atol, rtol), renaming(rename or {})
        found = []
        for name in names:
            times = times_a[name], times_b[name]
            pairs = align(*times)
            fields = FieldComparison(reader_a.topics[name], joints, tolerance)
            messages = paired(reader_a.messages([name]), reader_b.messages([name]), pairs)
            fields.add(progress(messages, name, len(pairs.a)))
            stamped = times[0].stamped
            starts = _start(times_a, stamped), _start(times_a if stamped else times_b, stamped)
            places = Places(pairs, (times[0].values, times[1].values), stamped, starts)
            found.append(fields.result(name, pairs, places, common))
        unknown = sorted({reader_a.topics[name] for name in names if not known(reader_a.topics[name])})
        notes += [f"{kind} is unknown: its messages are compared byte by byte" for kind in unknown]
        notes += [f"{topic.topic} has no stamps: paired by order" for topic in found if not topic.stamped]
    return Comparison(Path(a), Path(b), atol, rtol, tuple(found), tuple(notes), () if common else tuple(alone))


def assert_bags_match(
    a: str | Path,
    b: str | Path,
    *,
    topics: Sequence[str] | None = None,
    atol: float = 0.0,
    rtol: float = 0.0,
    common: bool = False,
) -> None:
    """Raise AssertionError, with a table of what differs, unless `compare_bags` finds that they match; for tests."""
    found = compare_bags(a, b, topics, atol, rtol, common=common)
    if not found.matches:
        raise AssertionError(str(found))


def _common(a: BagReader, b: BagReader, chosen: Sequence[str] | None) -> tuple[list[str], list[str], list[str]]:
    """Return the topics to compare, those that only one bag has, and notes on these."""
    if chosen is not None:
        chosen = [topic if topic in a.topics or topic.startswith("/") else f"/{topic}" for topic in chosen]
    for reader in (a, b):
        for topic in chosen or ():
            if topic not in reader.topics:
                there = ", ".join(sorted(reader.topics)) or "nothing"
                raise BagError(f"{reader.path}: no topic {topic}. Cure: choose from {there}")
    topics_a, topics_b = _motion_topics(a), _motion_topics(b)
    names = sorted(topics_a & topics_b) if chosen is None else list(dict.fromkeys(chosen))
    if not names:
        raise BagError(
            f"{a.path}, {b.path}: no topic in common. Cure: record the same topics ({', '.join(sorted(a.topics))})"
        )
    for name in names:
        if a.topics[name] != b.topics[name]:
            raise BagError(
                f"{b.path}: {name} holds {b.topics[name]}, but {a.topics[name]} in {a.path}. "
                "Cure: name other topics to compare"
            )
    alone, notes = [], []
    for reader, others in ((a, sorted(topics_a - topics_b)), (b, sorted(topics_b - topics_a))):
        if chosen is None and others:
            alone += others
            notes.append(f"only in {reader.path}: {', '.join(others)}")
    left_out = (a.topics.keys() | b.topics.keys()) - (topics_a | topics_b)
    notes += [f"{name} is not compared: it describes the controller" for name in sorted(left_out) if chosen is None]
    return names, alone, notes


def _motion_topics(reader: BagReader) -> set[str]:
    """Return all topics but those that describe the controller of the recording."""
    return {
        topic
        for topic, kind in reader.topics.items()
        if not (kind == TEXT and topic.rpartition("/")[2] == configuration.TOPIC)
    }


def _times(reader: BagReader, names: list[str]) -> dict[str, Times]:
    times = {name: Times(has_stamp(reader.topics[name])) for name in names}
    for message in progress(reader.messages(names), "aligning", reader.count(names)):
        try:
            times[message.topic].add(message)
        except ValueError as problem:
            raise BagError(f"{reader.path}: {message.topic}: {problem}. Cure: see what published it") from None
    return times


def _start(topics: Mapping[str, Times], stamped: bool) -> int:
    """Return the first time of all topics with stamps, or without; a stamp of zero stands for none."""
    times = [times.values for times in topics.values() if times.stamped == stamped]
    return min((int(some[some > 0].min()) for some in times if (some > 0).any()), default=0)
