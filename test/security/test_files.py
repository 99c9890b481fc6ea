"""URDFs, dynamics and parameter files made to do harm: refused at once, with nothing opened, run or filled."""

import ast
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest
from fuzz.trial import no_file_is_opened

from robot_dynamics_ros import RobotDynamicsError, RobotModel, RobotModelError
from robot_dynamics_ros.control.trajectory_file import read_trajectory_file
from robot_dynamics_ros.parameters import controller
from robot_dynamics_ros.parameters.file import read_parameter_file

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "robot_dynamics_ros"
SOON = 10.0  # s, for what takes milliseconds


@contextmanager
def soon() -> Iterator[None]:
    start = time.monotonic()
    yield
    assert time.monotonic() - start < SOON


ARM = '<robot name="r"><link name="a"/>{}</robot>'
LAUGHS = "".join(f'<!ENTITY e{k} "{f"&e{k - 1};" * 10}">' for k in range(1, 12))


@pytest.mark.parametrize(
    "text",
    [
        f'<!DOCTYPE robot [<!ENTITY e0 "ha">{LAUGHS}]>' + ARM.format("&e11;"),
        '<!DOCTYPE robot [<!ENTITY x SYSTEM "file:///etc/passwd">]>' + ARM.format("&x;"),
        '<!DOCTYPE robot [<!ENTITY % x SYSTEM "http://127.0.0.1:9/x"> %x;]>' + ARM.format(""),
        '<!DOCTYPE robot SYSTEM "file:///etc/passwd">' + ARM.format(""),
        f'<!DOCTYPE robot [<!ENTITY q "{"q" * 100_000}">]>' + ARM.format("&q;" * 10_000),
        '<!DOCTYPE robot [<!ATTLIST link name CDATA "b">]>' + ARM.format(""),
    ],
    ids=["laughs", "file", "network", "external", "quadratic", "default"],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_entities(text: str, encoding: str) -> None:
    with soon(), no_file_is_opened(), pytest.raises(RobotModelError, match="document types and entities are refused"):
        RobotModel.from_urdf(text.encode(encoding))


pytestmark = pytest.mark.filterwarnings("ignore::robot_dynamics_ros.errors.RobotModelWarning")


def test_an_include_is_no_more_than_an_unknown_tag() -> None:
    include = '<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="file:///etc/passwd" parse="text"/>'
    arm = ARM.format('<link name="b"/>' + JOINT + "{}")
    RobotModel.from_urdf(arm.format(""))  # imports what it needs
    with no_file_is_opened():
        model = RobotModel.from_urdf(arm.format(include))
    assert model.joint_names == ("j",)


JOINT = '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>'


@pytest.mark.parametrize("name", ["/etc/passwd", "file:///etc/passwd", "package://x/../../../etc/passwd", "//host/x"])
def test_files_that_a_urdf_names_stay_shut(name: str) -> None:
    RobotModel.from_urdf(ARM.format('<link name="b"/>' + JOINT))  # imports what it needs
    mesh = f'<link name="b"><visual><geometry><mesh filename="{name}"/></geometry></visual></link>'
    with no_file_is_opened():
        assert RobotModel.from_urdf(ARM.format(mesh + JOINT)).n == 1


@pytest.mark.parametrize(
    "text",
    ["<a>" * 300_000, ARM.format("<a>" * 50_000 + "</a>" * 50_000), ARM.format("<visual/>" * 300_000)],
    ids=["open", "deep", "many"],
)
def test_large_urdfs(text: str) -> None:
    with soon(), pytest.raises(RobotModelError):
        RobotModel.from_urdf(text)


YAML = {
    "object": "!!python/object/apply:os.system ['touch {}']",
    "module": "!!python/module:os",
    "bomb": "a0: &a0 [1, 1]\n" + "\n".join(f"a{k}: &a{k} [*a{k - 1}, *a{k - 1}]" for k in range(1, 60)),
    "deep": "[" * 100_000,
}


@pytest.mark.parametrize("kind", YAML)
@pytest.mark.parametrize("what", ["dynamics", "parameters", "trajectory"])
def test_yaml(kind: str, what: str, tmp_path: Path) -> None:
    """Tags that make Python objects are refused wherever YAML is read, and so is what would fill the memory."""
    made, file = tmp_path / "made", tmp_path / "file.yaml"
    file.write_text(YAML[kind].replace("{}", str(made)), encoding="utf-8")
    with soon(), pytest.raises(RobotDynamicsError, match="Cure: "):
        if what == "dynamics":
            RobotModel.from_urdf_file(ROOT / "urdf" / "panda.urdf", dynamics=file)
        elif what == "parameters":
            read_parameter_file(file, "/computed_torque_node", controller.ALL)
        else:
            read_trajectory_file(file)
    assert not made.exists()


# The sources

LOADERS = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "joblib", "marshal", "shelve", "jsonpickle"}
#: Runs the source that codegen has written for a robot's numbers: tokens that codegen itself chooses, and no text of a
#: file. test_generated_source_has_no_names_of_the_robot holds it to that.
EXEC = {("kernels/compilation.py", "exec"), ("kernels/compilation.py", "compile")}


@cache
def _sources() -> list[tuple[str, ast.Module]]:
    paths = sorted(PACKAGE.rglob("*.py"))
    return [(str(path.relative_to(PACKAGE)), ast.parse(path.read_text(encoding="utf-8"))) for path in paths]


def test_nothing_is_unpickled() -> None:
    """No module of the package loads objects; numba's cache of compiled kernels does, see docs/security.md."""
    for name, tree in _sources():
        for node in ast.walk(tree):
            imported = []
            if isinstance(node, ast.Import):
                imported = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                imported = [str(node.module)]
            assert not {module.partition(".")[0] for module in imported} & LOADERS, (name, node.lineno)
            assert not (isinstance(node, ast.keyword) and node.arg == "allow_pickle"), (name, node)


def test_no_text_is_run() -> None:
    """eval, exec, compile and shells: nowhere, but for the generated kernels."""
    found = set()
    for name, tree in _sources():
        for call in [node for node in ast.walk(tree) if isinstance(node, ast.Call)]:
            function = ast.unparse(call.func)
            if function in ("eval", "exec", "compile", "__import__", "os.system", "os.popen"):
                found.add((name, function))
            assert not any(word.arg == "shell" for word in call.keywords), (name, call.lineno)
            assert function not in ("yaml.load", "yaml.full_load", "yaml.unsafe_load"), (name, call.lineno)
    assert found == EXEC


def test_yaml_is_read_in_one_place() -> None:
    """By plain_yaml; the demo's one is the package's own config/, and what is written needs no such care."""
    readers = {
        name
        for name, tree in _sources()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and ast.unparse(node) in ("yaml.safe_load", "yaml.parse", "yaml.SafeLoader")
    }
    assert readers == {"plain_yaml.py", "cli/demo.py"}


def test_generated_source_has_no_names_of_the_robot(monkeypatch: pytest.MonkeyPatch) -> None:
    """A joint called like a statement reaches no source."""
    from robot_dynamics_ros.kernels import compilation

    written: list[str] = []
    monkeypatch.setattr(compilation, "load_source", _stop(written))
    for module in [m for m in list(sys.modules.values()) if getattr(m, "load_source", None) is not None]:
        monkeypatch.setattr(module, "load_source", _stop(written))
    urdf = (ROOT / "urdf" / "planar_2r.urdf").read_text(encoding="utf-8")
    for name in ("joint1", "planar_2r", "link1"):
        urdf = urdf.replace(f'"{name}"', f'"x\n    raise SystemExit({name})"')
    model = RobotModel.from_urdf(urdf)
    assert any("SystemExit" in name for name in model.joint_names)
    with pytest.raises(_Stop):
        model.customised().inverse_dynamics([0.0, 0.0], [0.0, 0.0], [0.0, 0.0])
    assert written and not any("SystemExit" in source for source in written)


class _Stop(Exception):
    pass


def _stop(written: list[str]) -> object:
    def load_source(source: str, name: str) -> None:
        written.extend((source, name))
        raise _Stop

    return load_source
