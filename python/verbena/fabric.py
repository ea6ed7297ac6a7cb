"""A fabric: nodes, what joins them, and everything that was started on them; it ends with all of that.

Owns the fabric process, the programs, the faults' timers, the temporary folder and the reserved ports. What they do is
the command's business; fabric_process.py starts the fabric process, and processes.py ends all processes.
"""
from __future__ import annotations

import atexit
import contextlib
import itertools
import os
import random
import shutil
import subprocess
import tempfile
import threading
import weakref
from types import TracebackType
from typing import Any, Dict, List, Optional, Sequence, Set, Type, Union

from . import processes
from .capture import Capture
from .command import Word, ask, ask_json, find_command
from .counters import Counters
from .errors import CommandError, VerbenaError
from .fabric_process import FabricProcess
from .fault import Fault, is_on_fabric
from .node import Node, Ranks
from .ports import reserve_port
from .program import Program, counters_written, option_words
from .settings import Ecn, Settings, ecn_word, qos_word
from .times import TimeSpan

DIRECT_NODES_MAX = 254
_open_fabrics: "weakref.WeakSet[Fabric]" = weakref.WeakSet()


class Fabric:
    """Nodes on a network of their own. In a with statement, or until close().

    `nodes`: how many; `topology`: a shape (`verbena fabric --help`), the path of a scenario file that has one, or
    None: direct cables, without switches, without faults on elements and as fast as it goes. `rails`: NIC ports of each
    node, whose programs have as many devices (Node.addresses); `planes`: "separate" networks for them, or "shared".
    `faults`: rules for the
    packets that each program sends or receives ("drop 1%"), and faults on elements ("link-delay all 5us", "add n1-s1
    drop 1%"), which are there at once. The same `seed` gives the same faults and, in programs, the same QPNs, keys and
    first PSNs. `capture`: programs have a Program.capture; `cable_captures`: cable(). `rate`, `delay`, `queue`,
    `detection`, `sockets`, `spread` ("flow" or "packet"), `telemetry`: as `verbena fabric` has them; `ecn`: octets of
    a queue, or an Ecn, or the command's words; `qos`: its keys and values ({"lossless": 3, "dscp": {26: 3}}), or the
    command's words; `nic` as `verbena exec` has it, for all nodes; `link`: "udp" or "shm", for direct cables;
    `wire`: "roce-v1", "roce" (each GID by v1 and by v2) or "roce-v2" (docs/wires.md).
    """

    def __init__(
        self,
        nodes: Optional[int] = None,
        topology: Optional[Word] = "star",
        *,
        seed: int = 1,
        faults: Union[str, Sequence[str]] = (),
        capture: bool = False,
        cable_captures: bool = False,
        rate: Optional[str] = None,
        delay: Optional[str] = None,
        queue: Optional[int] = None,
        ecn: Union[int, str, Ecn, None] = None,
        qos: Optional[Settings] = None,
        spread: Optional[str] = None,
        telemetry: bool = False,
        detection: Optional[str] = None,
        sockets: Optional[str] = None,
        nic: Optional[str] = None,
        link: Optional[str] = None,
        rails: Optional[int] = None,
        planes: Optional[str] = None,
        wire: Optional[str] = None,
    ) -> None:
        self.command = find_command()
        self.name = f"py-{os.getpid()}-{random.SystemRandom().randrange(1 << 40):010x}"
        self.seed, self.capture, self.nic, self.link, self.wire = seed, capture, nic, link, wire
        self.topology = None if topology is None else os.fspath(topology)
        texts = [faults] if isinstance(faults, str) else list(faults)
        self.packet_faults = [text for text in texts if not is_on_fabric(text)]
        self.nodes: List[Node] = []
        self._ranks = Ranks(self)
        self.programs: List[Program] = []
        self.faults: List[Fault] = []
        self._owner, self._lock, self._count, self._is_open = os.getpid(), threading.RLock(), itertools.count(1), True
        self._ports: List[Any] = []
        self._process: Optional[FabricProcess] = None
        self._checked: List[List[str]] = []
        self._sessions: Set[int] = set()  # that are being ended
        self._counter_names: List[str] = []
        of_fabric = (rails, planes, rate, delay, queue, ecn, qos, spread, telemetry, detection, sockets, cable_captures)
        if topology is None and any(of_fabric):
            raise ValueError(
                "direct cables (topology=None) have no rate, delay, queue, ecn, qos, spread, telemetry, detection, "
                "sockets, cable_captures, rails or planes"
            )
        if topology is not None and link is not None:
            raise ValueError(
                "link= is for direct cables (topology=None): with a topology the fabric carries the packets"
            )
        self.folder = tempfile.mkdtemp(prefix="verbena-python.")
        self._guard: "Optional[subprocess.Popen[bytes]]" = None
        _open_fabrics.add(self)
        try:
            self._guard = processes.start_guard(f"{self.name}/", self.folder)
            options = {
                "--rails": rails,
                "--planes": planes,
                "--rate": rate,
                "--delay": delay,
                "--queue": queue,
                "--ecn": ecn_word(ecn),
                "--qos": qos_word(qos),
                "--spread": spread,
                "--detection": detection,
                "--sockets": sockets,
                "--pcap": os.path.join(self.folder, "cables") if cable_captures else None,
            }
            self.nodes = (
                self._direct_nodes(2 if nodes is None else nodes)
                if self.topology is None
                else self._serve(
                    nodes,
                    [f"{option}={value}" for option, value in options.items() if value is not None]
                    + ["--telemetry"] * telemetry,
                )
            )
            self._check_exec(option_words(faults=self.packet_faults, nic=nic, wire=wire))
            for text in texts:
                if is_on_fabric(text):
                    self.fault(text)
        except BaseException:
            self.close(grace=0)
            raise

    # -- Beginning ----------------------------------------------------------------------------------------------------

    def _direct_nodes(self, nodes: int) -> List[Node]:
        if not 1 <= nodes <= DIRECT_NODES_MAX:
            raise ValueError(f"direct cables join 1 to {DIRECT_NODES_MAX} nodes, not {nodes}")
        return [Node(self, number, f"n{number}", f"127.47.91.{number}") for number in range(1, nodes + 1)]

    def _serve(self, nodes: Optional[int], options: List[str]) -> List[Node]:
        assert self.topology is not None
        is_file = self.topology.endswith((".yaml", ".yml")) or os.sep in self.topology
        if is_file and nodes is not None:
            raise ValueError(f"{self.topology} says how many nodes there are: leave nodes= out")
        shape = (
            [self.topology] if is_file else ["--topology", self.topology, "--nodes", str(2 if nodes is None else nodes)]
        )
        words = [self.command, "fabric", "--fabric", self.name, "--seed", str(self.seed), "--until-eof"]
        self._process = FabricProcess([*words, *options, *shape], f"{self.name}/fabric", self.folder)
        self._process.await_first_line()
        stat = self.stat()
        self._counter_names = stat["counter_names"]
        ports, rails = stat["nodes"], stat.get("rails", 1)
        return [
            Node(
                self,
                number,
                ports[first]["name"] if rails == 1 else ports[first]["name"].rpartition(".")[0],
                *[port["address"] for port in ports[first : first + rails]],
            )
            for number, first in enumerate(range(0, len(ports), rails), 1)
        ]

    def _check_exec(self, options: List[str]) -> None:
        """Whether `verbena exec` takes these options: asked once, for a program's Popen cannot tell."""
        if options in self._checked:
            return
        counters = self.temporary("counters")
        written = ["--stats-json", counters] if self.topology is None else []
        ask([*self.nodes[0].exec_words[1:], *options, *written, "--", "true"])
        if written:
            self._counter_names = list(counters_written(counters))
        self._checked.append(list(options))

    # -- Programs -----------------------------------------------------------------------------------------------------

    def node(self, number: int) -> Node:
        """By its number, from 1. Raises IndexError."""
        if not 1 <= number <= len(self.nodes):
            raise IndexError(f"fabric {self.name} has the nodes 1 to {len(self.nodes)}, not {number}")
        return self.nodes[number - 1]

    @property
    def ranks(self) -> Ranks:
        """Where an mpirun or srun runs: each of its processes on a node, by its rank. Not on direct cables, where nobody
        would keep the nodes' counters apart."""
        if self.topology is None:
            raise VerbenaError("ranks need a fabric with a topology, which keeps the counters of each node")
        return self._ranks

    def start(
        self, node: Node, argv: Sequence[Word], options: List[str], capture: bool, arguments: Dict[str, Any]
    ) -> Program:
        """Node.popen()'s part of the fabric: the program ends with it."""
        self._check_exec(options)
        with self._lock:
            self._must_be_open()
            program = Program(
                node,
                argv,
                options,
                self.temporary(f"{node.name}.pcapng") if capture else None,
                self.temporary("counters") if self.topology is None else None,
                **arguments,
            )
            self.programs.append(program)
        return program

    def port(self) -> int:
        """A TCP port that is free, and nobody else's who asks in this way, until the fabric ends: for servers on
        nodes, which have the machine's ports.
        """
        port, reservation = reserve_port()
        self._ports.append(reservation)
        return port

    @property
    def programs_mark(self) -> str:
        """What the marks of all programs begin with, and of all that they have started (processes.py)."""
        return f"{self.name}/programs/"

    def temporary(self, name: str) -> str:
        """A path in the fabric's folder, which goes with it."""
        return os.path.join(self.folder, f"{next(self._count)}-{name}")

    def end_programs(self, grace: float = processes.GRACE_S) -> None:
        """Ends all programs, and all that they have started: their captures are whole then."""
        with self._lock:
            processes.end_all(self.programs_mark, self.programs, grace, self._sessions)

    # -- What is seen and done ----------------------------------------------------------------------------------------

    def fault(self, text: str, for_: Optional[TimeSpan] = None) -> Fault:
        """Makes something go wrong, in the words of `verbena fault`: "link-down s1-s2", "add n1-s1 drop 1%",
        "partition n1 n2,n3".

        `for_`: undone after this time ("200ms", seconds), to some ten milliseconds; this call does not wait for it. As
        a context manager it is undone at the end. Otherwise it stays until undo(). Raises CommandError for what the
        fabric refuses, ValueError for what cannot be undone but should.
        """
        self._must_be_open()
        fault = Fault(text, self._ask_fault, self.stat, for_)
        self.faults.append(fault)
        return fault

    def _ask_fault(self, words: Sequence[str]) -> Any:
        if self.topology is None:
            raise VerbenaError(
                f"'{' '.join(words)}': direct cables (topology=None) have no elements that fail; "
                "give the fabric a topology"
            )
        return ask_json(["fault", "--fabric", self.name, "--json", "--", *words])

    def fault_list(self) -> Dict[str, Any]:
        """What is there now: "faults" (rules), "down" (links), "crashed" (switches), "cut_off" (pairs)."""
        answer: Dict[str, Any] = self._ask_fault(["list"])
        return answer

    def stat(self) -> Dict[str, Any]:
        """What `verbena stat --json` says: "links", "nodes", "faults" and sums."""
        answer: Dict[str, Any] = ask_json(["stat", "--fabric", self.name, "--json"])
        return answer

    def counters(self, rail: Optional[int] = None) -> Counters:
        """The sums of all nodes' counters, or of those of one rail, from 1."""
        sums = Counters(self._counter_names, {})
        for node in self.nodes:
            sums = sums.plus(node.counters(rail))
        return sums

    def counters_of(self, node: Node, rail: Optional[int] = None) -> Counters:
        """Node.counters()."""
        if rail is not None and not 1 <= rail <= len(node.addresses):
            raise IndexError(f"{node.name} has the rails 1 to {len(node.addresses)}, not {rail}")
        if self.topology is None:
            return self._direct_counters(node)
        stat = self.stat()
        if not stat["counters_complete"]:
            raise VerbenaError(
                "more processes have run on this fabric than it keeps counters of: make a new one now and then"
            )
        wanted = node.addresses if rail is None else [node.addresses[rail - 1]]
        sums = Counters(self._counter_names, {})
        for port in stat["nodes"]:
            sums = sums.plus(port["counters"] if port["address"] in wanted else {})
        return sums

    def _direct_counters(self, node: Node) -> Counters:
        """Of programs that have ended each has left its own; the others are asked. Repeated if one ends meanwhile."""
        while True:
            ended = [program for program in node.programs if program.poll() is not None]
            sums = Counters(self._counter_names, {})
            for program in ended:
                if program.stats_path:
                    sums = sums.plus(counters_written(program.stats_path))
            if len(ended) < len(node.programs):
                with contextlib.suppress(CommandError):  # nobody has opened the device
                    for one in self.stat()["nodes"]:
                        sums = sums.plus(one["counters"] if one["address"] == node.address else {})
            if len(ended) == sum(program.poll() is not None for program in node.programs):
                return sums

    def captures(self) -> List[Capture]:
        """Of all programs that have one, in the order of their starts."""
        return [program.capture for program in self.programs if program.capture is not None]

    def cable(self, name: str) -> Capture:
        """What the cable carried both ways ("n1-s1"), with cable_captures=True."""
        path = os.path.join(self.folder, "cables", f"{name}.pcapng")
        if not os.path.exists(path):
            raise KeyError(
                f"there is no capture of a cable '{name}': is it a cable of `verbena stat`, and cable_captures=True?"
            )
        return Capture(path)

    # -- End ----------------------------------------------------------------------------------------------------------

    def _must_be_open(self) -> None:
        if not self._is_open:
            raise VerbenaError(f"fabric {self.name} is closed")

    def close(self, grace: float = processes.GRACE_S) -> None:
        """Ends the programs and all that they have started (SIGTERM, and SIGKILL after `grace` seconds), the fabric,
        its faults, ports and files. What it has counted and captured is gone then. A second call does nothing.
        """
        with self._lock:
            if not self._is_open or os.getpid() != self._owner:
                return
            for fault in self.faults:
                fault.forget()
            try:
                self._end(grace)
            except BaseException:  # a second Ctrl-C, say
                self._end(0)
                raise
            finally:
                self._is_open = False
                _open_fabrics.discard(self)

    def _end(self, grace: float) -> None:
        self.end_programs(grace)
        leaders: "List[subprocess.Popen[Any]]" = [*self.programs, *([self._process] if self._process else [])]
        processes.end_all(f"{self.name}/", leaders, grace, self._sessions)
        for program in self.programs:
            program.close()
        if self._guard is not None:
            self._guard.kill()
            self._guard.wait()
            assert self._guard.stdin is not None
            self._guard.stdin.close()
        if self._process is not None:
            self._process.close()
        for reservation in self._ports:
            reservation.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> "Fabric":
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Fabric {self.name}: {len(self.nodes)} nodes, {self.topology or 'direct cables'}>"


@atexit.register
def _close_forgotten() -> None:
    for fabric in list(_open_fabrics):
        fabric.close(grace=0)
