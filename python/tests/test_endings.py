"""However a script with a fabric ends, nothing of it is left: no process, no folder, no name of a socket."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading

import pytest
import waiting

import verbena
from verbena import Fabric
from verbena.processes import wearers

# Programs of every kind that is hard to end: one that ignores SIGTERM, one that has gone into a session of its own, one
# with an environment of its own, one that stands still.
STUBBORN = r"""
import json, os, signal, sys
from verbena import Fabric
fabric = Fabric(nodes=2, topology=sys.argv[1] or None, capture=True)
a, b = fabric.nodes
for script in ("trap '' TERM; echo; while :; do sleep 1; done",
               "setsid sh -c 'trap \"\" TERM; echo; while :; do sleep 1; done' & wait",
               "env -i sh -c \"trap '' TERM; echo; while :; do sleep 1; done\" & wait"):
    a.popen(["sh", "-c", script], stdout=-1).stdout.readline()  # it has come to what it is there for
port = fabric.port()
a.popen(["sh", "-c", f"ibv_rc_pingpong -g 0 -n 3 -p {port}"]).wait_listening(port)
still = b.popen(["cat"], stdin=-1, stdout=-1)
still.stdin.write("x\n")
still.stdin.flush()
still.stdout.readline()
os.kill(still.pid, signal.SIGSTOP)
print(json.dumps([fabric.name, fabric.folder, [program.pid for program in fabric.programs]]), flush=True)
"""
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(verbena.__file__)))


def started(how, topology="star"):
    """A script that says its fabric's name and folder, then does `how`."""
    script = subprocess.Popen(
        [sys.executable, "-B", "-c", STUBBORN + textwrap.dedent(how), topology],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": PACKAGE},
    )
    line = script.stdout.readline()
    assert line, script.communicate()[1]
    return script, *json.loads(line)


def left(name, folder, sessions):
    """What is left of a fabric, and of the sessions that its programs led."""
    with open("/proc/net/unix", encoding="ascii", errors="replace") as file:
        sockets = [line.split()[-1] for line in file if name in line]
    of_sessions = [process for process, session in verbena.processes._sessions().items() if session in sessions]
    return of_sessions + wearers(f"{name}/") + sockets + [place for place in (folder,) if os.path.exists(place)]


def await_nothing_left(name, folder, sessions, seconds):
    found = None

    def nothing_is_left():
        nonlocal found
        found = left(name, folder, sessions)
        return not found

    try:
        waiting.until(nothing_is_left, seconds, "nothing is left")
    except TimeoutError:
        pytest.fail(f"left: {found}")


@pytest.mark.parametrize(
    "how, status, words, topology",
    [
        ("fabric.close(grace=0.2)", 0, "", "star"),
        ("fabric.close(grace=0)", 0, "", ""),
        ("with fabric: 1 / 0", 1, "ZeroDivisionError", "star"),
        ("sys.exit(3)", 3, "", "star"),
    ],
)
def test_nothing_is_left_when_a_script_ends(how, status, words, topology):
    script, name, folder, sessions = started(how, topology)
    _, err = script.communicate(timeout=30)
    assert script.returncode == status and words in err
    assert not left(name, folder, sessions)


@pytest.mark.parametrize(
    "number, within_s, topology", [(signal.SIGINT, 0, "star"), (signal.SIGTERM, 10, "star"), (signal.SIGKILL, 10, "")]
)
def test_nothing_is_left_when_a_script_is_ended(number, within_s, topology):
    script, name, folder, sessions = started("with fabric: signal.pause()", topology)
    assert len(wearers(f"{name}/programs/")) >= 5 and os.path.isdir(folder)
    script.send_signal(number)
    _, err = script.communicate(timeout=30)
    assert script.returncode == -number and ("KeyboardInterrupt" in err) == (number == signal.SIGINT)
    await_nothing_left(name, folder, sessions, within_s)


def test_a_second_interrupt_leaves_nothing_either():
    script, name, folder, sessions = started("with fabric: signal.pause()")
    before = len(wearers(f"{name}/programs/"))
    script.send_signal(signal.SIGINT)
    # Those that end when they are asked to have ended; the others have two seconds.
    waiting.until(lambda: len(wearers(f"{name}/programs/")) < before, 10, "programs have begun to end")
    script.send_signal(signal.SIGINT)
    script.communicate(timeout=30)
    assert script.returncode == -signal.SIGINT
    assert not left(name, folder, sessions)


def test_a_process_that_forks_does_not_end_its_parents_fabric():
    with Fabric() as fabric:
        child = os.fork()
        if child == 0:
            fabric.close()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert fabric.node(1).run(["echo", "still there"]).stdout == "still there\n"


def test_a_program_ends_with_all_that_it_has_started_and_alone():
    with Fabric() as fabric:
        one, other = (fabric.node(1).popen(["sh", "-c", "setsid sleep 1000 & sleep 1000"]) for _ in range(2))
        waiting.until(lambda: len(wearers(fabric.programs_mark)) >= 6, 10, "six processes run")
        assert one.end() == -signal.SIGTERM
        assert not wearers(one.mark) and len(wearers(other.mark)) == 3
        fabric.end_programs()
        assert not wearers(fabric.programs_mark) and fabric.stat()["nodes"]


def test_a_fabric_that_could_not_begin_leaves_nothing():
    before = set(os.listdir(tempfile.gettempdir()))
    for wrong in (
        {"topology": "foo"},
        {"faults": ["link-down n9-s1"]},
        {"nic": "mtu=1"},
        {"topology": None, "nic": "mtu=1"},
    ):
        with pytest.raises(verbena.CommandError):
            Fabric(**wrong)
    assert not [name for name in set(os.listdir(tempfile.gettempdir())) - before if name.startswith("verbena-python.")]
    assert not wearers(f"py-{os.getpid()}-")


def test_fabrics_of_many_threads_have_own_ports_and_names():
    ports, names = [], []
    all_have_one = threading.Barrier(4)

    def one():
        with Fabric() as fabric:
            names.append(fabric.name)
            ports.extend(fabric.port() for _ in range(20))
            assert fabric.node(1).run(["echo", "x"]).stdout == "x\n"
            all_have_one.wait(60)

    threads = [threading.Thread(target=one) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(names)) == 4 and len(set(ports)) == 80
