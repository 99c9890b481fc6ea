"""YAML as plain data: no object tags, no repeated keys, no nesting or aliases that would exhaust the memory."""

from __future__ import annotations

import re
import warnings
from collections.abc import Hashable, Iterable
from typing import Any

import yaml

from robot_dynamics_ros.errors import RobotModelWarning

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast, where it was built
_DEEPEST = 32
_MERGE = "tag:yaml.org,2002:merge"
_REPEATED = 100_000  # values that aliases may stand for
_INTEGER = "tag:yaml.org,2002:int"
_OTHER_BASE = re.compile(r"[-+]?(0[0-7_]+|[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?)")
_LONGEST_INTEGER = 1000  # characters; YAML's base 60, as in 1:30:00, takes the square of them


class NotPlainYaml(ValueError):
    """Text that is no YAML, or more than plain data; the message is one line."""


class _Loader(_LOADER):  # type: ignore[misc]
    """Loader that reads 1e-3 as a number, as ROS does, and refuses a repeated key."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Refuse a repeated key, then construct as usual."""
        seen = set()
        for key_node, _ in node.value:
            if key_node.tag == _MERGE:
                continue
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, Hashable):
                if key in seen:
                    raise NotPlainYaml(f"key {key!r} is defined twice, {_place(key_node.start_mark)}")
                seen.add(key)
        table: dict[Any, Any] = super().construct_mapping(node, deep)
        return table


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)[eE][-+]?\d+$"), list("-+0123456789.")
)


def load_yaml(data: bytes | str, source: str | None = None) -> Any:
    """Return the value of the only document of ``data``; None without one. Raises NotPlainYaml for anything else.

    Where ``source`` is given, numbers that YAML 1.1 does not read in base 10 cause a RobotModelWarning, naming it.
    """
    documents = load_documents(data, source)
    if len(documents) > 1:
        raise NotPlainYaml(f"{len(documents)} documents, where one is expected")
    return documents[0] if documents else None


def load_documents(data: bytes | str, source: str | None = None) -> list[Any]:
    """Return the values of the documents of ``data``, divided by lines of ---; raises NotPlainYaml as ``load_yaml``."""
    try:
        _check_events(yaml.parse(data, Loader=_LOADER), source)
        loader = _Loader(data)
        try:
            documents = []
            while loader.check_node():
                node = loader.get_node()
                sizes: dict[int, int] = {}
                if _size(node, sizes) > len(sizes) + _REPEATED:
                    raise NotPlainYaml("its aliases stand for too many values")
                documents.append(loader.construct_document(node))
            return documents
        finally:
            loader.dispose()
    except NotPlainYaml:
        raise
    except (yaml.YAMLError, ValueError, TypeError, OverflowError, RecursionError) as error:
        # ValueError: e.g. an impossible date. TypeError: a list as a key.
        raise NotPlainYaml(" ".join(str(error).split())) from None
    except (AttributeError, LookupError):  # so PyYAML fails at !!bool maybe
        raise NotPlainYaml(
            "a value that is not of the type which its tag names. Leave out the tag, as in !!bool"
        ) from None


def _check_events(events: Iterable[yaml.Event], source: str | None) -> None:
    """Refuse deep nesting, whose composition would overflow the stack, and warn of numbers in other bases."""
    depth = 0
    for event in events:
        if source is not None and isinstance(event, yaml.ScalarEvent) and event.implicit[0]:
            if _OTHER_BASE.fullmatch(event.value):
                warnings.warn(
                    f"{source}: {event.value}, {_place(event.start_mark)}: YAML 1.1 reads this in base "
                    f"{60 if ':' in event.value else 8}. Cure: write the number in base 10, or a text in quotes",
                    RobotModelWarning,
                    stacklevel=7,
                )
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _DEEPEST:
                raise NotPlainYaml(f"nested deeper than {_DEEPEST} levels, {_place(event.start_mark)}")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _size(node: yaml.Node, known: dict[int, int]) -> int:
    """Return the number of values of a node with every alias written out."""
    size = known.get(id(node))
    if size is None:
        known[id(node)] = 0
        if node.tag == _INTEGER and len(node.value) > _LONGEST_INTEGER:
            raise NotPlainYaml(f"an integer of {len(node.value)} characters, {_place(node.start_mark)}")
        children = node.value if isinstance(node, yaml.CollectionNode) else []
        if isinstance(node, yaml.MappingNode):
            children = [part for pair in children for part in pair]
        size = known[id(node)] = 1 + sum(_size(child, known) for child in children)
    if size == 0:
        raise NotPlainYaml(f"an alias within what it stands for, {_place(node.start_mark)}")
    return size


def _place(mark: Any) -> str:
    return f"line {mark.line + 1}, column {mark.column + 1}"
