"""A keystore as `ros2 security` makes it, by openssl: authorities, and for each enclave a key and signed permissions.

Certificates, file names and the two documents follow DDS Security 1.1, 9.4.1 and sros2.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from xml.etree import ElementTree

from security.policies import Enclave, dds_topics

_DAYS = 3650
_RULES = {
    "allow_unauthenticated_participants": "false",
    "enable_join_access_control": "true",
    "discovery_protection_kind": "ENCRYPT",
    "liveliness_protection_kind": "ENCRYPT",
    "rtps_protection_kind": "SIGN",
}
_TOPIC_RULES = {
    "topic_expression": "*",
    "enable_discovery_protection": "true",
    "enable_liveliness_protection": "true",
    "enable_read_access_control": "true",
    "enable_write_access_control": "true",
    "metadata_protection_kind": "ENCRYPT",
    "data_protection_kind": "ENCRYPT",
}


def make_keystore(folder: Path, enclaves: list[Enclave], domain: int) -> Path:
    """Make a keystore for these enclaves in a ROS domain, and return its folder."""
    for part in ("public", "private", "enclaves"):
        (folder / part).mkdir(parents=True, mode=0o700)
    for authority in ("identity_ca", "permissions_ca"):
        _authority(folder, authority)
    governance = folder / "enclaves" / "governance.xml"
    _write(governance, _governance(domain))
    _sign(folder, governance)
    for enclave in enclaves:
        _make_enclave(folder, enclave, domain)
    return folder


def openssl(*arguments: str | Path) -> str:
    """Run openssl and return what it prints; CalledProcessError where it fails."""
    line = ["openssl", *map(str, arguments)]
    return subprocess.run(line, check=True, capture_output=True, text=True).stdout


def signed_text(keystore: Path, signed: Path) -> str:
    """Return what a .p7s file holds; CalledProcessError where the keystore's authority has not signed it."""
    authority = keystore / "public" / "permissions_ca.cert.pem"
    return openssl("smime", "-verify", "-text", "-in", signed, "-CAfile", authority)


def enclave_folder(keystore: Path, enclave: Enclave) -> Path:
    """Where an enclave's files are."""
    return keystore / "enclaves" / enclave.path.strip("/")


def _authority(folder: Path, name: str) -> None:
    key, certificate = folder / "private" / f"{name}.key.pem", folder / "public" / f"{name}.cert.pem"
    _new_key(key)
    openssl("req", "-x509", "-new", "-sha256", "-key", key, "-subj", f"/CN={name}", "-days", str(_DAYS),
            "-out", certificate)  # fmt: skip


def _make_enclave(folder: Path, enclave: Enclave, domain: int) -> None:
    own = enclave_folder(folder, enclave)
    own.mkdir(parents=True, mode=0o700)
    _new_key(own / "key.pem")
    request = own / "request.pem"
    # In openssl's notation a slash within a name has to be escaped.
    subject = "/CN=" + enclave.path.replace("/", "\\/")
    openssl("req", "-new", "-sha256", "-key", own / "key.pem", "-subj", subject, "-out", request)
    public, private = folder / "public", folder / "private"
    openssl("x509", "-req", "-sha256", "-in", request, "-CA", public / "identity_ca.cert.pem",
            "-CAkey", private / "identity_ca.key.pem", "-set_serial", f"0x{os.urandom(16).hex()}",
            "-days", str(_DAYS), "-out", own / "cert.pem")  # fmt: skip
    request.unlink()
    _write(own / "permissions.xml", _permissions(enclave, domain))
    _sign(folder, own / "permissions.xml")
    for linked in (public / "identity_ca.cert.pem", public / "permissions_ca.cert.pem",
                   folder / "enclaves" / "governance.p7s"):  # fmt: skip
        (own / linked.name).symlink_to(os.path.relpath(linked, own))


def _new_key(path: Path) -> None:
    path.touch(mode=0o600)
    openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", path)


def _sign(folder: Path, document: Path) -> None:
    openssl("smime", "-sign", "-text", "-md", "sha256", "-in", document, "-out", document.with_suffix(".p7s"),
            "-signer", folder / "public" / "permissions_ca.cert.pem",
            "-inkey", folder / "private" / "permissions_ca.key.pem")  # fmt: skip


def _governance(domain: int) -> ElementTree.Element:
    root = ElementTree.Element("dds")
    rule = ElementTree.SubElement(ElementTree.SubElement(root, "domain_access_rules"), "domain_rule")
    _add_domain(rule, domain)
    _add_texts(rule, _RULES)
    _add_texts(ElementTree.SubElement(ElementTree.SubElement(rule, "topic_access_rules"), "topic_rule"), _TOPIC_RULES)
    return root


def _permissions(enclave: Enclave, domain: int) -> ElementTree.Element:
    root = ElementTree.Element("dds")
    grant = ElementTree.SubElement(ElementTree.SubElement(root, "permissions"), "grant", name=enclave.path)
    _add_texts(grant, {"subject_name": f"CN={enclave.path}"})
    validity = ElementTree.SubElement(grant, "validity")
    _add_texts(validity, {"not_before": "2026-01-01T00:00:00", "not_after": "2036-01-01T00:00:00"})
    rule = ElementTree.SubElement(grant, "allow_rule")
    _add_domain(rule, domain)
    for way, topics in zip(("publish", "subscribe"), dds_topics(enclave), strict=True):
        parent = ElementTree.SubElement(ElementTree.SubElement(rule, way), "topics")
        for topic in sorted(topics):
            ElementTree.SubElement(parent, "topic").text = topic
    _add_texts(grant, {"default": "DENY"})
    return root


def _add_domain(parent: ElementTree.Element, domain: int) -> None:
    _add_texts(ElementTree.SubElement(parent, "domains"), {"id": str(domain)})


def _add_texts(parent: ElementTree.Element, texts: dict[str, str]) -> None:
    for tag, text in texts.items():
        ElementTree.SubElement(parent, tag).text = text


def _write(path: Path, root: ElementTree.Element) -> None:
    ElementTree.indent(root)
    ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)
