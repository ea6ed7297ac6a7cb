"""How fast connections are set up through rdma_cm: cmtime of the distribution, 1,000 connections between two processes.

cmtime goes step by step with all of them (IDs, addresses, routes, QPs, connecting), so the sum of its steps is the time
that 1,000 connections take which are made at once.
"""
import os
import re
import time

import harness
from processes import CLIENT_PIN, SERVER_PIN, TIMEOUT_S

CONNECTIONS = 1000
SERVICE = 0x106 << 16 | 7471  # cmtime's port of RDMA_PS_TCP
STEPS = ("create id", "resolve addr", "resolve route", "create qp", "connect")


def set_up(bench, link):
    """Connections made a second, and how many can be ended."""
    with harness.Fabric(bench.verbena, link, 2) as fabric:
        server, client = fabric.nodes
        listening = fabric.start(server, ["cmtime", "-c", str(CONNECTIONS)], "server", prefix=SERVER_PIN)
        name = f"@verbena-cm/{os.geteuid()}/{fabric.name}/{server.address}/{SERVICE:x}/"

        def listens():
            with open("/proc/net/unix", encoding="ascii", errors="replace") as table:
                return name in table.read()
        harness.wait_until(listens, time.monotonic() + TIMEOUT_S, "cmtime listens", [listening])
        program = fabric.run(client, ["cmtime", "-s", server.address, "-c", str(CONNECTIONS)], TIMEOUT_S, prefix=CLIENT_PIN)
        out = program.out
    took_ms = {step: float(total) for step, total in re.findall(r"(?m)^([a-z ]+?) *: +([\d.]+)", out)}
    return {"per_second": CONNECTIONS / sum(took_ms[step] for step in STEPS) * 1000,
            "ended_per_second": CONNECTIONS / took_ms["disconnect"] * 1000}
