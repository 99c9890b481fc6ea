"""Sphinx configuration of these pages, for `make docs` and for rosdoc2 of docs.ros.org. Nothing is downloaded."""

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

DOCS = Path(__file__).resolve().parent
sys.path[:0] = [str(DOCS.parent), str(DOCS)]

from table_check import table_errors  # noqa: E402

from robot_dynamics_ros import __version__  # noqa: E402

project = "robot_dynamics_ros"
author = "robot_dynamics_ros maintainers"
project_copyright = "robot_dynamics_ros maintainers, Apache-2.0"
release = version = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_rtd_theme",
]
if find_spec("sphinx_copybutton"):  # docs.ros.org has none
    extensions.append("sphinx_copybutton")
myst_enable_extensions = ["dollarmath"]  # equations as on GitHub
exclude_patterns = ["_build"]
nitpicky = True

myst_heading_anchors = 4

# The docstrings: NumPy's sections, members in the order of the source, types as they are written there.
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
python_use_unqualified_type_names = True
default_role = "literal"  # `name` in a docstring
# Names of other packages, type aliases, and members of a model.
nitpick_ignore_regex = [
    (
        "py:class",
        r"robot_dynamics_ros\.control\.trajectory\.trajectory_limits\.TrajectoryLimits",
    ),
    ("py:.*", r"(?!robot_dynamics_ros\.).*"),
    (
        "py:.*",
        r".*\.(DynamicsFile|GeneralKernels|ModelData|FrictionParameter|Tuning)",
    ),
]
# Attributes that several classes have.
suppress_warnings = ["ref.python"]

html_theme = "sphinx_rtd_theme"
html_theme_options = {"navigation_depth": 3, "collapse_navigation": False}
html_show_sourcelink = False
copybutton_prompt_text = "$ "
html_static_path = ["_static"]
html_css_files = ["tables.css"]


def _escape_bars(
    app: object, what: str, name: str, thing: object, options: object, lines: list[str]
) -> None:
    """Escape |a - b| in docstrings, which Sphinx would read as a substitution."""
    lines[:] = [line.replace("|", "\\|") for line in lines]


def _check_tables(app: Sphinx, name: str, source: list[str]) -> None:
    """Warn of tables that do not render; `make docs` fails on warnings."""
    for line, message in table_errors(source[0]):
        logging.getLogger(__name__).warning(message, location=(name, line))


def _visit_math(translator: Any, node: nodes.math | nodes.math_block) -> None:
    """Write an equation as MathML."""
    display = "block" if isinstance(node, nodes.math_block) else "inline"
    translator.body.append(
        import_module("latex2mathml.converter").convert(node.astext(), display=display)
    )
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Connect the hooks; napoleon, an extension, has connected its own before."""
    # docs.ros.org has none; the default is a script that the reader's browser downloads
    if find_spec("latex2mathml"):
        app.add_html_math_renderer("mathml", (_visit_math, None), (_visit_math, None))
    app.connect("autodoc-process-docstring", _escape_bars)
    app.connect("source-read", _check_tables)
