"""Verbena from Python: programs on emulated RDMA NICs, faults, counters, captures and scenarios.

    from verbena import Fabric, run

    with Fabric(nodes=3, topology="ring") as fabric:
        ...

Needs nothing but Python 3.9 and the command `verbena`. docs/python.md has examples; the pytest plugin is
pytest_plugin.py.
"""
from .capture import Capture, Conversation, End, Packet, Violation
from .command import find_command
from .counters import Counters
from .errors import (
    CommandError,
    CommandNotFound,
    DamagedCapture,
    NotHeld,
    NothingToJudge,
    ProgramError,
    RemoteError,
    VerbenaError,
)
from .fabric import Fabric
from .fault import Fault
from .node import Node, Ranks
from .program import Program
from .scenario import Expectation, ScenarioRun, run
from .settings import Ecn

__version__ = "0.1.0"

__all__ = [
    "Capture",
    "CommandError",
    "CommandNotFound",
    "Conversation",
    "Counters",
    "DamagedCapture",
    "Ecn",
    "End",
    "Expectation",
    "Fabric",
    "Fault",
    "Node",
    "NotHeld",
    "NothingToJudge",
    "Packet",
    "Program",
    "ProgramError",
    "Ranks",
    "RemoteError",
    "ScenarioRun",
    "VerbenaError",
    "Violation",
    "__version__",
    "find_command",
    "run",
]
