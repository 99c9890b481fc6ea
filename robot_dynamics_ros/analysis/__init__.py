"""Analysis of recordings: identification of parameters, causes of errors, reports, and a view in the browser.

Imports ``runs``, ``recordings`` and what is below them, and no ROS. ``identification`` estimates a dynamics file,
``diagnosis`` names causes of a torque residual, ``report`` writes one page about a run, ``view`` shows a robot that
moves. Start with the ``__init__`` of one of them.
"""
