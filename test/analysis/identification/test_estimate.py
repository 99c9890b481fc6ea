"""Least squares against direct formulas, recordings with too little motion, and the identified dynamics file."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray

from robot_dynamics_ros import BagError, RobotDynamicsError, RobotModel
from robot_dynamics_ros.analysis.identification.estimate import (
    Identification,
    identify,
    physical_prior,
    pseudo_inertia,
)
from robot_dynamics_ros.analysis.identification.friction_shapes import (
    COLUMNS,
    IDENTIFIED,
    FrictionShape,
    at_rest,
    friction_columns,
)
from robot_dynamics_ros.analysis.identification.identified_file import (
    dynamics_document,
    write_dynamics_file,
)
from robot_dynamics_ros.analysis.identification.least_squares import (
    BaseEstimate,
    Factors,
    Samples,
    estimate_base,
)
from robot_dynamics_ros.analysis.identification.parameterization import Parameterization
from robot_dynamics_ros.analysis.identification.recorded_motion import (
    RecordedMotion,
    Smoothing,
)
from robot_dynamics_ros.base.resources import robot_urdf
from robot_dynamics_ros.dynamics.kernels.friction import (
    CUBIC,
    LOAD_COEFFICIENT,
    LOAD_COEFFICIENT_BACKDRIVING,
    QUADRATIC,
    STATIC,
    STRIBECK_VELOCITY,
    faded_friction,
)
from support.robots_with_drives import Robot, load, robots, state

Array = NDArray[np.float64]
pytestmark = pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")


def motion_of(model: RobotModel, seed: int, count: int, noise: Array) -> RecordedMotion:
    """Return independent random states and their torque with white noise of standard deviation ``noise`` (n,)."""
    rng = np.random.default_rng(seed)
    q, qd, qdd = (
        rng.uniform(-1.0, 1.0, (3, count, model.n))
        * np.array([3.0, 2.0, 9.0])[:, np.newaxis, np.newaxis]
    )
    tau = model.inverse_dynamics(q, qd, qdd) + noise * rng.standard_normal(q.shape)
    return RecordedMotion(model.joint_names, np.arange(count) * 0.01, q, qd, qdd, tau)


def test_friction_columns_by_closed_form() -> None:
    """F(v) = b v + c sign(v), Craig (6.112), with a level for each direction; zero at rest."""
    rates = np.array([[2.0, -0.5, 0.0]])
    b = 0.3
    plus = 1.0
    minus = 4.0
    torque = friction_columns(rates)[:, :, :3] @ np.array([b, plus, minus])
    np.testing.assert_allclose(torque, [[0.3 * 2.0 + 1.0, -0.3 * 0.5 - 4.0, 0.0]])


ADDED = [
    {x.column: 1.0, **tried}
    for x in IDENTIFIED
    for tried in (*x.tried[:1], *x.tried[1:][-1:])
]
TOGETHER = {k: x for added in ADDED for k, x in added.items()}


@pytest.mark.parametrize(
    "added",
    [
        *ADDED,
        TOGETHER | {LOAD_COEFFICIENT: 0.0},
        TOGETHER | {STATIC: 0.0, STRIBECK_VELOCITY: 0.0},
    ],
)
def test_columns_times_coefficients_are_the_friction(added: dict[int, float]) -> None:
    """For each term alone, and for all, but static friction and load, whose product is nonlinear; a load of 1."""
    shape = FrictionShape(directions=True).having(added)
    coefficients = np.linspace(0.3, 0.9, len(COLUMNS))
    coefficients[COLUMNS.index(STATIC)] = 2.0
    row = np.array(shape.row)
    row[COLUMNS] *= coefficients
    row[LOAD_COEFFICIENT_BACKDRIVING] = row[LOAD_COEFFICIENT]
    rates = np.random.default_rng(1).uniform(-1.0, 1.0, 50)
    expected = [faded_friction(row, 0.0, rate, 1.0, 0.0) for rate in rates]
    torque = friction_columns(rates[:, np.newaxis], [shape])[:, 0] @ coefficients
    np.testing.assert_allclose(torque, expected, atol=1e-12)


@pytest.mark.parametrize("added", ADDED)
def test_a_term_is_removed_where_it_is(added: dict[int, float]) -> None:
    """Coulomb friction that a sigmoid replaced returns with the sigmoid's end only."""
    shape = FrictionShape().having(added)
    for parameter in (x for x in IDENTIFIED if x.tried):
        removed = parameter.column in added
        assert shape.without(parameter) == (FrictionShape() if removed else shape)


LOADED = FrictionShape().having({LOAD_COEFFICIENT: 1.0})


def test_samples_near_rest_are_left_out_and_reversals_are_not() -> None:
    """Below 2 % of the highest speed for 1.5 times the 3.8 samples of a reversal, and three samples to each side.

    One sample suffices where its sign is unknown.
    """
    rates = np.r_[
        np.full(10, 1.0),
        np.full(10, 0.015),
        np.full(10, 0.5),
        np.full(5, 0.01),
        np.full(10, -0.5),
        2e-4,
    ]
    rates = np.append(rates, np.full(9, 0.5))
    expected = np.zeros(55, dtype=bool)
    expected[7:23] = expected[42:49] = True
    np.testing.assert_array_equal(
        at_rest(rates[:, np.newaxis], np.full((55, 1), 0.0105), 1.0, 3)[:, 0], expected
    )


@pytest.mark.parametrize(
    "shape",
    [
        LOADED,
        LOADED.having({STATIC: 1.0, STRIBECK_VELOCITY: 0.7}),
    ],
)
def test_derivatives_of_friction_by_load(
    shape: FrictionShape, load_robot: Callable[..., RobotModel]
) -> None:
    """Difference quotients by the independent base parameters: a Gauss-Newton step is exact to first order."""
    parameterization = Parameterization.of(
        load_robot("planar_2r"), shapes=(shape, shape)
    )
    friction = {
        "viscous": 0.4,
        "coulomb": 1.0,
        "coulomb_negative": 1.4,
        "static": 2.0,
        "load_coefficient": 0.2,
    }
    named = zip(parameterization.names, parameterization.own, strict=True)
    x = np.array([friction.get(name.rpartition(".")[2], own) for name, own in named])
    states = np.random.default_rng(1).uniform(-2.0, 2.0, (3, 40, 2))

    def torque(x: Array) -> Array:
        return replace(parameterization, at=x).columns(*states) @ x

    here = replace(parameterization, at=x)
    columns = here.columns(*states)
    jacobian = columns + here.load_derivatives(
        tuple(states), columns, here.joint_friction(*states)
    )
    for k in parameterization.base.independent:
        step = 1e-6 * np.eye(len(x))[k]
        np.testing.assert_allclose(
            jacobian[:, :, k], (torque(x + step) - torque(x - step)) / 2e-6, atol=1e-6
        )


def test_samples_are_half_a_period_of_the_cutoff_apart(
    load_robot: Callable[..., RobotModel],
) -> None:
    model = load_robot("planar_2r")
    motion = replace(motion_of(model, 0, 1000, np.zeros(2)), smoothing=Smoothing(5.0))
    samples = Samples.of(Parameterization.of(model, "none"), [motion, motion])
    np.testing.assert_array_equal(samples.q, np.concatenate([motion.q[::10]] * 2))
    assert np.bincount(samples.part).tolist() == [40] * 5


def test_estimate_is_weighted_least_squares(
    load_robot: Callable[..., RobotModel],
) -> None:
    """x = (X^T V^-1 X)^-1 X^T V^-1 z, V from the residuals; for white noise the covariance is (X^T V^-1 X)^-1."""
    model = load_robot("scara")
    noise = np.array([1.0, 0.1, 3.0])
    motion = motion_of(model, 1, 3000, noise)
    no_offsets = np.zeros(model.n, dtype=np.bool_)
    parameterization = replace(Parameterization.of(model, "none"), offsets=no_offsets)
    samples = Samples.of(parameterization, [motion])
    estimate = estimate_base(
        parameterization, samples, Factors.of(parameterization, samples)
    )
    base = parameterization.base
    rows = parameterization.columns(motion.q, motion.qd, motion.qdd)[
        :, :, base.independent
    ]
    matrix = (rows / estimate.noise[:, np.newaxis])[samples.used]
    target = (motion.tau / estimate.noise)[samples.used]
    np.testing.assert_allclose(
        estimate.values,
        np.linalg.lstsq(matrix, target, rcond=None)[0],
        rtol=0,
        atol=1e-9,
    )
    np.testing.assert_allclose(estimate.noise, noise, rtol=0.05)
    textbook = np.sqrt(np.diag(np.linalg.inv(matrix.T @ matrix)))
    np.testing.assert_allclose(estimate.deviations, textbook, rtol=0.1)
    unit = matrix / np.linalg.norm(matrix, axis=0)
    assert estimate.condition == pytest.approx(np.linalg.cond(unit), rel=1e-6)


def test_deviations_allow_for_correlation(
    load_robot: Callable[..., RobotModel],
) -> None:
    """Repeating each state twenty times keeps the deviations; formulas for white noise would divide them by 4.5."""
    model = load_robot("planar_2r")
    once = motion_of(model, 2, 800, np.array([0.5, 0.2]))
    places = np.repeat(np.arange(800), 20)
    again = replace(once.part(places), time=np.arange(len(places)) * 0.01)
    parameterization = Parameterization.of(model, "none")
    one, many = (
        estimate_base(parameterization, samples, Factors.of(parameterization, samples))
        for samples in (
            replace(
                Samples.of(parameterization, [m]),
                used=np.ones(m.q.shape, dtype=np.bool_),
            )  # repeats are no rest
            for m in (once, again)
        )
    )
    np.testing.assert_allclose(many.values, one.values, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(many.deviations, one.deviations, rtol=0.2)


def test_bodies_are_physical_despite_large_noise(
    load_robot: Callable[..., RobotModel],
) -> None:
    model = load_robot("panda")
    result = identify(model, [motion_of(model, 3, 200, np.full(7, 50.0))])
    bodies = result.values[:70].reshape(7, 10)
    assert (
        np.linalg.eigvalsh(pseudo_inertia(bodies)).min() > 0.0
        and (result.values[70:] > 0.0).all()
    )
    assert result.loss >= 0.0


@pytest.mark.parametrize("mass", [1.0, 0.0])
def test_prior_with_a_joint_that_moves_no_inertia(mass: float) -> None:
    """A last link whose mass is on its axis, without inertia, or that has no mass."""

    def arm(mass: float, inertia: float) -> RobotModel:
        bodies = [
            (2.0, [-0.2, 0, 0], 0.02 * np.eye(3)),
            (mass, [0, 0, 0], inertia * np.eye(3)),
        ]
        return RobotModel.from_dh([[0, 0, 0.4, 0], [0, 0, 0, 0]], links=bodies)

    truth = arm(1.0, 0.01)
    motion = motion_of(truth, 5, 200, np.full(2, 1e-3))
    result = identify(arm(mass, 0.0), [motion], "viscous_coulomb")
    true = result.estimate.base.combination[:, :20] @ truth.inertial_parameters
    np.testing.assert_allclose(result.base_values, true, rtol=0, atol=0.01)


def test_identify_recovers_true_parameters_without_noise(
    load_robot: Callable[..., RobotModel],
) -> None:
    """From a prior with other masses; base parameters within 1e-6 of the largest."""
    truth = load_robot("panda").scaled(mass=1.2)
    result = identify(
        load_robot("panda"), [motion_of(truth, 4, 400, np.zeros(7))], "none"
    )
    parameterization = result.parameterization
    base = result.estimate.base
    true = base.combination @ Parameterization.of(truth, "none").own
    np.testing.assert_allclose(
        result.estimate.values, true, rtol=0, atol=1e-6 * np.abs(true).max()
    )
    np.testing.assert_allclose(
        result.base_values, true, rtol=0, atol=1e-4 * np.abs(true).max()
    )
    assert parameterization.base.names == base.names


def test_unexcited_parameters_keep_prior_values(
    load_robot: Callable[..., RobotModel],
) -> None:
    """Joint 2 is at rest: its inertia, and parameters that only centrifugal terms distinguish, are the prior's."""
    model = load_robot("planar_2r")
    motion = motion_of(model, 6, 300, np.zeros(2))
    q = motion.q.copy()
    qd = motion.qd.copy()
    qdd = motion.qdd.copy()
    q[:, 1] = 0.4
    qd[:, 1] = 0.0
    qdd[:, 1] = 0.0
    tau = model.inverse_dynamics(q, qd, qdd)
    result = identify(model, [replace(motion, q=q, qd=qd, qdd=qdd, tau=tau)], "none")
    assert "joint2.rotor_inertia" in result.estimate.unseen
    np.testing.assert_allclose(
        result.estimate.values,
        result.estimate.base.combination @ result.parameterization.own,
        rtol=0,
        atol=1e-9,
    )


def test_joint_without_motion_keeps_its_friction(
    load_robot: Callable[..., RobotModel], tmp_path: Path
) -> None:
    """Whatever its effort and noise; a direction without motion gets the Coulomb friction of the other."""
    model = load_robot("planar_2r")
    motion = motion_of(model, 8, 300, np.zeros(2))
    still = np.array([0.0, 0.4]) + np.random.default_rng(0).uniform(
        -1e-5, 1e-5, motion.q.shape
    )
    q = motion.q * [1.0, 0.0] + still
    qd = np.abs(motion.qd) * [1.0, 0.0]
    qdd = motion.qdd * [1.0, 0.0]
    tau = model.inverse_dynamics(q, qd, qdd) + 0.3 * qd + [0.2, 50.0]
    result = identify(
        model, [replace(motion, q=q, qd=qd + still - [0.0, 0.4], qdd=qdd, tau=tau)]
    )
    assert result.estimate.still == ("joint2",)
    document = dynamics_document(result, {"joints": {"joint2": {"viscous": 0.7}}})
    assert document["joints"]["joint2"] == {"viscous": 0.7}
    file = tmp_path / "dynamics.yaml"
    write_dynamics_file(
        file, document, [], joint_comments={"joint1": "not excited: coulomb_negative"}
    )
    assert "}  # not excited" in file.read_text()
    found = RobotModel.from_urdf_file(robot_urdf("planar_2r"), dynamics=file)
    np.testing.assert_allclose(
        found.friction_parameters[:, :3], [[0.3, 0.2, 0.2], [0.7, 0.0, 0.0]], atol=1e-3
    )
    assert np.linalg.eigvalsh(found.mass_matrix(np.zeros(2))).min() > 0.0


def test_insufficient_recordings_are_refused(
    load_robot: Callable[..., RobotModel],
) -> None:
    model = load_robot("planar_2r")
    motion = motion_of(model, 7, 300, np.zeros(2))
    resting = replace(motion, qd=motion.qd.copy(), smoothing=Smoothing(10.0))
    resting.qd[np.arange(300) % 12 > 0, 1] = 0.0
    with pytest.raises(BagError, match="joint2 never moves for longer"):
        identify(model, [resting])
    with pytest.raises(BagError, match="12 torques .* 7 base parameters"):
        identify(model, [motion.part(slice(6))], "none")


# --- The dynamics file


def random_identification(
    model: RobotModel, friction: str, seed: int
) -> Identification:
    """Return random physical values of bodies, rotors and friction, which depends on the load if it is identified."""
    powers = dict.fromkeys([STATIC, QUADRATIC, CUBIC], 1.0)
    shape = FrictionShape().having({**powers, STRIBECK_VELOCITY: 0.3})
    shapes = tuple(
        shape.having({LOAD_COEFFICIENT: float(joint in model.joint_names)})
        for joint in model.moving_joints
    )
    parameterization = Parameterization.of(model, friction, shapes)
    rng = np.random.default_rng(seed)
    first = parameterization.scalars.start
    values = rng.uniform(0.1, 2.0, len(parameterization.names))
    bodies = physical_prior(parameterization.own[:first].reshape(-1, 10)) * rng.uniform(
        0.5, 2.0, (parameterization.bodies, 1)
    )
    values[:first] = bodies.ravel()
    fixed = {
        "coulomb": 0.8,
        "coulomb_negative": 1.2,
        "static": 2.0,
        "load_coefficient": 0.3,
    }
    values = np.array(
        [
            fixed.get(name.rpartition(".")[2], x)
            for name, x in zip(parameterization.names, values, strict=True)
        ]
    )
    parameterization = replace(parameterization, at=values)
    nothing = np.zeros(len(parameterization.base.names))
    none = np.zeros((1, model.n))
    estimate = BaseEstimate(
        parameterization.base,
        nothing,
        nothing,
        np.ones(model.n),
        1.0,
        (),
        (),
        none,
        none,
        none,
    )
    return Identification(parameterization, estimate, values, 1.0, 0.0, 0, none, {}, ())


@pytest.mark.parametrize("friction", ["viscous_coulomb", "keep", "none"])
@given(robot=robots(friction=True).filter(lambda robot: len(robot.arm.movable) <= 4))
def test_dynamics_document_reproduces_identified_torque(
    friction: str, robot: Robot
) -> None:
    """tau = columns values + known, with payload, rotors of both forms, couplings, mimic joints and any gravity."""
    identification = random_identification(robot.model(), friction, robot.seed)
    model = identification.parameterization.model
    loaded = load(robot.arm, dynamics_document(identification, robot.dynamics))
    q, qd, qdd = state(robot, model.n)
    motion = tuple(x[np.newaxis] for x in (q, qd, qdd))
    expected = identification.parameterization.columns(
        *motion
    ) @ identification.values + identification.parameterization.known(*motion)
    actual = loaded.inverse_dynamics(q, qd, qdd) + loaded.friction_torque(
        q, qd, qdd=qdd
    )
    np.testing.assert_allclose(
        actual, expected[0], rtol=0, atol=1e-8 * (1.0 + np.abs(expected).max())
    )


def test_existing_file_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("gravity: [0, 0, 0]")
    with pytest.raises(RobotDynamicsError, match=r"mine\.yaml: "):
        write_dynamics_file(file, {}, [])
    assert file.read_text() == "gravity: [0, 0, 0]"
