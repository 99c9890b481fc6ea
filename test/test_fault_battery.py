"""Battery of faults: the plant against closed forms and energy, the judge on made-up runs, and repeated runs."""

from typing import Any

import numpy as np
import pytest

from tools.fault_battery.__main__ import case_of, drawn, execute, matrix
from tools.fault_battery.arms import ARMS, load
from tools.fault_battery.judge import Verdict, judge
from tools.fault_battery.kinds import HEALTHY, KINDS
from tools.fault_battery.plant import Plant, solve_box
from tools.fault_battery.run import BASIS, Record

INERTIA = 0.5  # kg m^2
FRICTION = 2.0  # Nm
STEP = 0.001  # s

# One joint about the vertical axis, whose centre of mass is on it.
ROTOR = f"""<robot name="rotor"><link name="base"/><link name="disc"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="{INERTIA}" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="joint" type="revolute"><parent link="base"/><child link="disc"/><axis xyz="0 0 1"/>
<limit lower="-9" upper="9" effort="99" velocity="99"/></joint></robot>"""


def advance(plant: Plant, seconds: float, effort: Any) -> None:
    for _ in range(round(seconds / STEP)):
        plant.step(np.atleast_1d(np.asarray(effort, dtype=float)), STEP)


def test_a_joint_sticks_exactly_below_its_friction_and_slips_above() -> None:
    plant = Plant(ROTOR, [0.3], friction=FRICTION)
    advance(plant, 0.5, 0.999 * FRICTION)
    assert plant.qd[0] == 0.0 and plant.q[0] == 0.3
    advance(plant, 0.5, 1.5 * FRICTION)
    assert plant.qd[0] == pytest.approx(0.5 * FRICTION / INERTIA * 0.5)


def test_a_slipping_joint_stops_at_the_closed_time_and_place() -> None:
    plant = Plant(ROTOR, [0.0], friction=FRICTION)
    plant.qd[:] = 1.0
    stop = INERTIA / FRICTION  # s
    advance(plant, stop - 2.0 * STEP, 0.0)
    assert plant.qd[0] > 0.0
    advance(plant, 1.0, 0.0)
    assert plant.qd[0] == 0.0
    assert plant.q[0] == pytest.approx(0.5 * stop, abs=STEP)


def test_viscous_friction_decays_as_an_exponential() -> None:
    plant = Plant(ROTOR, [0.0], viscous=2.0)
    plant.qd[:] = 1.0
    advance(plant, 0.25, 0.0)
    assert plant.qd[0] == pytest.approx(np.exp(-1.0), rel=3e-3)


def test_a_stiff_contact_stops_a_joint_and_does_not_pull() -> None:
    plant = Plant(ROTOR, [0.0])
    plant.wall = (np.array([-1.0]), -0.1, 1e5, 2e3)
    advance(plant, 1.0, 1.0)
    assert plant.q[0] == pytest.approx(0.1 + 1.0 / 1e5, abs=1e-6)
    advance(plant, 0.2, -1.0)
    assert plant.qd[0] == pytest.approx(-0.2 / INERTIA, rel=0.02)


@pytest.mark.parametrize("arm", ARMS)
def test_energy_changes_by_the_work_of_drives_and_friction(arm: str) -> None:
    """Of a fall: constant without friction, and decreasing to rest with it."""
    data = load(arm)
    free = Plant(data.urdf, data.start, rotor=data.rotor)
    begin = free.energy()
    for _ in range(2000):
        free.step(np.zeros(len(data.start)), 1e-4)
    kinetic = 0.5 * free.qd @ free.mass_matrix() @ free.qd
    assert free.energy() - begin == pytest.approx(0.0, abs=2e-3 * kinetic)

    rubbing = Plant(data.urdf, data.start, data.friction, data.viscous, data.rotor)
    energies = [rubbing.energy()]
    for _ in range(300):
        rubbing.step(np.zeros(len(data.start)), STEP)
        energies.append(rubbing.energy())
    assert np.diff(energies).max() < 1e-3 * abs(energies[0] - energies[-1]) + 1e-9


def test_friction_problem_fulfils_its_conditions() -> None:
    random = np.random.default_rng(0)
    for _ in range(200):
        n = int(random.integers(1, 9))
        root = random.standard_normal((n, n))
        delassus = root @ root.T + 0.01 * np.eye(n)
        free = random.standard_normal(n)
        bound = random.uniform(0.0, 1.0, n)
        upper = np.where(random.random(n) < 0.2, np.inf, bound)
        lower = np.where(np.isinf(upper), 0.0, -bound)
        f = solve_box(delassus, free, lower, upper, random.standard_normal(n))
        w = delassus @ f + free
        inside = (f > lower + 1e-9) & (f < upper - 1e-9)
        assert (f >= lower).all() and (f <= upper).all()
        np.testing.assert_allclose(w[inside], 0.0, atol=1e-7)
        assert (w[(f <= lower) & (lower < upper)] >= -1e-7).all()
        assert (w[(f >= upper) & (lower < upper)] <= 1e-7).all()


def record(
    speed: float = 0.0, off: float = 0.0, step: float = 0.0, released: bool = False
) -> Record:
    """Return a run of two joints, of which the second one is prismatic, for a second; the onset is at 0.5 s."""
    count = 1000
    made = Record(onset=0.5, slowest=np.zeros(2), fastest=np.array([0.4, 0.0]))
    for k in range(1, count + 1):
        late = k > 600
        made.times.append(k * STEP)
        made.q.append(np.array([off * late, 0.0]))
        made.qd.append(np.array([0.4 + speed * late, 0.0]))
        made.released.append(released and late)
        mode = "active" if k < 590 else "hold"
        made.commands.append((k * STEP, mode, np.array([step if late else 0.0, 0.0])))
    made.wish.append(np.zeros(2))
    made.faults.append((0.59, "state_stale"))
    return made


def verdict(made: Record) -> Verdict:
    return judge(made, np.array([False, True]), np.array([80.0, 400.0]))


@pytest.mark.parametrize(
    ("values", "grade"),
    [
        ({}, "none"),
        ({"speed": 0.9}, "none"),
        ({"speed": 1.1}, "high"),
        ({"speed": 3.1}, "critical"),
        ({"off": 0.29}, "none"),
        ({"off": 0.31}, "high"),
        ({"off": 1.01}, "critical"),
        ({"step": 29.0}, "none"),
        ({"step": 31.0}, "high"),
        ({"step": 101.0}, "critical"),
        ({"step": float("nan")}, "critical"),
    ],
)
def test_scale(values: dict[str, float], grade: str) -> None:
    found = verdict(record(**values))
    assert found.grade == grade
    assert found.cause == "state_stale" and found.detected == pytest.approx(0.09)
    if grade != "none":
        assert (
            found.by
            in ({"off": "distance"} | {k: k for k in ("speed", "step")})[
                next(iter(values))
            ]
        )
        assert found.mode == "hold" and found.at == pytest.approx(0.1, abs=0.006)


def test_prismatic_joints_are_compared_in_metres() -> None:
    made = record()
    made.qd = [np.array([0.0, 0.34]) for _ in made.qd]
    assert verdict(made).grade == "high"
    made.q = [np.array([0.0, 0.31]) for _ in made.q]
    assert verdict(made).grade == "critical"


def test_half_the_limit_is_a_high_step() -> None:
    made = judge(record(step=11.0), np.array([False, True]), np.array([20.0, 400.0]))
    assert made.grade == "high" and made.limit == pytest.approx(0.55)


def test_what_does_not_count() -> None:
    """Motion of a released arm, what precedes the onset, and the effort that another controller left."""
    assert verdict(record(speed=9.0, released=True))[:2] == ("none", "")
    assert verdict(record(speed=9.0, released=True)).fell == "critical"
    early = record(speed=9.0)
    early.onset = 2.0
    assert verdict(early).grade == "none"
    other = record(step=200.0)
    at, _, effort = other.commands[600]
    other.commands[600] = (at, BASIS, effort)
    assert verdict(other).grade == "none"


def test_enough_kinds_with_names_of_their_own() -> None:
    names = [kind.name for kind in (*KINDS, *HEALTHY)]
    assert len(KINDS) >= 150 and len(set(names)) == len(names)


@pytest.mark.parametrize("count", [1, pytest.param(10, marks=pytest.mark.slow)])
def test_runs_are_deterministic_by_seed(count: int) -> None:
    cases = drawn(matrix(KINDS, seed=3), count, seed=3)
    short = [case._replace(kind=case.kind._replace(after=0.1)) for case in cases]
    results = [execute(case) for case in short]
    assert [execute(case) for case in short] == results


def test_seeds_do_not_depend_on_the_other_kinds() -> None:
    kind = KINDS[-1]
    assert case_of(kind, ARMS[0], "default", 3) in matrix([kind], seed=3)
    assert case_of(kind, ARMS[0], "default", 3) in matrix(KINDS, seed=3)
    assert (
        case_of(kind, ARMS[0], "default", 4).seed
        != case_of(kind, ARMS[0], "default", 3).seed
    )
