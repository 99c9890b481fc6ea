"""RobotModel methods with any argument: the right result, or an error that contains the argument's name.

Compiled code reads nothing outside its arrays, and no argument causes a compilation, which would stop a control cycle
for seconds. `test/dynamics/kernels/test_bounds.py` runs this file with bounds checks.
"""

import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import hypothesis.extra.numpy as npst
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot_dynamics_ros import RobotDynamicsError, RobotModel, RobotModelError
from robot_dynamics_ros.dynamics.kernels.compilation import COMPILED
from support import arms, model_methods
from support.comparing import assert_close
from support.model_methods import CUSTOMISED
from support.odd_arguments import FORMS, NONSENSE, plain

pytestmark = pytest.mark.filterwarnings(
    "ignore:the matrix subclass:PendingDeprecationWarning"
)
ARM = arms.random_arm(
    np.random.default_rng(3), [0, 1, 2], ["revolute", "prismatic", "continuous"]
)
MODEL = RobotModel.from_urdf(ARM.urdf)
LINK = MODEL.link_names[-1]
WRENCH = {LINK: [1.0, -2.0, 3.0, 0.5, 0.0, -1.0]}

CUSTOMISED_MODEL = MODEL.customised()
#: Vectors of each method, and a call with them. The last methods use customised kernels.
METHODS: dict[str, tuple[tuple[str, ...], Callable[..., Any]]] = {
    **{
        name: (vectors, partial(method, MODEL, WRENCH))
        for name, (vectors, method) in model_methods.METHODS.items()
    },
    **{
        f"{name} customised": (
            model_methods.METHODS[name][0],
            getattr(CUSTOMISED_MODEL, name),
        )
        for name in (*CUSTOMISED, "bias_torque")
    },
}
#: Each method with each of its vector arguments.
PLACES = [
    (name, k) for name, (vectors, _) in METHODS.items() for k in range(len(vectors))
]


@pytest.fixture(scope="module", autouse=True)
def kernels() -> list[Any]:
    """Return all compiled kernels, after each method has run with plain arrays for one state and for many."""
    for vectors, call in METHODS.values():
        for shape in ((3,), (2, 3)):
            call(*np.ones((len(vectors), *shape)))
    modules = [
        module
        for name, module in list(sys.modules.items())
        if name.startswith("robot_dynamics_ros")
    ]
    compiled = [
        value
        for module in modules
        for value in vars(module).values()
        if hasattr(value, "nopython_signatures")
    ]
    assert bool(compiled) == COMPILED
    return compiled


@pytest.fixture(autouse=True)
def _nothing_compiled(kernels: list[Any]) -> Iterator[None]:
    """Check that no test here makes numba compile for other types."""
    before = {str(kernel): len(kernel.signatures) for kernel in kernels}
    yield
    assert {str(kernel): len(kernel.signatures) for kernel in kernels} == before


@pytest.mark.parametrize("name", METHODS)
@given(data=st.data())
def test_any_form_gives_the_result_of_plain_arrays(
    name: str, data: st.DataObject
) -> None:
    """Forms are mixed; leading axes are broadcast, absent, or of length 0."""
    vectors, call = METHODS[name]
    shapes = data.draw(
        npst.mutually_broadcastable_shapes(
            num_shapes=len(vectors), min_side=0, max_dims=2, max_side=3
        )
    ).input_shapes
    rng = np.random.default_rng(data.draw(st.integers(0, 9)))
    given = [
        FORMS[data.draw(st.sampled_from(sorted(FORMS)))](
            rng.integers(-3, 4, (*shape, 3)).astype(np.float64)
        )
        for shape in shapes
    ]
    got = call(*given)
    full = np.broadcast_arrays(*map(plain, given))
    assert_close(got, call(*map(plain, full)), 1e-13)


@pytest.mark.parametrize(("name", "place"), PLACES)
def test_nonsense_is_refused(name: str, place: int) -> None:
    """The error has the argument's name; other arguments are single or many states."""
    vectors, call = METHODS[name]
    for kind, make in NONSENSE.items():
        for others in (np.ones(3), np.ones((2, 3))):
            given: list[Any] = [others] * len(vectors)
            given[place] = make()
            with pytest.raises(RobotDynamicsError) as caught:
                call(*given)
            message = str(caught.value)
            assert f"{vectors[place]}:" in message or f"{vectors[place]} " in message, (
                f"{kind}: {message}"
            )


@pytest.mark.parametrize(
    "name", [name for name, (vectors, _) in METHODS.items() if len(vectors) > 1]
)
@pytest.mark.parametrize("shapes", [((2,), (5,)), ((0,), (5,)), ((2, 3), (2,))])
def test_leading_axes_must_be_broadcastable(
    name: str, shapes: tuple[tuple[int, ...], ...]
) -> None:
    vectors, call = METHODS[name]
    given = [np.zeros((*shape, 3)) for shape in (*shapes, ())][: len(vectors)]
    with pytest.raises(RobotDynamicsError) as caught:
        call(*given)
    for vector, shape in zip(vectors, shapes, strict=False):
        assert f"{vector} {shape}" in str(caught.value)


#: Without numba the sine of infinity is an error of Python's.
INFINITE = [np.inf, -np.inf] if COMPILED else []


@pytest.mark.parametrize(("name", "place"), PLACES)
@given(
    number=st.sampled_from([np.nan, 1e308, -1e200, 5e-324, *INFINITE]),
    where=st.integers(0, 2),
)
def test_extreme_numbers_affect_their_own_state_only(
    name: str, place: int, number: float, where: int
) -> None:
    """The only error is a singular mass matrix, and other states of a batch are not affected.

    Where customised models have kernels of their own, the whole result of a state that is not finite is NaN, also of
    positions that do not matter.
    """
    vectors, call = METHODS[name]
    states = list(arms.states(1, 3, 3)[: len(vectors)])
    expected = call(*states)
    states[place][1, where] = number
    with np.errstate(all="ignore"):
        try:
            single = call(*(x[1] for x in states))
        except RobotDynamicsError as error:
            assert (
                name.startswith("forward")
                and vectors[place] == "q"
                and "q = [" in str(error)
                and np.isfinite(number)
            )
            return
        got = call(*states)
    assert np.array_equal(got[[0, 2]], expected[[0, 2]])
    assert single.shape == expected.shape[1:]
    if not np.isfinite(number) and name.split()[0] in (*CUSTOMISED, "bias_torque"):
        assert np.isnan(got[1]).all() and np.isnan(single).all()


@pytest.mark.parametrize("velocity", ["a", -0.1, np.nan, np.inf, 10**400, np.zeros(3)])
def test_nonsense_is_refused_as_a_smoothing_velocity(velocity: Any) -> None:
    with pytest.raises(RobotDynamicsError, match="smoothing_velocity"):
        MODEL.friction_torque(np.zeros(3), np.zeros(3), velocity)


# --- Wrenches on links


PUSHED: dict[str, Callable[[Any], Any]] = {
    "inverse_dynamics": partial(MODEL.inverse_dynamics, *np.ones((3, 3))),
    "forward_dynamics": partial(MODEL.forward_dynamics, *np.ones((3, 3))),
    "joint_reactions": partial(MODEL.joint_reactions, *np.ones((3, 3))),
    "body_wrenches": MODEL.body_wrenches,
}


@pytest.mark.parametrize("name", PUSHED)
def test_wrenches_in_any_form(name: str) -> None:
    call = PUSHED[name]
    for axes in ((), (4,), (0,), (2, 1)):
        x = np.arange(6.0 * np.prod(axes, dtype=int)).reshape(*axes, 6) % 4
        for form in FORMS.values():
            got = call({LINK: form(x)})
            assert_close(got, call({LINK: plain(form(x))}), 1e-13)
    # Several links, of one state and of many; no links at all push nothing.
    both = call(
        {
            LINK: np.ones(6),
            MODEL.link_names[2]: np.ones((5, 6)),
            MODEL.link_names[0]: np.ones((1, 6)),
        }
    )
    one = call({LINK: np.ones(6), MODEL.link_names[2]: np.ones(6)})
    assert_close(both, np.broadcast_to(one, (5, *one.shape)), 1e-13)
    assert_close(call({}), call({LINK: np.zeros(6)}), 1e-13)


@pytest.mark.parametrize("name", PUSHED)
def test_nonsense_is_refused_as_a_wrench(name: str) -> None:
    call = PUSHED[name]
    for kind in NONSENSE.keys() - {"too many axes"}:
        with pytest.raises(RobotDynamicsError) as caught:
            call({LINK: NONSENSE[kind]()})
        assert f'external_wrenches: link "{LINK}":' in str(caught.value), kind
    for links in (np.zeros(6), [0.0] * 6, 0, "text", [(LINK, [0.0] * 6)], []):
        with pytest.raises(RobotDynamicsError, match="external_wrenches"):
            call(links)
    for link in ("nowhere", 3, None, ("a", "b"), b"link"):
        with pytest.raises(RobotDynamicsError, match="external_wrenches: no link"):
            call({link: np.zeros(6)})
    with pytest.raises(RobotDynamicsError, match=r"\(2,\).*\(5,\)"):
        call({LINK: np.zeros((2, 6)), MODEL.link_names[1]: np.zeros((5, 6))})
    with pytest.raises(RobotDynamicsError, match="leading axes"):
        call({LINK: np.zeros([1] * 27 + [6])})


@pytest.mark.parametrize(
    "name", ["inverse_dynamics", "forward_dynamics", "joint_reactions"]
)
def test_wrenches_must_be_broadcastable_with_the_states(name: str) -> None:
    with pytest.raises(RobotDynamicsError, match=r"external_wrenches \(5,\), q \(2,\)"):
        getattr(MODEL, name)(*np.ones((3, 2, 3)), {LINK: np.ones((5, 6))})


# --- Other arguments


@pytest.mark.parametrize("link", ["nowhere", None, [LINK], b"link"])
def test_unknown_links_are_refused(link: Any) -> None:
    q = np.zeros(3)
    for method, states in (
        (MODEL.link_pose, (q,)),
        (MODEL.jacobian, (q,)),
        (MODEL.jacobian_dot_qd, (q, q)),
    ):
        with pytest.raises(RobotDynamicsError, match="no link"):
            method(*states, link)


SIX = [0.1, 0, 0, 0.1, 0, 0.1]


@pytest.mark.parametrize("name", ["mass", "com", "inertia", "gravity", "link"])
def test_nonsense_is_refused_as_a_payload_or_gravity(name: str) -> None:
    fine = {"link": LINK, "mass": 1.0, "com": [0, 0, 0], "inertia": SIX}
    meant = {"mass": {"a number", "a NumPy number", "no axes"}, "gravity": {"nothing"}}
    for kind in NONSENSE.keys() - meant.get(name, set()):
        with pytest.raises(RobotModelError) as caught:
            if name == "gravity":
                RobotModel.from_urdf(ARM.urdf, gravity=NONSENSE[kind]())
            else:
                MODEL.with_payload(**{**fine, name: NONSENSE[kind]()})
        assert name in str(caught.value), kind


def test_one_vector() -> None:
    """`vector` accepts one state only, and returns plain arrays without a copy."""
    x = np.array([1.0, 0.0, 2.0])
    assert MODEL.vector("kp", x) is x
    for kind, form in FORMS.items():
        if kind != "matrix":
            got = MODEL.vector("kp", form(x))
            assert (
                type(got) is np.ndarray and got.flags.carray and got.dtype == np.float64
            )
            assert_close(got, plain(form(x)), 0.0)
    for make in (*NONSENSE.values(), lambda: np.zeros((1, 3)), lambda: np.matrix(x)):
        with pytest.raises(RobotDynamicsError, match="^kp"):
            MODEL.vector("kp", make())


def test_results_belong_to_the_caller() -> None:
    """A result does not change with the next call, and arguments are unchanged."""
    q, qd, qdd = (x[0] for x in arms.states(3, 3, 1))
    copies = q.copy(), qd.copy(), qdd.copy()
    first = MODEL.inverse_dynamics(q, qd, qdd)
    m = MODEL.mass_matrix(q)
    kept = first.copy()
    m_kept = m.copy()
    MODEL.inverse_dynamics(2 * q, qd, -qdd)
    MODEL.mass_matrix(2 * q)
    MODEL.forward_dynamics(q, qd, qdd)
    assert np.array_equal(first, kept) and np.array_equal(m, m_kept)
    for now, before in zip((q, qd, qdd), copies, strict=True):
        assert np.array_equal(now, before)


def test_model_does_not_change() -> None:
    """Limits are copies, and attributes cannot be set."""
    for name in (
        "position_lower",
        "position_upper",
        "effort_limits",
        "velocity_limits",
    ):
        before = getattr(MODEL, name).copy()
        getattr(MODEL, name)[:] = 0.0
        assert np.array_equal(getattr(MODEL, name), before)
        with pytest.raises((AttributeError, TypeError)):
            setattr(MODEL, name, np.zeros(3))
