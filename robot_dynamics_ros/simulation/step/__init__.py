"""Compiled step of simulated robots: unconstrained motion, friction problem, integrators, and the arrays they share.

Start with ``integrators``, which has the step of all kinds of arms. A kind is a pair of kernels beside its code:
``trees.PLAIN`` and ``COUPLED``, ``loops.LOOPED``, and ``customised.CUSTOMISED`` for one robot. ``stages`` has what the
kinds share, ``friction_problem`` the problem that all of them solve, ``elimination`` its linear algebra.
"""
