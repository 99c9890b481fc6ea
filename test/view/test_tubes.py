"""Arrows whose length says how large a torque is, and whose sense says its sign."""

import numpy as np
import pytest

from robot_dynamics_ros.view.tubes import FACES, colour_of_share, ring, straight_arrow, turning_arrow


@pytest.mark.parametrize("share", [0.01, 0.3, 1.0, -0.3, -1.0])
def test_turning_arrow(share: float) -> None:
    tip = turning_arrow(share, 0.1, 0.002)[-1]
    angle = np.radians(300.0) * share
    assert tip == pytest.approx([0.1 * np.cos(angle), 0.1 * np.sin(angle), 0.0], abs=1e-12)


@pytest.mark.parametrize("share", [0.25, -1.0])
def test_straight_arrow(share: float) -> None:
    vertices = straight_arrow(share, 0.4, 0.002)
    assert vertices[-1] == pytest.approx([0.0, 0.0, 0.4 * share])
    assert np.abs(vertices[:, :2]).max() < 0.01


def test_nothing_is_drawn_of_nothing() -> None:
    assert np.ptp(turning_arrow(0.0, 0.1, 0.002), axis=0).max() == 0.0


def test_more_than_everything_does_not_go_round_and_round() -> None:
    assert turning_arrow(50.0, 0.1, 0.002).tolist() == turning_arrow(1.2, 0.1, 0.002).tolist()


def test_faces_fit_all_and_close_the_surface() -> None:
    for vertices in (turning_arrow(0.5, 0.1, 0.002), straight_arrow(0.5, 0.1, 0.002), ring(0.1, 0.001)):
        assert FACES.max() == len(vertices) - 1
    corners = turning_arrow(0.5, 0.1, 0.002)[FACES]
    volume = np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])).sum() / 6
    shaft = np.pi * 0.002**2 * 0.1 * np.radians(150.0)
    assert 0.8 * shaft < abs(volume) < 1.2 * shaft


def test_colours() -> None:
    assert colour_of_share(0.0) == (27, 127, 156)
    assert colour_of_share(1.0) == colour_of_share(-7.0) == (214, 49, 49)
    assert colour_of_share(-0.4) == colour_of_share(0.4)
