"""Keys and defaults of the files that are read, and the treatment of odd URDFs and of mistakes in files."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics_ros import RobotDynamicsError, RobotModel
from tools.inventory.observed import ROOT, lines, run

INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
LIMIT = '<limit lower="-1" upper="1" effort="10" velocity="2"/>'
AXIS = '<axis xyz="0 0 1"/>'
JOINT = f'<joint name="elbow" type="revolute"><parent link="base"/><child link="arm"/>{AXIS}{LIMIT}</joint>'
#: The URDF that the tables below change.
ROBOT = f'<robot name="r"><link name="base"/><link name="arm">{INERTIAL}</link>{JOINT}</robot>'
ORIGIN = f"<origin/>{AXIS}"
END = "</robot>"
FLANGE = f'<link name="flange">{INERTIAL}</link>'
FINGER = f'<joint name="finger" type="revolute"><parent link="arm"/><child link="flange"/>{LIMIT}<mimic/></joint>'
FOLLOWER = f"{FLANGE}{FINGER}{END}"


def _joint(name: str, parent: str, child: str, kind: str = "fixed") -> str:
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/></joint>'


#: Text of ROBOT and its replacement, by what is odd about it.
URDFS: dict[str, tuple[str, str]] = {
    "nothing": ("", ""),
    "no text": (ROBOT, " "),
    "malformed XML": (END, ""),
    "another root element": (ROBOT, '<sdf version="1.6"/>'),
    "document type": ("<robot ", "<!DOCTYPE robot><robot "),
    "no links": (ROBOT, '<robot name="r"/>'),
    "no movable joint": ("revolute", "fixed"),
    "unknown version": ("<robot ", '<robot version="2.0" '),
    "version 1.2": ("<robot ", '<robot version="1.2" '),
    "quaternion without version": (AXIS, f'<origin quat_xyzw="0 0 0 1"/>{AXIS}'),
    "acceleration limit without version": (
        LIMIT,
        LIMIT.replace("/>", ' acceleration="1"/>'),
    ),
    "xacro expression": (AXIS, f'<origin xyz="0 0 ${{height}}"/>{AXIS}'),
    "xacro command": ('value="1"', 'value="$(arg mass)"'),
    "xacro element": (END, f"<xacro:arm/>{END}"),
    "unknown element": (END, f"<loop_joint/>{END}"),
    "unknown attribute": ("<mass ", '<mass unit="kg" '),
    "elements of other programs": (
        END,
        f"<gazebo/><transmission/><ros2_control/><sensor/><mujoco/><material/>{END}",
    ),
    "mesh that does not exist": (
        INERTIAL,
        f'{INERTIAL}<visual><geometry><mesh filename="a.stl"/></geometry></visual>',
    ),
    "number that is NaN": ('value="1"', 'value="nan"'),
    "number that is infinite": ('value="1"', 'value="inf"'),
    "number that is too large": ('value="1"', 'value="1e999"'),
    "number with underscore": ('value="1"', 'value="1_000"'),
    "number with comma": ('value="1"', 'value="1,5"'),
    "too few numbers": ("0 0 1", "0 0"),
    "too many numbers": ("0 0 1", "0 0 1 0"),
    "origin twice": (AXIS, f"<origin/><origin/>{AXIS}"),
    "link twice": (END, f'<link name="arm"/>{END}'),
    "joint twice": (END, f"{FLANGE}{_joint('elbow', 'arm', 'flange')}{END}"),
    "link without name": (END, f"<link/>{END}"),
    "link with empty name": (END, f'<link name=" "/>{END}'),
    "joint without type": (' type="revolute"', ""),
    "unknown type": ("revolute", "hinge"),
    "floating joint": ("revolute", "floating"),
    "planar joint": ("revolute", "planar"),
    "continuous joint": ("revolute", "continuous"),
    "prismatic joint": ("revolute", "prismatic"),
    "joint without parent": ('<parent link="base"/>', ""),
    "unknown parent": ('parent link="base"', 'parent link="ghost"'),
    "unknown child": ('child link="arm"', 'child link="ghost"'),
    "two roots": (END, f'<link name="island"/>{END}'),
    "two parents": (END, f"{_joint('second', 'base', 'arm')}{END}"),
    "cycle": (END, f"{_joint('second', 'arm', 'base')}{END}"),
    "cycle apart from the root": (
        END,
        f'<link name="a"/><link name="b"/>{_joint("ab", "a", "b")}{_joint("ba", "b", "a")}{END}',
    ),
    "axis of length zero": ("0 0 1", "0 0 0"),
    "axis of another length": ("0 0 1", "0 0 3"),
    "no axis": (AXIS, ""),
    "no limit": (LIMIT, ""),
    "only a lower limit": (' upper="1"', ""),
    "equal limits": ('lower="-1"', 'lower="1"'),
    "crossed limits": ('lower="-1"', 'lower="2"'),
    "infinite limits": ('lower="-1" upper="1"', 'lower="-inf" upper="inf"'),
    "lower limit of plus infinity": ('lower="-1" upper="1"', 'lower="inf" upper="inf"'),
    "effort limit zero": ('effort="10"', 'effort="0"'),
    "velocity limit zero": ('velocity="2"', 'velocity="0"'),
    "negative effort limit": ('effort="10"', 'effort="-10"'),
    "negative velocity limit": ('velocity="2"', 'velocity="-2"'),
    "soft limits": (
        LIMIT,
        f'{LIMIT}<safety_controller soft_lower_limit="-0.5" soft_upper_limit="0.5" k_velocity="1"/>',
    ),
    "soft limits beyond the limits": (
        LIMIT,
        f'{LIMIT}<safety_controller soft_lower_limit="-2" soft_upper_limit="2" k_velocity="1"/>',
    ),
    "negative damping": (LIMIT, f'{LIMIT}<dynamics damping="-1"/>'),
    "negative friction": (LIMIT, f'{LIMIT}<dynamics friction="-1"/>'),
    "mimic joint": (
        END,
        FOLLOWER.replace(
            "<mimic/>", '<mimic joint="elbow" multiplier="2" offset="0.1"/>'
        ),
    ),
    "mimic without joint": (END, FOLLOWER),
    "mimic of an unknown joint": (
        END,
        FOLLOWER.replace("<mimic/>", '<mimic joint="ghost"/>'),
    ),
    "mimic of itself": (END, FOLLOWER.replace("<mimic/>", '<mimic joint="finger"/>')),
    "no inertial": (INERTIAL, ""),
    "inertial without mass": ('<mass value="1"/>', ""),
    "mass without value": (' value="1"', ""),
    "mass zero": ('value="1"', 'value="0"'),
    "negative mass": ('value="1"', 'value="-1"'),
    "missing inertia": (' ixz="0"', ""),
    "misspelt inertia": ('iyy="1"', 'iyv="1"'),
    "negative moment of inertia": ('ixx="1"', 'ixx="-1"'),
    "inertia of no body": ('izz="1"', 'izz="5"'),
    "inertia in wrong order": (
        'ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"',
        'ixx="1" ixy="1" ixz="1" iyy="0" iyz="0" izz="0"',
    ),
}

_BODY = "mass: 1.0, com: [0, 0, 0], inertia: [1, 0, 0, 1, 0, 1]"
#: Dynamics files of planar_2r.
DYNAMICS: dict[str, str] = {
    "nothing": "",
    "malformed YAML": "joints: {",
    "list": "[1]",
    "object of Python": "!!python/object/apply:os.system ['true']",
    "aliases": "a: &a [1]\nb: [*a]",
    "unknown key": "unknown: 1",
    "unknown key of a joint": "joints: {joint1: {unknown: 1}}",
    "unknown key of a ripple": "joints: {joint1: {ripple: {unknown: 1}}}",
    "unknown key of a sigmoid": "joints: {joint1: {sigmoid: {unknown: 1}}}",
    "unknown key of a link": "links: {link1: {unknown: 1}}",
    "unknown key of a rotor": "rotors: [{unknown: 1}]",
    "unknown key of a loop": "loops: [{unknown: 1}]",
    "unknown key of the payload": "payload: {unknown: 1}",
    "unknown joint": "joints: {joint9: {viscous: 1}}",
    "unknown link": f"links: {{link9: {{{_BODY}}}}}",
    "text for a number": "joints: {joint1: {viscous: much}}",
    "number that is NaN": "joints: {joint1: {viscous: .nan}}",
    "number of base 8": "joints: {joint1: {viscous: 017}}",
    "negative number": "joints: {joint1: {viscous: -1}}",
    "static below Coulomb level": "joints: {joint1: {coulomb: 2, static: 1}}",
    "load coefficient of 1": "joints: {joint1: {coulomb: 1, load_coefficient: 1}}",
    "gear ratio without rotor": "joints: {joint1: {gear_ratio: 100}}",
    "carrier without rotor": "joints: {joint1: {rotor_carrier: none}}",
    "unknown carrier": "joints: {joint1: {rotor_inertia: 1, rotor_carrier: base}}",
    "Stribeck velocity without static level": "joints: {joint1: {stribeck_velocity: 1}}",
    "ripple without period": "joints: {joint1: {ripple: {amplitude: 1}}}",
    "sigmoid without slope": "joints: {joint1: {sigmoid: {amplitude: 1}}}",
    "incomplete link": "links: {link1: {mass: 1}}",
    "impossible inertia": "links: {link1: {mass: 1, com: [0, 0, 0], inertia: [1, 0, 0, 1, 0, 5]}}",
    "negative inertia": "links: {link1: {mass: 1, com: [0, 0, 0], inertia: [-1, 0, 0, 1, 0, 1]}}",
    "rotor without ratio": "rotors: [{carrier: link1, inertia: 1}]",
    "rotor with empty ratio": "rotors: [{carrier: link1, inertia: 1, ratio: {}}]",
    "rotor without axis": "rotors: [{carrier: tip, inertia: 1, ratio: {joint1: 1}}]",
    "coordinate without effect": "coordinates: [p]",
    "coordinate twice": "coordinates: [p, p]",
    "coordinate named as a joint": "coordinates: [joint1]",
    "coupling of an unknown joint": "couplings: {joint9: {joint1: 1}}",
    "coupling to an unknown joint": "couplings: {joint2: {joint9: 1}}",
    "coupling of a joint to itself": "couplings: {joint2: {joint2: 1}}",
    "couplings in a cycle": "couplings: {joint1: {joint2: 1}, joint2: {joint1: 1}}",
    "limits that exclude each other": "couplings: {joint2: {joint1: 1, offset: 20}}",
    "loop on one link": "loops: [{link_a: tip, point_a: [0, 0, 0], link_b: tip, point_b: [0, 0, 0]}]",
    "loop": "loops: [{link_a: tip, point_a: [0, 0, 0], link_b: base_link, point_b: [0, 0, 0]}]",
    "payload without link": f"payload: {{{_BODY}}}",
    "payload on an unknown link": f"payload: {{link: nowhere, {_BODY}}}",
    "gravity of two numbers": "gravity: [0, 0]",
}

_STATIC = "coulomb: 1, static: 2"
_ROTOR = "rotor_inertia: 0.1"
#: Entries of joint1 without and with a key; the default is equivalent to an absent key.
DEFAULTS: dict[str, tuple[str, str]] = {
    "viscous 0": ("", "viscous: 0"),
    "quadratic 0": ("", "quadratic: 0"),
    "cubic 0": ("", "cubic: 0"),
    "coulomb 0": ("", "coulomb: 0"),
    "coulomb_negative that of coulomb": (
        "coulomb: 1",
        "coulomb: 1, coulomb_negative: 1",
    ),
    "static that of coulomb": ("coulomb: 1", "coulomb: 1, static: 1"),
    "stribeck_velocity 0": (_STATIC, f"{_STATIC}, stribeck_velocity: 0"),
    "load_coefficient 0": ("coulomb: 1", "coulomb: 1, load_coefficient: 0"),
    "load_coefficient_backdriving that of load_coefficient": (
        "coulomb: 1, load_coefficient: 0.1",
        "coulomb: 1, load_coefficient: 0.1, load_coefficient_backdriving: 0.1",
    ),
    "ripple.phase 0": (
        "coulomb: 1, ripple: {amplitude: 0.5, per_turn: 3}",
        "coulomb: 1, ripple: {amplitude: 0.5, per_turn: 3, phase: 0}",
    ),
    "sigmoid.shift 0": (
        "sigmoid: {amplitude: 1, slope: 1}",
        "sigmoid: {amplitude: 1, slope: 1, shift: 0}",
    ),
    "rotor_inertia 0": ("", "rotor_inertia: 0"),
    "gear_ratio 1": (_ROTOR, f"{_ROTOR}, gear_ratio: 1"),
    "rotor_carrier parent": (_ROTOR, f"{_ROTOR}, rotor_carrier: parent"),
}

_POINT = "positions: [0.1, 0.1], time_from_start: {sec: 1, nanosec: 0}"
_NAMES = "joint_names: [joint1, joint2]"
#: Command that reads a kind of file, name of the file, and contents.
FILES: dict[str, tuple[str, str, dict[str, str]]] = {
    "trajectory file": (
        "simulate planar_2r --duration 1 --trajectory {file}",
        "trajectory.yaml",
        {
            "minimal": f"{_NAMES}\npoints: [{{{_POINT}}}]",
            "all keys": f"header: {{frame_id: a}}\n{_NAMES}\npoints:\n"
            f"- {{{_POINT}, velocities: [0, 0], accelerations: [0, 0], effort: [0, 0]}}",
            "unknown key": f"{_NAMES}\npoints: [{{{_POINT}}}]\nunknown: 1",
            "unknown key of a point": f"{_NAMES}\npoints: [{{{_POINT}, unknown: 1}}]",
            "unknown key of a time": f"{_NAMES}\npoints: [{{positions: [0, 0], time_from_start: {{unknown: 1}}}}]",
            "without points": _NAMES,
            "empty": f"{_NAMES}\npoints: []",
            "two messages": f"{_NAMES}\npoints: [{{{_POINT}}}]\n---\n{_NAMES}\npoints: [{{{_POINT}}}]",
            "truncated by ros2 topic echo": f"{_NAMES}\npoints: [{{positions: [0, '...']}}]",
            "unknown joint": f"joint_names: [joint1, joint9]\npoints: [{{{_POINT}}}]",
            "joint twice": f"joint_names: [joint1, joint1]\npoints: [{{{_POINT}}}]",
            "one joint of two": "joint_names: [joint1]\npoints: [{positions: [0.1], time_from_start: {sec: 1}}]",
            "wrong number of positions": f"{_NAMES}\npoints: [{{positions: [0], time_from_start: {{sec: 1}}}}]",
            "times that do not increase": f"{_NAMES}\npoints: [{{{_POINT}}}, {{{_POINT}}}]",
            "number that is NaN": f"{_NAMES}\npoints: [{{positions: [.nan, 0], time_from_start: {{sec: 1}}}}]",
            "no rest at the end": f"{_NAMES}\npoints: [{{{_POINT}, velocities: [1, 0]}}]",
            "beyond a position limit": f"{_NAMES}\npoints: [{{positions: [9, 0], time_from_start: {{sec: 9}}}}]",
            "beyond a velocity limit": f"{_NAMES}\npoints: [{{positions: [3, 0], time_from_start: {{nanosec: 100}}}}]",
            "parameter file": "/**: {ros__parameters: {}}",
        },
    ),
    "DH table": (
        "from-dh {file} -o from_dh.urdf --overwrite",
        "table.yaml",
        {
            "minimal": "rows: [[0, 0, 1, 0]]",
            "all keys": "rows: [[0, 0, l, 0]]\nconvention: craig\njoints: R\n"
            "links: [[1, [0, 0, 0], [1, 0, 0, 1, 0, 1]]]\nlimits: [[-1, 1, 2, 3]]\n"
            "parents: [0]\ndown: [0, -1, 0]\nparameters: {l: 1}\n"
            "dynamics: {joints: {joint1: {viscous: 1}}}",
            "unknown key": "rows: [[0, 0, 1, 0]]\nunknown: 1",
            "without rows": "joints: R",
            "unknown convention": "rows: [[0, 0, 1, 0]]\nconvention: modified",
            "unknown kind of joint": "rows: [[0, 0, 1, 0]]\njoints: S",
            "unknown parameter": "rows: [[0, 0, l, 0]]",
            "function in a formula": "rows: [[0, 0, sin(1), 0]]",
        },
    ),
    "path file": (
        "to-joints metr4202_elbow {file} -o to_joints.yaml --overwrite",
        "path.yaml",
        {
            "minimal": "points: [[0, 1.0, 0.2, 0.5], [2, 1.0, 1.2, 1.5]]",
            "all keys": "points: [[0, 1.0, 0.2, 0.5, 0, 0, 0, 1], [2, 1.0, 1.2, 1.5, 0, 0, 0, 1]]\nlink: link3\n"
            "components: x y z",
            "unknown key": "points: [[0, 1.0, 0.2, 0.5], [2, 1.0, 1.2, 1.5]]\nunknown: 1",
            "unknown component": "points: [[0, 1.0, 0.2, 0.5], [2, 1.0, 1.2, 1.5]]\ncomponents: q",
            "unknown link": "points: [[0, 1.0, 0.2, 0.5], [2, 1.0, 1.2, 1.5]]\nlink: nowhere",
            "wrong number of numbers": "points: [[0, 1]]",
            "out of reach": "points: [[0, 9.0, 0.2, 0.5], [2, 9.0, 1.2, 1.5]]",
            "quaternion of another length": "points: [[0, 1.0, 0.2, 0.5, 0, 0, 0, 2], [2, 1.0, 1.2, 1.5, 0, 0, 0, 2]]",
        },
    ),
    "parameter file": (
        "simulate planar_2r --duration 1 --config {file}",
        "parameters.yaml",
        {
            "all nodes": "/**: {ros__parameters: {law: pd}}",
            "one node": "computed_torque_node: {ros__parameters: {law: pd}}\n/**: {ros__parameters: {}}",
            "namespace": "/arm/computed_torque_node: {ros__parameters: {law: pd}}",
            "nested tables": "/**: {ros__parameters: {gains: {natural_frequency: [5.0]}}}",
            "names with dots": "/**: {ros__parameters: {gains.natural_frequency: [5.0]}}",
            "without ros__parameters": "/**: {law: pd}",
            "similar name": "/**: {ros__parameters: {lawe: pd}}",
            "unknown name": "/**: {ros__parameters: {unknown: 1}}",
            "unknown name for one node": "computed_torque_node: {ros__parameters: {unknown: 1}}\n"
            "/**: {ros__parameters: {}}",
            "value of wrong type": "/**: {ros__parameters: {law: 1}}",
            "unknown choice": "/**: {ros__parameters: {law: pdd}}",
            "number out of bounds": "/**: {ros__parameters: {state_timeout: -1.0}}",
            "wrong number of numbers": "/**: {ros__parameters: {gains: {natural_frequency: [5.0, 5.0, 5.0]}}}",
            "malformed YAML": "/**: {",
        },
    ),
    "xacro file": (
        "inspect {file} --xacro-arg mass:=2",
        "robot.xacro",
        {
            "argument": ROBOT.replace(
                "<link", '<xacro:arg name="mass" default="1"/><link', 1
            )
            .replace('value="1"', 'value="$(arg mass)"')
            .replace("<robot ", '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" '),
            "malformed XML": "<robot",
        },
    ),
}


def _outcome(load: Callable[..., Any], *arguments: Any, **options: Any) -> str:
    """Return whether a file is read, with warnings, or refused, with the error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            load(*arguments, **options)
        except RobotDynamicsError as error:
            return f"refused, {type(error).__name__}: {' '.join(lines(str(error)))}"
    reported = "".join(
        f", {type(w.message).__name__}: {' '.join(lines(str(w.message)))}"
        for w in caught
    )
    return f"read{reported}"


def urdfs() -> Iterator[str]:
    """Yield whether each odd URDF is read, read with a warning, or refused; and refused with ``strict``."""
    for title, (old, new) in URDFS.items():
        assert old in ROBOT, old
        text = ROBOT.replace(old, new)
        outcome, strict = (
            _outcome(RobotModel.from_urdf, text, strict=strict)
            for strict in (False, True)
        )
        yield f"URDF: {title}: {outcome}{'; refused with strict' * (strict[:4] != outcome[:4])}"


def dynamics_files() -> Iterator[str]:
    """Yield the keys and defaults of dynamics files, and the treatment of mistakes."""
    path = Path("planar_2r.dynamics.yaml")
    for title, text in DYNAMICS.items():
        path.write_text(text, encoding="utf-8")
        outcome = _outcome(
            RobotModel.from_urdf_file, ROOT / "urdf" / "planar_2r.urdf", dynamics=path
        )
        yield f"dynamics file: {title}: {outcome}"
    for title, (absent, given) in DEFAULTS.items():
        same = _numbers(absent) == _numbers(given)
        yield f"dynamics file: default of a joint: {title}: {'yes' if same else 'no'}"


def _numbers(entry: str) -> list[bytes]:
    """Return the dynamics of the planar arm with this entry for joint1, with friction, as bytes."""
    path = Path("planar_2r.dynamics.yaml")
    path.write_text(f"joints: {{joint1: {{{entry}}}}}", encoding="utf-8")
    model = RobotModel.shipped("planar_2r", dynamics=path)
    q, qd, qdd = np.random.default_rng(0).standard_normal((3, 20, model.n))
    torques = model.inverse_dynamics(q, qd, qdd), model.friction_torque(q, qd, qdd=qdd)
    return [torque.tobytes() for torque in torques]


def other_files() -> Iterator[str]:
    """Yield the treatment of other files by the commands that read them."""
    for kind, (line, name, contents) in FILES.items():
        for title, text in contents.items():
            Path(name).write_text(text, encoding="utf-8")
            code, _, err = run(line.format(file=name))
            reported = [
                part
                for part in lines(err)
                if part.startswith(("robot_dynamics: ", "warning: "))
            ]
            yield f"{kind}: {title}: {', '.join(['refused' if code else 'read', *reported])}"


def checks() -> Iterator[str]:
    """Yield the rows of the tables of causes and modes in docs/safety.md, which docs/generated.py keeps current."""
    for line in (ROOT / "docs" / "safety.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("| `"):
            yield line.strip("| ")
