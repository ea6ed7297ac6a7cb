"""Tests of the Python module against the real command and real programs. The plugin is loaded as its entry point would
load it.
"""
import os
import signal
import sys
import tempfile

import pytest

PACKAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, os.path.abspath(PACKAGE))
sys.path.append(os.path.join(os.path.abspath(PACKAGE), "..", "tests", "programs"))  # waiting.py

# Shells start what is in the background with it ignored, and what we start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

pytest_plugins = ["verbena.pytest_plugin", "pytester"]


@pytest.fixture(scope="session", autouse=True)
def own_temporary_folder(tmp_path_factory):
    """Of this worker alone, so that what is left in it is ours."""
    os.environ["TMPDIR"] = str(tmp_path_factory.mktemp("temporary"))
    tempfile.tempdir = None  # it is looked up again


def _things():
    """What a fabric of any process could leave: folders, names of sockets, processes."""
    from verbena.processes import wearers  # noqa: PLC0415

    folders = {name for name in os.listdir(tempfile.gettempdir()) if name.startswith("verbena-python.")}
    with open("/proc/net/unix", encoding="ascii", errors="replace") as file:
        names = {line.split()[-1] for line in file if f"/py-{os.getpid()}-" in line}
    return folders, names, wearers(f"py-{os.getpid()}-")


@pytest.fixture(autouse=True)
def nothing_is_left():
    """Every test takes away what it has made."""
    before = _things()
    yield
    folders, names, processes = _things()
    assert folders <= before[0], folders - before[0]
    assert not names and not processes, (names, processes)
