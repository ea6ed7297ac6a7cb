"""This process itself on a node: Node.enter().

Verbena's libibverbs is loaded before anybody asks for libibverbs.so.1, and the loader gives the same one to whoever
asks later; what `verbena exec` would set in the environment is set here. It cannot be taken back, so it is done once
in a process. What programs find in /sys and /dev below `verbena exec`, and rdma_cm, needs a preloaded library and is
not there: Node.call() has it.
"""
# Tested by: python/tests/test_call.py
from __future__ import annotations

import ctypes
import os
import subprocess
from typing import Dict, List, Optional

from .errors import VerbenaError
from .program import exec_error

_entered: Optional[str] = None  # the node


def _environment(words: List[str]) -> Dict[str, str]:
    """What a program on the node finds in its environment."""
    done = subprocess.run(
        [*words, "--", "env", "-0"], stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=30
    )
    if failed := exec_error(words, done.returncode, done.stderr):
        raise failed
    return dict(os.fsdecode(variable).split("=", 1) for variable in done.stdout.split(b"\0") if b"=" in variable)


def enter(words: List[str], node: str) -> None:
    """Puts this process on the node that `words` (a `verbena exec` without its program) name."""
    global _entered  # pylint: disable=global-statement
    if _entered is not None:
        raise VerbenaError(f"this process stands on {_entered} already, and cannot leave it")
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
        loaded = [line.split()[-1] for line in file if "libibverbs.so" in line]
    if loaded:
        raise VerbenaError(
            f"{loaded[0]} is loaded already: enter a node before anything imports pyverbs or another user of libibverbs"
        )
    environment = _environment(words)
    libraries = environment["LD_PRELOAD"].split(":")[:2]
    os.environ.update({name: value for name, value in environment.items() if name.startswith("VERBENA_")})
    for library in libraries:
        ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
    _entered = node
