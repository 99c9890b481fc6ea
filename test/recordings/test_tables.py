"""Recordings in text, MAT, NPZ and NPY files, written by NumPy and SciPy."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from robot_dynamics_ros.base.errors import BagError
from robot_dynamics_ros.recordings.tables import read_table
from support.commands import run
from support.comparing import assert_close

T = 0.25 + 0.002 * np.arange(40)
Q = np.sin(np.outer(T, [3.0, 4.0]))
TAU = np.cos(np.outer(T, [5.0, 6.0]))
TABLE = np.column_stack([T, Q, TAU])
JOINTS = "joints: [shoulder, elbow]\n"
NAMED = """
time: {columns: t, unit: s}
position: {columns: q1-2, unit: rad}
effort: {columns: [tau1, tau2], unit: Nm}
"""
NUMBERED = """
time: {columns: 1, unit: s}
position: {columns: 2-3, unit: rad}
effort: {columns: [4, 5], unit: Nm}
"""


CSV = {
    "delimiter": ";",
    "comments": "",
    "header": '\ufeffrecorded today\n"t"; "q1"; "q2"; "tau1"; "tau2"\ns;rad;rad;Nm;Nm',
}


WRITERS: list[tuple[str, Callable[[Path], object], str]] = [
    ("a.csv", lambda path: np.savetxt(path, TABLE, **CSV), NAMED),
    ("a.txt", lambda path: np.savetxt(path, TABLE, header="t q1 q2 tau1 tau2"), NAMED),
    ("a.npy", lambda path: np.save(path, TABLE), NUMBERED),
    (
        "a.npz",
        lambda path: np.savez(path, t=T, q=Q.T, tau=TAU.T, notes=np.array([{}])),
        """
time: {columns: t, unit: s}
position: {columns: q, unit: rad, axis: 1}
effort: {columns: tau, unit: Nm, axis: 1}
""",
    ),
    (
        "a.mat",
        lambda path: savemat(path, {"log": {"t": T, "q": Q, "all": TABLE}}),
        """
time: {columns: log.t, unit: s}
position: {columns: log.q, unit: rad}
effort: {columns: log.all.4-5, unit: Nm}
""",
    ),
]


def _write(folder: Path, text: str, description: str) -> Path:
    np.savetxt(folder / "longer.txt", np.ones((5, 2)))
    data = folder / "arm.csv"
    data.write_text(text)
    (folder / "arm.csv.yaml").write_text(description)
    return data


@pytest.mark.parametrize(("name", "write", "description"), WRITERS)
def test_every_format_gives_the_same_recording(
    name: str, write: Callable[[Path], object], description: str, tmp_path: Path
) -> None:
    data = tmp_path / name
    write(data)
    (tmp_path / "a.yaml").write_text(JOINTS + description)
    recording = read_table(data, tmp_path / "a.yaml")
    assert recording.joint_names == ["shoulder", "elbow"]
    assert_close(recording.stamps * 1e-9, T, 1e-8)
    assert list(recording.values) == ["position", "effort"]
    assert_close(recording.values["position"], Q, 1e-12)
    assert_close(recording.values["effort"], TAU, 1e-12)


def test_units_offsets_and_several_files(tmp_path: Path) -> None:
    description = """
joints: [shoulder, elbow]
time: {file: stamps.txt, unit: [s, ns]}
position: {unit: deg}
velocity: {columns: [2, 1], unit: deg/s}
effort: {unit: [-0.5, mNm]}
commanded_position: {file: counts.txt, unit: 0.000244140625, offset: [2048, 2048]}
"""
    tables = {"deg": np.degrees(Q), "counts": Q * 4096 + 2048, "stamps": [[7, 5]] * 40}
    for name, table in tables.items():
        np.savetxt(tmp_path / f"{name}.txt", table)
    (tmp_path / "arm.yaml").write_text(description)
    recording = read_table(tmp_path / "deg.txt", tmp_path / "arm.yaml")
    assert set(recording.stamps) == {7_000_000_005}
    position, velocity, effort, command = recording.values.values()
    assert_close(position, Q, 1e-12)
    assert_close(command, Q, 1e-12)
    assert_close(velocity, Q[:, ::-1], 1e-12)
    assert_close(effort, np.degrees(Q) * [-0.5, 1e-3], 1e-12)


def test_names_of_joints_in_columns_and_a_rate(tmp_path: Path) -> None:
    position = 'rate: 500\nposition: {columns: "{}/pos", unit: rad}'
    data = _write(tmp_path, "elbow/pos,shoulder/pos\n1,2\n3,4\n", JOINTS + position)
    recording = read_table(data, tmp_path / "arm.csv.yaml")
    assert recording.values["position"].tolist() == [[2, 1], [4, 3]]
    assert np.diff(recording.stamps) == 2_000_000


GOOD = "t,q1,q2\n0,1,2\n0.1,3,4\n0.2,5,6\n0.3,7,8\n"
TIME_AND_POSITION = """
time: {columns: t, unit: s}
position: {columns: q1-2, unit: rad}
"""


@pytest.mark.parametrize(
    ("old", "new", "culprits"),
    [
        ("columns: q1-2", "columns: q1-3", "position q3"),
        ("rad", "degree", "position degree deg,"),
        ("position", "posiiton", "posiiton position?"),
        ("columns", "column", "time columns?"),
        ("time", "rate: 10\ntime", "rate time"),
        ("joints: ", "joint: ", "joints"),
        ("0.2", "0.05", "time row 3"),
        ("5,6", "5", "#4 columns"),
        ("{columns: q1", "{file: longer.txt, columns: 1", "position"),
    ],
)
def test_errors_name_the_culprit_and_the_cure(
    old: str, new: str, culprits: str, tmp_path: Path
) -> None:
    description = (JOINTS + TIME_AND_POSITION).replace(old, new)
    data = _write(tmp_path, GOOD.replace(old, new), description)
    with pytest.raises(BagError, match="Cure: ") as error:
        run("import", data, "-o", tmp_path / "bag")
    assert all(culprit in str(error.value) for culprit in culprits.split())
    assert not (tmp_path / "bag").exists()


@pytest.mark.parametrize("text", ["t;q1;q2\n0;1;1,5\n1;2;2,5\n", "", "t,q1,q2\n"])
def test_text_without_numbers(text: str, tmp_path: Path) -> None:
    data = _write(tmp_path, text, JOINTS + TIME_AND_POSITION)
    with pytest.raises(BagError, match=r"arm\.csv.*Cure: "):
        run("import", data, "-o", tmp_path / "bag")


def test_mat_files_of_version_7_3_are_refused(tmp_path: Path) -> None:
    # as MATLAB's save(..., '-v7.3') begins
    (tmp_path / "t.mat").write_bytes(b"MATLAB 7.3 MAT-file".ljust(124) + b"\0\2IM")
    data = _write(tmp_path, GOOD, JOINTS + "time: {file: t.mat, unit: s}")
    with pytest.raises(BagError, match=r"t\.mat.*-v7"):
        run("import", data, "-o", tmp_path / "bag")
