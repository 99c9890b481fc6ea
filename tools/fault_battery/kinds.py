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
from tools.fault_battery.run import Fault, Hook, Kind

SENSE, DRIVE, PLANT, REQUEST = Hook.SENSE, Hook.DRIVE, Hook.PLANT, Hook.REQUEST
_POSITION = ("q",)
_VELOCITY = ("qd",)
_BOTH = ("q", "qd")


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
    """Return one kind for each combination of the parameters' ``values``."""
    kinds = []
    for chosen in product(*values.values()):
        parameters = dict(zip(values, chosen, strict=True))
        faults = (Fault(hook, function, parameters), *also)
        kinds.append(Kind(family, _name(family, parameters), faults, **(kind or {})))
    return kinds


_MASS = {"lost": True}
_START = {"from_start": True}
_TASK = {"task": True}
_FEEDFORWARD = {"values": {"law": "feedforward"}}
_CLEARS = Fault(REQUEST, requests.clearing, {"period": 0.35, "again": True})

KINDS: tuple[Kind, ...] = (
    # Encoders
    *_rows("frozen", SENSE, signals.frozen, noise=(0.0, 1e-5, 1e-4, 1e-3), fields=(_BOTH,)),
    *_rows("frozen position", SENSE, signals.frozen, fields=(_POSITION,), noise=(0.0, 1e-4)),
    *_rows("frozen velocity", SENSE, signals.frozen, fields=(_VELOCITY,), noise=(0.0,)),
    *_rows("all frozen", SENSE, signals.frozen, joints=("all",), noise=(0.0, 1e-4)),
    *_rows("zeros", SENSE, signals.frozen, joints=("one", "all"), zero=(True,)),
    *_rows("stuck at rest", SENSE, signals.stuck_at_rest, noise=(0.0, 2e-5, 2e-4)),
    *_rows("jump", SENSE, signals.jump, size=(0.03, 0.08, 0.3, 1.0)),
    *_rows("jump of all", SENSE, signals.jump, size=(0.08, 0.5), joints=("all",)),
    *_rows("jump and back", SENSE, signals.jump, size=(0.3,), seconds=(0.01, 0.1, 0.5)),
    *_rows("jump, cleared", SENSE, signals.jump, _CLEARS, size=(0.08, 0.3)),
    *_rows("turned", SENSE, signals.turned, turns=(1.0, 0.5)),
    *_rows("creep", SENSE, signals.creep, rate=(0.2, 0.5, 1.5), agrees=(False, True)),
    *_rows("creep in steps", SENSE, signals.creep, rate=(0.5, 1.5), interval=(0.02,)),
    *_rows("position scaled", SENSE, signals.scaled, factor=(0.5, 2.0, 57.3), about=("onset",)),
    *_rows("position scaled about zero", SENSE, signals.scaled, factor=(0.9, 57.3), joints=("one", "all")),
    *_rows("velocity scaled", SENSE, signals.scaled, fields=(_VELOCITY,), factor=(0.0175, 0.5, 2.0, 57.3)),
    *_rows("all velocities scaled", SENSE, signals.scaled, fields=(_VELOCITY,), factor=(57.3, 1000.0), joints=("all",)),
    *_rows("position reversed", SENSE, signals.scaled, factor=(-1.0,), about=("onset",)),
    *_rows("velocity reversed", SENSE, signals.scaled, fields=(_VELOCITY,), factor=(-1.0,), joints=("one", "all")),
    *_rows("position and velocity reversed", SENSE, signals.scaled, fields=(_BOTH,), factor=(-1.0,), about=("onset",)),
    *_rows("swapped", SENSE, signals.swapped, fields=(_BOTH, _POSITION, _VELOCITY)),
    *_rows("swapped, near", SENSE, signals.swapped, nearest=(True,)),
    *_rows("changes swapped", SENSE, signals.swapped, continues=(True,)),
    *_rows("names rotated", SENSE, signals.shifted_names),
    *_rows("velocity offset", SENSE, signals.velocity_offset, size=(0.3, 1.0, 5.0)),
    *_rows("velocity spike", SENSE, signals.velocity_offset, size=(3.0, 10.0, 50.0), samples=(1, 10)),
    *_rows("velocity spike of all", SENSE, signals.velocity_offset, size=(10.0,), samples=(3,), joints=("all",)),
    *_rows("noise of velocities", SENSE, signals.noisy, qd=(0.1, 1.0)),
    *_rows("noise of positions", SENSE, signals.noisy, q=(0.002, 0.02)),
    *_rows("without velocities", SENSE, signals.without_velocity),
    *_rows("coarse", SENSE, signals.quantized, size=(0.01, 0.1), fields=(_POSITION, _VELOCITY)),
    *_rows("lagging", SENSE, signals.lagging, seconds=(0.02, 0.1), fields=(_VELOCITY, _BOTH)),
    *_rows("effort reports", SENSE, signals.bad_effort, how=("reversed", "zero", "permuted", "milli")),
    # Messages
    *_rows("NaN", SENSE, signals.spoiled, value=(np.nan,), fields=(_POSITION, _VELOCITY), seconds=(0.004, 0.3, np.inf)),
    *_rows("huge", SENSE, signals.spoiled, value=(np.inf, 1e300, 1e8), fields=(_BOTH,)),
    *_rows("NaN at times", SENSE, signals.spoiled, value=(np.nan,), every=(2, 10), joints=("all",)),
    *_rows("hang", SENSE, signals.hang, seconds=(0.05, 0.15, 0.3, 0.5, 0.8, 1.5), then=("late", "true")),
    *_rows("hang, queued", SENSE, signals.hang, seconds=(0.05, 0.15, 0.3, 0.8), then=("queued",)),
    *_rows("hang, old values", SENSE, signals.hang, seconds=(0.15, 0.3, 0.8), then=("stale", "repeated")),
    *_rows("hang for ever", SENSE, signals.hang, seconds=(3.0,), then=("true", "stale")),
    *_rows("stuttering", SENSE, signals.stuttering, gap=(0.05, 0.09, 0.15), every=(0.3,)),
    *_rows("stamps shifted", SENSE, signals.stamps, how=("shift",), size=(-1.0, -0.08, -0.03, 0.03, 0.08, 1.0)),
    *_rows("stamps drift", SENSE, signals.stamps, how=("drift",), size=(-0.2, -0.02, 0.02, 0.2)),
    *_rows("stamps", SENSE, signals.stamps, how=("freeze", "zero", "back", "milliseconds")),
    *_rows("stamps in steps", SENSE, signals.stamps, how=("steps", "jitter"), size=(0.02, 0.1)),
    *_rows("joint dropped", SENSE, signals.dropped_joint, how=("always", "alternating", "renamed")),
    *_rows("short field", SENSE, signals.short_fields, field=_BOTH),
    *_rows("duplicated", SENSE, signals.duplicated, newer=(False, True)),
    *_rows("states delayed", SENSE, signals.delayed, seconds=(0.01, 0.02, 0.04, 0.06, 0.08, 0.12), restamped=(False, True)),
    *_rows("reordered", SENSE, signals.reordered, seconds=(0.004, 0.03)),
    *_rows("second publisher", SENSE, signals.second_publisher, how=("old", "zeros")),
    *_rows("second publisher, near", SENSE, signals.second_publisher, how=("near",), size=(0.02, 0.2)),
    # Drives
    *_rows("dead drive", DRIVE, hardware.factor, kind=_MASS, by=(0.0,), seconds=(0.05, 0.3, np.inf)),
    *_rows("all drives dead", DRIVE, hardware.factor, by=(0.0,), joints=("all",), seconds=(0.1, 0.3)),
    *_rows("weak drive", DRIVE, hardware.factor, by=(0.3, 0.6)),
    *_rows("strong drive", DRIVE, hardware.factor, by=(1.5, 3.0)),
    *_rows("reversed drive", DRIVE, hardware.factor, by=(-1.0, -0.3)),
    *_rows("stuck drive", DRIVE, hardware.fixed, kind=_MASS, share=(None, 0.2, 1.0)),
    *_rows("offset of a drive", DRIVE, hardware.offset, share=(0.1, 0.3)),
    *_rows("saturated drives", DRIVE, hardware.clipped, share=(0.1, 0.3), joints=("one", "all")),
    *_rows("commands delayed", DRIVE, hardware.lag, seconds=(0.01, 0.02, 0.04, 0.06, 0.08, 0.12)),
    *_rows("commands sampled", DRIVE, hardware.sampled, seconds=(0.02, 0.05, 0.1)),
    *_rows("drives exchanged", DRIVE, hardware.exchanged),
    *_rows("ripple of a drive", DRIVE, hardware.rippling, share=(0.2,), frequency=(2.0, 10.0, 50.0)),
    *_rows("gravity twice", DRIVE, hardware.gravity_twice),
    # Plant
    *_rows("wall", PLANT, hardware.wall, stiffness=(1e3, 1e4, 1e6), distance=(0.0, 0.1)),
    *_rows("wall for a time", PLANT, hardware.wall, stiffness=(1e4,), distance=(0.0,), seconds=(0.3, 1.0)),
    *_rows("wall at the end effector", PLANT, hardware.wall, stiffness=(1e4, 1e6), distance=(0.02,), joints=("all",)),
    *_rows("push", PLANT, hardware.push, share=(0.2, 0.5), seconds=(0.05, 0.4)),
    *_rows("pushes", PLANT, hardware.push, share=(0.3,), seconds=(0.2,), period=(0.5,), joints=("one", "all")),
    *_rows("payload", PLANT, hardware.mass, share=(0.4, 0.9)),
    *_rows("payload for a time", PLANT, hardware.mass, share=(0.7,), seconds=(0.8,)),
    *_rows("masses", PLANT, hardware.lighter, factor=(0.5, 1.5)),
    *_rows("friction", PLANT, hardware.friction, factor=(0.0, 3.0, 6.0)),
    *_rows("stuck joint", PLANT, hardware.friction, factor=(100.0,), joints=("one",)),
    *_rows("brakes", PLANT, hardware.brakes, seconds=(0.3, np.inf), reports=(False, True)),
    *_rows("brakes at times", PLANT, hardware.brakes, seconds=(0.1,), reports=(False, True), releases=(0.6,)),
    *_rows("base tilts", PLANT, hardware.tilt, angle=(0.2, 0.6)),
    # Requests
    *_rows("target twist", REQUEST, requests.target_feedforward, kind=_TASK, quantity=("twist",), size=(1.0, 10.0, 57.3)),
    *_rows("target twists", REQUEST, requests.target_feedforward, kind=_TASK, quantity=("twist",), size=(3.0,), period=(0.02,)),
    *_rows("target acceleration", REQUEST, requests.target_feedforward, kind=_TASK, quantity=("acceleration",), size=(10.0, 100.0, 1000.0)),
    *_rows("target pose", REQUEST, requests.target_pose, kind=_TASK, distance=(0.05, 0.3, 2.0)),
    *_rows("target poses alternate", REQUEST, requests.jumping_targets, kind=_TASK, distance=(0.1,), period=(0.05, 0.3)),
    *_rows("false payload", REQUEST, requests.payload, mass=(2.0, 10.0, 50.0), com=(0.0,)),
    *_rows("false payload, far", REQUEST, requests.payload, mass=(2.0, 10.0), com=(1.0,)),
    *_rows("false inertia", REQUEST, requests.payload, mass=(1.0,), inertia=(1.0, 10.0, 100.0)),
    *_rows("point effort", REQUEST, requests.point_effort, share=(0.1, 0.5, 1.0, 100.0)),
    *_rows("point velocities", REQUEST, requests.wrong_points, field=("velocities",), by=(-1.0, 5.0)),
    *_rows("point accelerations", REQUEST, requests.wrong_points, field=("accelerations",), by=(-1.0, 57.3)),
    *_rows("hasty", REQUEST, requests.hasty, seconds=(0.02, 0.2)),
    *_rows("set points", REQUEST, requests.set_points, size=(0.01, 0.15), period=(0.01, 0.1)),
    *_rows("late start", REQUEST, requests.late_start, seconds=(7.0, 0.5, -1.0)),
    *_rows("begins elsewhere", REQUEST, requests.elsewhere, distance=(0.015, 0.15, 0.5)),
    *_rows("bouncing stop", REQUEST, requests.bouncing_stop, bounce=(0.028, 0.1), period=(0.01, 0.05)),
    *_rows("bouncing stop, not cleared", REQUEST, requests.bouncing_stop, bounce=(0.028,), period=(1.0,), clears=(False,)),
    *_rows("stop and clear", REQUEST, requests.stop, seconds=(0.05, 0.5)),
    *_rows("law changes", REQUEST, requests.tune, law=("pd_gravity", "gravity_compensation")),
    *_rows("gains change", REQUEST, requests.tune, natural_frequency=((30.0,), (0.5,))),
    *_rows("gains alternate", REQUEST, requests.tune, period=(0.1,), natural_frequency=((20.0,),)),
    *_rows("speed factor alternates", REQUEST, requests.speed_factor, period=(0.05, 0.3)),
    *_rows("restart", REQUEST, requests.restart, seconds=(0.1, 0.5)),
    *_rows("other controller", REQUEST, requests.switched, distance=(0.08, 0.3, 0.6)),
    *_rows("other controller, in fault", REQUEST, requests.switched, distance=(0.3, 0.6), fault=(True,), clears=(False, True)),
    *_rows("forwarded", REQUEST, requests.forwarded, kind=_FEEDFORWARD, distance=(0.0, 0.08, 0.3)),
    *_rows("forwarded, cleared", REQUEST, requests.forwarded, kind={"values": {"law": "feedforward", "following_error_limit": [0.1]}}, distance=(0.3,), clears=(True,)),
    # A fault beside a program that clears
    *_rows("frozen, cleared", SENSE, signals.frozen, _CLEARS, noise=(0.0, 1e-4)),
    *_rows("velocity reversed, cleared", SENSE, signals.scaled, _CLEARS, fields=(_VELOCITY,), factor=(-1.0,)),
    *_rows("reversed drive, cleared", DRIVE, hardware.factor, _CLEARS, by=(-1.0,)),
    *_rows("states delayed, cleared", SENSE, signals.delayed, _CLEARS, seconds=(0.06,)),
    *_rows("NaN at times, cleared", SENSE, signals.spoiled, _CLEARS, value=(np.nan,), every=(40,)),
    # Before the activation
    *_rows("frozen from the start", SENSE, signals.frozen, kind=_START, noise=(0.0, 1e-4)),
    *_rows("reversed drive from the start", DRIVE, hardware.factor, kind=_START, by=(-1.0,)),
    *_rows("position offset from the start", SENSE, signals.jump, kind=_START, size=(0.05, 0.3)),
    *_rows("velocity reversed from the start", SENSE, signals.scaled, kind=_START, fields=(_VELOCITY,), factor=(-1.0,)),
    *_rows("position reversed from the start", SENSE, signals.scaled, kind=_START, factor=(-1.0,)),
    *_rows("degrees from the start", SENSE, signals.scaled, kind=_START, fields=(_BOTH,), factor=(57.3,), joints=("all",)),
    *_rows("swapped from the start", SENSE, signals.swapped, kind=_START, fields=(_BOTH,)),
    *_rows("gravity twice from the start", DRIVE, hardware.gravity_twice, kind=_START),
    *_rows("weak drive from the start", DRIVE, hardware.factor, kind=_START, by=(0.5,)),
    *_rows("drives exchanged from the start", DRIVE, hardware.exchanged, kind=_START),
    *_rows("states delayed from the start", SENSE, signals.delayed, kind=_START, seconds=(0.02, 0.06), restamped=(True,)),
    *_rows("payload from the start", PLANT, hardware.mass, kind=_START, share=(0.9,)),
)  # fmt: skip
"""Kinds of single faults."""

_TOUCH = ("collision", "following_error", "saturation")

HEALTHY: tuple[Kind, ...] = (
    *_rows("healthy", SENSE, signals.noisy, q=(0.0, 2e-5), qd=(0.0, 5e-3)),
    *_rows("healthy, coarse", SENSE, signals.quantized, size=(5e-4,), fields=(_POSITION,)),
    *_rows("healthy, coarse", SENSE, signals.quantized, size=(0.02,), fields=(_VELOCITY,)),
    *_rows("healthy, late states", SENSE, signals.delayed, seconds=(0.002, 0.005)),
    *_rows("healthy, late commands", DRIVE, hardware.lag, seconds=(0.002, 0.005)),
    *_rows("healthy, gaps", SENSE, signals.stuttering, gap=(0.03,), every=(0.4,)),
    *_rows("healthy, without velocities", SENSE, signals.without_velocity, kind=_START),
    *_rows("healthy, masses", PLANT, hardware.lighter, kind={"from_start": True, "peaceful": ("following_error",)}, factor=(0.7, 1.3)),
    *_rows("healthy, payload", PLANT, hardware.mass, kind={"peaceful": _TOUCH}, share=(0.3, 0.6)),
    *_rows("healthy, friction", PLANT, hardware.friction, kind={"from_start": True, "peaceful": ("following_error",)}, factor=(0.3, 2.0)),
    *_rows("healthy, push", PLANT, hardware.push, kind={"peaceful": _TOUCH}, share=(0.25,), seconds=(0.1, 0.5), speed=(0.3, 0.6)),
    *_rows("healthy, contact", PLANT, hardware.wall, kind={"peaceful": _TOUCH}, stiffness=(1e3, 1e5), distance=(0.05,)),
    *_rows("healthy, contact of the end effector", PLANT, hardware.wall, kind={"peaceful": _TOUCH}, stiffness=(1e3, 1e5), distance=(0.02,), joints=("all",)),
    *_rows("healthy, brakes reported", PLANT, hardware.brakes, seconds=(0.5,), reports=(True,)),
    *_rows("healthy, stop and clear", REQUEST, requests.stop, kind={"peaceful": ("emergency_stop",)}, seconds=(0.3,)),
)  # fmt: skip
"""Kinds of healthy runs, with the causes of faults that are true in them."""
