"""Columns of the tables do not overlap and leave no gap."""

import pytest

from robot_dynamics_ros.dynamics.kernels import layout

#: Columns with how many numbers each holds, and the width of the table.
TABLES = {
    "tree": ("PARENT KIND FIRST AFTER", {}, layout.TREE_SIZE),
    "bodies": (
        "ROTATION POSITION MASS FIRST_MOMENT INERTIA",
        {"ROTATION": 9, "POSITION": 3, "FIRST_MOMENT": 3, "INERTIA": 6},
        layout.BODY_SIZE,
    ),
    "rotors": ("SPIN_AXIS ROTOR_INERTIA", {"SPIN_AXIS": 3}, layout.ROTOR_SIZE),
    "work": (
        "JOINT_POSITION JOINT_RATE JOINT_ACCELERATION JOINT_TORQUE PLACEMENT MOTION WRENCH COMPOSITE",
        {"PLACEMENT": 12, "MOTION": 9, "WRENCH": 6, "COMPOSITE": 10},
        layout.WORK_SIZE,
    ),
}


@pytest.mark.parametrize("table", TABLES)
def test_columns_fill_their_table(table: str) -> None:
    names, widths, size = TABLES[table]
    starts = {name: getattr(layout, name) for name in names.split()}
    taken = [
        start + k for name, start in starts.items() for k in range(widths.get(name, 1))
    ]
    assert sorted(taken) == list(range(size))
