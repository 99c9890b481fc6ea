"""robot_dynamics import: a bag from a recording in a text, MAT, NPZ or NPY file.

``run_import`` takes the parsed arguments that ``add_import`` declares.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

import numpy as np

from robot_dynamics_ros.cli.command_line import add_bag_output, check_output, new_bag
from robot_dynamics_ros.recordings.bags import BagWriter
from robot_dynamics_ros.recordings.bags.storage import JOINT_STATE
from robot_dynamics_ros.recordings.messages.joint_state import FIELDS, JointStateWriter
from robot_dynamics_ros.recordings.tables import (
    COMMANDED,
    TableRecording,
    read_table,
)


def add_import(parser: ArgumentParser) -> None:
    """Set the description of ``parser`` and add the arguments."""
    parser.description = (
        "Write a bag from a recording in a text (CSV), MAT, NPZ or NPY file, and a YAML file with its joints, rate, "
        "columns and units: docs/import.md."
    )
    parser.add_argument("table", type=Path, metavar="FILE", help="the recording")
    parser.add_argument(
        "--columns",
        type=Path,
        metavar="YAML",
        help="the YAML file (default: FILE.yaml, beside the recording)",
    )
    add_bag_output(parser)


def run_import(arguments: Namespace) -> None:
    """Write joint_states and, with commanded quantities, command_states; print the range of each quantity.

    Raises BagError as ``read_table``, and RobotDynamicsError as ``check_output``.
    """
    check_output(arguments, arguments.output, kind="bag")
    data = arguments.table
    beside = data.with_name(f"{data.name}.yaml")
    recording = read_table(data, arguments.columns or beside)
    with new_bag(arguments.output) as bag:
        _write(recording, bag)
    stamps = recording.stamps
    seconds = (stamps[-1] - stamps[0]) * 1e-9
    print(f"{arguments.output}: {len(stamps)} rows over {seconds:.4g} s")
    for key, table in recording.values.items():
        print(f"  {key}: {np.nanmin(table):.4g} to {np.nanmax(table):.4g}")


def _write(recording: TableRecording, bag: Path) -> None:
    """Write a message for each row; quantities that are not described are empty fields."""
    values = recording.values
    empty = np.empty((len(recording.stamps), 0))
    topics = {}
    for topic, prefix in ("/joint_states", ""), ("/command_states", COMMANDED):
        tables = [values.get(prefix + field, empty) for field in FIELDS]
        if any(table.size for table in tables):
            topics[topic] = tables
    writer = JointStateWriter(recording.joint_names)
    with BagWriter(bag, dict.fromkeys(topics, JOINT_STATE)) as output:
        for k, stamp in enumerate(recording.stamps.tolist()):
            for topic, tables in topics.items():
                message = writer.write(stamp, *(table[k] for table in tables))
                output.write(topic, stamp, message)
