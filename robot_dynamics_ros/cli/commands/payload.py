"""Command payload. ``run_payload`` takes the parsed arguments that ``add_payload`` declares."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Set
from pathlib import Path

import numpy as np

from robot_dynamics_ros.analysis.identification.two_recordings import (
    estimate_drive_gains,
    estimate_payload,
)
from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.cli.command_line import (
    add_filter,
    add_json,
    add_recorded_robot,
    print_json,
    read_measured,
    read_series,
    table,
)
from robot_dynamics_ros.cli.commands.torque import filtered_motion
from robot_dynamics_ros.cli.kernels import TORQUE, load_torque_kernels
from robot_dynamics_ros.dynamics.description.inertia import (
    ELEMENTS,
    check_inertia,
    symmetric,
)
from robot_dynamics_ros.dynamics.kernels.types import Array

_UNITS = {
    "mass": "kg",
    **{f"com.{axis}": "m" for axis in "xyz"},
    **dict.fromkeys(ELEMENTS, "kg m^2"),
}


def add_payload(parser: ArgumentParser) -> None:
    """Set the description of ``parser`` and add the arguments of payload."""
    parser.description = (
        "Identify the payload that the second of two recordings of the same motion has in addition, with 95 % "
        "intervals, from the difference of the efforts, in which errors of the model cancel. With --known, identify "
        "the drive gains of the joints instead. docs/identify.md lists the keys of --json."
    )
    parser.add_argument(
        "bags",
        type=Path,
        nargs=2,
        metavar="BAG",
        help="recording without, and with the payload",
    )
    parser.add_argument(
        "--link",
        required=True,
        help="link that carries the payload, in whose frame it is given",
    )
    parser.add_argument(
        "--known",
        type=float,
        nargs="+",
        metavar="NUMBER",
        help="MASS X Y Z [IXX IXY IXZ IYY IYZ IZZ] of the payload, inertia about its centre of mass (default: 0). "
        "Prints the gains, Nm or N per recorded unit of effort; the motions may differ",
    )
    add_recorded_robot(parser)
    add_filter(parser)
    add_json(parser)


def run_payload(arguments: Namespace) -> None:
    """Print the payload and a command that publishes it, or with --known the drive gains, with 95 % intervals.

    Raises RobotDynamicsError for bags and robots that cannot be read or used, for an unknown --link, for --known with
    other than 4 or 10 numbers or with --drive-gains, and for invalid options of the filter.
    """
    known = arguments.known
    if known is not None and (len(known) not in (4, 10) or arguments.drive_gains):
        raise RobotDynamicsError(
            f"--known with {len(known)} numbers{' and --drive-gains' * bool(arguments.drive_gains)}. Cure: give mass "
            "and centre of mass, 4 numbers, or these and the inertia, 10 numbers, and no --drive-gains"
        )
    first, second = arguments.bags
    series, setup = read_measured(first, arguments)
    model = setup.model
    load_torque_kernels(model, TORQUE)
    motions = [
        filtered_motion(one, model, arguments)
        for one in (series, read_series(second, arguments))
    ]
    if known is None:
        values, half_widths = estimate_payload(
            model, motions[0], motions[1], arguments.link
        )
        units = _UNITS
    else:
        payload = known[0], known[1:4], known[4:] or [0.0] * 6
        values, half_widths = estimate_drive_gains(
            model, motions[0], motions[1], arguments.link, payload
        )
        units = {
            name: f"{'N' if name in model.prismatic_joints else 'Nm'} per unit"
            for name in model.joint_names
        }
    rows = {
        name: {
            "value": value,
            "half_width": half_width if np.isfinite(half_width) else None,
        }
        for name, value, half_width in zip(
            units, values.tolist(), half_widths.tolist(), strict=True
        )
    }
    if arguments.json:
        print_json(
            {"link": arguments.link, "drive_gains" if known else "payload": rows}
        )
        return
    cells = []
    for name, (value, half_width) in zip(
        rows, map(dict.values, rows.values()), strict=True
    ):
        estimate = (
            ("undetermined", "")
            if half_width is None
            else (f"{value:.4g}", f"{half_width:.2g}")
        )
        cells.append([name, *estimate, units[name]])
    print(table(["", "estimate", "+- (95 %)", ""], cells), end="\n\n")
    determined = {
        name: row["value"]
        for name, row in rows.items()
        if row["half_width"] is not None
    }
    if known:
        print(
            "--drive-gains",
            *(f"{name}={gain:.5g}" for name, gain in determined.items()),
        )
    elif "mass" in determined:
        print(_message(arguments.link, values, determined.keys()))
    else:
        print(
            "no message: the mass is undetermined. Cure: record a motion that turns the payload against gravity"
        )


def _message(link: str, values: Array, determined: Set[str]) -> str:
    """Return a command that publishes the payload; without inertia if it is undetermined or that of no body."""
    content = f"m: {values[0]:.5g}, com: {{x: {values[1]:.5g}, y: {values[2]:.5g}, z: {values[3]:.5g}}}"
    note = ""
    if determined >= set(ELEMENTS) and check_inertia(symmetric(*values[4:])) is None:
        content += "".join(
            f", {name}: {value:.5g}"
            for name, value in zip(ELEMENTS, values[4:], strict=True)
        )
    else:
        note = "without inertia, which is not determined well enough:\n"
    return (
        f"{note}ros2 topic pub --once /computed_torque_node/payload geometry_msgs/msg/InertiaStamped \\\n"
        f'  "{{header: {{frame_id: {link}}}, inertia: {{{content}}}}}"'
    )
