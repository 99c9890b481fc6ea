"""Plants with closed loops, compared with other formulations of the same mechanisms, at rest and in motion."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.dynamics.description.dynamics_file import Loop
from robot_dynamics_ros.dynamics.kernels.entries import make_work
from robot_dynamics_ros.dynamics.kernels.kinematics import measure_loops, unpack_loops
from robot_dynamics_ros.dynamics.model.loops import (
    close_loops,
    loop_constraints,
    loop_forces,
)
from robot_dynamics_ros.simulation import (
    Plant,
    SimulationError,
    simulate,
    simulate_batch,
)
from robot_dynamics_ros.simulation.arm import make_arm
from robot_dynamics_ros.textbooks.constraints import loops_of, run_constrained
from support import arms, mechanisms, plants, robots_with_drives
from support.comparing import assert_close
from support.mechanisms import JOINTS, assembled, energy, five_bar, four_bar, in_tree

Array = arms.Array
LEVELS = np.array([0.8, 0.5, 0.3])
DRY = {
    name: {"coulomb": level}
    for name, level in zip(JOINTS, LEVELS.tolist(), strict=True)
}
any_integrator = pytest.mark.parametrize("integrator", plants.INTEGRATORS)


def started(
    model: RobotModel,
    speed: float = 0.0,
    integrator: str = "rk4",
    step_size: float = 0.001,
) -> Plant:
    """Return a plant of the assembled four-bar with its crank at 0.3 rad and ``speed``."""
    q, qd = assembled(model, speed=speed)
    return Plant(
        model, integrator, step_size, initial_positions=q, initial_velocities=qd
    )


def _closed(
    model: RobotModel, q: Array, rng: np.random.Generator, count: int
) -> RobotModel:
    """Return the robot with loops between random links, closed at q."""
    loops = []
    for _ in range(count):
        place = np.append(rng.uniform(-0.5, 0.5, 3), 1.0)
        a, b = (
            model.link_names[k]
            for k in rng.choice(len(model.link_names), 2, replace=False)
        )
        points = [
            tuple(np.linalg.solve(model.link_pose(q, link), place)[:3].tolist())
            for link in (a, b)
        ]
        loops.append(Loop(a, points[0], b, points[1]))
    return replace(model, _data=replace(model._data, loops=tuple(loops)))


@pytest.mark.timeout(1500)  # compilation takes minutes on a loaded machine
def test_agrees_with_lagrange_multipliers() -> None:
    model = four_bar()
    q, qd = assembled(model, speed=6.0)
    tau = np.array([0.3, 0.1, -0.2])
    exact = run_constrained(model, loops_of(model), q, qd, lambda t, x, v: tau, 1.0)
    got = simulate(
        model, np.tile(tau, (1000, 1)), 1.0, initial_positions=q, initial_velocities=qd
    )
    assert_close(got.position, exact.q, 1e-9)
    assert_close(got.velocity, exact.qd, 1e-9, 10.0)
    # Mean over a step minus the mean of its ends: dt^2 / 12 times the second derivative.
    forces = loop_forces(exact.multipliers)
    assert got.loop_forces is not None and got.loop_forces.shape == (1000, 1, 3)
    assert_close(got.loop_forces, (forces[1:] + forces[:-1]) / 2, 1e-3, 100.0)
    assert not got.loop_forces[..., 2].any()


@pytest.mark.parametrize(
    ("integrator", "order"), [("rk4", 4.0), ("semi_implicit", 1.0)]
)
def test_order(integrator: str, order: float) -> None:
    model = four_bar({name: {"viscous": 0.2} for name in JOINTS})

    def end(method: str, step_size: float) -> Array:
        plant = started(model, 6.0, method, step_size)
        plant.step([2.0, 0.0, 0.0], round(0.4 / step_size))
        return plant.position

    exact = end("rk4", 2e-4)
    steps = (0.004, 0.002, 0.001)
    errors = [np.abs(end(integrator, step) - exact).max() for step in steps]
    slope = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert slope == pytest.approx(order, abs=0.3)


@given(robot=robots_with_drives.robots())
def test_compiled_loops_are_those_of_the_formulations(
    robot: robots_with_drives.Robot,
) -> None:
    """Gap, Jacobian and drift of a loop between random links of random trees with couplings, the root's included."""
    model = robot.model()
    rng = np.random.default_rng(robot.bare.seed)
    q, qd, _ = robots_with_drives.state(robot, model.n)
    model = _closed(model, q, rng, 1)
    arm = make_arm(model, False)
    expected = loop_constraints(model, q, qd)
    gap = np.empty(3)
    jacobian = np.empty((3, model.n))
    drift = np.empty(3)
    bodies = len(arm.robot.bodies)
    loops = unpack_loops(arm.structure, arm.numbers)
    measure_loops(
        arm.robot,
        loops,
        q,
        qd,
        make_work(arm.robot),
        np.empty((bodies, 12)),
        gap,
        jacobian,
        drift,
    )
    size = 10.0 * len(model.link_names)
    assert_close(gap, expected.error, 1e-13, size)
    assert_close(
        jacobian,
        expected.jacobian,
        1e-13,
        size * np.abs(arm.robot.factors).max(initial=1.0),
    )
    assert_close(
        drift,
        expected.drift,
        1e-12,
        size * robots_with_drives.stride(robot, model.joint_names, qd) ** 2,
    )


@any_integrator
def test_friction_holds_a_four_bar_exactly(integrator: str) -> None:
    """Three joints stick with one degree of freedom: their total friction bound is sum bound_k |dq_k / dq_crank|."""
    model = four_bar(DRY)
    q, way = assembled(model, speed=1.0)
    weight = model.gravity_torque(q) @ way
    most = LEVELS @ np.abs(way)
    for direction in (1.0, -1.0):
        for factor in (0.999, 1.001):
            plant = started(model, integrator=integrator)
            plant.step(
                [weight + direction * factor * most, 0.0, 0.0],
                5000 if factor < 1.0 else 50,
            )
            assert np.array_equal(plant.position, q) == (factor < 1.0)
            assert plant.stuck.all() == (factor < 1.0) and plant.residual < 1e-12
            assert (
                np.abs(plant.impulse).max()
                <= (1.0 + 1e-9) * LEVELS.max() * plant.step_size
            )


def test_forces_at_rest_are_those_of_statics() -> None:
    """The crank is held against gravity: moment equilibrium of the rocker, and of coupler and rocker."""
    model = four_bar()
    q, way = assembled(model, speed=1.0)
    plant = Plant(model, initial_positions=q)
    plant.step([model.gravity_torque(q) @ way, 0.0, 0.0], 3)
    force = plant.loop_forces[0]
    ground = np.array([*mechanisms.GROUND])
    for joint, links in (("rocker", ["rocker"]), ("coupler", ["coupler", "rocker"])):
        pivot = model.link_pose(q, joint)[:3, 3]
        moment = np.cross(ground - pivot, force)[2]
        for link in links:
            mass, length = {"coupler": (1.4, 0.6), "rocker": (1.1, 0.5)}[link]
            centre = (model.link_pose(q, link) @ [0.55 * length, 0, 0, 1])[:3]
            moment += np.cross(centre - pivot, [0.0, -9.81 * mass, 0.0])[2]
        assert moment == pytest.approx(0.0, abs=1e-9)
    assert force[2] == 0.0 and np.abs(force).max() > 5.0
    assert_close(plant.position, q, 1e-12)


@any_integrator
def test_five_bar_as_loop_and_as_coupling(integrator: str) -> None:
    """The same motion for a second with friction on all four joints that break away, slip and stick."""
    friction = {
        f"joint{k}": {"coulomb": c, "viscous": 0.1 * c}
        for k, c in enumerate((0.9, 0.7, 0.4, 0.3), start=1)
    }
    coupled = five_bar(False, friction)
    looped = five_bar(True, friction)
    start = np.array([0.4, 1.7])
    rate = np.array([-0.5, 0.2])
    by_coupling = Plant(
        coupled, integrator, initial_positions=start, initial_velocities=rate
    )
    q, qd = (
        in_tree(looped, x)
        for x in (
            mechanisms.ROWS @ start - [0.0, 0.0, 0.0, np.pi],
            mechanisms.ROWS @ rate,
        )
    )
    by_loop = Plant(looped, integrator, initial_positions=q, initial_velocities=qd)
    motors = [looped.joint_names.index(name) for name in coupled.joint_names]
    stuck = np.zeros(2, dtype=int)
    for k in range(500):
        tau = np.array(
            [3.0 * np.sin(0.02 * k), 3.0 * np.cos(0.013 * k)]
        ) + coupled.gravity_torque(by_coupling.position)
        by_coupling.step(tau, 2)
        all_joints = np.zeros(4)
        all_joints[motors] = tau
        by_loop.step(all_joints, 2)
        assert_close(by_loop.position[motors], by_coupling.position, 1e-11)
        assert_close(
            by_loop.velocity,
            in_tree(looped, mechanisms.ROWS @ by_coupling.velocity),
            1e-10,
        )
        # Stuck joints have exactly zero velocity in both.
        assert ((by_loop.velocity[motors] == 0.0) == by_coupling.stuck).all()
        stuck += by_coupling.stuck
        # With all bars collinear the loop is singular, but not the coupling.
        assert abs(np.sin(by_coupling.position @ [1, -1])) > 0.05
    assert (stuck > 5).any() and np.abs(by_coupling.position - start).max() > 0.2


@any_integrator
@pytest.mark.parametrize("joint", [0, 1, 2])
def test_limit_of_any_joint_stops_all(integrator: str, joint: int) -> None:
    """Limits of the driven joint and of the others: the position is exactly that of the limit."""
    q, _ = assembled(four_bar())
    low = float(q[joint] - 0.2)
    high = float(q[joint] + 0.15)
    limit = f'<limit lower="{low!r}" upper="{high!r}" effort="1000" velocity="1000"/>'
    model = four_bar({JOINTS[0]: {"viscous": 1.0}}, {JOINTS[joint]: limit})
    for tau in (8.0, -4.0):
        plant = started(model, integrator=integrator)
        for _ in range(150):
            plant.step([tau, 0.0, 0.0], 10)
            assert (
                low <= plant.position[joint] <= high and plant.loop_gaps.max() < 1e-12
            )
        assert not plant.velocity.any() and not plant.stuck.any()
        assert plant.position[joint] in (low, high)


Hinge = tuple[str, str, float]


def _hinged(
    bars: list[arms.Link],
    hinges: list[Hinge],
    loops: list[tuple[str, float, str, float]],
) -> RobotModel:
    """Return planar bars with revolute hinges (parent, child, position) and loops (two links and positions)."""
    joints = tuple(
        arms.Joint(f"to_{child}", "continuous", parent, child, (x, 0, 0))
        for parent, child, x in hinges
    )
    closed = [
        {"link_a": a, "point_a": [x, 0.0, 0.0], "link_b": b, "point_b": [y, 0.0, 0.0]}
        for a, x, b, y in loops
    ]
    content = {"loops": closed, "gravity": [0.0, -9.81, 0.0]}
    return robots_with_drives.load(
        arms.Arm((arms.Link("base"), *bars), joints), content
    )


@any_integrator
def test_an_overconstrained_mechanism_moves(integrator: str) -> None:
    bars = [
        mechanisms.bar("rod", 1.5, 0.8),
        *(mechanisms.bar(name, 1.0, 0.3) for name in "abc"),
    ]
    places = [
        ("base", "a", 0.0),
        ("base", "b", 0.4),
        ("base", "c", 0.8),
        ("a", "rod", 0.3),
    ]
    model = _hinged(bars, places, [("b", 0.3, "rod", 0.4), ("c", 0.3, "rod", 0.8)])
    shape = np.array([-1.0 if name == "to_rod" else 1.0 for name in model.joint_names])
    plant = Plant(
        model, integrator, initial_positions=0.7 * shape, initial_velocities=8.0 * shape
    )
    start = energy(plant)
    for _ in range(100):
        plant.step(np.zeros(4), 10)
        assert plant.loop_gaps.max() < 1e-12
        assert_close(plant.velocity, plant.velocity[0] * shape, 1e-9, 10.0)
    assert energy(plant) == pytest.approx(
        start, abs=1e-6 if integrator == "rk4" else 0.1
    )
    assert abs(plant.position[0]) > np.pi


@any_integrator
def test_random_loops(integrator: str) -> None:
    for seed in range(8):
        rng = np.random.default_rng(seed)
        model = plants.random_robot(rng)
        q = rng.uniform(-0.2, 0.3, model.n)
        model = _closed(model, q, rng, int(rng.integers(1, 3)))
        plant = Plant(model, integrator, initial_positions=q)
        for _ in range(60):
            plant.step(rng.normal(0.0, 20.0, model.n))
            assert (
                np.isfinite(plant.loop_forces).all() and plant.loop_gaps.max() < 1e-10
            )
            assert plant.residual < 1e-9 * (1.0 + np.abs(plant.velocity).max())
            low = np.minimum(q, model.position_lower)
            high = np.maximum(q, model.position_upper)
            assert (plant.position >= low - 1e-9).all() and (
                plant.position <= high + 1e-9
            ).all()
            assert plant.impulse @ plant.velocity <= 1e-12 * (
                1.0 + np.abs(plant.impulse) @ np.abs(plant.velocity)
            )


def test_too_long_steps_are_refused() -> None:
    plant = started(four_bar(), 300.0, step_size=0.01)
    with pytest.raises(
        RobotDynamicsError,
        match=r'loop between "base" and "rocker" cannot be closed .*step_size',
    ):
        plant.step(np.zeros(3), 100)
    assert np.isfinite(plant.position).all() and plant.loop_gaps.max() < 1e-10


def test_rounded_angles_do_not_lock_a_planar_mechanism() -> None:
    """With 1.5708 for pi / 2 between two joints, the loop still has two independent constraints."""
    one = started(four_bar(), speed=6.0)
    start: dict[str, Any] = {
        "initial_positions": one.position,
        "initial_velocities": one.velocity,
    }
    other = Plant(four_bar(tilt=1.5708 - np.pi / 2), **start)
    for plant in (one, other):
        plant.step([1.0, 0.0, 0.0], 500)
    assert_close(other.position, one.position, 1e-4)
    assert other.loop_gaps.max() < 3e-6  # 3.7e-6 rad times 0.6 m


@any_integrator
def test_through_a_singular_position(integrator: str) -> None:
    """A parallelogram that starts with collinear bars, where it has an additional degree of freedom."""
    bars = [
        mechanisms.bar(name, 1.0, x) for name, x in (("a", 0.3), ("b", 0.6), ("c", 0.3))
    ]
    places = [("base", "a", 0.0), ("a", "b", 0.3), ("b", "c", 0.6)]
    model = _hinged(bars, places, [("base", 0.6, "c", 0.3)])
    for rates in ([0.0, 0.0, 0.0], [3.0, -3.0, 3.0]):
        plant = Plant(
            model,
            integrator,
            initial_positions=[0.0, 0.0, np.pi],
            initial_velocities=rates,
        )
        start = energy(plant)
        for _ in range(400):
            plant.step(np.zeros(3), 5)
            assert np.isfinite(plant.loop_forces).all() and plant.loop_gaps.max() < 1e-8
        assert energy(plant) == pytest.approx(start, abs=0.1)


def test_open_initial_positions_are_refused_with_closed_ones() -> None:
    model = four_bar()
    q, qd = assembled(model, speed=2.0)
    near = q + [0.0, 0.0, 0.01]
    with pytest.raises(
        RobotDynamicsError, match=r'"base" and "rocker" is open by 0\.005 m'
    ) as reported:
        Plant(model, initial_positions=near)
    closed = np.array(
        [
            float(x)
            for x in str(reported.value)
            .split("start from [")[1]
            .split("]")[0]
            .split(",")
        ]
    )
    assert Plant(model, initial_positions=closed).loop_gaps.max() < 1e-12
    assert_close(closed, close_loops(model, near), 1e-12)
    for run in (
        lambda: Plant(model),
        lambda: simulate_batch(model, np.zeros((1, 3)), 0.001, count=2),
    ):
        with pytest.raises(
            RobotDynamicsError, match=r"is open by 0\..*\[0\.0, 0\.0, 0\.0\]"
        ):
            run()
    with pytest.raises(RobotDynamicsError, match=r"opens by 1\.1 m/s"):
        Plant(model, initial_positions=q, initial_velocities=[2.0, 0.0, 0.0])
    Plant(model, initial_positions=q, initial_velocities=qd)


def test_a_tree_cannot_replace_a_model_with_loops() -> None:
    model = four_bar()
    plant = started(model)
    tree = RobotModel.from_urdf(
        mechanisms.four_bar_files()[0].urdf, gravity=model.gravity
    )
    with pytest.raises(RobotDynamicsError, match="joints, links or placements"):
        plant.change_model(tree)


@any_integrator
def test_a_batch_agrees_with_single_plants(integrator: str) -> None:
    model = four_bar(DRY)
    q, _ = assembled(model)
    loaded = model.with_payload(
        "coupler", 0.5, [0.3, 0, 0], [0.01, 0, 0, 0.01, 0, 0.01]
    )
    models = [model.scaled(1.0, 1.0), model.scaled(1.3, 0.5), loaded]
    torques = np.column_stack(
        [4.0 * np.sin(0.02 * np.arange(200)), np.zeros(200), np.zeros(200)]
    )
    settings: dict[str, Any] = {"method": integrator, "initial_positions": q}
    together = simulate_batch(models, torques, 0.2, **settings)
    assert together.loop_forces is not None
    for k, one in enumerate(models):
        alone = simulate(one, torques, 0.2, **settings)
        assert np.array_equal(together.position[k], alone.position)
        assert np.array_equal(together.stuck[k], alone.stuck)
        assert alone.loop_forces is not None and np.array_equal(
            together.loop_forces[k], alone.loop_forces
        )
    assert np.ptp(together.position[:, -1, 0]) > 1e-4


def test_a_failed_simulation_keeps_its_forces() -> None:
    model = four_bar()
    q, _ = assembled(model)
    with pytest.raises(SimulationError) as reported:
        simulate(
            model,
            lambda t, q, qd: [np.nan if t > 0.0095 else 0.0, 0.0, 0.0],
            0.1,
            initial_positions=q,
        )
    assert (
        reported.value.run.loop_forces is not None
        and reported.value.run.loop_forces.shape == (10, 1, 3)
    )


def test_change_of_model_and_reset() -> None:
    model = four_bar(DRY)
    plant = started(model, speed=3.0)
    plant.step([3.0, 0.0, 0.0], 50)
    first = plant.position
    force = plant.loop_forces
    plant.change_model(
        model.with_payload("coupler", 5.0, [0.3, 0.0, 0.0], [0.1, 0, 0, 0.1, 0, 0.1])
    )
    plant.step([3.0, 0.0, 0.0])
    assert np.abs(plant.loop_forces - force).max() > 1.0
    plant.brake()
    assert not plant.velocity.any() and not plant.loop_forces.any()
    plant.change_model(model.customised())
    plant.reset()
    plant.step([3.0, 0.0, 0.0], 50)
    assert np.array_equal(plant.position, first) and np.array_equal(
        plant.loop_forces, force
    )


def test_peer() -> None:
    """MuJoCo with a stiff connect constraint: the same motion for half a second, within its compliance."""
    mujoco = pytest.importorskip("mujoco")
    plant = started(four_bar(), speed=4.0)
    bodies = ""
    for name, mass, length, x in (
        ("rocker", 1.1, 0.5, 0.6),
        ("coupler", 1.4, 0.6, 0.25),
        ("crank", 0.9, 0.25, 0.0),
    ):
        i = mass * length**2 / 11
        foot = '<site name="foot" pos="0.5 0 0"/>' if name == "rocker" else ""
        bodies = (
            f'<body name="{name}" pos="{x} 0 0"><joint name="{name}_joint" axis="0 0 1"/><inertial mass="{mass}" '
            f'pos="{0.55 * length} 0 0" diaginertia="{0.6 * i} {0.7 * i} {i}"/>{foot}{bodies}</body>'
        )
    peer = mujoco.MjModel.from_xml_string(
        '<mujoco><option gravity="0 -9.81 0" timestep="1e-4" integrator="RK4" iterations="200" tolerance="1e-14"/>'
        f'<worldbody><site name="ground" pos="0.55 0.1 0"/>{bodies}</worldbody><equality>'
        '<connect site1="foot" site2="ground" solref="1e-3 1" solimp="0.9999 0.9999 0.001"/>'
        "</equality></mujoco>"
    )
    data = mujoco.MjData(peer)
    data.qpos[:] = start = plant.position
    data.qvel[:] = plant.velocity
    for _ in range(500):
        mujoco.mj_step(peer, data, 10)
        plant.step(np.zeros(3))
    assert_close(plant.position, data.qpos, 1e-6)
    assert np.abs(plant.position - start).max() > 0.5
