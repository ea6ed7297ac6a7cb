"""A node of a fabric: one RDMA NIC with an address, on which programs run."""
# Tested by: python/tests/test_fabric.py
from __future__ import annotations

import os
import pickle
import subprocess
import sys
from typing import Any, Callable, Dict, List, Optional, Protocol, Sequence, TypeVar, Union

from .command import Word
from .counters import Counters
from .enter import enter
from .errors import ProgramError, RemoteError
from .program import FabricOfProgram, NodeOfProgram, Program, exec_error, option_words

RUN_TIMEOUT_S = 60.0
Result = TypeVar("Result")


class FabricOfNode(FabricOfProgram, Protocol):
    """What a node asks of its fabric (fabric.py has the class, which imports this module)."""

    command: str
    seed: int
    nic: Optional[str]
    link: Optional[str]
    wire: Optional[str]
    capture: bool
    packet_faults: List[str]

    @property
    def nodes(self) -> Sequence[NodeOfProgram]:
        """All nodes, by their numbers."""

    def start(
        self, node: "Node", argv: Sequence[Word], options: List[str], capture: bool, arguments: Dict[str, Any]
    ) -> Program:
        """Starts a program that ends with the fabric."""

    def temporary(self, name: str) -> str:
        """A path in the fabric's folder."""

    def counters(self, rail: Optional[int] = None) -> Counters:
        """The sums of all nodes' counters, or of those of one rail."""

    def counters_of(self, node: "Node", rail: Optional[int] = None) -> Counters:
        """The counters of one node, or of one of its rails."""


class Node:
    """One node. Made by its Fabric: fabric.nodes, fabric.node(1). `addresses`: of its rails, `address` of the first."""

    def __init__(self, fabric: FabricOfNode, number: int, name: str, address: str, *others: str) -> None:
        self.fabric, self.number, self.name, self.address = fabric, number, name, address
        self.addresses = [address, *others]
        self.programs: List[Program] = []

    def __repr__(self) -> str:
        return f"<Node {self.name} {self.address} of {self.fabric.name}>"

    def __str__(self) -> str:
        return self.address

    @property
    def exec_words(self) -> List[str]:
        """The command line, up to options of one program."""
        words = [
            self.fabric.command,
            "exec",
            "--fabric",
            self.fabric.name,
            "--node",
            str(self.number),
            "--seed",
            str(self.fabric.seed),
        ]
        return words + (["--link", self.fabric.link] if self.fabric.link else [])

    def popen(
        self,
        argv: Sequence[Word],
        *,
        faults: Union[str, Sequence[str]] = (),
        nic: Optional[str] = None,
        device_name: Optional[str] = None,
        capture: Optional[bool] = None,
        **arguments: Any,
    ) -> Program:
        """Starts a program on this node and goes on.

        `faults`: rules for the packets that it sends or receives, besides the fabric's own, such as "drop 1%"; `nic`:
        what its NIC is like, such as "mtu=1024 timeout=10" (both: `verbena exec --help`); `capture`: Program.capture
        has its packets; the fabric's way if it is not said. All other arguments are those of subprocess.Popen, but
        text is True if nothing is said of it. Raises FileNotFoundError for a program that is not there, CommandError
        for options that the command refuses.
        """
        own = [faults] if isinstance(faults, str) else list(faults)
        options = option_words(
            faults=[*self.fabric.packet_faults, *own],
            nic=nic or self.fabric.nic,
            device_name=device_name,
            wire=self.fabric.wire,
        )
        program = self.fabric.start(self, argv, options, self.fabric.capture if capture is None else capture, arguments)
        self.programs.append(program)
        return program

    def run(
        self,
        argv: Sequence[Word],
        *,
        timeout: Optional[float] = RUN_TIMEOUT_S,
        check: bool = True,
        input: Any = None,
        **arguments: Any,
    ) -> "subprocess.CompletedProcess[Any]":
        """Runs a program on this node to its end, and takes what it prints; arguments as popen() has them.

        Raises ProgramError, with the ends of its outputs, if its status is not 0 (`check`), and
        subprocess.TimeoutExpired after `timeout` seconds (None: never); it is ended then, with all that it has
        started.
        """
        arguments.pop("capture_output", None)  # it is so anyway
        for stream in ("stdout", "stderr"):
            arguments.setdefault(stream, subprocess.PIPE)
        arguments.setdefault("stdin", subprocess.DEVNULL if input is None else subprocess.PIPE)
        program = self.popen(argv, **arguments)
        try:
            out, err = program.communicate(input, timeout)
        except BaseException:
            program.end(grace=0)
            program.close()
            raise
        if failed := exec_error(program.args, program.returncode, err):
            raise failed
        if check and program.returncode != 0:
            raise ProgramError(program.program_argv, self.name, program.returncode, out, err)
        return subprocess.CompletedProcess(program.program_argv, program.returncode, out, err)

    def call(
        self, function: Callable[..., Result], *arguments: Any, timeout: Optional[float] = RUN_TIMEOUT_S, **options: Any
    ) -> Result:
        """Runs `function(*arguments)` in a Python process on this node, and returns what it returns or raises what it
        raises.

        pyverbs, or any module over libibverbs, sees the node's NIC there. Function, arguments and result travel by
        pickle: the function is one that a module has by name. `options` are those of popen(). What it prints is the
        process's own: seen as this process's output.
        """
        given, result = self.fabric.temporary("call"), self.fabric.temporary("result")
        with open(given, "wb") as file:
            is_scripts = getattr(function, "__module__", "") == "__main__"
            pickle.dump(
                [list(sys.path), getattr(sys.modules["__main__"], "__file__", None) if is_scripts else None], file
            )
            pickle.dump((function, arguments), file)
        options.setdefault("stdin", subprocess.DEVNULL)
        program = self.popen(
            [sys.executable, "-B", os.path.join(os.path.dirname(__file__), "remote.py"), given, result], **options
        )
        program.title = f"call of {getattr(function, '__qualname__', function)}"
        try:
            status = program.wait(timeout)
        except BaseException:
            program.end(grace=0)
            raise
        if status != 0 or not os.path.exists(result):
            raise ProgramError([program.title], self.name, status, "", "")
        with open(result, "rb") as file:
            held, value, trace = pickle.load(file)
        if held:
            return value  # type: ignore[no-any-return]
        raise (value if value is not None else RemoteError(trace)) from (
            RemoteError(trace) if value is not None else None
        )

    def enter(
        self, *, faults: Union[str, Sequence[str]] = (), nic: Optional[str] = None, device_name: Optional[str] = None
    ) -> None:
        """Puts this very process on the node, for pyverbs or a module of one's own over libibverbs: once, for good,
        and before anything has loaded libibverbs (VerbenaError otherwise). Verbs only: for rdma_cm, and for what looks
        into /sys, use call().
        """
        own = [faults] if isinstance(faults, str) else list(faults)
        enter(
            [
                *self.exec_words,
                *option_words(
                    faults=[*self.fabric.packet_faults, *own],
                    nic=nic or self.fabric.nic,
                    device_name=device_name,
                    wire=self.fabric.wire,
                ),
            ],
            f"{self.name} of {self.fabric.name}",
        )

    def counters(self, rail: Optional[int] = None) -> Counters:
        """The counters of its NICs, or of that of one rail, from 1: over all programs that have run here, those that run
        included."""
        return self.fabric.counters_of(self, rail)


class Ranks(Node):
    """All nodes of a fabric, for an mpirun, srun or the like: the process of rank R stands on node 1 + R modulo their number.

    What Node does, but captures, which are of one node. Its counters are those of the whole fabric.
    """

    def __init__(self, fabric: FabricOfNode) -> None:
        super().__init__(fabric, 0, "ranks", "")

    @property
    def exec_words(self) -> List[str]:
        """The command line, up to options of one program."""
        count = str(len(self.fabric.nodes))
        return [
            *[self.fabric.command, "exec", "--fabric", self.fabric.name, "--nodes", count],
            *["--seed", str(self.fabric.seed)],
        ]

    def popen(self, argv: Sequence[Word], *, capture: Optional[bool] = None, **arguments: Any) -> Program:
        """Starts a launcher, such as ["mpirun", "-n", "4", "./program"]; arguments as Node.popen() has them."""
        if capture:
            raise ValueError("a capture is of one node, and ranks stand on several: cable_captures=True has them all")
        return super().popen(argv, capture=False, **arguments)

    def counters(self, rail: Optional[int] = None) -> Counters:
        """The sums of all nodes' counters, or of those of one rail."""
        return self.fabric.counters(rail)
