"""Each script in examples/ runs, draws, and finds what it says it finds. resolved_rate.py has a file of its own."""

import math
import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from comparing import assert_close
from example_scripts import EXAMPLES, load_example
from numpy.typing import NDArray

Array = NDArray[np.float64]
pytestmark = pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")
ROOT = EXAMPLES.parent


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """run(name, *arguments) calls an example's main in an empty folder and returns what it printed."""
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


def test_every_script_is_tested_and_listed() -> None:
    scripts = {path.name for path in EXAMPLES.iterdir() if path.suffix in (".py", ".ipynb")}
    tests = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("*.py"))
    untested = {name for name in scripts if f'("{name.split(".")[0]}"' not in tests}
    assert untested == {"tour.ipynb", "test_from_a_bag.py"}  # test_tour.py, and pytest's own testpaths
    assert scripts == set(re.findall(r"`(\w+\.(?:py|ipynb))`", (EXAMPLES / "README.md").read_text(encoding="utf-8")))


@pytest.mark.parametrize("robot", ["panda", "scara"])
def test_inverse_dynamics(robot: str, run: Callable[..., str]) -> None:
    """The table beside Pinocchio's torques."""
    urdf = ROOT / "urdf" / f"{robot}.urdf"
    table = [numbers(line[20:]) for line in run("inverse_dynamics", str(urdf)).splitlines()[1:-1]]
    tau, inertia, velocity, gravity = np.array(table).T
    model = pin.buildModelFromUrdf(str(urdf))
    q = np.clip(np.full(model.nq, 0.3), model.lowerPositionLimit, model.upperPositionLimit)
    assert_close(tau, pin.rnea(model, model.createData(), q, np.full(model.nv, 0.5), np.ones(model.nv)), 6e-5)
    assert_close(gravity, pin.computeGeneralizedGravity(model, model.createData(), q), 6e-5)
    assert_close(inertia + velocity + gravity, tau, 2e-4)


def test_own_control_law(run: Callable[..., str]) -> None:
    """It learns the mass to a percent, and tracks a hundred times better than the law that does not."""
    pd, adaptive, mass, carried = numbers(run("own_control_law"))[:4]
    assert mass == pytest.approx(carried, rel=0.01)
    assert adaptive < 0.01 * pd
    assert_picture("own_control_law.png")


def test_payload_at_run_time(run: Callable[..., str]) -> None:
    """What it observes is the weight times the path of the payload's centre of mass, by differences of its height."""
    told = run("payload_at_run_time", "here.png").splitlines()
    observed = np.array([numbers(line)[0] for line in told[:7]])
    example = load_example("payload_at_run_time")
    model, errors = example.EMPTY, example.run()[0]
    q = example.HOLD - errors[example.TOLD - 1]

    def height(q: Array) -> float:
        return float((model.link_pose(q, "panda_link8") @ [0.0, 0.0, 0.05, 1.0])[2])

    steps = 1e-6 * np.eye(7)
    slope = np.array([(height(q + step) - height(q - step)) / 2e-6 for step in steps])
    assert_close(observed, -1.2 * 9.81 * slope, 5e-3)
    sunk, back = numbers(told[7])
    assert sunk > 50.0 and back < 0.1
    assert_picture("here.png")


def test_identification(run: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    told = run("identification", "found.yaml").splitlines()
    for line in told[:6]:
        found, true = numbers(line)
        assert found == pytest.approx(true, rel=0.03), line
    urdf, identified = (numbers(line)[0] for line in told[6:8])
    assert urdf == pytest.approx(20.0, abs=0.1)  # of 1.25 times the mass a fifth is missing
    assert identified < 0.5


def test_thousand_arms() -> None:
    """Forty of them. A gain ten times as high leaves about a hundredth of the error; one that is too high, more."""
    example = load_example("thousand_arms")
    masses = np.linspace(0.7, 1.3, 40)
    low, high, too_high = (np.median(example.errors(omega, masses)) for omega in (10.0, 100.0, 300.0))
    assert 0.003 * low < high < 0.03 * low
    assert too_high > 10.0 * high


@pytest.mark.slow
def test_thousand_arms_draws(run: Callable[..., str]) -> None:
    found = [numbers(line) for line in run("thousand_arms").splitlines()[:-1]]
    assert [row[0] < row[1] < 0.1 for row in found] == [True] * 4
    assert_picture("thousand_arms.png")


def test_four_bar(run: Callable[..., str]) -> None:
    """The torque is the slope of the energy over the angle: all else follows from it by circles, without a Jacobian."""
    example = load_example("four_bar")
    torque, force = example.turn()
    exact = np.array([(_energy(angle + 1e-3) - _energy(angle - 1e-3)) / 2e-3 for angle in example.TURN])
    assert_close(torque, exact, 1e-5)
    assert np.abs(force[:, 1]).max() < 1e-9  # a loop in a plane says nothing across it
    assert abs(numbers(run("four_bar"))[2]) < 1e-12
    assert_picture("four_bar.png")


def _energy(angle: float) -> float:
    """Kinetic and potential energy (J) of the three rods, while the crank turns at 6 rad/s."""
    h = 1e-5
    now, later = _pins(angle), _pins(angle + h)
    total = 0.0
    for (a, b), (a2, b2) in zip(zip(now, now[1:], strict=False), zip(later, later[1:], strict=False), strict=True):
        length = float(np.linalg.norm(b - a))
        mass = 2.0 * length
        middle, speed = (a + b) / 2.0, ((a2 + b2) - (a + b)) / 2.0 * 6.0 / h
        turned = math.atan2(*(b2 - a2)[::-1]) - math.atan2(*(b - a)[::-1])
        rate = math.remainder(turned, 2.0 * math.pi) * 6.0 / h
        total += 0.5 * mass * float(speed @ speed) + mass * length**2 / 24.0 * rate**2 + mass * 9.81 * float(middle[1])
    return total


def _pins(angle: float) -> list[Array]:
    """The four pins (x, z): the third is where circles about the second and the fourth meet, the upper one."""
    a, d = np.zeros(2), np.array([0.45, 0.0])
    b = 0.15 * np.array([math.cos(angle), math.sin(angle)])
    apart = float(np.linalg.norm(d - b))
    along = (apart**2 + 0.5**2 - 0.4**2) / (2.0 * apart)
    x = (d - b) / apart
    c = b + along * x + math.sqrt(0.5**2 - along**2) * np.array([-x[1], x[0]])
    return [a, b, c, d]
