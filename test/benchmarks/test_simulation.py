"""The benchmark of simulations: its robots, its comparisons and its tables, and a run of it in small."""

import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from arms import Arm, Joint, Link

from benchmarks import simulation, simulation_checks, simulation_peers
from benchmarks.monte_carlo import mujoco_many, our_many, spread
from benchmarks.robots import Robot
from benchmarks.simulation_checks import compare, creep, path
from benchmarks.simulation_peers import (
    HOLD,
    OVER,
    SETTINGS,
    STEP,
    SWING,
    Case,
    Setting,
    Simulator,
    load,
    ours,
    sticking,
    with_mujoco,
    with_pinocchio,
)
from benchmarks.simulation_tables import (
    MUJOCO_DEFAULT,
    MUJOCO_FAST,
    OURS,
    PINOCCHIO,
    RATIO_TARGETS,
    RK4,
    RK4_GENERAL,
    SEMI_IMPLICIT,
    SPEED_TARGETS,
    Facts,
    facts_table,
    missed,
    ratios,
    table,
)

ROOT = Path(__file__).resolve().parents[2]
MASS, LENGTH, GRAVITY = 2.0, 0.5, 9.81
INERTIA = np.diag([0.03, 0.04, 0.05])
# Hanging siblings that the peers sort the other way round, and one joint that is locked.
TREE = Arm(
    (Link("base"), *(Link(f"link{i}", 1.0 + i, (0.02, 0.01 * i, -0.3), INERTIA) for i in range(4))),
    (
        Joint("z", "revolute", "base", "link0", (0.2, 0, 0), (0.3, 0, 0), (0, 1, 0)),
        Joint("y", "revolute", "link0", "link1", (0, 0, -0.4), (0, 0, 0.4), (1, 0, 0)),
        Joint("finger", "revolute", "link1", "link2", (0, 0, -0.3)),
        Joint("x", "revolute", "base", "link3", (-0.2, 0, 0), (0.2, 0.1, 0), (1, 0, 0)),
    ),
)
PENDULUM = Arm(
    (Link("base"), Link("bob", MASS, (0, 0, -LENGTH), np.eye(3) * 1e-3)),
    (Joint("joint", "revolute", "base", "bob", axis=(0, 1, 0)),),
)


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Puts the tree in Panda's place, and takes only the general model: nothing is compiled for the robot."""
    put(TREE, tmp_path, monkeypatch, locked=("finger",))
    for module in (simulation, simulation_checks):
        monkeypatch.setattr(module, "OURS", {name: (integrator, False) for name, (integrator, _) in OURS.items()})
    return tmp_path


def put(arm: Arm, folder: Path, monkeypatch: pytest.MonkeyPatch, locked: tuple[str, ...] = ()) -> None:
    path = folder / "arm.urdf"
    path.write_text(arm.urdf, encoding="utf-8")
    monkeypatch.setattr(simulation_peers, "urdf_file", lambda robot: path)
    monkeypatch.setitem(simulation_peers.ROBOTS, "panda", Robot("Panda", "arm.urdf", locked))
    start = {name: 0.2 for name in arm.movable if name not in locked}
    monkeypatch.setitem(SETTINGS, "panda", Setting(0.5, 0.3, -GRAVITY, start))


def test_torque(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a pendulum: tau = m g l sin q0 + (OVER tau_c + SWING m g l cos q0) sin(2 pi 0.3 t), clipped to its effort."""
    effort = 2.5
    limit = f'<limit lower="-3" upper="3" effort="{effort}" velocity="9"/>'
    put(PENDULUM.with_joint("joint", limit=limit), tmp_path, monkeypatch)
    case = load("panda", tmp_path, 2.0)
    weight = MASS * GRAVITY * LENGTH
    amplitude = OVER * 0.3 + SWING * weight * math.cos(0.2)
    time = STEP * HOLD * np.arange(200)
    wanted = weight * math.sin(0.2) + amplitude * np.sin(2 * math.pi * 0.3 * time)
    assert wanted.max() > effort
    np.testing.assert_allclose(case.torque[:, 0], np.minimum(wanted, effort), rtol=1e-12)


def test_friction_is_in_every_library(small: Path) -> None:
    """The dynamics file's numbers: those of the model, and damping and frictionloss of MuJoCo's."""
    case, smooth = load("panda", small, 0.1), load("panda", small, 0.1, coulomb=False)
    assert case.model.joint_names == ("z", "y", "x")
    still = np.zeros(3)
    np.testing.assert_allclose(case.model.friction_torque(still, still + 2.0), 0.5 * 2.0 + 0.3)
    np.testing.assert_allclose(smooth.model.friction_torque(still, still + 2.0), 0.5 * 2.0)
    for each, coulomb in ((case, 0.3), (smooth, 0.0)):
        model = simulation_peers.mujoco_model(each, "RK4")
        assert model.nv == 3
        assert (model.dof_damping == 0.5).all()
        assert (model.dof_frictionloss == coulomb).all()


def test_libraries_simulate_the_same(small: Path) -> None:
    """RK4 of three libraries, joints matched by name, twice from the start: the same path to rounding."""
    case = load("panda", small, 1.0, coulomb=False)
    expected = path(ours(case, "rk4", customised=False), case)
    assert np.ptp(expected, axis=0).min() > 0.02
    for simulator in (with_mujoco(case, "RK4"), with_pinocchio(case)):
        for _ in range(2):
            np.testing.assert_allclose(path(simulator, case), expected, rtol=0, atol=1e-12)
    fast = path(with_mujoco(case, "implicitfast"), case)
    assert 1e-9 < np.max(np.abs(fast - expected)) < 1e-2


def test_loop_without_coulomb_friction(small: Path) -> None:
    with pytest.raises(ValueError, match="viscous friction only"):
        with_pinocchio(load("panda", small, 0.1))


def test_stops_joints(small: Path) -> None:
    """In the course of the torques joints start and stop, which the plant tells step by step."""
    changes, stuck = sticking(load("panda", small, 3.0))
    assert changes >= 5
    assert 0.01 < stuck < 0.9


def test_many_robots_simulate_the_same(small: Path) -> None:
    """Plants and rollout, with other masses, friction and starts for each: the same last positions to rounding."""
    case = load("panda", small, 0.3, coulomb=False)
    robots = spread(case, 5, seed=3)
    expected = mujoco_many(case, robots, "RK4")()
    run = our_many(case, robots, "rk4", customised=False)
    for _ in range(2):
        np.testing.assert_allclose(run(), expected, rtol=0, atol=1e-12)
    same = robots._replace(mass=np.ones(5), friction=np.ones(5))
    assert np.abs(mujoco_many(case, same, "RK4")() - expected).min(axis=1).max() > 1e-6


@pytest.mark.parametrize("wrong", [1e-6, np.nan])
def test_refuses_libraries_that_disagree(small: Path, wrong: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """One joint of one library a microradian off: nothing is timed."""

    def off(case: Case) -> Simulator:
        right = with_pinocchio(case)
        return right._replace(position=lambda: right.position() + [0.0, 0.0, wrong])

    monkeypatch.setattr(simulation_checks, "with_pinocchio", off)
    monkeypatch.setattr(simulation, "DURATION", 0.2)
    monkeypatch.setattr(simulation, "measure", lambda *_: pytest.fail("something was timed"))
    with pytest.raises(SystemExit, match=rf"panda: {PINOCCHIO} goes .* rad away .* Cure: "):
        simulation.run(["panda"])


@pytest.mark.parametrize("wrong", [pytest.param(1e-6, marks=pytest.mark.slow), np.nan])
def test_refuses_many_robots_that_disagree(small: Path, wrong: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation_checks, "MANY_DURATION", 0.05)
    simulation.check_many(small)
    monkeypatch.setattr(simulation_checks, "mujoco_many", lambda *given: lambda: mujoco_many(*given)() + wrong)
    with pytest.raises(SystemExit, match="20 robots: .* rad from MuJoCo's rollout.* Cure: "):
        simulation.check_many(small)


def test_compares_until_a_stop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pendulum that swings to its stop: the libraries may differ there; too early a stop is refused."""
    for upper, compared in ((0.4, True), (0.26, False)):
        limit = f'<limit lower="-3" upper="{upper}" effort="100" velocity="9"/>'
        put(PENDULUM.with_joint("joint", limit=limit), tmp_path, monkeypatch)
        case = load("panda", tmp_path, 2.0, coulomb=False)._replace(torque=np.full((200, 1), 6.0))
        simulations = {RK4: ours(case, "rk4", customised=False), PINOCCHIO: with_pinocchio(case)}
        if compared:
            seconds, distances = compare("panda", simulations, case, {PINOCCHIO: 1e-9})
            position = path(simulations[RK4], case)[:, 0]
            first = np.flatnonzero(position > upper - simulation_checks.NEAR)[0]
            assert position.max() == upper
            assert seconds == pytest.approx(STEP * HOLD * first)
            assert 0.1 < seconds < 1.0
            assert list(distances) == [PINOCCHIO]
        else:
            with pytest.raises(SystemExit, match=r"comes near its stop after 0\.\d+ s: too early.* Cure: "):
                compare("panda", simulations, case, {PINOCCHIO: 1e-9})


def test_drift(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A torque below what friction holds moves nothing of ours; MuJoCo's frictionloss creeps; too much slides."""
    monkeypatch.setattr(simulation_checks, "CREEP", 0.5)
    case = load("panda", small, 0.1)
    assert creep(ours(case, "rk4", customised=False), case) == 0.0
    assert creep(ours(case, "semi_implicit", customised=False), case) == 0.0
    assert creep(with_mujoco(case, "Euler"), case) > 1e-4
    monkeypatch.setattr(simulation_checks, "LOAD", 1.2)
    assert creep(ours(case, "rk4", customised=False), case) > 1e-4


def test_runs_start_anew(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every round goes on where the one before stopped, and every run of all torques begins with a reset."""
    log: list[Any] = []
    case = load("panda", small, 0.04)
    fake = Simulator(lambda: log.append("reset"), lambda tau, count: log.append((tau[0], count)), list, lambda x: x)
    monkeypatch.setattr(simulation, "simulators", lambda case: {"fake": fake})
    monkeypatch.setattr(simulation, "ROUNDS", 4)
    monkeypatch.setattr(simulation, "BLOCK", 2)
    speeds = simulation.measure(case, simulation.available_cores(1))
    one, two, three, four = ((tau, HOLD) for tau in case.torque[:, 0])
    run = ["reset", one, two, three, four]
    assert log == ["reset", one, two, *run, *run]
    assert speeds["fake"].shape == (4,)


def test_small_run(small: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The whole command, on one small robot, for a moment; what it prints is what it writes."""
    monkeypatch.setattr(simulation, "SETTINGS", {"panda": SETTINGS["panda"]})
    monkeypatch.setattr(simulation, "DURATION", 0.2)
    monkeypatch.setattr(simulation, "ROUNDS", 2)
    monkeypatch.setattr(simulation, "BLOCK", 10)
    monkeypatch.setattr(simulation, "PLANTS", 4)
    monkeypatch.setattr(simulation, "MANY_ROUNDS", 2)
    for module in (simulation, simulation_checks):
        monkeypatch.setattr(module, "MANY_DURATION", 0.03)
        monkeypatch.setattr(module, "CREEP", 0.1)
    document = small / "benchmarks.md"
    document.write_text("# A\n<!-- begin: simulation --><!-- end: simulation -->\n# B\n", encoding="utf-8")
    simulation.main(["--robots", "panda", "--write", str(document)])
    written, printed = document.read_text(encoding="utf-8"), capsys.readouterr().out
    assert printed.strip() in written
    titles = [line.split("|")[1].strip() for line in printed.splitlines() if line.startswith("| ")]
    for name in (*OURS, MUJOCO_FAST, PINOCCHIO, "ratio to MuJoCo's fastest", "simulated s of all together a second"):
        assert name in titles
    assert titles.count(PINOCCHIO) == 1  # not with Coulomb friction
    assert titles.count(RK4) == 5
    assert "| drift of rk4, customised in 0.1 s, rad" in printed


def test_tables() -> None:
    """Medians and quartiles; the mark for Panda alone; the ratio to MuJoCo's integrator with the highest median."""
    speeds = {
        robot: {
            SEMI_IMPLICIT: np.array([250.0, 290.0, 1000.0]),
            RK4: np.full(3, 150.0),
            RK4_GENERAL: np.full(3, 50.0),
            MUJOCO_FAST: np.array([90.0, 100.0, 300.0]),
            MUJOCO_DEFAULT: np.array([95.0, 99.0, 500.0]),
        }
        for robot in ("panda", "g1")
    }

    def cells(text: str) -> dict[str, list[str]]:
        rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()]
        return {row[0]: row[1:] for row in rows}

    shown = cells(table("times real time", speeds, SPEED_TARGETS))
    assert shown["times real time"] == ["must", "aim", "Panda", "G1"]
    assert shown[SEMI_IMPLICIT] == ["300", "1000", "**290** ✗ (270 to 645)", "**290** (270 to 645)"]
    assert shown[RK4] == ["100", "200", "**150** (150 to 150)", "**150** (150 to 150)"]
    assert shown[RK4_GENERAL] == ["", "", "**50.0** (50.0 to 50.0)", "**50.0** (50.0 to 50.0)"]
    assert cells(table("times real time", speeds, {}))[RK4] == ["**150** (150 to 150)"] * 2
    ratio = ratios(speeds["panda"])
    np.testing.assert_allclose(ratio[SEMI_IMPLICIT], [250 / 90, 2.9, 1000 / 300])
    assert set(ratio[MUJOCO_FAST]) == {1.0}
    shown = cells(table("ratio", {"panda": ratio}, RATIO_TARGETS, "×"))
    assert shown[SEMI_IMPLICIT] == ["2×", "5×", "**2.90×** (2.84 to 3.12)"]

    many = {SEMI_IMPLICIT: np.full(2, 2.5), MUJOCO_FAST: np.ones(2)}
    fact = Facts(10.0, 1e-13, 0.5, {SEMI_IMPLICIT: 4e-4}, 1234, 0.25, {RK4: 0.0, MUJOCO_DEFAULT: 0.3})
    assert missed(speeds, many, {"panda": fact}) == (
        "Missed (✗): semi_implicit, customised on Panda (290 times real time, must be 300); "
        "semi_implicit, customised on Panda (2.50× MuJoCo's rollout, must be 3)."
    )
    fine = {"panda": {**speeds["panda"], SEMI_IMPLICIT: np.full(3, 300.0)}}
    assert missed(fine, {}, {"panda": fact}) == "Everything is what it must be."
    drifting = fact._replace(creep={RK4: 1e-9, MUJOCO_DEFAULT: 0.3})
    assert missed(fine, {}, {"g1": drifting}) == "Missed (✗): rk4, customised on G1 (drifts, must not)."
    shown = cells(facts_table({"panda": fact, "g1": drifting}, 60.0, 10_000))
    assert shown["largest distance of any RK4 to ours, rad"] == ["1e-13", "1e-13"]
    assert shown["steps of 10,000 in which a joint starts or stops"] == ["1,234", "1,234"]
    assert shown["joints at rest by friction"] == ["25%", "25%"]
    assert shown["drift of rk4, customised in 60 s, rad"] == ["0", "1e-09 ✗"]
    assert shown["drift of MuJoCo Euler in 60 s, rad"] == ["0.3", "0.3"]


@pytest.mark.parametrize("busy", [1.0, 1.9])
def test_report_of_a_machine_that_was_not_quiet(busy: float) -> None:
    speeds = {name: np.ones(3) for name in (SEMI_IMPLICIT, MUJOCO_FAST)}
    fact = Facts(10.0, 1e-13, 0.5, {SEMI_IMPLICIT: 4e-4}, 1, 0.25, {RK4: 0.0})
    found = simulation.Measured({"panda": fact}, {"panda": speeds}, {"panda": speeds}, speeds, busy)
    assert ("run it again" in simulation.report(found)) == (busy < 1.5)
    assert "Pandas for" not in simulation.report(found._replace(many={}))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--robots", "talos"], "choose from"),
        (["--robots", "panda", "--write", "benchmarks.md"], "leave out --robots"),
        (["--write"], "expected one argument"),
    ],
)
def test_arguments_that_make_no_sense(
    arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(simulation, "run", lambda names: pytest.fail("it ran"))
    with pytest.raises(SystemExit):
        simulation.main(arguments)
    assert message in capsys.readouterr().err


def test_document_without_a_place_is_found_before_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "run", lambda names: pytest.fail("it ran"))
    with pytest.raises(SystemExit, match="Cure: a Markdown file with"):
        simulation.main(["--write", str(tmp_path / "benchmarks.md")])


@pytest.mark.parametrize("package", ["mujoco", "pinocchio"])
def test_library_that_is_not_there(package: str) -> None:
    """Said in one line, by what it is called."""
    code = f"import sys; sys.modules[{package!r}] = None; import benchmarks.simulation"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert re.search(rf"^The benchmark .* not installed: {package}\. Cure: pip install .*$", done.stderr.strip())


def test_real_robots_start_within_their_limits(tmp_path: Path) -> None:
    """And the joints that a setting names are there; MuJoCo's masses are the model's."""
    for name, setting in SETTINGS.items():
        case = load(name, tmp_path, 0.1)
        assert set(setting.start) <= set(case.model.joint_names)
        assert (case.start - case.model.position_lower >= simulation_checks.NEAR).all()
        assert (case.model.position_upper - case.start >= simulation_checks.NEAR).all()
        data = mujoco.MjData(model := simulation_peers.mujoco_model(case, "RK4"))
        data.qpos[:] = simulation_peers.mujoco_order(model, case)(case.start)
        mujoco.mj_forward(model, data)
        bias = simulation_peers.mujoco_order(model, case)(case.torque[0])
        np.testing.assert_allclose(data.qfrc_bias, bias, atol=1e-9)
