"""The links that the books' forms work on are those of the model."""

from __future__ import annotations

import numpy as np
from hypothesis import given

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.formulations.link_tree import LinkTree
from support import arms


@given(arm=arms.trees())
def test_frames_weights_and_paths(arm: arms.Arm) -> None:
    """Link frames share their origin with the joint's; potential energy is -sum m g . c; paths lead from the base."""
    model = RobotModel.from_urdf(arm.urdf)
    tree = LinkTree.of(model)
    q = arms.states(arm.seed, model.n, 1)[0][0]
    rotations, origins = tree.base_placements(q)
    for name, origin in zip(model.packed.body_links, origins, strict=True):
        np.testing.assert_allclose(model.link_pose(q, name)[:3, 3], origin, rtol=0, atol=1e-12)
    energy = -sum(
        link.mass * tree.gravity @ (p + r @ link.com) for link, r, p in zip(tree.links, rotations, origins, strict=True)
    )
    np.testing.assert_allclose(energy, model.potential_energy(q), rtol=1e-12, atol=1e-9)
    for i in range(len(tree.links)):
        path = tree.path(i)
        assert path[-1] == i and tree.links[path[0]].parent == -1
        assert [tree.links[k].parent for k in path[1:]] == path[:-1]
