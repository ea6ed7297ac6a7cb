"""Captures, dissected by the command: packets with all their headers, conversations with what went wrong in them.

There is no dissector here: headers and fields are those of Verbena's own layouts, as `verbena explain --json` says
them, and so are the judgements. Any pcap, pcapng or ERF file with RoCE v2 packets will do, of whatever NIC.
"""
from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Type, TypeVar, Union

from .command import ask, ask_json, ask_json_lines
from .errors import DamagedCapture, NothingToJudge

# 1: the file is damaged from some point on (explain), or rules are broken (check); 3: nothing to tell or judge;
# 4: damaged (check).
_READ = (0, 1, 3, 4)
Header = Mapping[str, Any]


@dataclass(frozen=True)
class Packet:
    """One RoCE v2 packet, and what is said of it."""

    number: int  # in the file, from 1, as Wireshark counts
    time_ns: int  # since the first packet of the file
    conversation: int  # Conversation.number
    sender: int  # which end of the conversation sent it: 0 or 1
    source: str
    destination: str
    opcode: str  # "RC RDMA WRITE First"
    text: str  # one line
    payload_bytes: int
    frame_bytes: int  # on the wire
    headers: Mapping[
        str, Header
    ]  # "ethernet", "ipv4" or "ipv6", "udp", or "lrh" and "grh"; "bth", then those that the opcode has: "reth", ...
    relative_psn: Optional[int] = None  # from the first PSN of its requester
    is_again: bool = False  # a retransmission, or a response once more
    is_dropped: bool = False  # a fault kept it from its destination
    direction: str = ""  # "inbound", "outbound"; empty: the file does not say
    interface: str = ""
    comment: str = ""  # of the file: which fault hit it
    icrc: str = ""  # "right", "wrong", "unknown" (cut off)
    vcrc: str = ""  # the same of InfiniBand's other CRC; empty: not InfiniBand
    carried_by: str = ""  # "RoCE v2", "InfiniBand"
    problems: Sequence[str] = ()  # what went wrong
    remarks: Sequence[str] = ()
    management: Optional[str] = None  # "CM REQ"
    answer: Optional[str] = None  # what its AETH says: "NAK PSN sequence error"

    @property
    def psn(self) -> int:
        """The packet sequence number of the BTH."""
        return int(self.headers["bth"]["psn"])

    @property
    def dest_qp(self) -> int:
        """The queue pair that it goes to."""
        return int(self.headers["bth"]["dest_qp"])

    def __str__(self) -> str:
        return f"#{self.number} {self.source} > {self.destination} {self.text}"


@dataclass(frozen=True)
class End:
    """One end of a conversation."""

    address: str
    qpn: Optional[int]  # None: the file does not show it
    sent: Mapping[str, int]  # "packets", "bytes", "retransmitted_packets", "timeouts", "nak_sequence_errors", ...


@dataclass(frozen=True)
class Conversation:
    """What two queue pairs said to each other."""

    number: int
    transport: str  # "RC"
    path_mtu_bytes: int  # 0: not seen
    packets: int
    duration_ns: int
    ends: Tuple[End, End]  # [0]: who sent the first request

    def sent(self, name: str) -> int:
        """A sum of both ends."""
        return sum(end.sent[name] for end in self.ends)


@dataclass(frozen=True)
class Violation:
    """A rule of the transport that was broken."""

    packet: int  # Packet.number
    time_ns: int
    checker: str
    clause: str  # of the InfiniBand specification
    text: str


Record = TypeVar("Record", Packet, Violation)


def _record(kind: Type[Record], values: Dict[str, Any]) -> Record:
    """A newer command may say more."""
    known = {one.name for one in dataclasses.fields(kind)}
    return kind(**{name: value for name, value in values.items() if name in known})


def _conversation(values: Dict[str, Any]) -> Conversation:
    ends = [End(end["address"], end["qpn"], end["sent"]) for end in values["ends"]]
    return Conversation(
        values["number"],
        values["transport"],
        values["path_mtu_bytes"],
        values["packets"],
        values["duration_ns"],
        (ends[0], ends[1]),
    )


@dataclass
class Capture:
    """A capture file. It is read anew by each call, so that one that is still written to may be looked at."""

    path: Union[str, "os.PathLike[str]"]
    damage: str = field(default="", init=False)  # what was wrong with the file, when it was last read

    def __fspath__(self) -> str:
        return os.fspath(self.path)

    def _read(self, *options: str) -> List[Dict[str, Any]]:
        lines: List[Dict[str, Any]] = ask_json_lines(["explain", "--json", *options, self.path], accept=_READ)
        self.damage = str(lines[-1]["damage"])
        return lines

    def packets(self, *, only_problems: bool = False, qp: Optional[int] = None) -> List[Packet]:
        """All RoCE v2 packets in the file's order; those with problems; those of conversations of one queue pair."""
        options = ["--only-problems"] if only_problems else []
        options += [] if qp is None else ["--qp", str(qp)]
        return [_record(Packet, line) for line in self._read(*options) if line["kind"] == "packet"]

    def conversations(self) -> List[Conversation]:
        """In the order of their first packets."""
        return [_conversation(line) for line in self._read("--summary") if line["kind"] == "conversation"]

    def explain(self, *, only_problems: bool = False, width: int = 120) -> str:
        """The file's story, for people."""
        options = ["--only-problems"] if only_problems else []
        return ask(["explain", "--width", str(width), *options, self.path], accept=_READ, timeout=None).stdout

    def check(self, *, trust_cut: bool = False) -> List[Violation]:
        """The rules of the transport that the file's packets break, as far as `verbena check` can tell from it (it
        keeps the first).

        Raises NothingToJudge where no rule could judge anything, and DamagedCapture where the file is damaged and no
        rule is broken up to there: neither is a good capture. `trust_cut`: packets whose end a snap length has cut off,
        and with it the ICRC, are taken as undamaged.
        """
        files = ask_json(["check", "--json", *(["--trust-cut"] if trust_cut else []), self.path], accept=_READ)
        self.damage = str(files[0]["damage"])
        verdict, words = files[0]["verdict"], f"{os.fspath(self.path)}: {files[0]['words']}"
        if verdict == "nothing-to-judge" or (
            verdict == "damaged" and not any(row["judged"] for row in files[0]["checkers"])
        ):
            raise NothingToJudge(words)
        if verdict == "damaged":
            raise DamagedCapture(words)
        return [_record(Violation, found) for found in files[0]["found"]]
