"""Rigid-body dynamics: from a URDF and a dynamics file to M(q), inverse and forward dynamics, and Jacobians.

Imports ``base``. ``kernels`` has one algorithm a file, ``codegen`` writes the same out for one robot, ``model`` reads
files and calls both. Start with ``model.robot_model``; its methods name the equations and the kernels.
"""
