"""The process that serves a fabric: how it is started, when it can be asked, and what it has said on its standard error.

Owns the two pipes to it and its log file, until close(). Does not end it: that is processes.py's. Knows no nodes.
"""
# Tested by: python/tests/test_fabric.py
from __future__ import annotations

import os
import select
import subprocess
import time
from typing import IO, List

from .command import TIMEOUT_S, last_line
from .errors import CommandError
from .processes import MARK


class FabricProcess(subprocess.Popen):  # type: ignore[type-arg]
    """`verbena fabric`. Its standard input is a pipe whose other end we hold: however we end, it does."""

    def __init__(self, words: List[str], mark: str, folder: str) -> None:
        self._words = words
        self._log: IO[bytes] = open(
            os.path.join(folder, "fabric.log"), "w+b"
        )  # pylint: disable=consider-using-with
        try:
            super().__init__(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                env={**os.environ, MARK: mark},
                start_new_session=True,
            )
        except BaseException:
            self._log.close()
            raise

    def await_first_line(self) -> None:
        """It prints a line once it can be asked."""
        deadline = time.monotonic() + TIMEOUT_S
        assert self.stdout is not None
        said = b""
        while not said.endswith(b"\n"):
            ready, _, _ = select.select([self.stdout], [], [], max(0.0, deadline - time.monotonic()))
            octets = os.read(self.stdout.fileno(), 4096) if ready else b""
            said += octets
            if not ready:
                raise CommandError(f"verbena fabric: said nothing within {TIMEOUT_S:.0f} s", self._words, -1)
            if not octets:
                status = self.wait(TIMEOUT_S)
                log = os.pread(self._log.fileno(), 1 << 20, 0).decode(errors="replace")
                raise CommandError(last_line(log) or f"verbena fabric ended with {status}", self._words, status)

    def close(self) -> None:
        """Closes the pipes to it, and its log."""
        for file in filter(None, (self.stdin, self.stdout, self._log)):
            file.close()
