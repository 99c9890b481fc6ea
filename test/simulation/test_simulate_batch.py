"""Many plants at once: each is what it is alone, and the same bits come from threads, processes and clusters."""

import multiprocessing
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.kernels.compilation import COMPILED
from robot_dynamics_ros.simulation.run import Run, SimulationError
from robot_dynamics_ros.simulation.sensors import Sensors
from robot_dynamics_ros.simulation.simulate import simulate
from robot_dynamics_ros.simulation.simulate_batch import simulate_batch
from support import plants
from support.comparing import assert_close
from support.plant_controllers import Broken, ComputedTorque, Integral

PANDA = [0.3, -0.5, 0.2, -1.5, 0.1, 1.0, 0.3]
GOAL = [0.5, -0.4, 0.3, -1.6, 0.2, 1.2, 0.3]
SENSORS = Sensors(1e-4, 1e-3, 1e-5, seed=3)
METHODS = ("rk4", "semi_implicit")


@pytest.fixture(scope="module")
def panda(load_robot: Callable[..., Any]) -> RobotModel:
    model: RobotModel = load_robot("panda", "panda_coulomb")
    return model


def _slider() -> RobotModel:
    return plants.slider(2.0, 0.5, (0.0, 0.0, -9.81)).model


def _different(a: Run, b: Run) -> list[str]:
    return [name for name, value in vars(a).items() if not np.array_equal(value, vars(b)[name])]


@pytest.mark.parametrize("method", METHODS)
def test_each_plant_moves_as_it_does_alone(method: str, panda: RobotModel) -> None:
    """Other masses, friction, payload and start: to rounding, over 0.1 s, what `simulate` gives for one."""
    rng = np.random.default_rng(1)
    controller = ComputedTorque(panda, GOAL)
    models = [panda.scaled(1.0 + 0.1 * k, 1.0 + 0.2 * k) for k in range(4)]
    models.append(panda.with_payload("panda_link8", 1.0, [0.0, 0.0, 0.1], np.eye(3) * 0.01))
    q, qd = PANDA + rng.uniform(-0.1, 0.1, (5, 7)), rng.uniform(-0.5, 0.5, (5, 7))
    keywords: dict[str, Any] = {"method": method, "control_period": 0.005, "effort_delay": 0.002}
    batch = simulate_batch(models, controller, 0.1, initial_positions=q, initial_velocities=qd, **keywords)
    assert batch.position.shape == batch.measured_velocity.shape == batch.stuck.shape == (5, 21, 7)
    assert batch.command.shape == batch.effort.shape == (5, 20, 7)
    assert batch.time.shape == (21,)
    for k, model in enumerate(models):
        alone = simulate(model, controller, 0.1, initial_positions=q[k], initial_velocities=qd[k], **keywords)
        assert_close(batch.position[k], alone.position, 1e-9)
        assert_close(batch.velocity[k], alone.velocity, 1e-8)
        assert_close(batch.command[k], alone.command, 1e-7, 10.0)
        assert_close(batch.effort[k], alone.effort, 1e-7, 10.0)
        assert np.array_equal(batch.time, alone.time)
    assert np.array_equal(batch.position[:, 0], q)
    assert len(np.unique(batch.position[:, -1, 1])) == 5


def test_controller_answers_once_for_all_plants() -> None:
    seen: list[tuple[float, Any, Any]] = []

    def controller(t: float, q: Any, qd: Any) -> Any:
        seen.append((t, q.shape, qd.shape))
        return [3.0]

    run = simulate_batch(_slider(), controller, 0.02, count=3, control_period=0.005)
    assert seen == [(t, (3, 1), (3, 1)) for t in run.time[:-1]]
    assert (run.command == 3.0).all()
    assert (run.position == run.position[:1]).all()


def test_torques_given_beforehand_for_all_or_for_each() -> None:
    """v = (F - c) t / m once it slides, for each plant's own force F."""
    forces = np.array([2.0, 5.0, 0.25])
    run = simulate_batch(_slider(), np.tile(forces[:, None, None], (1, 50, 1)), 0.05, count=3)
    assert_close(run.velocity[:, -1, 0], np.maximum(forces - 0.5, 0.0) / 2.0 * 0.05, 1e-12)
    assert run.stuck[:, -1, 0].tolist() == [False, False, True]
    same = simulate_batch(_slider(), np.full((50, 1), 5.0), 0.05, count=3)
    assert np.array_equal(same.position[0], run.position[1])
    assert np.array_equal(same.position[2], run.position[1])


def _panda_run(panda: RobotModel, executor: Executor | None, count: int = 20) -> Run:
    rng = np.random.default_rng(2)
    models = [panda.scaled(mass, friction) for mass, friction in rng.uniform(0.8, 1.2, (count, 2))]
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
    """Two processes of dask.distributed on this machine."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client.get_executor()


@pytest.mark.parametrize(
    "executors",
    [
        lambda: ThreadPoolExecutor(2),
        pytest.param(
            # A fork of a process with threads may hang.
            lambda: ProcessPoolExecutor(2, multiprocessing.get_context("spawn")),
            marks=pytest.mark.skipif(not COMPILED, reason="takes as long as all other tests together"),
        ),
        pytest.param(_cluster, marks=pytest.mark.slow),
    ],
    ids=["threads", "processes", "cluster"],
)
def test_executors_give_the_same_bits(executors: Callable[[], Any], panda: RobotModel) -> None:
    with executors() as executor:
        run = _panda_run(panda, executor)
    assert run.position.shape == (20, 11, 7)
    assert _different(run, _panda_run(panda, None)) == []


def test_one_model_and_arrays_are_cut_as_well() -> None:
    """One model many times, one start for all, torques of each: parts of three plants (20 plants, eight tasks)."""
    torques = np.random.default_rng(3).uniform(-5.0, 5.0, (20, 10, 1))
    keywords: dict[str, Any] = {"count": 20, "initial_positions": [0.2], "sensors": SENSORS}
    here = simulate_batch(_slider(), torques, 0.01, **keywords)
    with ThreadPoolExecutor(2) as executor:
        assert _different(simulate_batch(_slider(), torques, 0.01, executor=executor, **keywords), here) == []
        for count in (1, 2, 9):
            few = simulate_batch(_slider(), torques[:count], 0.01, **(keywords | {"count": count}), executor=executor)
            assert np.array_equal(few.position, here.position[:count])
            assert np.array_equal(few.measured_position, here.measured_position[:count])


def test_what_is_measured_exactly_is_kept_once() -> None:
    with ThreadPoolExecutor(1) as executor:
        for run in (simulate_batch(_slider(), np.zeros((5, 1)), 0.005, count=9, executor=e) for e in (None, executor)):
            assert run.measured_position is run.position
            assert run.measured_velocity is run.velocity


def test_each_part_has_its_own_copy_of_a_controller_that_remembers() -> None:
    start = np.linspace(-1.0, 1.0, 20)[:, None]
    alone = simulate_batch(_slider(), Integral(), 0.05, count=20, initial_positions=start)
    mine = Integral()
    with ThreadPoolExecutor(4) as executor:
        run = simulate_batch(_slider(), mine, 0.05, count=20, initial_positions=start, executor=executor)
    assert _different(run, alone) == []
    assert mine.total == 0.0


@pytest.mark.parametrize("threads", [0, 2])
def test_one_bad_plant_ends_the_run_but_loses_nothing(threads: int) -> None:
    """Plant 13 is beyond 1.25 m, where the torque is no number from 0.02 s on; till then all are kept."""
    start = np.arange(20.0)[:, None] / 10.0
    start[14:] = 0.0
    keywords: dict[str, Any] = {"count": 20, "initial_positions": start, "control_period": 0.005}
    culprit = "plants 12 to 14.*plant 1, " if threads else "plant 13, "
    with ThreadPoolExecutor(2) as executor, pytest.raises(SimulationError, match=f"{culprit}.*nan") as caught:
        simulate_batch(_slider(), Broken(0.02, 1.25), 0.1, executor=executor if threads else None, **keywords)
    assert "t = 0.02 s" in str(caught.value)
    expected = simulate_batch(_slider(), np.zeros((4, 1)), 0.02, **keywords)
    there = pickle.loads(pickle.dumps(caught.value))
    assert type(there) is SimulationError and str(there) == str(caught.value)
    assert _different(there.run, expected) == [], "also from another process"


def test_other_errors_come_through_an_executor() -> None:
    def controller(t: float, q: Any, qd: Any) -> Any:
        raise ZeroDivisionError("mine")

    with ThreadPoolExecutor(1) as executor, pytest.raises(ZeroDivisionError, match="mine"):
        simulate_batch(_slider(), controller, 0.1, count=9, executor=executor)


@pytest.mark.parametrize(
    ("keywords", "culprit"),
    [
        ({"count": None}, "count is None"),
        ({"count": 0}, "count is 0"),
        ({"models": []}, "0 models"),
        ({"models": [_slider()] * 2}, "2 models and count 3"),
        ({"method": "event"}, "event"),
        ({"initial_positions": np.zeros((2, 1))}, r"initial_positions.*\(2, 1\)"),
        ({"initial_velocities": np.zeros((3, 1, 1))}, "initial_velocities"),
        ({"initial_velocities": [[1.0], [2.0], []]}, "initial_velocities"),
        ({"controller": np.zeros((2, 10, 1))}, r"controller.*\(2, 10, 1\)"),
        ({"controller": np.zeros((3, 9, 1))}, r"controller.*\(3, 9, 1\)"),
        ({"controller": lambda t, q, qd: np.zeros((2, 1))}, r"\(2, 1\)"),
    ],
)
def test_impossible_settings_are_refused(keywords: dict[str, Any], culprit: str) -> None:
    settings = {"models": _slider(), "controller": np.zeros((10, 1)), "duration": 0.01, "count": 3, **keywords}
    with pytest.raises(RobotDynamicsError, match=culprit):
        simulate_batch(**settings)


def test_run_says_what_it_is() -> None:
    run = simulate_batch(_slider(), np.zeros((10, 1)), 0.01, count=3)
    assert repr(run) == "Run(3 plants, 1 joints, 10 control periods, 0.01 s)"
