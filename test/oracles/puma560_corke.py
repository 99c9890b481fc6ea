"""Published figures of the Puma 560: parameters at the motor, and printed results of independent programs.

MATLAB: P. Corke, Robotics Toolbox for MATLAB, unit_test/SerialLinkTest.m (4 decimals).
PYTHON: Corke and Haviland, Robotics Toolbox for Python, tests/test_DHRobot.py (4 decimals, or 6 digits).
SCILAB: RTSX, the Scilab port, manual page "inertia" (7 decimals).
All three use the parameters of Corke and Armstrong-Helouvry, "A search for consensus among model parameters
reported for the PUMA 560 robot", ICRA 1994, motor inertia and gears included, and DH angles as joint
positions.
EXPLICIT: the gravity terms and inertias of B. Armstrong, O. Khatib, J. Burdick, "The explicit dynamic model
and inertial parameters of the PUMA 560 arm", ICRA 1986, in their own frames. Theirs differ from the three
above by link 4's centre of mass: 0.019 m before the wrist's centre with them, 0.019 m past it in the
Toolboxes (0.31 N m at the shoulder).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from oracles.lagrange import Array

PI = np.pi

#: Measured at the motor (mdl_puma560): rotor inertia, gear ratio, viscous and Coulomb (+, -) friction.
JM = np.array([200e-6, 200e-6, 200e-6, 33e-6, 33e-6, 33e-6])
G = np.array([-62.6111, 107.815, -53.7063, 76.0364, 71.923, 76.686])
B = np.array([1.48e-3, 0.817e-3, 1.38e-3, 71.2e-6, 82.6e-6, 36.7e-6])
TC = np.array(
    [
        [0.395, -0.435],
        [0.126, -0.071],
        [0.132, -0.105],
        [11.2e-3, -16.9e-3],
        [9.26e-3, -14.5e-3],
        [3.96e-3, -10.5e-3],
    ]
)
#: Armstrong, Khatib and Burdick 1986: maximum joint torques, N m.
MAXIMUM_TORQUE = np.array([97.6, 186.4, 89.4, 24.2, 20.1, 21.3])

QN = np.array([0, PI / 4, PI, 0, PI / 4, 0])
QA = np.array([0, PI / 4, -PI, 1, PI / 4, 0])
QB = np.array([0, PI / 2, -PI, 1, PI / 2, 0])


@dataclass(frozen=True)
class Print:
    """A printed result at a state, good to half of its last digit; `joints` are the elements to compare."""

    name: str
    q: Array
    value: Array
    qd: Array = field(default_factory=lambda: np.zeros(6))
    qdd: Array = field(default_factory=lambda: np.zeros(6))
    gravity: float = 9.81
    half_digit: float = 0.5e-4
    joints: Sequence[int] = range(6)


GRAVITY = [
    Print(
        "MATLAB gravload(qa)", QA, np.array([0, 31.6334, 6.0286, -0.0119, 0.0218, 0])
    ),
    Print("MATLAB gravload(qb)", QB, np.array([0, 7.7198, 8.7439, -0.0238, 0, 0])),
    Print("PYTHON gravload(qn)", QN, np.array([0, 31.6399, 6.0351, 0, 0.0283, 0])),
]

MASS = [
    Print(
        "SCILAB inertia(qn)",
        QN,
        np.array(
            [
                [3.6593754, -0.4043612, 0.1006136, -0.0025170, 0, 0],
                [-0.4043612, 4.4137419, 0.3508907, 0, 0.0023595, 0],
                [0.1006136, 0.3508907, 0.9378416, 0, 0.0014802, 0],
                [-0.0025170, 0, 0, 0.1925317, 0, 0.0000283],
                [0, 0.0023595, 0.0014802, 0, 0.1713485, 0],
                [0, 0, 0, 0.0000283, 0, 0.1941045],
            ]
        ),
        half_digit=0.5e-7,
    ),
    Print(
        "MATLAB inertia(qa)",
        QA,
        np.array(
            [
                [3.6591, -0.4042, 0.1013, -0.0021, -0.0015, 0],
                [-0.4042, 4.4128, 0.3504, -0.0008, 0.0017, 0],
                [0.1013, 0.3504, 0.9377, -0.0008, 0.0008, 0],
                [-0.0021, -0.0008, -0.0008, 0.1925, 0, 0],
                [-0.0015, 0.0017, 0.0008, 0, 0.1713, 0],
                [0, 0, 0, 0, 0, 0.1941],
            ]
        ),
    ),
    Print(
        "MATLAB inertia(qb)",
        QB,
        np.array(
            [
                [2.6621, -0.6880, 0.0035, -0.0007, -0.0010, 0],
                [-0.6880, 4.4114, 0.3487, -0.0010, 0.0015, 0],
                [0.0035, 0.3487, 0.9359, -0.0010, 0.0003, 0],
                [-0.0007, -0.0010, -0.0010, 0.1926, 0, 0],
                [-0.0010, 0.0015, 0.0003, 0, 0.1713, 0],
                [0, 0, 0, 0, 0, 0.1941],
            ]
        ),
    ),
]

#: coriolis(q, qd) @ qd: the printed matrices times the rates, so that half digits add up.
_C_QN = np.array(
    [
        [-0.1735, -2.0494, -0.1178, -0.0002, -0.0045, 0.0001],
        [0.6274, 1.1572, 1.9287, -0.0015, -0.0003, 0],
        [-0.3608, -0.7734, -0.0018, -0.0009, -0.0064, 0],
        [0.0011, 0.0005, -0.0001, 0.0002, 0.0002, -0.0001],
        [-0.0002, 0.0028, 0.0046, -0.0002, 0, 0],
        [0.0001, 0, 0, 0, 0, 0],
    ]
)
_C_QA = np.array(
    [
        [-0.1336, -0.6458, 0.0845, 0.0005, -0.0008, 0],
        [0.3136, 0.1922, 0.3851, -0.0018, -0.0007, 0],
        [-0.1803, -0.1934, -0.0005, -0.0009, -0.0014, 0],
        [0.0007, 0.0008, 0.0003, 0.0001, 0.0003, 0],
        [-0.0004, 0.0005, 0.0005, -0.0003, 0, 0],
        [0, 0, 0, 0, 0, 0],
    ]
)
_QD_QN = np.array([1.0, 2, 3, 1, 2, 3])
_QD_QA = np.full(6, 0.5)
CORIOLIS = [
    Print(
        "PYTHON coriolis(qn)",
        QN,
        _C_QN @ _QD_QN,
        qd=_QD_QN,
        half_digit=0.5e-4 * float(_QD_QN.sum()),
    ),
    Print(
        "MATLAB coriolis(qa)",
        QA,
        _C_QA @ _QD_QA,
        qd=_QD_QA,
        half_digit=0.5e-4 * float(_QD_QA.sum()),
    ),
]

#: Without rates: no friction.
TORQUE = [
    Print(
        "MATLAB itorque(qa)",
        QA,
        np.array([1.6763, 2.1799, 0.6947, 0.0944, 0.0861, 0.0971]),
        qdd=_QD_QA,
        gravity=0.0,
    ),
    Print(
        "PYTHON itorque(qn)",
        QN,
        np.array([3.15, 9.4805, 3.6189, 0.1901, 0.3519, 0.5823]),
        qdd=_QD_QN,
        gravity=0.0,
    ),
    Print(
        "PYTHON rne(qn, 0, 1)",
        QN,
        np.array([3.35311, 36.0025, 7.42596, 0.190043, 0.203441, 0.194133]),
        qdd=np.ones(6),
    ),
]

_ONES = np.ones(6)
_TURNING = np.array([0.0, 1, 0, 0, 2, 0])
_ALONG_MOTOR = (1, 3, 4, 5)
#: With rates: rne adds friction, viscous B G^2 and Coulomb Tc |G|. The Python program takes the pair Tc by
#: the sign of the joint's rate; at joints 1 and 3, whose motors turn the other way, we do not (see
#: TC_SWAPPED).
TORQUE_WITH_FRICTION = [
    Print(
        "MATLAB rne(qa, .)",
        QA,
        np.array([-0.9748, 59.1306, 5.9889, -0.0108, 1.8872, 0.0001]),
        qd=_TURNING,
        qdd=_TURNING,
    ),
    Print(
        "PYTHON rne(qn, 1, 1)",
        QN,
        np.array([32.4952, 60.867, 17.7436, 1.45452, 1.29911, 0.713781]),
        qd=_ONES,
        qdd=_ONES,
        joints=_ALONG_MOTOR,
    ),
    Print(
        "PYTHON rne(qn, 1, 0)",
        QN,
        np.array([29.1421, 56.5044, 16.3528, 1.26448, 1.12392, 0.519648]),
        qd=_ONES,
        joints=_ALONG_MOTOR,
    ),
    Print(
        "PYTHON rne(qn, 1, 1, g = 0)",
        QN,
        np.array([32.4952, 29.2271, 11.7085, 1.45452, 1.27086, 0.713781]),
        qd=_ONES,
        qdd=_ONES,
        gravity=0.0,
        joints=_ALONG_MOTOR,
    ),
]

#: The wrench (1, 2, 3, 1, 2, 3) that the wrist exerts, at and in DH frame 6.
WRENCH = np.array([1.0, 2, 3, 1, 2, 3])
TORQUE_UNDER_WRENCH = Print(
    "PYTHON rne(qn, 0, 0, fext)",
    QN,
    np.array([0.642756, 29.0866, 4.70321, 2.82843, -1.97175, 3]),
)


#: What the Python program's reading of Tc at joints 1 and 3 adds to ours at positive rates, N m.
TC_SWAPPED = np.where(G < 0, (TC[:, 0] + TC[:, 1]) * np.abs(G), 0.0)


def to_explicit(q: Array) -> Array:
    """Armstrong's angles for ours: joints 1 to 3 start half a turn away (a left arm, not a right one)."""
    return np.array(q - np.array([PI, PI, PI, 0, 0, 0]))


def explicit_gravity(q: Array) -> Array:
    """Gravity torques of the explicit model, N m, at Armstrong's angles."""
    g1 = -37.2
    g2 = -8.44
    g3 = 1.02
    g4 = 0.249
    g5 = -0.0282
    c2 = np.cos(q[1])
    s2 = np.sin(q[1])
    c23 = np.cos(q[1] + q[2])
    s23 = np.sin(q[1] + q[2])
    c4 = np.cos(q[3])
    s4 = np.sin(q[3])
    c5 = np.cos(q[4])
    s5 = np.sin(q[4])
    elbow = g2 * s23 + g4 * c23 + g5 * (s23 * c5 + c23 * c4 * s5)
    return np.array(
        [
            0,
            g1 * c2 + g3 * s2 + elbow,
            elbow,
            -g5 * s23 * s4 * s5,
            g5 * (c23 * s5 + s23 * c4 * c5),
            0,
        ]
    )


def explicit_arm_inertia(q: Array) -> Array:
    """Upper left (3, 3) of the explicit inertia matrix without drives, kg m^2, at Armstrong's angles.

    a11 is nan: the printed I1 and I3 do not follow from the printed masses and lengths (1.55 and 1.60 against 1.43 and
    1.38 kg m^2). The term 2 I12 C2 of the print's a22 is read as 2 I12 C3: a22 cannot depend on joint 2.
    """
    c2 = np.cos(q[1])
    s2 = np.sin(q[1])
    c3 = np.cos(q[2])
    s3 = np.sin(q[2])
    c23 = np.cos(q[1] + q[2])
    s23 = np.sin(q[1] + q[2])
    i2 = 1.75
    i4 = 0.69
    i5 = 0.372
    i6 = 0.333
    i8 = -0.134
    i9 = 0.0238
    i12 = -0.011
    i13 = -0.00379
    i15 = 0.00125
    i16 = 0.00124
    i18 = 0.000431
    a12 = i4 * s2 + i8 * c23 + i9 * c2 + i13 * s23 - i18 * c23
    a13 = i8 * c23 + i13 * s23 - i18 * c23
    a22 = i2 + i6 + 2 * (i5 * s3 + i12 * c3 + i15 + i16 * s3)
    a23 = i5 * s3 + i6 + i12 * c3 + i16 * s3 + 2 * i15
    a33 = i6 + 2 * i15
    return np.array([[np.nan, a12, a13], [a12, a22, a23], [a13, a23, a33]])
