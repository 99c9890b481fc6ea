"""Vector arguments: the same numbers in all forms that are accepted, and arguments that are not."""

from array import array
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from support.arms import Array


class Subclass(np.ndarray):
    """Subclass of ndarray."""


class Column:
    """Column of a table: not an array, but with a dtype and conversion to one."""

    dtype = np.dtype(np.float64)

    def __init__(self, x: Array) -> None:
        self.x = x

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self.x if dtype is None else self.x.astype(dtype)


def read_only(x: Array) -> Array:
    x = x.copy()
    x.flags.writeable = False
    return x


def _unaligned(x: Array) -> Array:
    out: Array = np.ndarray(x.shape, np.float64, bytearray(8 * x.size + 1), 1)
    out[...] = x
    return out


def _fractions(x: Array) -> Any:
    return np.vectorize(Fraction, otypes=[object])(x).tolist() if x.size else x


#: The same numbers in another form; those with a dtype hold small integers exactly.
FORMS: dict[str, Callable[[Array], Any]] = {
    "plain": lambda x: x,
    # Where there are no numbers, lists know nothing of the last axis.
    "list": lambda x: x.tolist() if x.size else x,
    "tuple": lambda x: tuple(x.tolist()) if x.size else x,
    "list of arrays": lambda x: list(x) if x.size else x,
    "fractions": _fractions,
    "objects": lambda x: x.astype(object),
    **{
        kind: lambda x, kind=kind: x.astype(kind)
        for kind in (">f8", "f4", ">f4", "f2", "g", "i1", "i8", ">i4", "?")
    },
    "unsigned": lambda x: np.abs(x).astype("u2"),
    "Fortran": np.asfortranarray,
    "strided": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "reversed": lambda x: x[..., ::-1].copy()[..., ::-1],
    "stride of 0": lambda x: np.broadcast_to(x[..., :1], x.shape),
    "read-only": read_only,
    "unaligned": _unaligned,
    "subclass": lambda x: x.view(Subclass),
    "unaligned subclass": lambda x: _unaligned(x).view(Subclass),
    "subclass of the other byte order": lambda x: x.astype(">f8").view(Subclass),
    "records": lambda x: x.view(np.recarray),
    "masked": np.ma.array,
    "matrix": lambda x: np.matrix(x) if x.ndim <= 2 else x,
    "array.array": lambda x: array("d", x) if x.ndim == 1 else x,
    "memoryview": lambda x: memoryview(np.ascontiguousarray(x)) if x.size else x,
    "column": Column,
}


def plain(given: Any) -> Array:
    """Return the numbers as a contiguous float array."""
    return np.array(np.asarray(given), dtype=np.float64, order="C")


def _endless() -> list[Any]:
    inside: list[Any] = []
    inside.append(inside)
    return inside


#: Nothing that could stand for a vector of 3. Functions, because some can be read only once.
NONSENSE: dict[str, Callable[[], Any]] = {
    "nothing": lambda: None,
    "a number": lambda: 0.5,
    "a NumPy number": lambda: np.float64(0.5),
    "no axes": lambda: np.array(0.5),
    "text": lambda: "abc",
    "a number as text": lambda: "1.5",
    "numbers as text": lambda: ["1", "2", "3"],
    "an array of text": lambda: np.array(["1", "2", "3"]),
    "an object array of text": lambda: np.array(["1", "2", "3"], dtype=object),
    "bytes": lambda: b"abc",
    "numbers as bytes": lambda: np.array([b"1", b"2", b"3"]),
    "no numbers": lambda: [],
    "no numbers in an array": lambda: np.zeros(0),
    "nones": lambda: [None] * 3,
    "a none among numbers": lambda: [1.0, None, 2.0],
    "text among numbers": lambda: [1, "x", 2],
    "too large": lambda: [10**400] * 3,
    "one that is too large": lambda: 10**400,
    "complex": lambda: np.full(3, 1j),
    "complex single": lambda: np.zeros(3, np.complex64),
    "complex list": lambda: [1j, 0, 0],
    "complex objects": lambda: np.array([1j, 2, 3], dtype=object),
    "decimals": lambda: [Decimal(1)] * 3,
    "ragged": lambda: [[1], [1, 2], 3],
    "arrays that differ": lambda: [np.zeros(3), np.zeros(2)],
    "a dict": lambda: {"q": [0, 0, 0]},
    "a set": lambda: {1, 2, 3},
    "an iterator": lambda: iter([1.0, 2.0, 3.0]),
    "a structured array": lambda: np.zeros(3, [("a", float)]),
    "dates": lambda: np.zeros(3, "M8[s]"),
    "durations": lambda: np.zeros(3, "m8[s]"),
    "raw memory": lambda: np.zeros(3, "V8"),
    "a list in itself": _endless,
    "thirty brackets": lambda: np.zeros([1] * 30).tolist(),
    "a type": lambda: float,
    "a function": lambda: len,
    "a masked number": lambda: np.ma.array(np.zeros(3), mask=[True, False, False]),
    "a row with a masked number": lambda: [np.ma.array(np.zeros(3), mask=[1, 0, 0])],
    "too short": lambda: np.zeros(2),
    "too long": lambda: np.zeros(4),
    "one column": lambda: np.zeros((3, 1)),
    "a matrix column": lambda: np.matrix(np.zeros(3)).T,
    "too long in a batch": lambda: np.zeros((2, 4)),
    "empty in a batch": lambda: np.zeros((3, 0)),
    "empty lists": lambda: [[], [], []],
    "a short read-only one": lambda: read_only(np.zeros(2)),
    "a short list": lambda: [0.0, 0.0],
    "too many axes": lambda: np.zeros([1] * 27 + [3]),
}
