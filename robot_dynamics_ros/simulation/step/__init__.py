"""Compiled step of simulated robots: unconstrained motion, friction problem, integrators, and the arrays they share.

Start with ``integrators``, which has the step. ``stages`` has what all kinds of arms share. ``separable`` and
``coupled`` solve for the motion and the friction of arms without loops, package ``loops`` for those with loops.
"""
