"""Calls of compiled kernels as built-in functions of Python (METH_FASTCALL).

numba's own call checks the type of every argument and wraps every array. For five arrays this takes 0.2 us, as long as
the inverse dynamics of a small arm. Here the compiled code itself is the built-in function. It reads the fields of the
array objects (PyArrayObject in NumPy's ndarraytypes.h) and runs the kernel only if each argument is exactly an ndarray
of native float64, C-contiguous, aligned and writeable, with the expected number of axes.

This requires CPython with its usual object header on a 64-bit machine. The layout is compared with an existing array
first; ``SUPPORTED`` has the result. ROBOT_DYNAMICS_DIRECT_CALLS=0 in the environment disables direct calls.
"""

from __future__ import annotations

import ctypes
import os
import sys
import sysconfig
from collections.abc import Callable, Sequence
from functools import cache, partial
from threading import RLock
from typing import Any

import numpy as np

from robot_dynamics_ros.dynamics.kernels.compilation import (
    COMPILED,
    cache_directory,
    compiled_callback,
    load_source,
    numba,
)
from robot_dynamics_ros.dynamics.kernels.entries import OK

_FLOAT64 = np.dtype(np.float64)
_PLAIN = 0x1 | 0x100 | 0x400  # C-contiguous, aligned, writeable
_METH_FASTCALL = 0x80

# Words of a PyArrayObject after reference count and type.
_TYPE, _DATA, _AXES, _SHAPE, _DTYPE, _FLAGS = 1, 2, 3, 4, 7, 8


def _layout_is_as_expected() -> bool:
    """Return True if the fields of an array object are at the expected offsets, all inside the object."""
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return False
    if ctypes.sizeof(ctypes.c_void_p) != 8 or sys.byteorder != "little" or hasattr(sys, "gettotalrefcount"):
        return False
    array = np.zeros((3, 5))
    if object.__sizeof__(array) < 8 * (_FLAGS + 1):
        return False
    words = (ctypes.c_int64 * (_FLAGS + 1)).from_address(id(array))
    halves = (ctypes.c_int32 * (2 * _FLAGS + 1)).from_address(id(array))
    if (words[_TYPE], words[_DATA], words[_DTYPE]) != (id(np.ndarray), array.ctypes.data, id(_FLOAT64)):
        return False
    if (halves[2 * _AXES], halves[2 * _FLAGS]) != (2, array.flags.num):
        return False
    return list((ctypes.c_int64 * 2).from_address(words[_SHAPE])) == [3, 5]


SUPPORTED: bool = (
    COMPILED
    and os.environ.get("ROBOT_DYNAMICS_DIRECT_CALLS") != "0"
    and not numba.config.BOUNDSCHECK
    and cache_directory() is not None
    and _layout_is_as_expected()
)
"""True if kernels are called directly. Bounds checking requires numba's own calls."""

_CALL_LOCK = RLock()  # calls share scratch memory, and plain Python can switch threads during a call

if SUPPORTED:
    from numba import types
    from numba.extending import intrinsic

    from robot_dynamics_ros.dynamics.kernels.compilation import inlined

    pointer_type: Any = types.CPointer

    def _pointer(kind: Any) -> Any:
        """Return a function that converts an address to a pointer to ``kind``."""

        @intrinsic
        def pointer(typing: Any, address: Any) -> Any:
            def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

            return pointer_type(kind)(types.int64), generate

        return pointer

    words, halves, floats = _pointer(types.int64), _pointer(types.int32), _pointer(types.float64)

    @inlined
    def is_plain(array: int, known: Any, axes: int) -> bool:
        """Return True if an object is an array that the kernels accept.

        ``array`` is the address of the object, ``known`` (a pointer) has the addresses of ndarray and of the dtype
        float64, and ``axes`` is the required number of axes.
        """
        word, half = words(array), halves(array)
        if word[_TYPE] != known[0]:
            return False
        return bool(word[_DTYPE] == known[1] and half[2 * _AXES] == axes and half[2 * _FLAGS] & _PLAIN == _PLAIN)

    @inlined
    def shared(array: int) -> int:
        """Return the address ``array`` of an object as a result, with the object's reference count increased."""
        words(array)[0] += 1
        return array


def direct_call(kernel: Callable[..., int], fixed: Sequence[Any], axes: Sequence[int]) -> Callable[..., object]:
    """Return a function that calls a kernel with its first arguments bound.

    Parameters
    ----------
    kernel
        Compiled function of arrays that returns a status, OK on success.
    fixed
        First arguments, C-contiguous int64 or float64 arrays of shape (count,). They are not copied: later changes
        of their elements take effect.
    axes
        Number of axes of each further argument. The result is the last one.

    Returns
    -------
    Callable
        Function of the further arguments, C-contiguous writeable float64 arrays. It returns its last argument, or
        another object if an argument is not an array as expected or if the status is not OK.
    """
    if not SUPPORTED:
        return _checked_call(partial(kernel, *fixed), axes)
    kinds = tuple("words" if array.dtype == np.int64 else "floats" for array in fixed)
    callback, method = _callback(kernel, kinds, tuple(axes))
    addresses = [number for array in fixed for number in (array.ctypes.data, array.shape[0])]
    context = np.array([id(np.ndarray), id(_FLOAT64), *addresses], dtype=np.int64).view(_Context)
    context.kept = (callback, fixed)
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    function: Callable[..., object] = new(ctypes.addressof(method), context, None)
    return function


def _checked_call(kernel: Callable[..., int], axes: Sequence[int]) -> Callable[..., object]:
    """Return the same function in plain Python."""

    def call(*arguments: Any) -> Any:
        for array, count in zip(arguments, axes, strict=True):
            if type(array) is not np.ndarray or array.ndim != count or not array.flags.carray:
                return None
            if array.dtype is not _FLOAT64:
                return None
        with _CALL_LOCK:
            return arguments[-1] if kernel(*arguments) == OK else None

    return call


class _Context(np.ndarray):  # NumPy 1.21 accepts no type arguments at run time
    """Array of the addresses that a call needs; it also owns the objects behind them."""

    kept: Any


class _Method(ctypes.Structure):
    """Definition of a built-in function (PyMethodDef)."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


@cache
def _callback(kernel: Any, kinds: tuple[str, ...], axes: tuple[int, ...]) -> tuple[Any, _Method]:
    name = f"{kernel.__name__}_call"
    fixed = [f"carray({kind}(known[{2 + 2 * k}]), (known[{3 + 2 * k}],))" for k, kind in enumerate(kinds)]
    arrays = []
    for k, count in enumerate(axes):
        shape = "".join(f"words(words(arguments[{k}])[{_SHAPE}])[{axis}], " for axis in range(count))
        arrays.append(f"carray(floats(words(arguments[{k}])[{_DATA}]), ({shape}))")
    tests = " and ".join(f"is_plain(arguments[{k}], known, {count})" for k, count in enumerate(axes))
    source = f"""\
from numba import carray

from {kernel.__module__} import {kernel.__name__}
from robot_dynamics_ros.dynamics.kernels.direct_calls import floats, is_plain, shared, words


def {name}(context, arguments, count):
    known = words(words(context)[{_DATA}])
    if count != {len(axes)} or not ({tests}):
        return shared(context)
    status = {kernel.__name__}({", ".join([*fixed, *arrays])})
    return shared(arguments[{len(axes) - 1}]) if status == {OK} else shared(context)
"""
    signature = types.int64(types.int64, pointer_type(types.int64), types.int64)
    callback = compiled_callback(load_source(source, name)[name], signature)
    return callback, _Method(kernel.__name__.encode(), callback.address, _METH_FASTCALL, None)
