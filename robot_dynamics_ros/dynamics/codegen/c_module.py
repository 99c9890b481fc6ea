"""Python module around the C functions of one robot: a table of the functions, and their entries in the module."""

from __future__ import annotations

from robot_dynamics_ros.dynamics.codegen.c_source import (
    Signature,
    Tree,
    signatures,
    sizes,
)

# The arguments with a default are the last.
_DEFAULTS = {
    "gravity": "{robot}_gravity",
    "payload": "{robot}_payload",
    "smoothing_velocity": "&zero",
}


def module_functions(robot: Tree) -> str:
    """Return the C functions that Python calls, and the records that describe their arguments and results."""
    texts = [_function(robot, signature) for signature in signatures(robot)]
    return "\n\n".join(["static const double zero = 0.0;", *texts])


def module_methods(robot: Tree) -> str:
    """Return the elements of the module's method table."""
    return "\n".join(
        f'    {{"{x.name}", (PyCFunction)(void (*)(void))python_{x.name}, METH_FASTCALL, {_documentation(x)}}},'
        for x in signatures(robot)
    )


def _function(robot: Tree, signature: Signature) -> str:
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
        _DEFAULTS.get(x, "NULL").format(robot=robot.name) for x in arguments
    )
    fields = [
        f'"{name}"',
        str(sum(x not in _DEFAULTS for x in arguments)),
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
    names = [f"{x}=None" if x in _DEFAULTS else x for x in signature.arguments]
    contract = signature.comment.replace('"', "'").partition(" Returns a status")[0]
    return f'\n     "{signature.name}($module, {", ".join(names)}, /)\\n--\\n\\n{contract}"'
