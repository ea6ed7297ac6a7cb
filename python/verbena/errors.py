"""What can go wrong, as exceptions. All of them are VerbenaError."""
# Tested by: python/tests/test_command.py
from __future__ import annotations

from typing import Any, Sequence


class VerbenaError(Exception):
    """Base of all errors of this module."""


class CommandNotFound(VerbenaError):
    """The command `verbena` is nowhere; the text says where it was looked for, and what to do."""


class CommandError(VerbenaError):
    """The command refused, or failed. The text is the command's own line."""

    def __init__(self, line: str, words: Sequence[str], status: int) -> None:
        super().__init__(line)
        self.line = line
        self.words = list(words)
        self.status = status

    def __reduce__(self) -> Any:  # pytest-xdist and multiprocessing carry exceptions by pickle
        return type(self), (self.line, self.words, self.status)


class ProgramError(VerbenaError):
    """A program that ran on a node ended with a status other than 0."""

    LINES_SHOWN = 40  # of each of its outputs

    def __init__(self, argv: Sequence[str], node: str, status: int, stdout: Any, stderr: Any) -> None:
        self.argv, self.node, self.status = list(argv), node, status
        self.stdout, self.stderr = stdout, stderr
        super().__init__(f"{' '.join(self.argv)} on {node} {ended_text(status)}{tail(stdout)}{tail(stderr)}")

    def __reduce__(self) -> Any:
        return type(self), (self.argv, self.node, self.status, self.stdout, self.stderr)


class NotHeld(VerbenaError, AssertionError):
    """Expectations of a scenario did not hold; the text is the command's report."""


class NothingToJudge(VerbenaError, AssertionError):
    """No rule could judge anything in a capture: it is neither good nor bad. The text says what is in it."""


class DamagedCapture(VerbenaError, AssertionError):
    """A capture file is damaged, and no rule is broken up to there: what is behind was not judged. The text says
    where.
    """


class RemoteError(VerbenaError):
    """A function that Node.call() ran on a node raised something that cannot be brought here; the text is its
    traceback.
    """


def ended_text(status: int) -> str:
    """How a process ended, in words."""
    return f"was ended by signal {-status}" if status < 0 else f"ended with {status}"


def tail(output: Any) -> str:
    """The last lines of an output, each on a line of its own behind a line feed."""
    text = output.decode(errors="replace") if isinstance(output, bytes) else str(output or "")
    return "".join(f"\n    {line}" for line in text.splitlines()[-ProgramError.LINES_SHOWN :])
