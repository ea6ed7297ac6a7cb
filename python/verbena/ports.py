"""TCP ports that are free, and stay this process's own: pytest-xdist's workers, and other processes with this module,
get others.

Programs on nodes have the machine's TCP ports, whatever their fabric: two servers of perftest on one port are one too
many.
"""
# Tested by: python/tests/test_endings.py
from __future__ import annotations

import contextlib
import random
import socket
from typing import List, Tuple

PORTS = range(12000, 20000)  # below those that the kernel gives to clients


def reserve_port() -> Tuple[int, socket.socket]:
    """A port, and what reserves it until it is closed."""
    candidates: List[int] = random.sample(PORTS, len(PORTS))
    for port in candidates:
        reservation = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        with contextlib.suppress(OSError):
            reservation.bind(f"\0verbena-python-port/{port}")  # the kernel takes it back, however we end
            with socket.socket(socket.AF_INET) as probe:
                probe.bind(("0.0.0.0", port))
            return port, reservation
        reservation.close()
    raise OSError("no TCP port is free")
