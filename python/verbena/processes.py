"""Sees to it that nothing of what was started is left.

Every program gets a variable (MARK: its fabric's name and a number) and a session of its own. What it starts inherits
the variable, so all of it is found, in whatever group or session it is (fio's jobs and mpirun's daemons leave theirs);
what has an environment of its own is found by its session. Knows nothing of nodes.

Run as a program it is the guard of a fabric, for the case that the process that made it is killed:

  processes.py MARK FOLDER     once standard input ends: ends all that wear MARK, removes FOLDER
"""
# Tested by: python/tests/test_endings.py
from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import time
from subprocess import DEVNULL, PIPE, Popen
from typing import Any, Dict, Iterable, List, Optional, Set

MARK = "VERBENA_PYTHON"
GRACE_S = 2.0  # between SIGTERM and SIGKILL
KILL_S = 5.0  # nobody survives SIGKILL for so long, but in a system call that cannot be interrupted
STEP_S = 0.005


def wearers(mark: str) -> List[int]:
    """The processes that live and have a mark in their environment that begins so."""
    needle = f"{MARK}={mark}".encode()
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        with contextlib.suppress(OSError):
            with open(f"/proc/{entry}/environ", "rb") as file:
                if any(variable.startswith(needle) for variable in file.read().split(b"\0")):
                    found.append(int(entry))
    return found


def _sessions() -> Dict[int, int]:
    """The session of every process that there is; of zombies none."""
    found = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{entry}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()  # state, parent, group, session, ...
            if fields[0] != b"Z":
                found[int(entry)] = int(fields[3])
    return found


class _Ending:
    """All that belongs to a mark, while it is ended. A session's number stands for nobody else as long as somebody is
    in it.
    """

    def __init__(self, mark: str, leaders: Iterable["Popen[Any]"], sessions: Set[int]) -> None:
        self.mark, self.leaders, self.sessions = mark, list(leaders), sessions

    def living(self) -> List[int]:
        """Their numbers; takes what has ended off the kernel's table."""
        self.sessions.update(leader.pid for leader in self.leaders if leader.returncode is None)
        marked, sessions = wearers(self.mark), _sessions()
        self.sessions.update(sessions[process] for process in marked if process in sessions)
        found = {process for process, session in sessions.items() if session in self.sessions} | set(marked)
        self.sessions.intersection_update(sessions.get(process, 0) for process in found)
        for leader in self.leaders:
            leader.poll()
        return sorted(found)

    def signal(self, number: int) -> bool:
        """To all that live; False: nobody does."""
        living = self.living()
        for process in living:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process, number)
        return bool(living)


def end_all(
    mark: str, leaders: Iterable["Popen[Any]"], grace: float = GRACE_S, sessions: Optional[Set[int]] = None
) -> None:
    """Ends the leaders, each of a session of its own, and all that wear the mark, with their sessions: SIGTERM, and
    SIGKILL after `grace` seconds. `sessions`: kept from an earlier call that was interrupted, for the next.
    """
    ending = _Ending(mark, leaders, set() if sessions is None else sessions)
    if grace > 0 and ending.signal(signal.SIGTERM):
        deadline = time.monotonic() + grace
        while ending.living() and time.monotonic() < deadline:
            time.sleep(STEP_S)
    deadline = time.monotonic() + KILL_S
    while ending.signal(signal.SIGKILL) and time.monotonic() < deadline:
        time.sleep(STEP_S)


def start_guard(mark: str, folder: str) -> "Popen[bytes]":
    """It holds no files of ours but the pipe that tells it of our end. Kill it where nothing is left to guard."""
    return Popen(
        [sys.executable, "-I", "-S", "-B", os.path.abspath(__file__), mark, folder],
        stdin=PIPE,
        stdout=DEVNULL,
        stderr=DEVNULL,
        cwd="/",
        start_new_session=True,
    )


def _guard(mark: str, folder: str) -> None:
    sys.stdin.buffer.read()
    end_all(mark, [])
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    _guard(sys.argv[1], sys.argv[2])
