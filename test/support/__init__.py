"""Helpers that several tests share, imported as ``from support import arms``; numbers of books are in ``oracles``.

Robots
    ``arms`` (builder, random trees, model arrays), ``worked_arms`` (the books'), ``mechanisms`` (closed chains),
    ``robots_with_drives`` (couplings, rotors, friction)
Controllers and plants
    ``controlled_arm``, ``task_space_loops``, ``trajectories``, ``plants``, ``plant_controllers``,
    ``friction_problems``
Peers
    ``pinocchio_peer``, ``independent_plant`` (plant and client that share no code with the package), ``generated``
    (generated source as plain Python), ``comparing`` (tolerances)
Recordings
    ``bag_recordings``, ``report_recordings``, ``noisy_recordings``, ``panda_recording``, ``crafted_bags``
Processes
    ``ros`` (nodes and a client), ``robot`` (drives a controller's arm), ``simulation`` (a plant's user),
    ``commands`` (runs a subcommand), ``python_process``
Declarations and documents
    ``model_methods`` (a table of RobotModel's methods), ``odd_arguments``, ``node_interfaces``, ``launch_files``,
    ``documents``
"""
