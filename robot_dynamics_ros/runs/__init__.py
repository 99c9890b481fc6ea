"""The controller without ROS: on a recording (replay), or on a simulated robot; generated motions and their files.

Imports ``recordings``, ``simulation``, ``control`` and what is below them. Start with ``replay``, which reads a bag,
runs a controller session with its inputs (``inputs``), and writes the result. ``recorded_setup`` finds robot and
parameters of a recording.
"""
