"""SROS 2 policies (schema 0.2.0) read as what a node may do, and as DDS topics that an enclave may use."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[2]
POLICIES = ROOT / "config" / "sros2_policies.xml"

#: What an attribute of a list allows, as the graph names it.
KINDS = {
    "publish": "publisher",
    "subscribe": "subscriber",
    "reply": "service",
    "request": "client",
    "execute": "action server",
    "call": "action client",
}
_GOAL_SERVICES = ("send_goal", "cancel_goal", "get_result")
_GOAL_TOPICS = ("feedback", "status")


@dataclass(frozen=True)
class Enclave:
    """One enclave with one node: kind (see KINDS) -> full names."""

    path: str
    node: str
    allowed: dict[str, frozenset[str]]


def read_policies(file: Path = POLICIES) -> list[Enclave]:
    """Return the enclaves of a policy file; AssertionError for what is in none of ours, such as a DENY."""
    return [_enclave(element) for element in ElementTree.parse(file).getroot().iterfind("enclaves/enclave")]


def _enclave(element: ElementTree.Element) -> Enclave:
    (profile,) = element.iterfind("profiles/profile")
    node = profile.attrib["node"]
    allowed: dict[str, list[str]] = defaultdict(list)
    for group in profile:
        ((kind, rule),) = group.attrib.items()
        assert rule == "ALLOW", group.attrib
        allowed[KINDS[kind]] += [_full_name(str(item.text), profile.attrib["ns"], node) for item in group]
    for names in allowed.values():
        assert len(set(names)) == len(names), names
    return Enclave(element.attrib["path"], node, {kind: frozenset(names) for kind, names in allowed.items()})


def _full_name(name: str, namespace: str, node: str) -> str:
    root = namespace.rstrip("/") + "/"
    if name.startswith("/"):
        return name
    return root + node + name[1:] if name.startswith("~") else root + name


def dds_topics(enclave: Enclave) -> tuple[frozenset[str], frozenset[str]]:
    """Return the DDS topics that it may write and read (design.ros2.org/articles/topic_and_service_names.html)."""
    allowed = defaultdict(frozenset, enclave.allowed)
    served = allowed["service"] | {f"{name}/_action/{s}" for name in allowed["action server"] for s in _GOAL_SERVICES}
    told = allowed["publisher"] | {f"{name}/_action/{t}" for name in allowed["action server"] for t in _GOAL_TOPICS}
    called = {f"{name}/_action/{s}" for name in allowed["action client"] for s in _GOAL_SERVICES}
    heard = {f"{name}/_action/{t}" for name in allowed["action client"] for t in _GOAL_TOPICS}
    assert not allowed["client"]
    graph = {"ros_discovery_info"}  # by which the middleware tells who has which topic
    writes = {f"rt{name}" for name in told} | {f"rr{name}Reply" for name in served}
    reads = {f"rt{name}" for name in allowed["subscriber"] | heard} | {f"rq{name}Request" for name in served}
    writes |= {f"rq{name}Request" for name in called} | graph
    reads |= {f"rr{name}Reply" for name in called} | graph
    return frozenset(writes), frozenset(reads)
