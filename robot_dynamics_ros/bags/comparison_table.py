"""What differs between two recordings, in words and columns."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from robot_dynamics_ros.bags.differences import FieldDifference, Place
from robot_dynamics_ros.bags.topic_comparison import TopicDifference

_ROWS = 40
_LONG = 40


@dataclass(frozen=True)
class Comparison:
    """What differs between two recordings; ``str()`` is a table of it.

    Attributes
    ----------
    a, b
        The recordings.
    atol, rtol
        The tolerance: |a - b| <= atol + rtol |b|.
    topics
        What was compared.
    notes
        What was not, and what else there is to know.
    alone
        Topics that only one recording has, where these are differences.
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
        """Whether both have the same topics, and all match."""
        return not self.alone and all(topic.matches for topic in self.topics)

    @property
    def largest(self) -> float:
        """The largest difference of floating-point numbers."""
        return max((topic.largest for topic in self.topics), default=0.0)

    def __str__(self) -> str:
        return comparison_table(self)


def comparison_table(found: Comparison) -> str:
    """Return a verdict, what was left out, and for each topic a table of the fields that differ."""
    differing = [*(topic.topic for topic in found.topics if not topic.matches), *found.alone]
    count = sum(topic.count for topic in found.topics)
    within = f"atol {found.atol:g}, rtol {found.rtol:g}"
    verdict = f"these differ: {', '.join(differing)}" if differing else "they match"
    compared = f"{_count(count, 'pair')} of messages on {_count(len(found.topics), 'topic')}"
    lines = [f"A {found.a}", f"B {found.b}", f"{compared}, {within}: {verdict}"]
    lines += [f"note: {note}" for note in found.notes]
    for topic in found.topics:
        lines += ["", topic_table(topic)]
    return "\n".join(lines)


def topic_table(topic: TopicDifference) -> str:
    """Return what one topic holds, and a table of its fields that differ."""
    lines = [f"{topic.topic}: {_summary(topic)}"]
    for name, count, first in (("A", topic.only_a, topic.first_only_a), ("B", topic.only_b, topic.first_only_b)):
        if count and first is not None:
            lines.append(f"  {_count(count, 'message')} only in {name}, the first at {place(first)}")
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
        return "no two messages belong together" if topic.only_a or topic.only_b else "no messages"
    fields = f"{_count(topic.count, 'pair')} of {topic.kind}, {_count(len(topic.fields), 'field')}"
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
        numbers = "  ".join(f"{cell:>{width}}" for cell, width in zip(row[1:-1], widths[1:], strict=True))
        lines.append(f"  {row[0]:<{widths[0]}}  {numbers}  {row[-1]}".rstrip())
    return lines


def _cells(field: FieldDifference) -> tuple[str, ...]:
    where = [
        f"only in {name} in {_count(count, 'message')}"
        for name, count in (("A", field.only_a), ("B", field.only_b))
        if count
    ]
    if field.largest_at is not None:
        where.append(place(field.largest_at))
    if field.largest or field.beyond:
        where.append(f"A {value(field.a)}, B {value(field.b)}")
    if field.beyond > 1 and field.first_at is not None and field.first_at != field.largest_at:
        where.append(f"first at {place(field.first_at)}")
    largest = "" if field.largest is None else f"{field.largest:.4g}"
    rms = "" if field.rms is None else f"{field.rms:.4g}"
    return field.name, str(field.count), str(field.beyond), largest, rms, "; ".join(where)


def place(at: Place) -> str:
    """Return a place in words: seconds from the start, number of the message, stamp."""
    if at.a is None or at.b is None or at.a == at.b:
        number = f"message {at.b if at.a is None else at.a}"
    else:
        number = f"message {at.a} of A, {at.b} of B"
    parts = [f"{at.seconds:.6f} s", number]
    if at.element is not None:
        parts.append(f"element {at.element}")
    if at.stamp is not None:
        seconds, nanoseconds = divmod(at.stamp, 1_000_000_000)
        parts.append(f"stamp {seconds}.{nanoseconds:09d}")
    return ", ".join(parts)


def value(content: object) -> str:
    """Return a value in few characters, numbers with all their digits."""
    text = repr(content)
    return text if len(text) <= _LONG else text[: _LONG - 3] + "..."
