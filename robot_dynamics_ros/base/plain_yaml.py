"""YAML reader for plain data.

Plain data is mappings, lists and scalars, among them dates. Object tags and repeated keys are rejected, and so are
nesting depths above 32 and alias expansions that would exhaust memory.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Hashable, Iterable
from typing import Any

import yaml

from robot_dynamics_ros.base import thresholds
from robot_dynamics_ros.base.errors import RobotModelWarning

# ten times as fast, if PyYAML has it
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MERGE = "tag:yaml.org,2002:merge"
_INTEGER = "tag:yaml.org,2002:int"
_OTHER_BASE = re.compile(r"[-+]?(0[0-7_]+|[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?)")


class NotPlainYaml(ValueError):
    """Text that is not valid YAML, or YAML that is not plain data. The message is one line without the file's name."""


class _Loader(_LOADER):  # type: ignore[misc]
    """Loader that reads 1e-3 as a number, as ROS does, and rejects repeated keys."""

    def construct_mapping(
        self, node: yaml.MappingNode, deep: bool = False
    ) -> dict[Any, Any]:
        """Reject a repeated key, then construct the mapping."""
        seen = set()
        for key_node, _ in node.value:
            if key_node.tag == _MERGE:
                continue
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, Hashable):
                if key in seen:
                    raise NotPlainYaml(
                        f"key {key!r} is defined twice, {_place(key_node.start_mark)}"
                    )
                seen.add(key)
        table: dict[Any, Any] = super().construct_mapping(node, deep)
        return table


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)[eE][-+]?\d+$"),
    list("-+0123456789."),
)


def load_yaml(data: bytes | str, source: str | None = None) -> Any:
    """Return the value of the single YAML document in ``data``, or None if there is none.

    Parameters
    ----------
    data
        YAML text, or its bytes.
    source
        Name of the file for warnings. If given, integers that YAML 1.1 reads in base 8 or 60 cause a
        RobotModelWarning.

    Raises
    ------
    NotPlainYaml
        If ``data`` has more than one document, is not valid YAML or is more than plain data.
    """
    documents = load_documents(data, source)
    if len(documents) > 1:
        raise NotPlainYaml(f"{len(documents)} documents instead of one")
    return documents[0] if documents else None


def load_documents(data: bytes | str, source: str | None = None) -> list[Any]:
    """Return the values of all YAML documents in ``data``, which lines of --- separate; an empty list if there is none.

    ``source`` is the name of the file for warnings, None for no warnings: integers that YAML 1.1 reads in base 8 or 60
    cause a RobotModelWarning. Raises NotPlainYaml if ``data`` is not valid YAML or is not plain data.
    """
    try:
        _check_events(yaml.parse(data, Loader=_LOADER), source)
        loader = _Loader(data)
        try:
            documents = []
            while loader.check_node():
                node = loader.get_node()
                sizes: dict[int, int] = {}
                if _size(node, sizes) > len(sizes) + thresholds.MOST_REPEATED:
                    raise NotPlainYaml("aliases expand to too many values")
                documents.append(loader.construct_document(node))
            return documents
        finally:
            loader.dispose()
    except NotPlainYaml:
        raise
    except (
        yaml.YAMLError,
        ValueError,
        TypeError,
        OverflowError,
        RecursionError,
    ) as error:
        # ValueError: for example an impossible date. TypeError: a list as a key.
        raise NotPlainYaml(" ".join(str(error).split())) from None
    except (AttributeError, LookupError):
        # Raised by PyYAML for a tag such as !!bool on another type.
        raise NotPlainYaml(
            "a value does not have the type of its tag. Leave out tags such as !!bool"
        ) from None


def _check_events(events: Iterable[yaml.Event], source: str | None) -> None:
    """Reject deep nesting, which would overflow the stack, and warn of integers in other bases."""
    depth = 0
    for event in events:
        if (
            source is not None
            and isinstance(event, yaml.ScalarEvent)
            and event.implicit[0]
        ):
            if _OTHER_BASE.fullmatch(event.value):
                warnings.warn(
                    f"{source}: {event.value}, {_place(event.start_mark)}: YAML 1.1 reads this as a number in base "
                    f"{60 if ':' in event.value else 8}. Cure: write the number in base 10, or put text in quotes",
                    RobotModelWarning,
                    stacklevel=7,
                )
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > thresholds.DEEPEST_YAML:
                raise NotPlainYaml(
                    f"nested deeper than {thresholds.DEEPEST_YAML} levels, {_place(event.start_mark)}"
                )
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _size(node: yaml.Node, known: dict[int, int]) -> int:
    """Return the number of values in a node after expansion of all aliases."""
    size = known.get(id(node))
    if size is None:
        known[id(node)] = 0
        if node.tag == _INTEGER and len(node.value) > thresholds.LONGEST_INTEGER:
            raise NotPlainYaml(
                f"an integer of {len(node.value)} characters, {_place(node.start_mark)}"
            )
        children = node.value if isinstance(node, yaml.CollectionNode) else []
        if isinstance(node, yaml.MappingNode):
            children = [part for pair in children for part in pair]
        size = known[id(node)] = 1 + sum(_size(child, known) for child in children)
    if size == 0:
        raise NotPlainYaml(f"an alias inside its own anchor, {_place(node.start_mark)}")
    return size


def _place(mark: Any) -> str:
    return f"line {mark.line + 1}, column {mark.column + 1}"
