"""A program on a node, and how a command line for it is made."""
# Tested by: python/tests/test_fabric.py
from __future__ import annotations

import itertools
import json
import os
import shlex
import shutil
import subprocess
import time
from typing import Any, Dict, List, Mapping, Optional, Protocol, Sequence

from .capture import Capture
from .command import Word, last_line
from .errors import CommandError, ProgramError, ended_text
from .listening import listens_for_cm, listens_on_tcp
from .processes import GRACE_S, MARK, end_all

# With these `verbena exec` itself ends, if it cannot run the program (docs/usage.md); its line begins with its name.
_EXEC_FAILED = (2, 125, 126, 127)
_EXEC_SAYS = "verbena exec: "
LISTEN_TIMEOUT_S, LISTEN_STEP_S = 10.0, 0.005
_numbers = itertools.count(1)


class FabricOfProgram(Protocol):
    """What a program asks of its fabric (fabric.py has the class, which imports this module)."""

    name: str

    @property
    def programs_mark(self) -> str:
        """What the marks of all programs begin with."""


class NodeOfProgram(Protocol):
    """What a program asks of its node (node.py has the class, which imports this module)."""

    name: str
    address: str

    @property
    def fabric(self) -> FabricOfProgram:
        """The fabric that the node belongs to."""

    @property
    def exec_words(self) -> List[str]:
        """The command line, up to options of one program."""


class Program(subprocess.Popen):  # type: ignore[type-arg]
    """A subprocess.Popen whose process stands on a node; it leads a session and process group of its own.

    Leaving a with statement waits for it, as Popen does. The end of its fabric ends it, with all that it has started.
    """

    def __init__(
        self,
        node: NodeOfProgram,
        argv: Sequence[Word],
        options: Sequence[str],
        capture: Optional[str],
        stats: Optional[str],
        **arguments: Any,
    ) -> None:
        self.node = node
        self.program_argv = [os.fspath(word) for word in argv]
        self.title = shlex.join(self.program_argv)  # for reports
        self.capture = Capture(capture) if capture else None  # of all packets that it sends and gets
        self.stats_path = stats
        environment: Mapping[str, str] = arguments.pop("env", None) or os.environ
        _find(self.program_argv[0], environment, arguments.get("cwd"))
        self.mark = f"{node.fabric.programs_mark}{next(_numbers)}/"
        words = [*node.exec_words, *options]
        words += ["--pcap", capture] if capture else []
        words += ["--stats-json", stats] if stats else []
        arguments.setdefault(
            "text", not any(arguments.get(name) for name in ("encoding", "errors", "universal_newlines")) or None
        )
        super().__init__(
            [*words, "--", *self.program_argv],
            env={**environment, MARK: self.mark},
            start_new_session=True,
            **arguments,
        )

    def wait_listening(self, port: int, timeout: float = LISTEN_TIMEOUT_S) -> "Program":
        """Until it listens on a TCP port, or for rdma_cm connections to it; returns the program itself.

        Raises ProgramError if it ends before, TimeoutError if it does not within `timeout` seconds.
        """
        deadline = time.monotonic() + timeout
        while not (listens_on_tcp(port) or listens_for_cm(self.node.fabric.name, self.node.address, port)):
            if self.poll() is not None:
                out, err = self.communicate() if self.stdout or self.stderr else ("", "")
                raise exec_error(self.args, self.returncode, err) or ProgramError(
                    self.program_argv, self.node.name, self.returncode, out, err
                )
            if time.monotonic() > deadline:
                raise TimeoutError(
                    f"{' '.join(self.program_argv)} on {self.node.name} does not listen on port {port} "
                    f"after {timeout} s"
                )
            time.sleep(LISTEN_STEP_S)
        return self

    def end(self, grace: float = GRACE_S) -> int:
        """Ends it and all that it has started: SIGTERM, and SIGKILL after `grace` seconds. Its status, as Popen has
        it.
        """
        end_all(self.mark, [self], grace)
        return self.wait()

    def close(self) -> None:
        """Closes the pipes to it."""
        for pipe in (self.stdin, self.stdout, self.stderr):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:  # what was not flushed has no reader any more
                    pass

    def __repr__(self) -> str:
        how = "running" if self.returncode is None else ended_text(self.returncode)
        return f"<Program {self.title} on {self.node.name}, {how}>"


def exec_error(words: Any, status: int, stderr: Any) -> Optional[CommandError]:
    """The error if `verbena exec` itself has failed, and not the program."""
    text = stderr.decode(errors="replace") if isinstance(stderr, bytes) else str(stderr or "")
    line = last_line(text)
    return CommandError(line, words, status) if status in _EXEC_FAILED and line.startswith(_EXEC_SAYS) else None


def _find(name: str, environment: Mapping[str, str], cwd: Optional[Word]) -> None:
    """Popen would find `verbena`, which is there, and not tell of the program."""
    if os.path.dirname(name) and cwd is not None:
        return  # relative to a folder that the child goes to
    if shutil.which(name, path=environment.get("PATH")) is None:
        raise FileNotFoundError(2, "no such program", name)


def option_words(
    *,
    faults: Sequence[str] = (),
    nic: Optional[str] = None,
    device_name: Optional[str] = None,
    wire: Optional[str] = None,
) -> List[str]:
    """What `verbena exec` is told of a program's NIC."""
    words: List[str] = []
    for fault in faults:
        words += ["--fault", fault]
    for option, value in (("--nic", nic), ("--device-name", device_name), ("--wire", wire)):
        words += [option, value] if value else []
    return words


def counters_written(path: str) -> Dict[str, int]:
    """What --stats-json left: nothing if the program was killed."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return {str(name): int(value) for name, value in json.loads(text)["counters"].items()} if text else {}
