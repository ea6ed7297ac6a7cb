"""The command `verbena`: where it is, and how it is asked.

Solely that. What is asked, and what the answers mean, is the business of the modules that ask. Everything that Verbena
knows comes from the command's JSON: nothing of it is written down here a second time.
"""
from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, Collection, List, Optional, Sequence, Union

from .errors import CommandError, CommandNotFound, ended_text

VARIABLE = "VERBENA"
TIMEOUT_S = 30.0  # of a question; each takes some ten milliseconds
FOLDERS_UP = 4  # PREFIX/lib/python3.11/site-packages/verbena is four below PREFIX

Word = Union[str, "os.PathLike[str]"]


def find_command() -> str:
    """The path of the command: what the variable VERBENA says, else beside this module (an installed prefix, or the
    project's own tree), else from PATH.

    Raises CommandNotFound.
    """
    said = os.environ.get(VARIABLE)
    if said:
        found = shutil.which(said)
        if found is None:
            raise CommandNotFound(f"the variable ${VARIABLE} is '{said}', which is not a program that can be run")
        return os.path.abspath(found)
    for folder in list(Path(__file__).resolve().parents)[1 : FOLDERS_UP + 1]:
        for place in (folder / "bin" / "verbena", folder / "build" / "verbena"):
            if place.is_file() and os.access(place, os.X_OK):
                return str(place)
    found = shutil.which("verbena")
    if found is None:
        raise CommandNotFound(
            f"the command 'verbena' was not found: not beside {Path(__file__).parent}, and not in PATH. "
            "Install Verbena, or build it "
            f"('make' in its folder) and set ${VARIABLE} to the command's path"
        )
    return os.path.abspath(found)


def ask(
    words: Sequence[Word], *, accept: Collection[int] = (0,), timeout: Optional[float] = TIMEOUT_S
) -> "subprocess.CompletedProcess[str]":
    """Runs `verbena WORDS...` to its end. Raises CommandError, with the command's own line, unless its status is in
    `accept`.
    """
    argv = [find_command(), *(os.fspath(word) for word in words)]
    done = subprocess.run(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        check=False,
        timeout=timeout,
        encoding="utf-8",
        errors="replace",
    )
    if done.returncode not in accept:
        raise CommandError(
            last_line(done.stderr) or f"verbena {words[0]} {ended_text(done.returncode)}", argv, done.returncode
        )
    return done


def ask_json(words: Sequence[Word], *, accept: Collection[int] = (0,)) -> Any:
    """The one JSON value that the command prints."""
    return json.loads(ask(words, accept=accept).stdout)


def ask_json_lines(
    words: Sequence[Word], *, accept: Collection[int] = (0,), timeout: Optional[float] = None
) -> List[Any]:
    """The JSON values that the command prints, one a line."""
    return [json.loads(line) for line in ask(words, accept=accept, timeout=timeout).stdout.splitlines()]


def last_line(text: str) -> str:
    """The last line that is not empty."""
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""
