"""Folder with the dynamics of one robot as C: library, C++ header, Python module, self-test, example, README."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import indent
from typing import NamedTuple

from robot_dynamics_ros.base.files import checksum
from robot_dynamics_ros.dynamics.codegen.c_source import (
    Signature,
    Tree,
    comment,
    friction_rows,
    functions,
    initializer,
    prototype,
    signatures,
    sizes,
    table,
)
from robot_dynamics_ros.dynamics.kernels.friction import (
    C_SUMS,
    FRICTION_PARAMETERS,
    TERMS,
)
from robot_dynamics_ros.dynamics.kernels.types import Array

_TEMPLATES = Path(__file__).with_name("c_templates")
_NAMED = ("dynamics.", "module.", "test.")  # files whose names begin with the robot's

# arguments with a default in Python, the last ones, and its text
_PYTHON_DEFAULTS = {
    "gravity": "{robot}_gravity",
    "payload": "{robot}_payload",
    "smoothing_velocity": "&zero",
}

# arguments with a default in C++, and its text
_CPP_DEFAULTS = {
    "gravity": " = gravity",
    "payload": " = payload",
    "smoothing_velocity": " = 0.0",
}


class RobotProperties(NamedTuple):
    """Names and numbers of a robot for the header.

    Attributes
    ----------
    title, version
        Name of the robot in its URDF, and version of this package.
    joints
        Names of the independent coordinates.
    units
        Unit of the position of each, "rad" or "m".
    limits
        Arrays (n,) by name: position_lower, position_upper (rad or m), velocity_limits (per s) and effort_limits (Nm or
        N).
    gravity, payload
        Acceleration of gravity (3,), m/s^2, in the root frame; the model's payload (10,): mass (kg), first moment
        (3,), kg m, and ixx ixy ixz iyy iyz izz (kg m^2) about the origin of its link's frame.
    payload_link
        Name of the link with the payload.
    links
        Names of the links with pose and Jacobian, by identifier.
    checksums
        SHA-256 of the URDF and of the dynamics file, "" for none.
    """

    title: str
    version: str
    joints: Sequence[str]
    units: Sequence[str]
    limits: Mapping[str, Array]
    gravity: Array
    payload: Array
    payload_link: str
    links: Mapping[str, str]
    checksums: tuple[str, str]


class Vectors(NamedTuple):
    """Arguments and results of the self-test, for some states.

    Attributes
    ----------
    arguments
        (states, size) by the name of the argument; (states,) for numbers.
    expected
        (states, size of the result) by function, but for forward dynamics.
    terms
        (states,) by function: magnitude of the terms of which the result is the sum, for the rounding error.
    singular
        (states,): 1 if forward dynamics fails, else 0.
    """

    arguments: Mapping[str, Array]
    expected: Mapping[str, Array]
    terms: Mapping[str, Array]
    singular: Array


def write_project(
    directory: Path,
    robot: Tree,
    properties: RobotProperties,
    vectors: Vectors,
    overwrite: bool,
) -> None:
    """Write all files to ``directory``, which is created.

    Raises OSError if a file cannot be written, or if it exists and ``overwrite`` is False.
    """
    listed = signatures(robot)
    major, minor, patch = map(int, properties.version.split("."))
    values = {
        "robot": robot.name,
        "ROBOT": robot.name.upper(),
        "n": str(robot.n),
        "title": _plain(properties.title),
        "version": properties.version,
        "version_number": str(10000 * major + 100 * minor + patch),
        "urdf_sha256": properties.checksums[0],
        "dynamics_sha256": properties.checksums[1],
        "payload_link": _plain(properties.payload_link),
        "payload_link_string": _string(properties.payload_link),
        "gravity": initializer(properties.gravity),
        "payload": initializer(properties.payload),
        "joint_names": ",\n    ".join(map(_string, properties.joints)),
        **{name: initializer(limits) for name, limits in properties.limits.items()},
    }
    joints = zip(properties.joints, properties.units, strict=True)
    values["joints"] = "\n".join(
        f"   {k:4}  {_plain(name)}, {unit}" for k, (name, unit) in enumerate(joints)
    )
    described = (
        f"{comment(_contract(x, properties))}\n{prototype(robot, x)};" for x in listed
    )
    computed = next(x for x in listed if x.name == "computed_torque")
    code = {
        "friction": _friction(robot),
        "functions": functions(robot),
        "computed_torque": prototype(robot, computed),
    }
    values["fingerprint"] = f"0x{checksum(f'{values}{code}')[:8]}"
    contents = {
        "dynamics.h": {"prototypes": "\n\n".join(described)},
        "dynamics.c": code,
        "dynamics.hpp": {"wrappers": "\n\n".join(_wrapper(robot, x) for x in listed)},
        "test.c": {
            "cases": str(len(vectors.singular)),
            "tables": _tables(vectors),
            "calls": "\n".join(
                _call(robot, x) for x in listed if x.name in vectors.expected
            ),
            "largest": str(max(x.size for x in listed)),
        },
        "module.c": {
            "functions": _module_functions(robot),
            "methods": _module_methods(robot),
        },
        "setup.py.in": {},  # not itself a module
        "pyproject.toml": {},
        "example.c": {},
        "CMakeLists.txt": {},
        "README.md": {},
    }
    directory.mkdir(parents=True, exist_ok=True)
    for name, own in contents.items():
        target = (
            f"{robot.name}_{name}"
            if name.startswith(_NAMED)
            else name.removesuffix(".in")
        )
        mode = "w" if overwrite else "x"
        with (directory / target).open(mode, encoding="utf-8") as file:
            file.write(_filled(name, {**own, **values}))


def _filled(template: str, values: Mapping[str, str]) -> str:
    text = (_TEMPLATES / template).read_text(encoding="utf-8")
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text


def _plain(name: str) -> str:
    """Return a name of a URDF for a C comment: printable ASCII characters that do not end the comment."""
    text = "".join(x if " " <= x <= "~" and x not in '"\\?' else "_" for x in name)
    return text.replace("*/", "*_").replace("/*", "/_").replace("@", "_")


def _string(name: str) -> str:
    """Return a C string literal."""
    letters = (
        chr(x) if 32 <= x < 127 and chr(x) not in '"\\?@' else f"\\{x:03o}"
        for x in name.encode()
    )
    return f'"{"".join(letters)}"'


def _contract(signature: Signature, properties: RobotProperties) -> str:
    """Return the comment of a function in the header."""
    shape = f"{signature.result} ({' x '.join(map(str, signature.shape))})"
    links = (
        _plain(name)
        for link, name in properties.links.items()
        if signature.name in _of_link(link)
    )
    link = "".join(f' Link "{name}".' for name in links)
    return f"{signature.comment}{link} Writes {shape}."


def _of_link(link: str) -> tuple[str, ...]:
    return f"pose_{link}", f"jacobian_{link}", f"jacobian_dot_qd_{link}"


def _friction(robot: Tree) -> str:
    """Return the friction table of the joints with friction, and the friction law; empty for none."""
    rows = friction_rows(robot)
    if not rows:
        return ""
    values = {
        "columns": ", ".join(x.constant for x in sorted(FRICTION_PARAMETERS)),
        "joints": table(robot.friction[rows]),
        "law": "".join([*(term.c for term in TERMS), C_SUMS]),
    }
    return _filled("friction.c", values)


def _wrapper(robot: Tree, signature: Signature) -> str:
    """Return the C++ function for a C function; a status is its result, and the last argument the other result."""
    size = sizes(robot.n)
    arguments = []
    passed = []
    for x in signature.arguments:
        # not the name of the constant that is the default
        name = f"{x}_" if x in _CPP_DEFAULTS else x
        default = "" if signature.status else _CPP_DEFAULTS.get(x, "")
        kind = f"const std::array<double, {size[x]}> &" if size[x] else "double "
        arguments.append(f"{kind}{name}{default}")
        passed.append(f"{name}.data()" if size[x] else name)
    result = f"std::array<double, {signature.size}>"
    call = f"{robot.name}_{signature.name}({', '.join(passed)}, result.data());"
    if signature.status:
        arguments.append(f"{result} &result")
        return f"inline int {signature.name}({', '.join(arguments)}) noexcept\n{{\n    return {call}\n}}"
    lines = [f"{result} result;", call, "return result;"]
    body = indent("\n".join(lines), "    ")
    return f"inline {result} {signature.name}({', '.join(arguments)}) noexcept\n{{\n{body}\n}}"


def _tables(vectors: Vectors) -> str:
    """Return the arrays of the self-test."""
    arrays = {
        **vectors.arguments,
        "singular": vectors.singular,
        **{f"expected_{name}": values for name, values in vectors.expected.items()},
        **{f"terms_{name}": values for name, values in vectors.terms.items()},
    }
    return "\n".join(
        f"static const double {name}[CASES]{f'[{values.shape[1]}]' if values.ndim > 1 else ''} = "
        f"{table(values) if values.ndim > 1 else initializer(values)};"
        for name, values in arrays.items()
    )


def _call(robot: Tree, signature: Signature) -> str:
    """Return the statements of the self-test that check a function for state k."""
    name = signature.name
    arguments = ", ".join(f"{x}[k]" for x in signature.arguments)
    columns = signature.shape[-1]
    return (
        f"        {robot.name}_{name}({arguments}, result);\n"
        f'        failures += compare("{name}", k, result, expected_{name}[k], {signature.size // columns}, {columns}, '
        f"terms_{name}[k]);"
    )


def _module_functions(robot: Tree) -> str:
    """Return the C functions that Python calls, and the records that describe their arguments and results."""
    texts = [_python_function(robot, signature) for signature in signatures(robot)]
    return "\n\n".join(["static const double zero = 0.0;", *texts])


def _module_methods(robot: Tree) -> str:
    """Return the elements of the module's method table."""
    return "\n".join(
        f'    {{"{x.name}", (PyCFunction)(void (*)(void))python_{x.name}, METH_FASTCALL, {_documentation(x)}}},'
        for x in signatures(robot)
    )


def _python_function(robot: Tree, signature: Signature) -> str:
    name = signature.name
    arguments = signature.arguments
    size = sizes(robot.n)
    passed = ", ".join(
        [f"{'' if size[x] else '*'}x[{i}]" for i, x in enumerate(arguments)]
        + ["result"]
    )
    call = f"{robot.name}_{name}({passed});"
    body = f"    return {call}" if signature.status else f"    {call}\n    return 0;"
    defaults = ", ".join(
        _PYTHON_DEFAULTS.get(x, "NULL").format(robot=robot.name) for x in arguments
    )
    fields = [
        f'"{name}"',
        str(sum(x not in _PYTHON_DEFAULTS for x in arguments)),
        str(len(arguments)),
        f"{{{', '.join(str(size[x]) for x in arguments)}}}",
        f"{{{defaults}}}",
        str(len(signature.shape)),
        f"{{{', '.join(map(str, signature.shape))}}}",
        f"run_{name}",
    ]
    return (
        f"static int run_{name}(const double *const *x, double *result)\n{{\n{body}\n}}\n\n"
        f"static const Function {name}_function = {{\n    {', '.join(fields)}}};\n\n"
        f"static PyObject *python_{name}(PyObject *self, PyObject *const *objects, Py_ssize_t count)\n{{\n"
        f"    return call(&{name}_function, self, objects, count);\n}}"
    )


def _documentation(signature: Signature) -> str:
    """Return a C string: signature and contract, as ``help`` prints them."""
    names = [f"{x}=None" if x in _PYTHON_DEFAULTS else x for x in signature.arguments]
    contract = signature.comment.replace('"', "'").partition(" Returns a status")[0]
    return f'\n     "{signature.name}($module, {", ".join(names)}, /)\\n--\\n\\n{contract}"'
