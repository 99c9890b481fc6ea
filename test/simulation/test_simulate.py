"""One robot and its controller, simulated: closed forms, what the controller sees, and how a run ends."""

import io
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.simulation import Plant
from robot_dynamics_ros.simulation.run import Run, SimulationError
from robot_dynamics_ros.simulation.sensors import Sensors
from robot_dynamics_ros.simulation.simulate import BAR, simulate
from support import arms, plants
from support.comparing import assert_close
from support.plant_controllers import Broken, ComputedTorque

Array = NDArray[np.float64]
FREE = (0.0, 0.0, 0.0)
PANDA = [0.3, -0.5, 0.2, -1.5, 0.1, 1.0, 0.3]
GOAL = [0.5, -0.4, 0.3, -1.6, 0.2, 1.2, 0.3]


def _slider(mass: float = 2.0, coulomb: float = 0.0, **keywords: Any) -> RobotModel:
    return plants.slider(mass, coulomb, FREE if coulomb == 0.0 else (0.0, 0.0, -9.81), **keywords).model


def _same(a: Run, b: Run) -> bool:
    return all(np.array_equal(value, vars(b)[name]) for name, value in vars(a).items())


@pytest.mark.parametrize("method", plants.METHODS)
def test_friction_stops_a_mass(method: str) -> None:
    """Stopping time m v0 / c and distance m v0^2 / (2 c), to a step's length; then it stays."""
    mass, coulomb, speed, step = 2.0, 4.0, 1.5, 0.001
    settings: dict[str, Any] = {"method": method, "step_size": step, "control_period": 0.01}
    run = simulate(_slider(mass, coulomb), lambda t, q, qd: [0.0], 1.0, initial_velocities=[speed], **settings)
    stop = mass * speed / coulomb
    assert (run.velocity[run.time < stop - step] > 0.0).all()
    assert (run.velocity[run.time > stop + step] == 0.0).all()
    assert abs(run.position[-1, 0] - speed * stop / 2) < speed * step
    assert run.stuck.dtype == np.bool_
    assert run.stuck[[0, -1], 0].tolist() == [False, True]


@pytest.mark.parametrize(("steps", "delay"), [(1, 0), (5, 0), (5, 5), (5, 3), (4, 9), (1, 7)])
def test_torque_is_held_and_delayed(steps: int, delay: int) -> None:
    """A mass under u, constant in each step h: x+ = x + h v + h^2 u / (2 m), v+ = v + h u / m, for rk4 exactly.

    u in step s is -(20 x + 3 v) as they were at the start of the control period of step s - delay, or none.
    """
    mass, step, periods = 2.0, 0.01, 40
    run = simulate(
        _slider(mass),
        lambda t, q, qd: -(20.0 * q + 3.0 * qd),
        periods * steps * step,
        step_size=step,
        control_period=steps * step,
        initial_positions=[0.3],
        effort_delay=delay * step,
    )
    x, v = 0.3, 0.0
    motion, commands, efforts = [(x, v)], [], []
    for s in range(periods * steps):
        if s % steps == 0:
            commands.append(-(20.0 * x + 3.0 * v))
        u = commands[(s - delay) // steps] if s >= delay else 0.0
        x, v = x + step * v + step**2 * u / (2 * mass), v + step * u / mass
        if (s + 1) % steps == 0:
            motion.append((x, v))
            efforts.append(u)
    assert_close(run.time, np.arange(periods + 1) * steps * step, 1e-14)
    assert_close(np.hstack([run.position, run.velocity]), motion, 1e-12)
    assert_close(run.command[:, 0], commands, 1e-12, 10.0)
    assert_close(run.effort[:, 0], efforts, 1e-12, 10.0)


def test_controller_is_called_with_what_is_measured() -> None:
    calls: list[tuple[float, Array, Array]] = []

    def controller(t: float, q: Array, qd: Array) -> Array:
        calls.append((t, q, qd))
        return -5.0 * q

    sensors = Sensors(0.01, 0.02, 0.005, seed=7)
    run = simulate(_slider(), controller, 0.5, control_period=0.01, initial_positions=[0.1], sensors=sensors)
    times, q, qd = zip(*calls, strict=True)
    assert np.array_equal(times, run.time[:-1])
    assert np.array_equal(q, run.measured_position[:-1])
    assert np.array_equal(qd, run.measured_velocity[:-1])
    measurement = sensors.start(1)
    measured = [measurement.read(*state) for state in zip(run.position, run.velocity, strict=True)]
    assert np.array_equal([q for q, _ in measured], run.measured_position)
    assert np.array_equal([v for _, v in measured], run.measured_velocity)
    assert not np.array_equal(run.position, run.measured_position)


def test_is_what_stepping_a_plant_gives(load_robot: Callable[..., Any]) -> None:
    """Bit for bit, for the Panda under computed torque; and it comes close to its goal."""
    model = load_robot("panda", "panda_coulomb")
    controller = ComputedTorque(model, GOAL)
    run = simulate(model, controller, 0.2, control_period=0.004, initial_positions=PANDA)
    plant = Plant(model, initial_positions=PANDA)
    for k in range(50):
        state = plant.time, plant.position, plant.velocity
        assert (run.time[k], *map(tuple, (run.position[k], run.velocity[k]))) == (state[0], *map(tuple, state[1:]))
        plant.step(controller(*state), 4)
        assert np.array_equal(run.effort[k], plant.effort)
        assert np.array_equal(run.stuck[k + 1], plant.stuck)
    assert run.measured_position is run.position
    assert run.measured_velocity is run.velocity
    assert run.residual is not None
    assert run.solves is not None
    assert run.residual.shape == run.solves.shape == (50,)
    assert run.residual.max() < 1e-9
    assert run.solves.sum() >= 1, "the joints break away in the first step"
    error = np.abs(run.position - GOAL)
    assert error[-1, :3].max() < error[0, :3].max() / 2


@pytest.mark.parametrize("method", ["rk4", "semi_implicit"])
def test_torques_given_beforehand(method: str, load_robot: Callable[..., Any]) -> None:
    """The commands of a run give that run again, bit for bit."""
    model = load_robot("panda", "panda_coulomb")
    keywords: dict[str, Any] = {
        "method": method,
        "control_period": 0.005,
        "initial_positions": PANDA,
        "initial_velocities": np.linspace(-0.5, 0.5, 7),
        "sensors": Sensors(1e-4, 1e-3, seed=1),
        "effort_delay": 0.002,
    }
    run = simulate(model, ComputedTorque(model, GOAL), 0.1, **keywords)
    assert _same(run, simulate(model, run.command, 0.1, **keywords))
    assert _same(run, simulate(model, run.command.tolist(), 0.1, **keywords))


def test_torque_beyond_the_limits_is_commanded_but_does_not_act() -> None:
    limit = '<limit lower="-1e6" upper="1e6" effort="3" velocity="100"/>'
    run = simulate(_slider(limit=limit), np.full((10, 1), 8.0), 0.01)
    assert (run.command == 8.0).all()
    assert (run.effort == 3.0).all()
    assert_close(run.velocity[-1], [3.0 / 2.0 * 0.01], 1e-14)


def test_arrays_of_a_controller_may_be_used_again() -> None:
    buffer = np.zeros(1)

    def controller(t: float, q: Array, qd: Array) -> Array:
        buffer[:] = t
        q[:] = 9.0
        qd[:] = 9.0
        return buffer

    run = simulate(_slider(), controller, 0.01, effort_delay=0.002)
    assert np.array_equal(run.command[:, 0], run.time[:-1])
    assert np.array_equal(run.effort[2:], run.command[:-2])
    assert np.abs(run.position).max() < 1.0


@pytest.mark.parametrize(
    ("answer", "culprit"),
    [
        ([np.nan], 'joint "slide": nan'),
        ([-np.inf], 'joint "slide": -inf'),
        ([1.0, 2.0], r"\(2,\)"),
        ([[1.0]], r"\(1, 1\)"),
        (None, "None"),
        ("left", "'left'"),
    ],
)
def test_what_is_no_torque_ends_the_run(answer: Any, culprit: str) -> None:
    model = _slider()

    def controller(t: float, q: Array, qd: Array) -> Any:
        return answer if t > 0.0105 else [2.0]

    with pytest.raises(SimulationError, match=f"t = 0.011 s: .*controller.*{culprit}") as caught:
        simulate(model, controller, 0.1, effort_delay=0.003)
    assert _same(caught.value.run, simulate(model, np.full((11, 1), 2.0), 0.011, effort_delay=0.003))


@pytest.mark.parametrize("control_period", [0.01, 0.05])
def test_motion_that_becomes_infinite_ends_the_run(control_period: float) -> None:
    """A torque of 1e308 Nm on a light pendulum, from 0.3 s on; what was before it is kept."""
    swing = arms.Joint("swing", "continuous", "base", "bob", limit="")
    arm = arms.Arm((arms.Link("base"), arms.Link("bob", 1e-3, (0.0, 1.0, 0.0))), (swing,))
    model = RobotModel.from_urdf(arm.urdf)
    keywords: dict[str, Any] = {"step_size": 0.01, "control_period": control_period, "initial_velocities": [1.0]}
    with pytest.raises(SimulationError, match='joint "swing"') as caught:
        simulate(model, lambda t, q, qd: [1e308 if t > 0.295 else 0.0], 100.0, **keywords)
    run = caught.value.run
    assert isinstance(caught.value, RobotDynamicsError)
    assert isinstance(caught.value.__cause__, RobotDynamicsError)
    assert 2 < len(run.time) == len(run.position) == len(run.effort) + 1 < 10_000
    assert np.isfinite(run.position).all()
    assert run.time[-1] <= float(str(caught.value).split("t = ")[1].split(" s")[0]) < run.time[-1] + control_period
    assert _same(run, simulate(model, run.command, float(run.time[-1]), **keywords))


def test_other_errors_of_a_controller_come_through() -> None:
    def controller(t: float, q: Array, qd: Array) -> Array:
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        simulate(_slider(), controller, 0.1)


@pytest.mark.parametrize(
    ("keywords", "culprit"),
    [
        ({"duration": 0.0}, "duration: 0.0 s"),
        ({"duration": np.inf}, "duration"),
        ({"duration": 0.0155, "control_period": 0.01}, "duration: 0.0155 s are 1.55 .* 0.01 s"),
        ({"control_period": 0.0005}, "control_period: 0.0005 s are 0.5"),
        ({"control_period": 0.0}, "control_period: 0.0 s"),
        ({"effort_delay": 0.0015}, "effort_delay: 0.0015 s"),
        ({"effort_delay": -0.001}, "effort_delay"),
        ({"step_size": 0.0}, "step_size"),
        ({"method": "euler"}, "euler"),
        ({"method": "event", "velocity_limits": True}, "event.*velocity_limits"),
        ({"initial_positions": [1.0, 2.0]}, "initial_positions"),
        ({"sensors": Sensors([0.1, 0.1])}, "position_noise"),
        ({"controller": np.zeros((9, 1))}, r"controller.*\(9, 1\)"),
        ({"controller": np.zeros(10)}, r"controller.*\(10,\)"),
        ({"controller": np.zeros((1, 10, 1))}, r"controller.*\(1, 10, 1\)"),
        ({"controller": None}, "controller.*None"),
    ],
)
def test_impossible_settings_are_refused(keywords: dict[str, Any], culprit: str) -> None:
    settings = {"controller": np.zeros((10, 1)), "duration": 0.01, **keywords}
    with pytest.raises(RobotDynamicsError, match=culprit) as caught:
        simulate(_slider(), **settings)
    assert not isinstance(caught.value, SimulationError)


def test_times_may_be_rounded() -> None:
    """3 * 0.1 is no multiple of 0.1 in binary numbers, and 0.3 / 0.1 is below 3."""
    for duration in (3 * 0.1, 0.3):
        assert len(simulate(_slider(), lambda t, q, qd: [0.0], duration, step_size=0.1).effort) == 3


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_shows_on_a_terminal_of_a_run_that_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long is what is longer than the bar's delay."""
    for stream, delay, shows in ((_Terminal(), 0.0, True), (_Terminal(), 1e9, False), (io.StringIO(), 0.0, False)):
        monkeypatch.setitem(BAR, "delay", delay)
        monkeypatch.setattr(sys, "stderr", stream)
        simulate(_slider(), lambda t, q, qd: [0.0], 0.02)
        assert ("/20 [" in stream.getvalue()) == shows
        assert shows or stream.getvalue() == ""


def test_run_says_what_it_is() -> None:
    assert repr(simulate(_slider(), np.zeros((10, 1)), 0.02, control_period=0.002)) == (
        "Run(1 joints, 10 control periods, 0.02 s)"
    )


def test_nothing_is_kept_of_a_run_that_never_began() -> None:
    with pytest.raises(SimulationError, match="t = 0 s") as caught:
        simulate(_slider(), Broken(0.0, -1.0), 0.01)
    assert caught.value.run.position.shape == (1, 1)
    assert caught.value.run.effort.shape == (0, 1)
