"""Simulation of a robot or a batch with a controller: closed forms, inputs of the controller, errors."""

import io
import multiprocessing
import pickle
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.dynamics.codegen import tracing
from robot_dynamics_ros.dynamics.kernels.compilation import COMPILED
from robot_dynamics_ros.simulation import Plant
from robot_dynamics_ros.simulation.sensors import Sensors
from robot_dynamics_ros.simulation.simulate import BAR, Run, SimulationError, simulate
from robot_dynamics_ros.simulation.simulate_batch import simulate_batch
from support import arms, plants
from support.arms import Array
from support.comparing import assert_close
from support.plant_controllers import Broken, ComputedTorque, Integral

PANDA = [0.3, -0.5, 0.2, -1.5, 0.1, 1.0, 0.3]
GOAL = [0.5, -0.4, 0.3, -1.6, 0.2, 1.2, 0.3]
SENSORS = Sensors(1e-4, 1e-3, 1e-5, seed=3)


def _slider(limit: str = plants.WIDE) -> RobotModel:
    """Return a mass of 2 kg without friction and gravity."""
    return plants.slider(2.0, 0.0, (0.0, 0.0, 0.0), limit).model


def _different(a: Run, b: Run) -> list[str]:
    return [
        name
        for name, value in vars(a).items()
        if not np.array_equal(value, vars(b)[name])
    ]


@pytest.fixture(scope="module")
def panda(load_robot: Callable[..., Any]) -> RobotModel:
    model: RobotModel = load_robot("panda", "panda_coulomb")
    return model


@pytest.mark.parametrize(
    ("steps", "delay"), [(1, 0), (5, 0), (5, 5), (5, 3), (4, 9), (1, 7)]
)
def test_torque_is_held_and_delayed(steps: int, delay: int) -> None:
    """A mass under u, constant in each step h: x+ = x + h v + h^2 u / (2 m), v+ = v + h u / m, for rk4 exactly."""
    mass = 2.0
    step = 0.01
    periods = 40
    settings = {
        "step_size": step,
        "control_period": steps * step,
        "effort_delay": delay * step,
    }
    duration = periods * steps * step
    run = simulate(
        _slider(),
        lambda t, q, qd: -20.0 * q - 3.0 * qd,
        duration,
        initial_positions=[0.3],
        **settings,
    )
    x = 0.3
    v = 0.0
    motion = [(x, v)]
    commands = []
    efforts = []
    for s in range(periods * steps):
        if s % steps == 0:
            commands.append(-20.0 * x - 3.0 * v)
        u = commands[(s - delay) // steps] if s >= delay else 0.0
        x = x + step * v + step**2 * u / (2 * mass)
        v = v + step * u / mass
        if (s + 1) % steps == 0:
            motion.append((x, v))
            efforts.append(u)
    assert_close(run.time, np.arange(periods + 1) * steps * step, 1e-14)
    assert_close(np.hstack([run.position, run.velocity]), motion, 1e-12)
    assert_close(run.command[:, 0], commands, 1e-12, 10.0)
    assert_close(run.effort[:, 0], efforts, 1e-12, 10.0)


def test_controller_receives_the_measurements() -> None:
    calls: list[tuple[float, Array, Array]] = []

    def controller(t: float, q: Array, qd: Array) -> Array:
        calls.append((t, q, qd))
        return -5.0 * q

    sensors = Sensors(0.01, 0.02, 0.005, seed=7)
    run = simulate(
        _slider(),
        controller,
        0.5,
        control_period=0.01,
        initial_positions=[0.1],
        sensors=sensors,
    )
    times, q, qd = zip(*calls, strict=True)
    assert np.array_equal(times, run.time[:-1]) and np.array_equal(
        q, run.measured_position[:-1]
    )
    assert np.array_equal(qd, run.measured_velocity[:-1])
    measurement = sensors.start(1)
    measured = [
        measurement.read(*state)
        for state in zip(run.position, run.velocity, strict=True)
    ]
    assert np.array_equal([q for q, _ in measured], run.measured_position)
    assert np.array_equal([v for _, v in measured], run.measured_velocity)
    assert not np.array_equal(run.position, run.measured_position)


def test_agrees_with_stepping_a_plant(panda: RobotModel) -> None:
    controller = ComputedTorque(panda, GOAL)
    run = simulate(
        panda, controller, 0.2, control_period=0.004, initial_positions=PANDA
    )
    plant = Plant(panda, initial_positions=PANDA)
    for k in range(50):
        assert run.time[k] == plant.time
        assert np.array_equal(
            [run.position[k], run.velocity[k]], [plant.position, plant.velocity]
        )
        plant.step(controller(plant.time, plant.position, plant.velocity), 4)
        assert np.array_equal(run.effort[k], plant.effort) and np.array_equal(
            run.stuck[k + 1], plant.stuck
        )
    assert (
        run.measured_position is run.position and run.measured_velocity is run.velocity
    )
    assert run.residual.shape == run.solves.shape == (50,) and run.residual.max() < 1e-9
    assert run.solves.sum() >= 1, "the joints break away in the first step"
    error = np.abs(run.position - GOAL)
    assert error[-1, :3].max() < error[0, :3].max() / 2


@pytest.mark.parametrize("method", ["rk4", "semi_implicit"])
def test_array_of_torques(method: str, panda: RobotModel) -> None:
    keywords: dict[str, Any] = {
        "method": method,
        "control_period": 0.005,
        "effort_delay": 0.002,
    }
    keywords |= {
        "initial_positions": PANDA,
        "initial_velocities": np.linspace(-0.5, 0.5, 7),
    }
    keywords |= {"sensors": Sensors(1e-4, 1e-3, seed=1)}
    run = simulate(panda, ComputedTorque(panda, GOAL), 0.1, **keywords)
    assert _different(run, simulate(panda, run.command, 0.1, **keywords)) == []


@pytest.mark.skipif(not COMPILED, reason="the steps are interpreted")
def test_array_of_torques_needs_no_call_of_python_in_a_period() -> None:
    def calls(periods: int) -> int:
        events: list[str] = []
        sys.setprofile(lambda frame, event, arg: events.append(event))
        try:
            simulate(_slider(), np.ones((periods, 1)), periods * 0.001)
        finally:
            sys.setprofile(None)
        return len(events)

    calls(1)
    assert calls(900) < calls(100) + 100


def test_customised_model_is_traced_once(
    panda: RobotModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    traced = []
    trace = tracing.trace_algorithm

    def counted(*arguments: Any) -> Any:
        traced.append(arguments)
        return trace(*arguments)

    monkeypatch.setattr(tracing, "trace_algorithm", counted)
    for _ in range(2):
        simulate(panda.customised(), np.zeros((1, 7)), 0.001)
    assert len(traced) <= 1


@pytest.mark.parametrize("method", ["rk4", "semi_implicit"])
def test_torque_beyond_the_limits_is_clamped(method: str) -> None:
    limit = '<limit lower="-1e6" upper="1e6" effort="3" velocity="100"/>'
    run = simulate(_slider(limit), np.full((10, 1), 8.0), 0.01, method=method)
    assert (
        run.stuck.dtype == np.bool_
        and (run.command == 8.0).all()
        and (run.effort == 3.0).all()
    )
    assert_close(run.velocity[-1], [3.0 / 2.0 * 0.01], 1e-14)


def test_joints_that_friction_holds_are_shown() -> None:
    model = RobotModel.shipped("panda", dynamics="panda_coulomb")
    run = simulate(
        model,
        lambda t, q, qd: model.gravity_torque(q) + 0.28 * (np.arange(7) == 5),
        0.1,
    )
    assert "friction holds joints [0, 1, 2, 3, 4, 6] at rest" in repr(run)


def test_controller_may_reuse_its_arrays() -> None:
    buffer = np.zeros(1)

    def controller(t: float, q: Array, qd: Array) -> Array:
        buffer[:] = t
        q[:] = 9.0
        qd[:] = 9.0
        return buffer

    run = simulate(_slider(), controller, 0.01, effort_delay=0.002)
    assert np.array_equal(run.command[:, 0], run.time[:-1])
    assert (
        np.array_equal(run.effort[2:], run.command[:-2])
        and np.abs(run.position).max() < 1.0
    )


@pytest.mark.parametrize(
    ("answer", "culprit"),
    [
        ([np.nan], 'joint "slide": nan'),
        ([-np.inf], 'joint "slide": -inf'),
        ([1.0, 2.0], r"\(2,\)"),
        ([[1.0]], r"\(1, 1\)"),
        (None, "None"),
    ],
)
def test_invalid_torque_ends_the_run(answer: Any, culprit: str) -> None:
    model = _slider()

    def controller(t: float, q: Array, qd: Array) -> Any:
        return answer if t > 0.0105 else [2.0]

    with pytest.raises(
        SimulationError, match=f"t = 0.011 s: .*controller.*{culprit}"
    ) as caught:
        simulate(model, controller, 0.1, effort_delay=0.003)
    assert (
        _different(
            caught.value.run,
            simulate(model, np.full((11, 1), 2.0), 0.011, effort_delay=0.003),
        )
        == []
    )
    torques = np.full((100, 1), 2.0)
    torques[11] = np.nan
    with pytest.raises(SimulationError, match="t = 0.011 s: .*nan") as other:
        simulate(model, torques, 0.1, effort_delay=0.003)
    assert _different(caught.value.run, other.value.run) == []
    with pytest.raises(SimulationError, match="t = 0 s") as caught:
        simulate(model, Broken(0.0, -1.0), 0.01)
    assert (caught.value.run.position.shape, caught.value.run.effort.shape) == (
        (1, 1),
        (0, 1),
    )


@pytest.mark.parametrize("control_period", [0.01, 0.05])
def test_motion_that_becomes_infinite_ends_the_run(control_period: float) -> None:
    """A torque of 1e308 Nm on a light pendulum from 0.3 s on; the periods before are kept."""
    swing = arms.Joint("swing", "continuous", "base", "bob", limit="")
    arm = arms.Arm(
        (arms.Link("base"), arms.Link("bob", 1e-3, (0.0, 1.0, 0.0))), (swing,)
    )
    model = RobotModel.from_urdf(arm.urdf)
    keywords: dict[str, Any] = {
        "step_size": 0.01,
        "control_period": control_period,
        "initial_velocities": [1.0],
    }
    with pytest.raises(SimulationError, match='joint "swing"') as caught:
        simulate(
            model, lambda t, q, qd: [1e308 if t > 0.295 else 0.0], 100.0, **keywords
        )
    run = caught.value.run
    assert isinstance(caught.value, RobotDynamicsError) and isinstance(
        caught.value.__cause__, RobotDynamicsError
    )
    assert 2 < len(run.time) == len(run.position) == len(run.effort) + 1 < 10_000
    assert np.isfinite(run.position).all()
    assert (
        run.time[-1]
        <= float(str(caught.value).split("t = ")[1].split(" s")[0])
        < run.time[-1] + control_period
    )
    assert (
        _different(run, simulate(model, run.command, float(run.time[-1]), **keywords))
        == []
    )


@pytest.mark.parametrize(
    ("keywords", "culprit"),
    [
        ({"duration": 0.0}, "duration: 0.0 s"),
        ({"duration": np.inf}, "duration"),
        (
            {"duration": 0.0155, "control_period": 0.01},
            "duration: 0.0155 s is 1.55 .* 0.01 s",
        ),
        ({"control_period": 0.0005}, "control_period: 0.0005 s is 0.5"),
        ({"control_period": 0.0}, "control_period: 0.0 s"),
        ({"effort_delay": 0.0015}, "effort_delay: 0.0015 s"),
        ({"effort_delay": -0.001}, "effort_delay"),
        ({"step_size": 0.0}, "step_size"),
        ({"method": "euler"}, "euler"),
        ({"initial_positions": [1.0, 2.0]}, "initial_positions"),
        ({"sensors": Sensors([0.1, 0.1])}, "position_noise"),
        ({"controller": np.zeros((9, 1))}, r"controller.*\(9, 1\)"),
        ({"controller": np.zeros(10)}, r"controller.*\(10,\)"),
        ({"controller": np.zeros((1, 10, 1))}, r"controller.*\(1, 10, 1\)"),
        ({"controller": None}, "controller.*None"),
    ],
)
def test_impossible_settings_are_refused(
    keywords: dict[str, Any], culprit: str
) -> None:
    settings = {"controller": np.zeros((10, 1)), "duration": 0.01, **keywords}
    with pytest.raises(RobotDynamicsError, match=culprit) as caught:
        simulate(_slider(), **settings)
    assert not isinstance(caught.value, SimulationError)


def test_times_are_compared_with_a_tolerance() -> None:
    """In floating point 3 * 0.1 is not a multiple of 0.1, and 0.3 / 0.1 is below 3."""
    for duration in (3 * 0.1, 0.3):
        assert (
            len(
                simulate(
                    _slider(), lambda t, q, qd: [0.0], duration, step_size=0.1
                ).effort
            )
            == 3
        )


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_long_runs_show_progress_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream, delay, shows in (
        (_Terminal(), 0.0, True),
        (_Terminal(), 1e9, False),
        (io.StringIO(), 0.0, False),
    ):
        monkeypatch.setitem(BAR, "delay", delay)
        monkeypatch.setattr(sys, "stderr", stream)
        simulate(_slider(), lambda t, q, qd: [0.0], 0.02)
        assert ("/20 [" in stream.getvalue()) == shows
        assert shows or stream.getvalue() == ""


# Batches: each plant agrees with a single one; threads, processes and clusters give bitwise equal results


def _block() -> RobotModel:
    """Return a mass of 2 kg with 0.5 N of Coulomb friction."""
    return plants.slider(2.0, 0.5, (0.0, 0.0, -9.81)).model


@pytest.mark.parametrize("method", ["rk4", "semi_implicit"])
def test_each_plant_agrees_with_simulate(method: str, panda: RobotModel) -> None:
    """Different masses, friction, payloads and initial states: up to rounding, the result of ``simulate``."""
    rng = np.random.default_rng(1)
    controller = ComputedTorque(panda, GOAL)
    models = [panda.scaled(1.0 + 0.1 * k, 1.0 + 0.2 * k) for k in range(4)]
    models.append(
        panda.with_payload("panda_link8", 1.0, [0.0, 0.0, 0.1], np.eye(3) * 0.01)
    )
    q = PANDA + rng.uniform(-0.1, 0.1, (5, 7))
    qd = rng.uniform(-0.5, 0.5, (5, 7))
    keywords: dict[str, Any] = {
        "method": method,
        "control_period": 0.005,
        "effort_delay": 0.002,
    }
    batch = simulate_batch(
        models, controller, 0.1, initial_positions=q, initial_velocities=qd, **keywords
    )
    assert (
        batch.position.shape
        == batch.measured_velocity.shape
        == batch.stuck.shape
        == (5, 21, 7)
    )
    assert batch.command.shape == batch.effort.shape == (
        5,
        20,
        7,
    ) and batch.time.shape == (21,)
    for k, model in enumerate(models):
        alone = simulate(
            model,
            controller,
            0.1,
            initial_positions=q[k],
            initial_velocities=qd[k],
            **keywords,
        )
        assert_close(batch.position[k], alone.position, 1e-9)
        assert_close(batch.velocity[k], alone.velocity, 1e-8)
        assert_close(batch.command[k], alone.command, 1e-7, 10.0)
        assert_close(batch.effort[k], alone.effort, 1e-7, 10.0)
        assert np.array_equal(batch.time, alone.time)
    assert (
        np.array_equal(batch.position[:, 0], q)
        and len(np.unique(batch.position[:, -1, 1])) == 5
    )


def test_controller_is_called_once_for_all_plants() -> None:
    seen: list[tuple[float, Any, Any]] = []

    def controller(t: float, q: Any, qd: Any) -> Any:
        seen.append((t, q.shape, qd.shape))
        return [3.0]

    run = simulate_batch(_block(), controller, 0.02, count=3, control_period=0.005)
    assert (
        seen == [(t, (3, 1), (3, 1)) for t in run.time[:-1]]
        and (run.command == 3.0).all()
    )
    assert (run.position == run.position[:1]).all()


def test_array_of_torques_for_all_plants_or_each() -> None:
    """v = (F - c) t / m while it slips, for the force F of each plant."""
    forces = np.array([2.0, 5.0, 0.25])
    run = simulate_batch(
        _block(), np.tile(forces[:, None, None], (1, 50, 1)), 0.05, count=3
    )
    assert (
        run.measured_position is run.position and run.measured_velocity is run.velocity
    )
    assert_close(
        run.velocity[:, -1, 0], np.maximum(forces - 0.5, 0.0) / 2.0 * 0.05, 1e-12
    )
    assert run.stuck[:, -1, 0].tolist() == [False, False, True]
    same = simulate_batch(_block(), np.full((50, 1), 5.0), 0.05, count=3)
    assert np.array_equal(same.position[0], run.position[1])
    assert np.array_equal(same.position[2], run.position[1])


def _panda_run(panda: RobotModel, executor: Executor | None, count: int = 20) -> Run:
    rng = np.random.default_rng(2)
    models = [
        panda.scaled(mass, friction)
        for mass, friction in rng.uniform(0.8, 1.2, (count, 2))
    ]
    return simulate_batch(
        models,
        ComputedTorque(panda, GOAL),
        0.05,
        control_period=0.005,
        initial_positions=PANDA + rng.uniform(-0.1, 0.1, (count, 7)),
        initial_velocities=rng.uniform(-0.5, 0.5, (count, 7)),
        sensors=SENSORS,
        effort_delay=0.002,
        executor=executor,
    )


@contextmanager
def _cluster() -> Iterator[Executor]:
    """Yield an executor of two dask.distributed processes on this machine."""
    distributed = pytest.importorskip("distributed")
    with distributed.Client(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as client:
        yield client.get_executor()


@pytest.mark.parametrize(
    "executors",
    [
        lambda: ThreadPoolExecutor(2),
        pytest.param(
            # Forking a process with threads may deadlock.
            lambda: ProcessPoolExecutor(2, multiprocessing.get_context("spawn")),
            marks=pytest.mark.skipif(
                not COMPILED, reason="takes as long as all other tests together"
            ),
        ),
        pytest.param(_cluster, marks=pytest.mark.slow),
    ],
    ids=["threads", "processes", "cluster"],
)
def test_executors_give_bitwise_equal_results(
    executors: Callable[[], Any], panda: RobotModel
) -> None:
    with executors() as executor:
        run = _panda_run(panda, executor)
    assert (
        run.position.shape == (20, 11, 7)
        and _different(run, _panda_run(panda, None)) == []
    )


def test_one_model_and_arrays_are_split() -> None:
    """One model, one initial state, torques per plant: tasks of three plants (20 plants, eight tasks)."""
    torques = np.random.default_rng(3).uniform(-5.0, 5.0, (20, 10, 1))
    keywords: dict[str, Any] = {
        "count": 20,
        "initial_positions": [0.2],
        "sensors": SENSORS,
    }
    here = simulate_batch(_block(), torques, 0.01, **keywords)
    with ThreadPoolExecutor(2) as executor:
        assert (
            _different(
                simulate_batch(_block(), torques, 0.01, executor=executor, **keywords),
                here,
            )
            == []
        )
        for count in (1, 2, 9):
            few = simulate_batch(
                _block(),
                torques[:count],
                0.01,
                **(keywords | {"count": count}),
                executor=executor,
            )
            assert np.array_equal(few.position, here.position[:count])
            assert np.array_equal(few.measured_position, here.measured_position[:count])


def test_each_task_has_its_own_copy_of_a_stateful_controller() -> None:
    start = np.linspace(-1.0, 1.0, 20)[:, None]
    alone = simulate_batch(
        _block(), Integral(), 0.05, count=20, initial_positions=start
    )
    mine = Integral()
    with ThreadPoolExecutor(4) as executor:
        run = simulate_batch(
            _block(), mine, 0.05, count=20, initial_positions=start, executor=executor
        )
    assert _different(run, alone) == [] and mine.total == 0.0


@pytest.mark.parametrize("threads", [0, 2])
def test_a_failing_plant_ends_the_run_with_its_results(threads: int) -> None:
    """Plant 13 is beyond 1.25 m, where the torque is NaN from 0.02 s on; the periods before are kept."""
    start = np.arange(20.0)[:, None] / 10.0
    start[14:] = 0.0
    keywords: dict[str, Any] = {
        "count": 20,
        "initial_positions": start,
        "control_period": 0.005,
    }
    culprit = "plants 12 to 14.*plant 1: " if threads else "plant 13: "
    with (
        ThreadPoolExecutor(2) as executor,
        pytest.raises(SimulationError, match=f"{culprit}.*nan") as caught,
    ):
        simulate_batch(
            _block(),
            Broken(0.02, 1.25),
            0.1,
            executor=executor if threads else None,
            **keywords,
        )
    assert "t = 0.02 s" in str(caught.value)
    expected = simulate_batch(_block(), np.zeros((4, 1)), 0.02, **keywords)
    there = pickle.loads(pickle.dumps(caught.value))
    assert type(there) is SimulationError and str(there) == str(caught.value)
    assert _different(there.run, expected) == [], "also from another process"


def test_other_errors_pass_through_an_executor() -> None:
    def controller(t: float, q: Any, qd: Any) -> Any:
        raise ZeroDivisionError("mine")

    with (
        ThreadPoolExecutor(1) as executor,
        pytest.raises(ZeroDivisionError, match="mine"),
    ):
        simulate_batch(_block(), controller, 0.1, count=9, executor=executor)


@pytest.mark.parametrize(
    ("keywords", "culprit"),
    [
        ({"count": None}, "count None"),
        ({"models": [_block()] * 2}, "2 models, count 3"),
        ({"method": "event"}, "event"),
        ({"initial_positions": np.zeros((2, 1))}, r"initial_positions.*\(2, 1\)"),
        ({"initial_velocities": np.zeros((3, 1, 1))}, "initial_velocities"),
        ({"initial_velocities": [[1.0], [2.0], []]}, "initial_velocities"),
        ({"controller": np.zeros((2, 10, 1))}, r"controller.*\(2, 10, 1\)"),
        ({"controller": np.zeros((3, 9, 1))}, r"controller.*\(3, 9, 1\)"),
        ({"controller": lambda t, q, qd: np.zeros((2, 1))}, r"\(2, 1\)"),
    ],
)
def test_impossible_settings_of_batches_are_refused(
    keywords: dict[str, Any], culprit: str
) -> None:
    settings = {
        "models": _block(),
        "controller": np.zeros((10, 1)),
        "duration": 0.01,
        "count": 3,
        **keywords,
    }
    with pytest.raises(RobotDynamicsError, match=culprit):
        simulate_batch(**settings)
