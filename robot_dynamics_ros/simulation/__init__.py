"""Simulated robots with Coulomb friction and joint limits, sensor models, and closed-loop simulation.

Imports ``control``, ``dynamics`` and ``base``, and no ROS. Start with ``plant``, one robot that is advanced step by
step; ``simulate`` closes the loop with a controller, ``step`` has the compiled step.
"""

from robot_dynamics_ros.simulation.plant import Plant
from robot_dynamics_ros.simulation.plant_batch import PlantBatch
from robot_dynamics_ros.simulation.sensors import EffortDelay, Measurement, Sensors
from robot_dynamics_ros.simulation.simulate import Run, SimulationError, simulate
from robot_dynamics_ros.simulation.simulate_batch import simulate_batch

__all__ = [
    "EffortDelay",
    "Measurement",
    "Plant",
    "PlantBatch",
    "Run",
    "Sensors",
    "SimulationError",
    "simulate",
    "simulate_batch",
]
