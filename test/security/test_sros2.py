"""The shipped SROS 2 policies: exactly what the nodes use over DDS, and a keystore whose signatures hold.

Not enforced here: the middleware of the wheels is built without security.
"""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from security.keystore import enclave_folder, make_keystore, openssl, signed_text
from security.policies import KINDS, Enclave, dds_topics, read_policies

ENCLAVES = {enclave.node: enclave for enclave in read_policies()}
#: What the nodes have only where control_msgs is installed.
CONTROL_MSGS = {
    "publisher": {"/computed_torque_node/controller_state"},
    "action server": {"/computed_torque_node/follow_joint_trajectory"},
    "action client": {"/computed_torque_node/follow_joint_trajectory"},
}
DOMAIN = 7


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, dict[str, set[str]]]]:
    """What each node has by the graph, with all that a parameter can add: kind -> names."""
    pytest.importorskip("rclpy")
    from integration.ros import PLANAR, Graph

    with Graph(tmp_path_factory.mktemp("graph")) as nodes:
        urdf = {"robot_description": PLANAR["robot_description"]}
        nodes.start("simulation_node", {**urdf, "publish_clock": True})
        nodes.start("computed_torque_node", {**PLANAR, "use_sim_time": True})
        to_controller = "joint_trajectory:=computed_torque_node/joint_trajectory"
        nodes.start("trajectory_node", {"listeners": ["nobody"], "use_sim_time": True}, "-r", to_controller)
        nodes.wait(lambda: set(ENCLAVES) <= set(nodes.client.get_node_names()), "the nodes")
        found: dict[str, dict[str, set[str]]] = {}

        def same_as_before() -> bool:
            """Discovery comes to rest."""
            before = dict(found)
            nodes.settle(1.0)
            found.update({node: _interfaces(nodes.client, node) for node in ENCLAVES})
            plant, controller = (found[node]["publisher"] for node in ("simulation_node", "computed_torque_node"))
            return found == before and "/joint_states" in plant and "/effort_commands" in controller

        nodes.wait(same_as_before, "the nodes to be connected")
        yield found


def _interfaces(client: Any, node: str) -> dict[str, set[str]]:
    found = {}
    for kind in ("publisher", "subscriber", "service", "client"):
        listed = getattr(client, f"get_{kind}_names_and_types_by_node")(node, "/")
        found[kind] = {name for name, _ in listed if "/_action/" not in name}
    for kind in ("server", "client"):
        from rclpy import action

        listed = getattr(action, f"get_action_{kind}_names_and_types_by_node")(client, node, "/")
        found[f"action {kind}"] = {name for name, _ in listed}
    return found


@pytest.mark.parametrize("node", ENCLAVES)
@pytest.mark.parametrize("kind", KINDS.values())
def test_policies_allow_what_the_nodes_have_and_no_more(
    node: str, kind: str, graph: dict[str, dict[str, set[str]]]
) -> None:
    allowed = set(ENCLAVES[node].allowed.get(kind, ()))
    optional = CONTROL_MSGS.get(kind, set()) & allowed
    assert graph[node][kind] | optional == allowed


def test_only_the_three_nodes() -> None:
    assert set(ENCLAVES) == {"computed_torque_node", "simulation_node", "trajectory_node"}
    assert all(enclave.path == f"/{node}" for node, enclave in ENCLAVES.items())
    assert dict(CONTROL_MSGS)["publisher"] <= ENCLAVES["computed_torque_node"].allowed["publisher"]


def test_only_the_controller_may_command() -> None:
    """Whoever may write these moves the arm."""
    for topic in ("rt/effort_commands", "rt/computed_torque_node/command_states"):
        assert [node for node, enclave in ENCLAVES.items() if topic in dds_topics(enclave)[0]] == [
            "computed_torque_node"
        ]


# The keystore


@pytest.fixture(scope="module")
def keystore(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl")
    return make_keystore(tmp_path_factory.mktemp("keystore") / "keystore", list(ENCLAVES.values()), DOMAIN)


@pytest.fixture(params=ENCLAVES.values(), ids=lambda enclave: enclave.node)
def enclave(request: pytest.FixtureRequest) -> Enclave:
    return request.param  # type: ignore[no-any-return]


def test_identities_are_signed(keystore: Path, enclave: Enclave) -> None:
    own = enclave_folder(keystore, enclave)
    assert "OK" in openssl("verify", "-CAfile", own / "identity_ca.cert.pem", own / "cert.pem")
    subject = openssl("x509", "-in", own / "cert.pem", "-noout", "-subject", "-nameopt", "RFC2253")
    assert subject.strip() == f"subject=CN={enclave.path}"
    public = openssl("x509", "-in", own / "cert.pem", "-noout", "-pubkey")
    assert public == openssl("pkey", "-in", own / "key.pem", "-pubout")
    with pytest.raises(subprocess.CalledProcessError):  # the other authority has not
        openssl("verify", "-CAfile", own / "permissions_ca.cert.pem", own / "cert.pem")


def test_permissions_are_signed(keystore: Path, enclave: Enclave) -> None:
    own = enclave_folder(keystore, enclave)
    text = signed_text(keystore, own / "permissions.p7s")
    assert text.replace("\r\n", "\n").strip() == (own / "permissions.xml").read_text(encoding="utf-8").strip()
    (grant,) = ElementTree.fromstring(text).iterfind("permissions/grant")
    assert grant.findtext("subject_name") == f"CN={enclave.path}" and grant.findtext("default") == "DENY"
    (rule,) = grant.iterfind("allow_rule")
    assert rule.findtext("domains/id") == str(DOMAIN)
    found = [{str(topic.text) for topic in rule.iterfind(f"{way}/topics/topic")} for way in ("publish", "subscribe")]
    assert tuple(map(frozenset, found)) == dds_topics(enclave)


def test_changed_permissions_are_refused(keystore: Path, enclave: Enclave, tmp_path: Path) -> None:
    text = (enclave_folder(keystore, enclave) / "permissions.p7s").read_text(encoding="utf-8")
    changed = tmp_path / "changed.p7s"
    changed.write_text(text.replace("<topic>rt/rosout", "<topic>rt/*"), encoding="utf-8")
    assert changed.read_text(encoding="utf-8") != text
    with pytest.raises(subprocess.CalledProcessError, match="smime"):
        signed_text(keystore, changed)


def test_another_authority_is_refused(keystore: Path, enclave: Enclave, tmp_path: Path) -> None:
    other = make_keystore(tmp_path / "other", [enclave], DOMAIN)
    with pytest.raises(subprocess.CalledProcessError, match="smime"):
        signed_text(keystore, enclave_folder(other, enclave) / "permissions.p7s")


def test_governance_asks_for_everything(keystore: Path, enclave: Enclave) -> None:
    """No unauthenticated participant, permissions checked, everything encrypted."""
    rule = ElementTree.fromstring(signed_text(keystore, enclave_folder(keystore, enclave) / "governance.p7s"))[0][0]
    assert rule.findtext("allow_unauthenticated_participants") == "false"
    assert rule.findtext("enable_join_access_control") == "true"
    (topics,) = rule.iterfind("topic_access_rules/topic_rule")
    assert topics.findtext("topic_expression") == "*"
    assert {topics.findtext(f"enable_{way}_access_control") for way in ("read", "write")} == {"true"}
    assert topics.findtext("data_protection_kind") == "ENCRYPT"


def test_keys_are_for_their_owner_only(keystore: Path) -> None:
    keys = [*keystore.rglob("*key.pem")]
    assert len(keys) == 2 + len(ENCLAVES) and all(key.stat().st_mode & 0o077 == 0 for key in keys)
