"""Whether a server listens: on a TCP port of the machine, or for rdma_cm connections on a node."""
# Tested by: python/tests/test_fabric.py
from __future__ import annotations

import os
from typing import Iterator, List

_LISTEN = "0A"  # in the kernel's tables of TCP sockets


def _rows(path: str) -> Iterator[List[str]]:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            for line in file:
                yield line.split()
    except OSError:  # no IPv6 here
        return


def listens_on_tcp(port: int) -> bool:
    """On any address of this machine."""
    return any(
        len(row) > 3 and row[1].endswith(f":{port:04X}") and row[3] == _LISTEN
        for table in ("/proc/net/tcp", "/proc/net/tcp6")
        for row in _rows(table)
    )


def listens_for_cm(fabric: str, address: str, port: int) -> bool:
    """A process of the node listens for rdma_cm connections to the port. Its name says so:
    verbena-cm/UID/FABRIC/ADDRESS/SERVICE/SLOT, the service ID in hexadecimal with the port at its end."""
    begin = f"@verbena-cm/{os.getuid()}/{fabric}/{address}/"
    for row in _rows("/proc/net/unix"):
        service, _, slot = row[-1][len(begin) :].partition("/") if row and row[-1].startswith(begin) else ("", "", "")
        if slot.isdigit() and service.partition(".")[0].endswith(f"{port:04x}"):
            return True
    return False
