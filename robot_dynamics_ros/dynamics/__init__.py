"""Rigid-body dynamics: from a URDF and a dynamics file to M(q), inverse and forward dynamics, and Jacobians.

Imports ``base``. ``description`` reads files, ``kernels`` has one algorithm a file, ``codegen`` writes the same out for
one robot, ``model`` builds and calls both. Start with ``model.robot_model``, which names the equations.
"""
