"""How fast the time of trajectories runs: a factor of the clock's that changes at a bounded rate."""

from __future__ import annotations

import math
from dataclasses import dataclass

from robot_dynamics_ros.errors import RobotDynamicsError

SPEED_RATE = 2.0
"""How much the factor changes in a second: from standstill to full speed takes half a second."""


@dataclass(frozen=True, slots=True)
class TimeScaling:
    """Trajectory time as a function of the clock's time; both in seconds, neither ever goes back.

    At `since` (clock) it is `scaled` (trajectory) and runs with the factor `speed`, which goes to `target` in
    a straight line of slope `SPEED_RATE` and stays there. A motion q(s) of trajectory time s(t) has the
    velocity s' q' and the acceleration s'^2 q'' + s'' q': the chain rule (Dahl and Nielsen, Torque-limited
    path following by online trajectory time scaling, 1990).
    """

    since: float = 0.0
    scaled: float = 0.0
    speed: float = 1.0
    target: float = 1.0

    def at(self, time: float) -> tuple[float, float, float]:
        """Return trajectory time s (s), its factor s' and the factor's rate s'' (1/s) at a clock time (s)."""
        dt = time - self.since
        change = self.target - self.speed
        if change == 0.0:
            return self.scaled + self.speed * dt, self.speed, 0.0
        ramp = abs(change) / SPEED_RATE
        if dt < ramp:
            rate = math.copysign(SPEED_RATE, change)
            return self.scaled + dt * (self.speed + 0.5 * rate * dt), self.speed + rate * dt, rate
        return self.scaled + 0.5 * (self.speed + self.target) * ramp + self.target * (dt - ramp), self.target, 0.0

    def toward(self, time: float, target: float) -> TimeScaling:
        """Return the scaling that from the clock time on goes to another factor, without a step."""
        scaled, speed, _ = self.at(time)
        return TimeScaling(time, scaled, speed, target)

    def frozen(self, time: float) -> TimeScaling:
        """Return the scaling that from the clock time on keeps the factor that it has then."""
        scaled, speed, _ = self.at(time)
        return TimeScaling(time, scaled, speed, speed)


def checked_speed(factor: float) -> float:
    """Return a speed factor from 0 (standstill) to 1 (as planned); RobotDynamicsError for other numbers."""
    if not 0.0 <= factor <= 1.0:
        raise RobotDynamicsError(f"the speed scaling factor is {factor}. Cure: give a number from 0 to 1")
    return float(factor)
