"""Scripts in examples/ and the notebook: they run, plot, and give the results that they state."""

import importlib.util
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import matplotlib
import numpy as np
import pinocchio as pin
import pytest

from oracles import craig_jacobians
from support.comparing import assert_close

pytestmark = pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")
ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"


def load_example(name: str) -> ModuleType:
    """Import examples/<name>.py."""
    specification = importlib.util.spec_from_file_location(
        f"{name}_example", EXAMPLES / f"{name}.py"
    )
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    specification.loader.exec_module(module)
    return module


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """Return a function run(name, *arguments) that calls an example's main in an empty folder, for its output."""
    monkeypatch.chdir(tmp_path)

    def call(name: str, *arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", [f"{name}.py", *arguments])
        load_example(name).main()
        return capsys.readouterr().out

    return call


def numbers(text: str) -> list[float]:
    return [float(word) for word in re.findall(r"-?\d+\.\d+(?:e-?\d+)?", text)]


def assert_picture(name: str) -> None:
    picture = Path(name).read_bytes()
    assert picture.startswith(b"\x89PNG") and len(picture) > 15_000


@pytest.mark.parametrize("robot", ["panda", "scara"])
def test_inverse_dynamics(robot: str, run: Callable[..., str]) -> None:
    """The table agrees with Pinocchio's torques."""
    urdf = ROOT / "urdf" / f"{robot}.urdf"
    table = [
        numbers(line[20:])
        for line in run("inverse_dynamics", str(urdf)).splitlines()[1:-1]
    ]
    tau, inertia, velocity, gravity = np.array(table).T
    model = pin.buildModelFromUrdf(str(urdf))
    q = np.clip(
        np.full(model.nq, 0.3), model.lowerPositionLimit, model.upperPositionLimit
    )
    assert_close(
        tau,
        pin.rnea(
            model, model.createData(), q, np.full(model.nv, 0.5), np.ones(model.nv)
        ),
        6e-5,
    )
    assert_close(
        gravity, pin.computeGeneralizedGravity(model, model.createData(), q), 6e-5
    )
    assert_close(inertia + velocity + gravity, tau, 2e-4)


def test_own_control_law(run: Callable[..., str]) -> None:
    """The mass is estimated within 1 %, and the error is a hundredth of that of the other law."""
    pd, adaptive, mass, carried = numbers(run("own_control_law"))[:4]
    assert mass == pytest.approx(carried, rel=0.01)
    assert adaptive < 0.01 * pd
    assert_picture("own_control_law.png")


def test_payload_at_run_time(run: Callable[..., str]) -> None:
    """After the payload is set, the arm returns; test/control tests the momentum observer."""
    reported = run("payload_at_run_time", "here.png").splitlines()
    sunk, back = numbers(reported[7])
    assert sunk > 50.0 and back < 0.1
    assert_picture("here.png")


def test_identification(run: Callable[..., str]) -> None:
    reported = run("identification", "found.yaml").splitlines()
    for line in reported[:6]:
        found, true = numbers(line)
        assert found == pytest.approx(true, rel=0.03), line
    urdf, identified = (numbers(line)[0] for line in reported[6:8])
    # of 1.25 times the mass a fifth is missing
    assert urdf == pytest.approx(20.0, abs=0.1)
    assert identified < 0.5


def test_thousand_arms() -> None:
    """With 40 arms: a tenfold gain leaves about a hundredth of the error; a gain that is too high leaves more."""
    example = load_example("thousand_arms")
    masses = np.linspace(0.7, 1.3, 40)
    low, high, too_high = (
        np.median(example.errors(omega, masses)) for omega in (10.0, 100.0, 300.0)
    )
    assert 0.003 * low < high < 0.03 * low
    assert too_high > 10.0 * high


def test_four_bar(run: Callable[..., str]) -> None:
    """test/formulations tests the four-bar linkage itself."""
    assert abs(numbers(run("four_bar"))[2]) < 1e-12
    assert_picture("four_bar.png")


def test_resolved_rate(run: Callable[..., str]) -> None:
    """Craig, MATLAB exercise 5: closed-form Jacobian and determinant, Euler's rule, and J^T F at each step."""
    example = load_example("resolved_rate")
    motion = example.run()
    assert (example.LENGTHS, tuple(example.START)) == (
        craig_jacobians.THREE_LINK_LENGTHS,
        tuple(craig_jacobians.THREE_LINK_START),
    )
    assert_close(motion.time, np.linspace(0.0, 5.0, 51), 1e-14)
    q = craig_jacobians.THREE_LINK_START
    for k in range(51):
        j = craig_jacobians.three_link_jacobian(q)
        assert_close(motion.angles[k], q, 1e-12)
        assert_close(
            motion.rates[k],
            np.linalg.solve(j, craig_jacobians.THREE_LINK_VELOCITY),
            1e-12,
        )
        assert_close(motion.torques[k], j.T @ craig_jacobians.THREE_LINK_FORCE, 1e-12)
        assert motion.determinant[k] == pytest.approx(
            craig_jacobians.three_link_determinant(q), rel=1e-12
        )
        q = q + 0.1 * motion.rates[k]
    assert_close(
        motion.end_effector[-1] - motion.end_effector[0],
        5.0 * craig_jacobians.THREE_LINK_VELOCITY,
        0.03,
    )
    run("resolved_rate", "picture.png")
    assert_picture("picture.png")


def test_euler_integration(run: Callable[..., str]) -> None:
    """Craig (6.117): of first order, beside a method of fourth order."""
    *_, first, fourth = numbers(run("euler_integration"))
    assert first == pytest.approx(2.0, abs=0.1) and fourth == pytest.approx(
        16.0, abs=2.0
    )
    assert_picture("euler_integration.png")


@np.printoptions()  # the tour changes them
def test_tour_gives_the_results_in_its_text(capsys: pytest.CaptureFixture[str]) -> None:
    """It also prints what is stored as its output, but for numbers."""
    matplotlib.use("Agg")
    names: dict[str, Any] = {}
    printed = ""
    stored = ""
    pictures = 0
    for cell in json.loads((EXAMPLES / "tour.ipynb").read_text(encoding="utf-8"))[
        "cells"
    ]:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), "tour.ipynb", "exec"), names)
            printed += capsys.readouterr().out
            stored += "".join(
                line for output in cell["outputs"] for line in output.get("text", [])
            )
            pictures += sum(
                "image/png" in output.get("data", {}) for output in cell["outputs"]
            )
    assert len(names["plt"].get_fignums()) == pictures
    names["plt"].close("all")
    number = r"[-+.e\d\s]+"
    assert re.sub(number, "#", printed) == re.sub(number, "#", stored)
    # The Coulomb level of panda_joint7, a hundredth of the ramp above it at most.
    level = names["arm"].friction_torque(names["q"], np.eye(7)[6] * 1e-9)[6]
    assert level < names["pushes"][names["moved"]] < level + 0.01
    assert "before that it moved by 0.0 rad" in printed
    errors = names["errors"]
    assert errors["pd"] > errors["pd_gravity"] > 100.0 * errors["computed_torque"]
