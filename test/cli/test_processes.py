"""Programs of this machine that ask for a ROS domain get different ones, for as long as they run."""

import subprocess
import sys

from robot_dynamics_ros.cli.processes import private_domain, private_graph

_ASK = """
from robot_dynamics_ros.cli.processes import private_domain
with private_domain() as domain:
    print(domain)
"""


def test_domains_differ() -> None:
    with private_domain() as one, private_domain() as two:
        other = subprocess.run([sys.executable, "-c", _ASK], capture_output=True, text=True, check=True)
        assert len({one, two, int(other.stdout)}) == 3
        assert all(1 <= domain <= 101 for domain in (one, two))


def test_a_domain_is_given_back() -> None:
    with private_domain() as one:
        pass
    with private_graph() as graph:
        assert int(graph["ROS_DOMAIN_ID"]) <= one
