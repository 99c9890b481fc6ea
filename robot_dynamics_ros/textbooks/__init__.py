"""Textbook formulations of robot dynamics in plain NumPy, for comparison with the books and with each other.

Imports ``dynamics`` and ``base``. Only commands and tests import it. Start with ``newton_euler_equations``.

``q``, ``qd`` and ``qdd`` are positions, velocities and accelerations (n,) of the model's independent joints, in rad or
m; torques are in Nm or N. Friction is omitted. docs/errata.md collects the books' misprints.
"""
