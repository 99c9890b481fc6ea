"""Shipped robots and those of the `example-robot-data` wheel: agreement with Pinocchio, or the expected error."""

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from robot_dynamics_ros import RobotModel, RobotModelError, RobotModelWarning
from robot_dynamics_ros.base.resources import robot_names, robot_urdf
from robot_dynamics_ros.dynamics.description.inertia import implausible_links
from robot_dynamics_ros.dynamics.description.urdf import UrdfDocument, parse_urdf
from support.comparing import assert_close
from support.pinocchio_peer import Peer, mimic_tags

Array = NDArray[np.float64]
pytestmark = pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")

#: Relative to the size of the terms that are added up, entry by entry: a finger's torque against the
#: finger's terms. It is 1e5 times what is seen here.
TOLERANCE = 1e-9
STATES = 3
CURE = "Cure: pip install example-robot-data, as requirements/test.txt has it"

#: What is wrong with the files that do not load.
REFUSED = {
    # It follows "index_q1", but the file's joints are called "Left_index_q1" and so on.
    "alex_description/urdf/alex_psyonic_hands": r'joint "Left_index_q2" <mimic>: .* no movable joint "index_q1"\.',
    "hector_description/robots/quadrotor_base": r"no joint can move\.",
    "iris_description/robots/iris_simple": r"no joint can move\.",
    "romeo_description/urdf/romeo_laas_small": r'link "LHipPitch_link" <inertial>: negative principal moment -0\.00272',
    "ur_description/urdf/ur3": r"<robot>: attribute 'name' is missing\.",
}

#: Content that changes the dynamics if it is meant, but that URDF does not have.
UNKNOWN = {
    # of <dynamics>, mu_viscous is 16
    "panda_description/urdf/panda": ["D", "K", "mu_coulomb", "mu_viscous"],
    "panda_description/urdf/panda_collision": ["D", "K", "mu_coulomb", "mu_viscous"],
    "so_arm_description/urdf/so101": ["<origin>"],  # of a <link>
    # Gazebo's, but of a <link>
    "tiago_description/robots/tiago_dual": ["<kinematic>", "<gravity>"],
    "tiago_pro_description/robots/tiago_pro": ["<kinematic>", "<gravity>"],
}

#: Robots with joints that move nothing with mass, so that their acceleration is undefined.
MASSLESS = {"romeo_description/urdf/romeo": ["LHand", "RHand"]}

#: Links with mass properties that do not fit their size: torsos of 0.1 kg with the inertia of kilograms, cylinders
#: whose radius is ten times that of the wrist, and equal moments (1, 0.01 and 0.001 kg m^2 in 0.4, 0.02 and 0.009 kg).
#: One message names all links with the same placeholder.
IMPLAUSIBLE = dict.fromkeys(
    ["icub_description/robots/icub", "icub_description/robots/icub_reduced"],
    ["torso_1", "torso_2"],
)
IMPLAUSIBLE |= {
    f"ur_description/urdf/ur5_{name}": ["wrist_2_link", "wrist_3_link"]
    for name in ("gripper", "joint_limited_robot", "robot")
}
IMPLAUSIBLE |= {
    "baxter_description/urdf/baxter": [
        f"{arm}_gripper_{finger}_finger" for arm in "lr" for finger in "lr"
    ],
    "pr2_description/urdf/pr2": ["r_wrist_roll_link", "l_wrist_roll_link"],
    "simple_humanoid_description/urdf/simple_humanoid": ["WAIST_LINK1"],
    "simple_humanoid_description/urdf/simple_humanoid_classical": ["WAIST_LINK1"],
    "tiago_description/robots/tiago": ["hand_thumb_link"],
    "tiago_description/robots/tiago_dual": ["hand_left_thumb_link"],
}


def _find() -> dict[str, Path]:
    """Return the wheel's URDF files by their path in its folder of robots, and the shipped ones by their name."""
    try:
        listed = files("example-robot-data") or []
    except PackageNotFoundError:
        listed = []
    paths = [Path(str(file.locate())) for file in listed if file.suffix == ".urdf"]
    public = {
        path.as_posix().split("/robots/", 1)[1].removesuffix(".urdf"): path
        for path in paths
    }
    return public | {name: robot_urdf(name) for name in robot_names()}


ROBOTS = _find()
LOADING = [name for name in ROBOTS if name not in REFUSED]


@dataclass(frozen=True)
class States:
    """Many states or a single state, with wrenches on some links."""

    q: Array
    qd: Array
    qdd: Array
    tau: Array
    wrenches: dict[str, Array]

    def __getitem__(self, k: int) -> "States":
        one = {link: wrench[k] for link, wrench in self.wrenches.items()}
        return States(self.q[k], self.qd[k], self.qdd[k], self.tau[k], one)


def random_states(model: RobotModel, peer: Peer, seed: int) -> States:
    """Return random motions with their torques, and wrenches on three random links."""
    rng = np.random.default_rng(seed)
    q, qd, qdd = (
        rng.uniform(-size, size, (STATES, model.n)) for size in (np.pi, 3.0, 9.0)
    )
    tau = np.array([peer.rnea(q[k], qd[k], qdd[k]) for k in range(STATES)])
    links = rng.choice(model.link_names, min(3, len(model.link_names)), replace=False)
    return States(
        q,
        qd,
        qdd,
        tau,
        {str(link): rng.uniform(-10, 10, (STATES, 6)) for link in links},
    )


def ours(model: RobotModel, s: States) -> dict[str, Any]:
    """Return the results of every algorithm, at one state or at many."""
    q = s.q
    qd = s.qd
    qdd = s.qdd
    coriolis = model.coriolis_matrix(q, qd)
    regressor = model.regressor(q, qd, qdd)
    dq, dqd = model.inverse_dynamics_derivatives(q, qd, qdd)
    reactions = model.joint_reactions(q, qd, qdd, s.wrenches)
    results = {
        "inverse_dynamics": model.inverse_dynamics(q, qd, qdd),
        "inverse_dynamics under wrenches": model.inverse_dynamics(
            q, qd, qdd, s.wrenches
        ),
        "gravity_torque": model.gravity_torque(q),
        "bias_torque": model.bias_torque(q, qd),
        "mass_matrix": model.mass_matrix(q),
        "dtau/dq": dq,
        "dtau/dqd": dqd,
        "C qd": (coriolis @ qd[..., None])[..., 0],
        "C + C^T": coriolis + np.swapaxes(coriolis, -1, -2),
        "regressor": regressor,
        "regressor @ parameters": regressor @ model.inertial_parameters,
        "reaction forces": reactions[..., :3],
        "reaction moments": reactions[..., 3:],
        "kinetic_energy": model.kinetic_energy(q, qd),
        "potential_energy": model.potential_energy(q),
    }
    for link in s.wrenches:
        results[f"link_pose of {link}"] = model.link_pose(q, link)
        results[f"jacobian of {link}"] = model.jacobian(q, link)
        results[f"jacobian_dot_qd of {link}"] = model.jacobian_dot_qd(q, qd, link)
    if not model._data.massless_joints:
        results["forward_dynamics"] = model.forward_dynamics(q, qd, s.tau)
        results["forward_dynamics under wrenches"] = model.forward_dynamics(
            q, qd, s.tau, s.wrenches
        )
    return results


def theirs(
    model: RobotModel, peer: Peer, s: States
) -> Iterator[tuple[str, ArrayLike, ArrayLike]]:
    """Return name, expected result and size of the terms of every algorithm, at one state."""
    q = s.q
    qd = s.qd
    qdd = s.qdd
    moving = model.moving_joints
    wrenches = s.wrenches
    m = peer.crba(q)
    gravity = peer.gravity(q)
    bias = peer.bias(q, qd)
    tau = s.tau
    jacobians = {link: peer.jacobian(q, link) for link in wrenches}
    speed = np.abs(qd).max()
    terms = np.abs(m) @ np.abs(qdd) + np.abs(gravity) + np.abs(bias)
    pushed = terms + sum(
        np.abs(j[:3]).sum(0) * np.linalg.norm(wrenches[link][:3])
        + np.abs(j[3:]).sum(0) * np.linalg.norm(wrenches[link][3:])
        for link, j in jacobians.items()
    )
    yield "inverse_dynamics", tau, terms
    yield "inverse_dynamics under wrenches", peer.rnea(q, qd, qdd, wrenches), pushed
    yield "gravity_torque", gravity, terms
    yield "bias_torque", bias, terms
    yield "C qd", bias - gravity, terms
    # |M_ij| is at most this, and comes near it.
    entries = np.sqrt(np.outer(np.diag(m), np.diag(m)))
    dq, dqd = peer.derivatives(q, qd, qdd)
    yield "mass_matrix", m, entries
    yield "dtau/dq", dq, entries * (9.81 + np.abs(qdd).max() + speed**2)
    yield "dtau/dqd", dqd, entries * speed
    yield "C + C^T", peer.mass_matrix_rate(q, qd), entries * speed
    regressor = peer.regressor(q, qd, qdd, moving)
    yield "regressor", regressor, np.abs(regressor).max()
    yield (
        "regressor @ parameters",
        tau,
        np.abs(regressor) @ np.abs(peer.inertial_parameters(moving)),
    )
    reactions = peer.reactions(q, qd, qdd, moving, wrenches)
    for name, part in (
        ("reaction forces", reactions[:, :3]),
        ("reaction moments", reactions[:, 3:]),
    ):
        yield name, part, np.linalg.norm(part, axis=1, keepdims=True)
    kinetic = peer.kinetic_energy(q, qd)
    potential = peer.potential_energy(q)
    yield "kinetic_energy", kinetic, kinetic
    yield (
        "potential_energy",
        potential,
        9.81 * peer.inertial_parameters(moving)[::10].sum(),
    )
    for link, j in jacobians.items():
        pose = peer.pose(q, link)
        reach = np.abs(j).max()
        yield f"link_pose of {link}", pose, np.abs(pose).max()
        yield f"jacobian of {link}", j, reach
        yield (
            f"jacobian_dot_qd of {link}",
            peer.jacobian_dot_qd(q, qd, link),
            reach * speed**2,
        )
    if not model._data.massless_joints:
        inverse = np.abs(np.linalg.inv(m))
        yield "forward_dynamics", peer.aba(q, qd, tau), inverse @ terms
        yield (
            "forward_dynamics under wrenches",
            peer.aba(q, qd, tau, wrenches),
            inverse @ pushed,
        )


def check(name: str, got: ArrayLike, expected: ArrayLike, size: ArrayLike) -> None:
    """Check that every element is within the tolerance of its size; elements of size zero must be zero."""
    got = np.asarray(got, dtype=float)
    expected = np.asarray(expected, dtype=float)
    assert got.shape == expected.shape, (
        f"{name}: shape {got.shape}, Pinocchio {expected.shape}"
    )
    error = np.abs(got - expected)
    allowed = TOLERANCE * np.broadcast_to(size, expected.shape)
    worst = np.unravel_index(np.argmax(error - allowed), error.shape)
    assert (error <= allowed).all(), (
        f"{name}{list(worst)}: {got[worst]!r}, Pinocchio {expected[worst]!r}"
    )


def test_unknown_content() -> None:
    """Only content that could change the dynamics causes a warning."""
    found = {}
    for name in LOADING:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            UrdfDocument(ROBOTS[name].read_bytes(), name).warn()
        for warning in caught:
            listed = str(warning.message).partition("ignored: ")[2]
            found[name] = [part.split()[0] for part in listed.split("; ")]
    assert found == UNKNOWN


@pytest.mark.parametrize(
    "name", ["ur_description/urdf/ur5_robot", "pr2_description/urdf/pr2"]
)
def test_quaternions_instead_of_angles_are_the_same_model(name: str) -> None:
    """Each origin of the file with quat_xyzw in version 1.1."""
    root = ElementTree.parse(ROBOTS[name]).getroot()
    root.set("version", "1.1")
    for origin in root.iter("origin"):
        rpy = [float(word) for word in origin.attrib.pop("rpy", "0 0 0").split()]
        origin.set(
            "quat_xyzw",
            " ".join(map(repr, Rotation.from_euler("xyz", rpy).as_quat().tolist())),
        )
    turned = RobotModel.from_urdf(ElementTree.tostring(root))._data
    data = RobotModel.from_urdf_file(ROBOTS[name])._data
    for array, expected in (
        (turned.parameters, data.parameters),
        (turned.friction, data.friction),
    ):
        assert_close(array, expected, 1e-12)


def test_robots_are_found() -> None:
    """All files exist, and no exception below is out of date."""
    assert len(ROBOTS) >= 60, (
        f"the URDF files of the wheel example-robot-data are missing. {CURE}"
    )
    assert not {*REFUSED, *MASSLESS} - ROBOTS.keys()


@pytest.mark.parametrize("name", LOADING)
def test_agrees_with_pinocchio(name: str) -> None:
    """Single states and a batch; mimic joints by the G that this test reads."""
    text = ROBOTS[name].read_text(encoding="utf-8")
    model = RobotModel.from_urdf_file(ROBOTS[name])
    assert list(model._data.massless_joints) == MASSLESS.get(name, [])
    peer = Peer(text, model.joint_names, follows=mimic_tags(text))
    if model._data.massless_joints:
        with pytest.raises(RobotModelError, match=re.escape(str(MASSLESS[name]))):
            model.forward_dynamics(*np.zeros((3, model.n)))
    check("inertial_parameters", *_parameters(model, peer))
    states = random_states(model, peer, LOADING.index(name))
    batch = ours(model, states)
    for k in range(STATES):
        single = ours(model, states[k])
        compared = list(theirs(model, peer, states[k]))
        assert (
            {algorithm for algorithm, _, _ in compared} == single.keys() == batch.keys()
        )
        for algorithm, expected, size in compared:
            check(algorithm, single[algorithm], expected, size)
            check(f"{algorithm} in a batch", batch[algorithm][k], expected, size)


def _parameters(model: RobotModel, peer: Peer) -> tuple[Array, Array, Array]:
    """Return our parameters, Pinocchio's, and the largest of each body's mass, moments or inertias."""
    expected = peer.inertial_parameters(model.moving_joints).reshape(-1, 10)
    largest = [np.abs(part).max(axis=1) for part in np.split(expected, [1, 4], axis=1)]
    return (
        model.inertial_parameters,
        expected.ravel(),
        np.repeat(largest, [1, 3, 6], axis=0).T.ravel(),
    )


@pytest.mark.parametrize("name", [name for name in ROBOTS if name in REFUSED])
def test_is_refused_with_the_reason(name: str) -> None:
    with pytest.raises(
        RobotModelError, match=f"^{re.escape(str(ROBOTS[name]))}.*{REFUSED[name]}"
    ):
        RobotModel.from_urdf_file(ROBOTS[name])


@pytest.mark.parametrize("name", LOADING)
def test_implausible_links(name: str) -> None:
    """Links and units of robots that work with their URDF are not called implausible."""
    text = ROBOTS[name].read_bytes()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        description = parse_urdf(text, name)
    assert not [w for w in caught if "explained by" in str(w.message)]
    messages = implausible_links(
        description.written_inertials().values(), description.links
    )
    assert [message.split('"')[1] for message in messages] == IMPLAUSIBLE.get(name, [])


def test_decimal_point_of_a_public_robot() -> None:
    """The elbow's mirror image on the left has izz 0.00211065, and the shoulder's 0.00664434."""
    with pytest.warns(RobotModelWarning) as warned:
        RobotModel.from_urdf_file(ROBOTS["romeo_description/urdf/romeo_small"])
    text = " ".join(str(warning.message) for warning in warned)
    assert "izz, 0.00664209 instead" in text and "izz, 0.00211493 instead" in text
