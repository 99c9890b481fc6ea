"""The comparison of the control laws: what its columns are, the order that must come out, and the table made of it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import control_laws
from benchmarks.control_laws import (
    COLUMNS,
    EXACT,
    FRICTION,
    LAWS,
    OFF,
    ROBOTS,
    SATURATING,
    SHARE,
    Arm,
    Result,
    compare,
    load,
    load_of,
    off_by,
    report,
    runs_of,
    table,
    track,
)
from benchmarks.document import around_part
from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.control import laws
from robot_dynamics_ros.kernels.layout import INERTIA, MASS, MOMENT, ROTOR_INERTIA
from robot_dynamics_ros.model.inertia import symmetric

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "control.md"


@pytest.fixture(scope="module", params=ROBOTS)
def arm(request: pytest.FixtureRequest) -> Arm:
    """An arm with 4 s of motion in place of 8."""
    return load(request.param, 4.0)


def test_computed_torque_beats_independent_joint_control(arm: Arm, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the torque does not saturate, with the right model by far: Craig 10.4; Khosla and Kanade 1989."""
    monkeypatch.setattr(control_laws, "DRAWS", 2)
    found = compare(arm, (EXACT, OFF, FRICTION), ("pd", "pd_gravity", "computed_torque"))
    pd, _, ours = ({column: result.error for column, result in found[law].items()} for law in found)
    assert ours[EXACT] < 1.0 and ours[EXACT] < pd[EXACT] / 100.0
    assert ours[OFF] < pd[OFF] / 10.0
    assert ours[FRICTION] < pd[FRICTION]
    # Each column spoils something, and independent joints do not notice what they do not use.
    assert ours[EXACT] < ours[OFF] < ours[FRICTION]
    assert found["pd"][FRICTION] == found["pd"][EXACT]
    assert found["pd_gravity"][EXACT].error < pd[EXACT]


@pytest.mark.parametrize("title", ROBOTS)
def test_the_torque_saturates_where_it_should(title: str) -> None:
    """The most loaded joint's limit is below what the motion takes; and it is felt."""
    arm = load(title)
    ((model, settings),) = runs_of(arm, SATURATING)
    (scale,) = settings.effort_limit_scale
    need = load_of(arm)
    assert scale == pytest.approx(SHARE * need.max())
    errors, _ = track(arm, model, settings)
    free, _ = track(arm, model, arm.settings)
    assert np.sqrt(np.mean(errors**2)) > 5.0 * np.sqrt(np.mean(free**2))


def test_too_fast_is_told(arm: Arm) -> None:
    slow, fast = (replace(arm.model.packed, velocity_limits=np.full(arm.model.n, limit)) for limit in (100.0, 0.1))
    for packed, expected in ((slow, False), (fast, True)):
        limited = arm._replace(model=replace(arm.model, packed=packed))
        assert track(limited, arm.model, arm.settings)[1] == expected


def _inertial(model: RobotModel) -> list[Any]:
    """Masses, first moments and inertias of bodies, and inertias of rotors."""
    robot = model.packed.robot
    bodies = robot.bodies
    return [bodies[:, MASS], bodies[:, MOMENT:INERTIA], bodies[:, INERTIA:], robot.rotors[:, ROTOR_INERTIA]]


def _pseudo_inertias(model: RobotModel) -> Any:
    """Second moments, first moments and mass of each body (bodies, 4, 4); positive where there can be such a body."""
    found = np.empty((len(model.packed.robot.bodies), 4, 4))
    for j, body in zip(found, model.packed.robot.bodies, strict=True):
        inertia = symmetric(*body[INERTIA:])
        j[:3, :3] = np.trace(inertia) / 2 * np.eye(3) - inertia
        j[3, :3] = j[:3, 3] = body[MOMENT:INERTIA]
        j[3, 3] = body[MASS]
    return found


@pytest.mark.parametrize("seed", range(control_laws.DRAWS))
def test_a_model_that_is_off(arm: Arm, seed: int) -> None:
    """Every number by up to a tenth; placements, friction and the robot itself stay."""
    before = arm.model.packed.numbers.copy()
    model = off_by(arm.model, 0.1, np.random.default_rng(seed))
    for old, new in zip(_inertial(arm.model), _inertial(model), strict=True):
        assert (np.abs(new - old) <= 0.1 * np.abs(old) + 1e-12).all()
        assert old.size == 0 or (np.abs(new - old) / np.abs(np.where(old, old, np.inf))).max() > 0.02
    bodies, same = model.packed.robot.bodies, arm.model.packed.robot.bodies
    np.testing.assert_array_equal(bodies[:, :MASS], same[:, :MASS])
    np.testing.assert_array_equal(arm.model.packed.numbers, before)
    q, qd = np.array(arm.start), np.ones(model.n)
    np.testing.assert_array_equal(model.friction_torque(q, qd), arm.model.friction_torque(q, qd))
    assert np.linalg.eigvalsh(model.mass_matrix(q)).min() > 0.0
    twin = off_by(arm.model, 0.1, np.random.default_rng(seed))
    np.testing.assert_array_equal(twin.packed.numbers, model.packed.numbers)


def test_bodies_that_can_be_stay_so(arm: Arm) -> None:
    """The PUMA's published link 3 breaks the triangle inequality as it is, and does so still."""
    right, wrong = (
        np.linalg.eigvalsh(_pseudo_inertias(model)).min(axis=1)
        for model in (arm.model, off_by(arm.model, 0.5, np.random.default_rng(1)))
    )
    assert ((wrong > -1e-12) == (right > -1e-12)).all()
    assert (right > -1e-12).sum() == {7: 7, 6: 5}[arm.model.n]


def test_right_by_a_part_of_zero(arm: Arm) -> None:
    model, q = off_by(arm.model, 0.0, np.random.default_rng(1)), np.array(arm.start)
    np.testing.assert_allclose(model.mass_matrix(q), arm.model.mass_matrix(q), rtol=1e-12, atol=1e-15)


def test_all_laws_that_follow_are_compared() -> None:
    assert set(LAWS) == {name for name, law in laws.LAWS.items() if law.follows}


def test_table() -> None:
    results = {"pd": {"a": Result(71.84, False), "b": Result(1743.4, True)}, "x": {"a": Result(0.2, True)}}
    results["x"]["b"] = Result(1000.0, False)
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table("Panda", results).splitlines()]
    assert rows[0] == ["Panda", "a", "b"]
    assert rows[2:] == [["`pd`", "71.8", "1743 ✗"], ["`x`", "0.2 ✗", "1000"]]


def _tables(text: str) -> dict[str, dict[str, list[str]]]:
    """Cells of each table by its title and row; a title's own row names the columns."""
    found: dict[str, dict[str, list[str]]] = {}
    for line in text.splitlines():
        if line.startswith("| ") and not line.startswith("| -"):
            name, *cells = (cell.strip() for cell in line.split("|")[1:-1])
            if not name.startswith("`"):
                rows = found[name] = {}
            rows[name.strip("`")] = cells
    return found


def test_the_document_has_what_the_command_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same tables, and in their numbers the order that the literature reports."""
    before, after = around_part(DOCUMENT, control_laws.PART)
    text = DOCUMENT.read_text(encoding="utf-8")[len(before) : -len(after)]
    blank = {law: dict.fromkeys(COLUMNS, Result(1.0, False)) for law in LAWS}
    monkeypatch.setattr(control_laws, "compare", lambda arm: blank)
    documented, made = _tables(text), _tables(report())
    assert list(documented) == list(made) == list(ROBOTS)
    for title, rows in documented.items():
        assert list(rows) == list(made[title]) == [title, *LAWS]
        assert rows[title] == made[title][title] == list(COLUMNS)
        for column in range(COLUMNS.index(SATURATING)):
            pd, ours = (float(rows[law][column].split()[0]) for law in ("pd", "computed_torque"))
            assert ours < pd
    saturating = [line for line in report().splitlines() if line.startswith("Torque saturating")]
    assert saturating == [line for line in text.splitlines() if line.startswith("Torque saturating")]


def test_document_without_a_place_is_found_before_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_laws, "report", lambda: pytest.fail("it ran"))
    with pytest.raises(SystemExit, match="Cure: a Markdown file with"):
        control_laws.main(["--write", str(tmp_path / "control.md")])
