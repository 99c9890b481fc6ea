"""Table of the kinds: family, function, hook, and the parameters of each kind.

A name is the family with the parameters, such as "frozen noise=1e-05". Rows of the healthy kinds have causes that are
true.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

import numpy as np

from tools.fault_battery import hardware, requests, signals
from tools.fault_battery.arms import COUPLED
from tools.fault_battery.run import Fault, Hook, Kind

SENSE, COMMAND, DRIVE, PLANT, REQUEST = Hook
_POSITION = ("q",)
_VELOCITY = ("qd",)
_BOTH = ("q", "qd")
_ENCODER = (signals.frozen, signals.offset, signals.creep)


def _name(family: str, parameters: dict[str, Any]) -> str:
    texts = [f"{key}={_text(value)}" for key, value in parameters.items()]
    return " ".join([family, *texts])


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return "+".join(_text(one) for one in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _rows(
    family: str, hook: Hook, function: Callable[..., Any], *also: Fault, kind: dict[str, Any] | None = None,
    **values: Iterable[Any],
) -> list[Kind]:  # fmt: skip
    """Return one kind for each combination of the parameters' ``values``.

    The encoder of one joint freezes, jumps or drifts. What changes all joints, a sign, the scale, order or resolution
    is a fault of the driver, of which drives with a loop of their own know nothing.
    """
    kinds = []
    for chosen in product(*values.values()):
        parameters = dict(zip(values, chosen, strict=True))
        faults = (Fault(hook, function, parameters), *also)
        encoder = function in _ENCODER and parameters.get("joints", "one") == "one"
        name = _name(family, parameters)
        kinds.append(Kind(family, name, faults, encoder=encoder, **(kind or {})))
    return kinds


_LOST = {"lost": True}
_START = {"from_start": True}
# Drives with a loop of their own have neither law.
_TASK = {"task": True, "sets": ("default", "first_motion")}
_FEEDFORWARD = {"values": {"law": "feedforward"}, "sets": ("default", "first_motion")}
_COUPLED = {"arms": COUPLED}
_END = {"end_stop": True}
_END_OFF = {"end_stop": True, "values": {"trajectory_limits": "off"}}
_CLEARS = Fault(REQUEST, requests.clearing, {"period": 0.35})
_NAN = (np.nan,)


def _timed(rate: float) -> list[Kind]:
    """Return kinds with cycles of a timer, at ``rate`` (Hz), instead of one for each state."""
    at = f"at {rate:g} Hz"
    kind = {"values": {"update_rate": rate}}
    return [
        *_rows(f"frozen {at}", SENSE, signals.frozen, kind=kind, noise=(0.0, 1e-4)),
        *_rows(f"jump {at}", SENSE, signals.offset, kind=kind, size=(0.3,)),
        *_rows(f"velocity sign {at}", SENSE, signals.scaled, kind=kind, fields=(_VELOCITY,), factor=(-1.0,)),
        *_rows(f"hang {at}", SENSE, signals.hang, kind=kind, seconds=(0.3,), then=("late", "true")),
        *_rows(f"states delayed {at}", SENSE, signals.delayed, kind=kind, seconds=(0.04,), restamped=(False, True)),
    ]  # fmt: skip


KINDS: tuple[Kind, ...] = (
    # Encoders
    *_rows("frozen", SENSE, signals.frozen, noise=(0.0, 1e-5, 1e-4, 1e-3)),
    *_rows("frozen", SENSE, signals.frozen, fields=(_POSITION, _VELOCITY), noise=(0.0, 1e-4)),
    *_rows("all frozen", SENSE, signals.frozen, joints=("all",), noise=(0.0, 1e-4)),
    *_rows("zeros", SENSE, signals.frozen, fields=((),), zero=(_BOTH,), joints=("one", "all")),
    *_rows("stuck at rest", SENSE, signals.frozen, fields=(_POSITION,), zero=(_VELOCITY,), noise=(0.0, 2e-5, 2e-4)),
    *_rows("jump", SENSE, signals.offset, size=(0.03, 0.08, 0.3, 1.0, 6.283)),
    *_rows("jump", SENSE, signals.offset, size=(0.08, 0.5), joints=("all",)),
    *_rows("jump and back", SENSE, signals.offset, size=(0.3,), seconds=(0.0, 0.1, 0.5)),
    *_rows("jump, cleared", SENSE, signals.offset, _CLEARS, size=(0.08, 0.3)),
    *_rows("creep", SENSE, signals.creep, rate=(0.2, 0.5, 1.5), agrees=(False, True)),
    *_rows("creep in steps", SENSE, signals.creep, rate=(0.5, 1.5), interval=(0.02,)),
    *_rows("scaled", SENSE, signals.scaled, factor=(-1.0, 0.5, 2.0, 57.3), about=("onset",)),
    *_rows("scaled", SENSE, signals.scaled, factor=(0.9, 57.3), joints=("one", "all")),
    *_rows("scaled", SENSE, signals.scaled, fields=(_VELOCITY,), factor=(-1.0, 0.0175, 0.5, 2.0, 57.3)),
    *_rows("scaled", SENSE, signals.scaled, fields=(_VELOCITY,), joints=("all",), factor=(-1.0, 57.3, 1000.0)),
    *_rows("scaled", SENSE, signals.scaled, fields=(_BOTH,), factor=(-1.0,), about=("onset",)),
    *_rows("scaled", SENSE, signals.scaled, fields=(("effort",),), joints=("all",), factor=(-1.0, 0.0, 1000.0)),
    *_rows("swapped", SENSE, signals.swapped, fields=(_BOTH, _POSITION, _VELOCITY)),
    *_rows("swapped", SENSE, signals.swapped, nearest=(True,), continues=(False, True)),
    *_rows("velocity offset", SENSE, signals.offset, field=_VELOCITY, size=(0.3, 1.0, 5.0)),
    *_rows("velocity spike", SENSE, signals.offset, field=_VELOCITY, size=(3.0, 10.0, 50.0), seconds=(0.0, 0.03)),
    *_rows("velocity spike", SENSE, signals.offset, field=_VELOCITY, size=(10.0,), seconds=(0.01,), joints=("all",)),
    *_rows("noise", SENSE, signals.noisy, q=(0.002, 0.02)),
    *_rows("noise", SENSE, signals.noisy, qd=(0.1, 1.0)),
    *_rows("coarse", SENSE, signals.quantized, size=(0.01, 0.1), fields=(_POSITION, _VELOCITY)),
    # Messages
    *_rows("NaN", SENSE, signals.spoiled, value=_NAN, fields=(_POSITION, _VELOCITY), seconds=(0.004, 0.3, np.inf)),
    *_rows("huge", SENSE, signals.spoiled, value=(np.inf, 1e300, 1e8), fields=(_BOTH,)),
    *_rows("NaN at times", SENSE, signals.spoiled, value=_NAN, every=(2, 10), joints=("all",)),
    *_rows("hang", SENSE, signals.hang, seconds=(0.05, 0.15, 0.3, 0.5, 0.8, 1.5), then=("late", "true")),
    *_rows("hang", SENSE, signals.hang, seconds=(0.15, 0.3, 0.8), then=("queued", "stale", "repeated")),
    *_rows("hang", SENSE, signals.hang, seconds=(3.0,), then=("true", "stale")),
    *_rows("stuttering", SENSE, signals.stuttering, gap=(0.05, 0.09, 0.15), every=(0.3,)),
    *_rows("stamps", SENSE, signals.stamps, how=("shift",), size=(-1.0, -0.08, -0.03, 0.03, 0.08, 1.0)),
    *_rows("stamps", SENSE, signals.stamps, how=("drift",), size=(-0.2, -0.02, 0.02, 0.2)),
    *_rows("stamps", SENSE, signals.stamps, how=("steps", "jitter"), size=(0.02, 0.1)),
    *_rows("stamps", SENSE, signals.stamps, how=("freeze", "zero", "back", "milliseconds")),
    *_rows("names", SENSE, signals.names, how=("always", "alternating", "renamed", "rotated")),
    *_rows("cut", SENSE, signals.cut, field=_BOTH, keep=(-1, 0)),
    *_rows("states delayed", SENSE, signals.delayed, seconds=(0.01, 0.02, 0.04, 0.08, 0.15), restamped=(False, True)),
    *_rows("states delayed", SENSE, signals.delayed, seconds=(0.004, 0.03), every=(4,)),
    *_rows("second publisher", SENSE, signals.second_publisher, how=("same", "old")),
    *_rows("second publisher", SENSE, signals.second_publisher, how=("off",), size=(0.02, 0.2)),
    # Drives
    *_rows("drive", DRIVE, hardware.factor, by=(-1.0, -0.3, 0.3, 0.6, 1.5, 3.0)),
    *_rows("dead drive", DRIVE, hardware.factor, kind=_LOST, by=(0.0,), seconds=(0.05, 0.3, np.inf)),
    *_rows("dead drives", DRIVE, hardware.factor, kind=_LOST, by=(0.0,), joints=("all",), seconds=(0.1, 0.3)),
    *_rows("stuck drive", DRIVE, hardware.fixed, kind=_LOST, share=(None, 0.2, 1.0)),
    *_rows("offset of a drive", DRIVE, hardware.offset, share=(0.1, 0.3), frequency=(0.0, 2.0, 10.0)),
    *_rows("saturated", DRIVE, hardware.clipped, kind=_LOST, share=(0.1, 0.3), joints=("one", "all")),
    *_rows("commands delayed", COMMAND, hardware.lag, seconds=(0.01, 0.02, 0.04, 0.08, 0.15)),
    *_rows("drives exchanged", COMMAND, hardware.exchanged),
    *_rows("gravity twice", DRIVE, hardware.gravity_twice),
    # Plant
    *_rows("contact", PLANT, hardware.wall, stiffness=(1e3, 1e4, 1e6), distance=(0.0, 0.1)),
    *_rows("contact for a time", PLANT, hardware.wall, stiffness=(1e4,), distance=(0.0,), seconds=(0.3, 1.0)),
    *_rows("contact of the tool", PLANT, hardware.wall, stiffness=(1e4, 1e6), distance=(0.02,), joints=("all",)),
    *_rows("push", PLANT, hardware.push, share=(0.2, 0.5), seconds=(0.05, 0.4)),
    *_rows("pushes", PLANT, hardware.push, share=(0.3,), seconds=(0.2,), period=(0.5,), joints=("one", "all")),
    *_rows("payload", PLANT, hardware.mass, share=(0.4, 0.9)),
    *_rows("payload", PLANT, hardware.mass, share=(0.7,), seconds=(0.8,)),
    *_rows("masses", PLANT, hardware.lighter, factor=(0.5, 1.5)),
    *_rows("friction", PLANT, hardware.friction, factor=(0.0, 3.0, 6.0)),
    *_rows("stuck joint", PLANT, hardware.friction, factor=(100.0,), joints=("one",)),
    *_rows("brakes", PLANT, hardware.brakes, seconds=(0.3, np.inf), reports=(False, True)),
    *_rows("brakes", PLANT, hardware.brakes, seconds=(0.1,), reports=(False, True), releases=(0.6,)),
    # Requests
    *_rows("target", REQUEST, requests.target, kind=_TASK, quantity=("twist",), size=(1.0, 10.0, 57.3)),
    *_rows("target", REQUEST, requests.target, kind=_TASK, quantity=("twist",), size=(3.0,), period=(0.02,)),
    *_rows("target", REQUEST, requests.target, kind=_TASK, quantity=("acceleration",), size=(10.0, 100.0, 1000.0)),
    *_rows("target pose", REQUEST, requests.target, kind=_TASK, distance=(0.05, 0.3, 2.0)),
    *_rows("false payload", REQUEST, requests.payload, mass=(2.0, 10.0, 50.0), com=(0.0, 1.0)),
    *_rows("false payload", REQUEST, requests.payload, mass=(1.0,), inertia=(1.0, 10.0, 100.0)),
    *_rows("point effort", REQUEST, requests.point_effort, share=(0.1, 0.5, 1.0, 100.0)),
    *_rows("set points", REQUEST, requests.set_points, size=(0.01, 0.15), period=(0.01, 0.1)),
    *_rows("begins elsewhere", REQUEST, requests.elsewhere, distance=(0.015, 0.15, 0.5)),
    *_rows("bouncing stop", REQUEST, requests.bouncing_stop, bounce=(0.028, 0.1), period=(0.01, 0.05)),
    *_rows("stop and clear", REQUEST, requests.stop, seconds=(0.05, 0.5)),
    *_rows("settings change", REQUEST, requests.tune, law=("pd_gravity", "gravity_compensation")),
    *_rows("settings change", REQUEST, requests.tune, natural_frequency=((30.0,), (0.5,))),
    *_rows("settings change", REQUEST, requests.tune, period=(0.1,), natural_frequency=((20.0,),)),
    *_rows("restart", REQUEST, requests.restart, seconds=(0.1, 0.5)),
    *_rows("other controller", REQUEST, requests.switched, distance=(0.08, 0.3, 0.6)),
    *_rows("other controller", REQUEST, requests.switched, distance=(0.3, 0.6), fault=(True,), clears=(False, True)),
    *_rows("forwarded", REQUEST, requests.forwarded, kind=_FEEDFORWARD, distance=(0.0, 0.08, 0.3)),
    # A fault beside a program that clears and sends again
    *_rows("frozen, cleared", SENSE, signals.frozen, _CLEARS, noise=(0.0, 1e-4)),
    *_rows("scaled, cleared", SENSE, signals.scaled, _CLEARS, fields=(_VELOCITY,), factor=(-1.0,)),
    *_rows("drive, cleared", DRIVE, hardware.factor, _CLEARS, by=(-1.0,)),
    *_rows("states delayed, cleared", SENSE, signals.delayed, _CLEARS, seconds=(0.08,)),
    *_rows("NaN at times, cleared", SENSE, signals.spoiled, _CLEARS, value=_NAN, every=(40,)),
    # From the activation on
    *_rows("start: frozen", SENSE, signals.frozen, kind=_START, noise=(0.0, 1e-4)),
    *_rows("start: jump", SENSE, signals.offset, kind=_START, size=(0.05, 0.3)),
    *_rows("start: scaled", SENSE, signals.scaled, kind=_START, fields=(_POSITION, _VELOCITY), factor=(-1.0,)),
    *_rows("start: scaled", SENSE, signals.scaled, kind=_START, fields=(_BOTH,), factor=(57.3,), joints=("all",)),
    *_rows("start: swapped", SENSE, signals.swapped, kind=_START, nearest=(False, True)),
    *_rows("start: drive", DRIVE, hardware.factor, kind=_START, by=(-1.0, 0.5)),
    *_rows("start: gravity twice", DRIVE, hardware.gravity_twice, kind=_START),
    *_rows("start: drives exchanged", COMMAND, hardware.exchanged, kind=_START),
    *_rows("start: states delayed", SENSE, signals.delayed, kind=_START, seconds=(0.02, 0.08), restamped=(True,)),
    *_rows("start: payload", PLANT, hardware.mass, kind=_START, share=(0.9,)),
    # Coordinates that are no joints of the URDF
    *_rows("coordinate: frozen", SENSE, signals.frozen, kind=_COUPLED, noise=(0.0, 1e-4)),
    *_rows("coordinate: jump", SENSE, signals.offset, kind=_COUPLED, size=(0.08, 0.3, 1.0)),
    *_rows("coordinate: scaled", SENSE, signals.scaled, kind=_COUPLED, factor=(-1.0, 57.3), about=("onset",)),
    *_rows("coordinate: scaled", SENSE, signals.scaled, kind=_COUPLED, fields=(_VELOCITY,), factor=(-1.0, 57.3)),
    *_rows("coordinate: drive", DRIVE, hardware.factor, kind=_COUPLED, by=(-1.0, 0.3, 3.0)),
    # Mechanical end stops
    *_rows("end stop: trajectory", REQUEST, requests.beyond, kind=_END_OFF, distance=(0.1, 0.4)),
    *_rows("end stop: jump", SENSE, signals.offset, kind=_END, size=(-0.6,)),
    *_rows("end stop: creep", SENSE, signals.creep, kind=_END, rate=(-0.5,), agrees=(False, True)),
    *_rows("end stop: offset of a drive", DRIVE, hardware.offset, kind=_END, share=(0.3,)),
    *_rows("end stop: stuck drive", DRIVE, hardware.fixed, kind={**_END, **_LOST}, share=(0.3,)),
    # Cycles by a timer
    *_timed(200.0),
    *_timed(500.0),
)  # fmt: skip
"""Kinds of single faults."""

_ERROR = {"from_start": True, "true_causes": ("following_error",)}
# The text of no_response names contact and load.
_TOUCHED = ("collision", "following_error", "saturation", "no_response")
_TOUCH = {"true_causes": _TOUCHED}
_STOP = {"true_causes": ("emergency_stop",)}

HEALTHY: tuple[Kind, ...] = (
    *_rows("healthy", SENSE, signals.noisy, q=(0.0, 2e-5), qd=(0.0, 5e-3)),
    *_rows("healthy, coarse", SENSE, signals.quantized, size=(5e-4,), fields=(_POSITION,)),
    *_rows("healthy, coarse", SENSE, signals.quantized, size=(0.02,), fields=(_VELOCITY,)),
    *_rows("healthy, late states", SENSE, signals.delayed, seconds=(0.002, 0.005)),
    *_rows("healthy, late commands", COMMAND, hardware.lag, seconds=(0.002, 0.005)),
    *_rows("healthy, gaps", SENSE, signals.stuttering, gap=(0.03,), every=(0.4,)),
    *_rows("healthy, without velocities", SENSE, signals.cut, kind=_START, field=_VELOCITY, keep=(0,)),
    *_rows("healthy, masses", PLANT, hardware.lighter, kind=_ERROR, factor=(0.7, 1.3)),
    *_rows("healthy, friction", PLANT, hardware.friction, kind=_ERROR, factor=(0.3, 2.0)),
    *_rows("healthy, payload", PLANT, hardware.mass, kind=_TOUCH, share=(0.3, 0.6)),
    *_rows("healthy, push", PLANT, hardware.push, kind=_TOUCH, share=(0.25,), seconds=(0.1, 0.5), speed=(0.3, 0.6)),
    *_rows("healthy, contact", PLANT, hardware.wall, kind=_TOUCH, stiffness=(1e3, 1e5), distance=(0.05,)),
    *_rows("healthy, contact", PLANT, hardware.wall, kind=_TOUCH, stiffness=(1e5,), distance=(0.02,), joints=("all",)),
    *_rows("healthy, brakes reported", PLANT, hardware.brakes, seconds=(0.5,), reports=(True,)),
    *_rows("healthy, stop and clear", REQUEST, requests.stop, kind=_STOP, seconds=(0.3,)),
)  # fmt: skip
"""Kinds of healthy runs, with the causes of faults that are true in them."""

_FIRST = {"from_start": True, "sets": ("first_motion",), "after": 5.0}
_FIRST_MOTION = Fault(REQUEST, requests.first_motion)
_COARSE = Fault(SENSE, signals.quantized, {"size": 5e-4, "fields": ("q",)})
_AT_200 = {"values": {"update_rate": 200.0}}

ALSO_HEALTHY: tuple[Kind, ...] = (
    *_rows("first motion, masses", PLANT, hardware.lighter, _FIRST_MOTION, kind=_FIRST, factor=(0.7, 1.3)),
    *_rows("first motion, friction", PLANT, hardware.friction, _FIRST_MOTION, kind=_FIRST, factor=(0.3, 2.0)),
    *_rows("healthy, named coordinates", SENSE, signals.noisy, kind=_COUPLED, q=(2e-5,), qd=(5e-3,)),
    *_rows("healthy, coarse without velocities", SENSE, signals.cut, _COARSE, kind=_START, field=_VELOCITY, keep=(0,)),
    *_rows("healthy, at 200 Hz", SENSE, signals.noisy, kind=_AT_200, q=(2e-5,), qd=(5e-3,)),
)  # fmt: skip
"""Further kinds of healthy runs, all of whose runs are made beside those that are drawn from ``HEALTHY``."""
