"""Battery of faults: the plant against closed forms and energy, the judge on made-up runs, and repeated runs."""

from pathlib import Path

import numpy as np
import pytest

from robot_dynamics_ros.base.joint_messages import DriveCommand
from support.arms import Array
from tools.fault_battery import hardware, signals
from tools.fault_battery.__main__ import as_json, case_of, drawn, execute, main, matrix
from tools.fault_battery.arms import ARMS, COUPLED, load
from tools.fault_battery.judge import Verdict, judge
from tools.fault_battery.kinds import ALSO_HEALTHY, HEALTHY, KINDS
from tools.fault_battery.parameter_sets import SETS
from tools.fault_battery.plant import CoupledPlant, Plant, solve_box
from tools.fault_battery.run import BASIS, Fault, Hook, Kind, Record, Run

INERTIA = 0.5  # kg m^2
FRICTION = 2.0  # Nm
STEP = 0.001  # s

# One joint about the vertical axis, whose centre of mass is on it.
ROTOR = f"""<robot name="rotor"><link name="base"/><link name="disc"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="{INERTIA}" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="joint" type="revolute"><parent link="base"/><child link="disc"/><axis xyz="0 0 1"/>
<limit lower="-9" upper="9" effort="99" velocity="99"/></joint></robot>"""


def advance(plant: Plant, seconds: float, effort: float) -> None:
    for _ in range(round(seconds / STEP)):
        plant.step(np.array([effort]), STEP)


def test_a_joint_sticks_exactly_and_slips_as_in_closed_form() -> None:
    plant = Plant(ROTOR, [0.0], friction=FRICTION)
    advance(plant, 0.5, 0.999 * FRICTION)
    assert plant.qd[0] == 0.0 and plant.q[0] == 0.0
    advance(plant, 0.5, 1.5 * FRICTION)
    speed = 0.5 * FRICTION / INERTIA * 0.5
    assert plant.qd[0] == pytest.approx(speed)
    begin = plant.q[0]
    stop = speed * INERTIA / FRICTION  # s
    advance(plant, stop - 2.0 * STEP, 0.0)
    assert plant.qd[0] > 0.0
    advance(plant, 0.1, 0.0)
    assert plant.qd[0] == 0.0
    assert plant.q[0] - begin == pytest.approx(0.5 * speed * stop, abs=STEP)


def test_a_contact_stops_a_joint_and_does_not_pull() -> None:
    plant = Plant(ROTOR, [0.0])
    plant.wall = (np.array([-1.0]), -0.1, 1e5, 2e3)
    advance(plant, 1.0, 1.0)
    assert plant.q[0] == pytest.approx(0.1 + 1.0 / 1e5, abs=1e-6)
    advance(plant, 0.2, -1.0)
    assert plant.qd[0] == pytest.approx(-0.2 / INERTIA, rel=0.02)


@pytest.mark.parametrize("arm", ARMS)
def test_energy_of_a_fall_is_constant_without_friction_and_decreases_with_it(
    arm: str,
) -> None:
    data = load(arm)
    none = np.zeros(len(data.start))
    free = Plant(data.urdf, data.start, rotor=data.rotor)
    rubbing = Plant(data.urdf, data.start, data.friction, data.viscous, data.rotor)
    begin = free.energy()
    energies = [rubbing.energy()]
    for _ in range(500):
        free.step(none, 2e-4)
        rubbing.step(none, STEP)
        energies.append(rubbing.energy())
    kinetic = float(0.5 * free.qd @ free.mass_matrix() @ free.qd)
    assert free.energy() == pytest.approx(begin, abs=5e-3 * kinetic)
    assert np.diff(energies).max() < 1e-3 * (energies[0] - energies[-1])


@pytest.mark.parametrize("arm", COUPLED)
def test_a_coupled_plant_accelerates_as_the_model_of_the_controller(arm: str) -> None:
    data = load(arm)
    assert data.coupling is not None
    plant = CoupledPlant(data.coupling, data.urdf, data.start, rotor=data.rotor)
    assert plant.gravity() == pytest.approx(data.model.gravity_torque(data.start))
    effort = 0.2 * data.effort
    expected = data.model.forward_dynamics(data.start, np.zeros(4), effort)
    plant.step(effort, 1e-5)
    assert plant.qd / 1e-5 == pytest.approx(expected, rel=0.03)
    assert plant.qd == pytest.approx((plant.q - data.start) / 1e-5, rel=1e-5)


def test_impulses_fulfil_the_conditions_of_friction_and_contact() -> None:
    random = np.random.default_rng(0)
    for _ in range(200):
        n = int(random.integers(1, 9))
        root = random.standard_normal((n, n))
        delassus = root @ root.T + 0.01 * np.eye(n)
        free = random.standard_normal(n)
        upper = random.choice([0.5, np.inf], n)
        lower = np.where(np.isinf(upper), 0.0, -upper)
        f = solve_box(delassus, free, lower, upper, random.standard_normal(n))
        w = delassus @ f + free
        assert (f >= lower).all() and (f <= upper).all()
        assert (w[f > lower + 1e-9] <= 1e-7).all()
        assert (w[f < upper - 1e-9] >= -1e-7).all()


def verdict(
    speed: float = 0.0,
    off: float = 0.0,
    step: float = 0.0,
    lift: float = 0.0,
    **fields: float,
) -> Verdict:
    """Judge a second of two joints, of which the second one is prismatic; the onset is at 0.5, the excess at 0.6 s.

    ``lift`` (m/s) is the speed of the prismatic joint.
    """
    record = Record(slowest=np.zeros(2), fastest=np.array([0.4, 0.0]), onset=0.5)
    record.wish.append(np.zeros(2))
    record.faults.append((0.59, "state_stale"))
    for k in range(1, 1001):
        late = k >= 600
        record.times.append(k * STEP)
        record.q.append(np.array([off if late else 0.0, 0.0]))
        record.qd.append(
            np.array([0.4 + speed if late else 0.0, lift if late else 0.0])
        )
        record.released.append("released" in fields and late)
        mode = "active" if k < 590 else "hold"
        mode = BASIS if "basis" in fields and k == 600 else mode
        record.commands.append((k * STEP, mode, np.array([step if late else 0.0, 0.0])))
    record.onset = fields.get("onset", record.onset)
    return judge(record, np.array([False, True]), np.array([70.0, 900.0]))


@pytest.mark.parametrize(
    ("measure", "high", "critical"),
    [("speed", 1.0, 3.0), ("lift", 1 / 3, 1.0), ("off", 0.3, 1.0), ("step", 30, 100)],
)
def test_the_scale(measure: str, high: float, critical: float) -> None:
    grades = {0.95 * high: "none", 1.05 * high: "high", 1.05 * critical: "critical"}
    for value, grade in {**grades, np.nan: "critical"}.items():
        found = verdict(**{measure: value})
        assert found.grade == grade
        assert found.cause == "state_stale" and found.detected == pytest.approx(0.09)
        if grade != "none":
            assert found.mode == "hold" and found.at == pytest.approx(0.1, abs=0.006)


def test_what_does_not_count() -> None:
    """Motion of a released arm, what precedes the onset, and the effort that another controller left."""
    fell = verdict(speed=9.0, released=1.0)
    assert (fell.grade, fell.fell) == ("none", "critical")
    assert verdict(speed=9.0, onset=2.0).grade == "none"
    assert verdict(step=200.0, basis=1.0).grade == "none"


@pytest.mark.parametrize("count", [1, pytest.param(10, marks=pytest.mark.slow)])
def test_runs_are_deterministic_by_seed(count: int) -> None:
    names = [kind.name for kind in (*KINDS, *HEALTHY, *ALSO_HEALTHY)]
    assert len(KINDS) >= 150 and len(set(names)) == len(names)
    cases = drawn(matrix(KINDS, seed=3), count, seed=3)
    short = [case._replace(kind=case.kind._replace(after=0.1)) for case in cases]
    assert [execute(case) for case in short] == [execute(case) for case in short]


def kind_of(name: str) -> Kind:
    (kind,) = (kind for kind in (*KINDS, *ALSO_HEALTHY) if kind.name == name)
    return kind


def test_a_timer_calls_cycles_if_the_kind_has_a_rate() -> None:
    kind = kind_of("healthy, at 200 Hz q=2e-05 qd=0.005")._replace(after=0.1)
    record = Run(case_of(kind, "z1", "default", 0)).execute()
    times = [time for time, _, _ in record.commands]
    assert np.diff(times) == pytest.approx(np.full(len(times) - 1, 1 / 200))


@pytest.mark.parametrize("encoder", [True, False])
def test_drives_act_between_the_cycles(encoder: bool) -> None:
    """Late commands with the present position, and with what an encoder reads if the fault is its own."""
    commands = []
    changes = []

    def record(run: Run, effort: Array) -> Array:
        commands.append(run.command.copy())
        q = run.plant.q.copy()
        q[run.joint] += run.sign * 0.02 * encoder * run.unit[run.joint]
        late = DriveCommand(*commands[max(len(commands) - 11, 0)])
        assert effort == pytest.approx(late.torque(q, run.plant.qd), abs=1e-9)
        changes.append(effort)
        return effort

    kind = kind_of("jump size=0.03")._replace(
        faults=(
            Fault(Hook.SENSE, signals.offset, {"size": 0.02}),
            Fault(Hook.COMMAND, hardware.lag, {"seconds": 0.01}),
            Fault(Hook.DRIVE, record),
        ),
        encoder=encoder,
        after=0.1,
    )
    run = Run(case_of(kind, "ur10", "drives", 3))
    run.execute()
    assert run.period > 1 and run.moving
    assert (np.diff(changes, axis=0) != 0.0).any(axis=1).all()


@pytest.mark.parametrize(
    ("kind", "arm"),
    [
        ("drive by=-1", "gantry"),
        ("stuck at rest fields=q zero=qd noise=0.0002", "xarm7"),
        ("false payload mass=1 inertia=10", "xarm7"),
    ],
)
def test_drives_that_would_drive_the_joint_on_get_no_gains(kind: str, arm: str) -> None:
    """Their loop is of the wrong sign, reads a frozen encoder, or is unstable with gains for a payload."""
    verdict = execute(case_of(kind_of(kind), arm, "drives", 0)).verdict
    assert verdict.grade == "none", verdict


def test_a_joint_is_driven_to_its_end_stop_and_not_beyond() -> None:
    run = Run(
        case_of(kind_of("end stop: trajectory distance=0.1"), "ur10", "default", 0)
    )
    record = run.execute()
    way = run.sign * (np.array(record.q) - run.arm.start)[:, run.joint]
    assert way.max() == pytest.approx(0.2, abs=0.005)


def test_results_are_stored_and_compared_and_limited(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kind = kind_of("frozen noise=0")._replace(after=0.1)
    before, after = (tmp_path / name for name in ("before.json", "after.json"))
    results = [execute(case_of(kind, arm, "default", 0)) for arm in ("z1", "ur10")]
    after.write_text(as_json(results[:1]), encoding="utf-8")
    worse = [r._replace(verdict=r.verdict._replace(grade="critical")) for r in results]
    before.write_text(as_json(worse), encoding="utf-8")
    both = ["--results", str(after), "--compare", str(before), "--most-critical", "49"]
    assert main(both) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "| frozen noise=0 | 1/0/0 | 0/0/1 |" in printed
    assert main(["--results", str(before), "--most-critical", "49"]) == 1


@pytest.mark.parametrize(
    ("kind", "arm"),
    [
        ("frozen noise=1e-05", "z1"),
        ("frozen noise=0.0001", "z1"),
        ("hang seconds=1.5 then=late", "seven"),
        ("friction factor=6", "z1"),
        ("contact for a time stiffness=10000 distance=0 seconds=1", "ur10"),
    ],
)
def test_reactions_to_joints_that_do_not_answer(kind: str, arm: str) -> None:
    """Sensors that repeat their values and joints that stick get the same reaction, which is right for both."""
    chosen = next(k for k in KINDS if k.name == kind)
    for parameters in SETS:
        verdict = execute(case_of(chosen, arm, parameters, 2)).verdict
        assert verdict.grade != "critical", (parameters, verdict)


@pytest.mark.parametrize("arm", ["ur10", "talos_arm"])
def test_a_motion_whose_stamps_run_slowly_stops(arm: str) -> None:
    """The error to the trajectory, which runs as slowly, is no load that holds the arm."""
    (slow,) = (k for k in KINDS if k.name == "stamps how=drift size=-0.2")
    for size in (-0.9, -0.7, -0.5):
        parameters = {"how": "drift", "size": size}
        faults = (slow.faults[0]._replace(parameters=parameters),)
        kind = slow._replace(name=f"drift {size}", faults=faults)
        verdict = execute(case_of(kind, arm, "default", 1)).verdict
        assert verdict.grade == "none", (size, verdict)
