"""Arguments of commands and launch files, what each command prints and writes, its JSON keys, and exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

from support.launch_files import arguments_of
from tools.inventory.observed import ROOT, content, keys, lines, run

sys.path.append(str(ROOT / "docs"))

import write_cli  # noqa: E402

from robot_dynamics_ros.cli.main import COMMANDS  # noqa: E402

COMMAND = [sys.executable, "-m", "robot_dynamics_ros"]
SHIPPED = ("config", "launch", "recordings", "rviz", "textbook_arms", "urdf")

_FRICTION = (
    "viscous: 1.0, coulomb: 1.0, coulomb_negative: 1.5, static: 2.0, "
    "stribeck_velocity: 0.1, load_coefficient: 0.1"
)
_MORE = "quadratic: 0.1, cubic: 0.1, ripple: {amplitude: 0.1, per_turn: 3}, sigmoid: {amplitude: 0.1, slope: 1.0}"
#: Files that the runs read.
INPUTS = {
    "friction.yaml": "joints: {joint1: {viscous: 1.0, coulomb: 1.0}, joint2: {viscous: 0.5, coulomb: 0.5}}",
    "loop.yaml": "loops: [{link_a: tip, point_a: [0, 0, 0], link_b: base_link, point_b: [0, 0, 0]}]",
    "all_terms.yaml": f"joints: {{joint1: {{{_FRICTION}, {_MORE}, rotor_inertia: 0.1}}}}",
    "motion.yaml": """
/**:
  ros__parameters:
    joints: [joint1, joint2]
    trajectory:
      kind: fourier
      center: [0.08813924477905662, 0.3817656532280613]
      base_frequency: 0.2
      sine: [-1.1133980860210129, -0.11979090474029819, 0.03138139294079387, 1.2721881157238064, -0.07038051790328909,
        2.3107483081107167, 0.18474537245972625, 0.010097249159175684, -1.902695377940225, -0.6028955517893944]
      cosine: [-1.80928588015014, 0.9249031982497643, -0.03638162193162898, 0.8536451081057144, -0.6691912165954719,
        0.8232255771050224, -0.7018501213373752, 0.3854306552147256, -0.34458211800740124, 0.16050223439103137]
      cycles: 1
      move_time: 1.5
      rate: 40.0
""",
    "path.yaml": "points: [[0, 1.0, 0.2, 0.5], [2, 1.0, 1.2, 1.5]]",
    "strict.yaml": "/**: {ros__parameters: {following_error_limit: [0.0001]}}",
    "weak.yaml": "/**: {ros__parameters: {effort_limit_scale: [0.1]}}",
}
RUNS = """
inspect planar_2r
inspect planar_2r --dynamics all_terms.yaml
inspect planar_2r --dynamics all_terms.yaml --json
inspect planar_2r --state 0 0.5 --equations M V G B C h energies lagrangian
inspect planar_2r --equations jacobian cartesian --end-effector tip --symbols lc1=l1/2
inspect planar_2r --equations --language latex
inspect planar_2r --equations --language python
inspect planar_2r --trace 0.4 0.9 1 -2 0.5 1.5 --end-effector tip --force 1 0 0 0 0 0
inspect planar_2r --trace
inspect planar_2r --equations --symbols --trace --json
inspect planar_2r --trace 0.4 0.9 1 -2 0.5 1.5 --json
inspect panda --joints panda_joint2 panda_joint4 --locked panda_joint6=1.57
inspect planar_2r --dynamics loop.yaml --json
inspect spong_five_bar
inspect spong_five_bar --json
inspect craig_rp --xacro-arg l1:=0.25
excite --robot planar_2r --restarts 1 --duration 5 --margin 0.3 -o excitation.yaml
simulate planar_2r --config motion.yaml --plant-dynamics friction.yaml -o bag
simulate planar_2r --config motion.yaml --plant-dynamics friction.yaml --mass-scale 1.2 -o loaded
simulate planar_2r --duration 2 --law pd computed_torque -o laws
simulate planar_2r --duration 2 --config weak.yaml
simulate planar_2r --duration 2 --config strict.yaml
demo --robot planar_2r --law pd computed_torque --duration 1 --output demo
replay bag -o replayed
compare bag replayed
compare bag replayed --common --junit equal.xml
compare bag loaded --junit different.xml
compare bag loaded --json
compare bag replayed --json
torque bag
torque bag --dynamics friction.yaml --bearing-loads -o torque.csv
torque bag --bearing-loads --json
identify bag --friction viscous_coulomb -o identified.yaml --urdf identified.urdf --mjcf identified.xml
identify bag --friction viscous_coulomb -o identified_too.yaml --urdf too.urdf --mjcf too.xml --json
identify bag --dynamics all_terms.yaml --friction keep -o kept.yaml --json
identify bag --test loaded --friction viscous_coulomb -o tested.yaml
payload bag loaded --link link2
payload bag loaded --link link2 --json
payload bag loaded --link link2 --known 1 0 0 0
payload bag loaded --link link2 --known 1 0 0 0 --json
report bag -o report.html
report bag --compare-dynamics friction.yaml -o compared.html
from-dh craig_rp --set l1=0.4 -o craig_rp.urdf
from-dh tsai_geared_2r -o tsai_geared_2r.urdf
to-joints metr4202_elbow path.yaml -o joints.yaml
simulate metr4202_elbow --trajectory joints.yaml
export planar_2r -o planar_2r_c
"""
#: Exit codes differ from 0, and one line of stderr has the reason.
ERRORS = """
inspect
inspect nothing
inspect pandda
inspect panda --unknown
inspect panda --dynamics nothing.yaml
inspect panda --joints nothing
inspect panda --xacro-arg a:=1
inspect scara --state 0.1
inspect planar_2r --equations cartesian
inspect planar_2r --equations --symbols lc2=l1/2
simulate scara --duration 0
simulate scara --rate 1e9
simulate scara --law pd_pluss
simulate planar_2r --duration 1 -o bag
replay nothing -o replayed_nothing
replay bag -o bag --overwrite
compare bag nothing
report nothing -o nothing.html
torque nothing
torque bag --topic /nothing
torque bag --dynamics friction.yaml -o friction.yaml --overwrite
identify bag -o nowhere/new.yaml
identify bag --holdout 0.95 -o new.yaml
payload bag loaded --link nothing
payload bag loaded --link link2 --known 1
excite
excite --robot planar_2r --margin 2 -o new.yaml
from-dh nothing -o nothing.urdf
to-joints ur5e nothing.yaml -o nothing_joints.yaml
export nothing -o nothing_c
view planar_2r nothing
view planar_2r bag --live
record -o bag /joint_states
play bag --rate
nothing
"""


def arguments() -> Iterator[str]:
    """Yield the arguments of all commands with their help, and those of the launch files."""
    for script in distribution("robot_dynamics_ros").entry_points:
        yield f"executable: {script.name}"
    for line in lines(run("--help").out):
        yield f"robot_dynamics: {line}"
    for command in COMMANDS:
        rows = [f"{names} | {text}" for names, text in write_cli.argument_rows(command)]
        for fact in filter(None, [*write_cli.texts(command), *rows]):
            yield f"{command}: {fact.strip('| ')}"
    for file in (ROOT / "launch").glob("*.launch.py"):
        for name, (default, choices, description) in arguments_of(file).items():
            yield f"{file.name}: {name}: default {default!r}, choices {choices}: {description}"


def shipped_files() -> Iterator[str]:
    """Yield the files that are installed, but for modules."""
    for folder in SHIPPED:
        yield from (
            f"{folder}/{file.name}"
            for file in (ROOT / folder).iterdir()
            if file.is_file()
        )


def results() -> Iterator[str]:
    """Yield what the commands print and write, their JSON keys and exit codes."""
    for name, text in INPUTS.items():
        Path(name).write_text(text, encoding="utf-8")
    for line in RUNS.strip().splitlines():
        command = line.split()[0]
        before = set(Path().rglob("*"))
        code, out, err = run(line)
        yield f"exit code {code}: {line}"
        if out.startswith("{"):
            yield from (f"{command}: JSON {key}" for key in keys(json.loads(out)))
        else:
            yield from (f"{command}: prints {text}" for text in lines(out))
        yield from (f"{command}: reports {text}" for text in lines(err))
        for path in set(Path().rglob("*")) - before:
            if path.is_file():
                yield f"{command}: writes {path}"
                yield from (
                    f"{command}: writes *{path.suffix} with {part}"
                    for part in content(path)
                )
    for line in ERRORS.strip().splitlines():
        code, _, err = run(line)
        (*_, reason) = lines(err)
        yield f"exit code {code}: {line}: {reason}"


def exit_codes() -> Iterator[str]:
    """Yield exit codes that need a process of their own."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(Path("empty").absolute())}
    check = subprocess.run(
        [*COMMAND, "warm-up", "--check"],
        env=environment,
        capture_output=True,
        check=False,
    )
    yield f"exit code {check.returncode}: warm-up --check, with a kernel missing"
    reader, writer = os.pipe()
    os.close(reader)
    closed = subprocess.run(
        [*COMMAND, "inspect", "panda"],
        stdout=writer,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    os.close(writer)
    yield f"exit code {closed.returncode}: inspect, with a closed pipe"
    for number in (signal.SIGINT, signal.SIGTERM):
        command = [*COMMAND, "view", "planar_2r", "--no-browser"]
        view = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert view.stdout is not None
        view.stdout.readline()  # the address: the page is served
        view.send_signal(number)
        view.communicate()
        yield f"exit code {view.returncode}: view, after {number.name}"
