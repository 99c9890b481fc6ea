"""Formulas of small robots: the textbook functions on symbols, with SymPy.

Start with ``closed_form``, the equations of motion. ``symbolic_arm`` replaces the numbers of a robot by symbols.
"""
