"""ibacm on the nodes of a fabric that opensm manages: it joins its group, asks for paths, and finds names over the data path."""
import contextlib
import os
import re
import time

import harness
from harness import Failure
from managed import UP_S, Managed, PINGPONG

OPTIONS = """log_file {log}
log_level 2
lock_file {lock}
server_mode loop
server_port {port}
addr_prot acm
route_prot sa
loopback_prot none
support_ips_in_addr_cfg 1
"""
SERVICE, PORT = "127.0.0.1", 6125  # where ib_acme asks
LEFT = ("/run/ibacm.port", "/run/ibacm-tcp.port")  # what ibacm leaves where it may write


@contextlib.contextmanager
def nothing_left():
    before = [path for path in LEFT if os.path.lexists(path)]
    yield
    for path in LEFT:
        if path not in before and os.path.lexists(path):
            os.unlink(path)


def start(fabric, node):
    """ibacm, once it is a member of its group."""
    name, address = f"node{node + 1}", fabric.nodes[node].address
    paths = {what: os.path.join(fabric.folder.name, f"{name}.{what}") for what in ("log", "lock", "addr", "opts")}
    with open(paths["opts"], "w", encoding="utf-8") as file:
        file.write(OPTIONS.format(**paths, port=PORT + node))
    with open(paths["addr"], "w", encoding="utf-8") as file:
        file.write(f"{name} verbena0 1 default\n{address} verbena0 1 default\n")
    program = fabric.start(fabric.nodes[node], ["ibacm", "-P", "-A", paths["addr"], "-O", paths["opts"]], "ibacm")
    fabric.wait_for_log("join successful", log=f"{name}.log", programs=[program])
    fabric.wait_for_log("listen active", log=f"{name}.log", programs=[program])
    return program


def asked(fabric, *words):
    """What ib_acme on node 1 says. ibacm tells its client at once that it does not know yet, and asks."""
    argv = ["ib_acme", "-S", SERVICE, "-v", *words]
    return fabric.wait_for(0, argv, r"SA verification: success[\s\S]*return status 0x0")


def paths(context):
    with nothing_left(), Managed(context) as fabric:
        fabric.start_manager(2)
        start(fabric, 3)
        start(fabric, 0)
        own, other = fabric.lid(0), fabric.lid(3)
        for words in (["-f", "l", "-s", str(own), "-d", str(other)], ["-f", "n", "-s", "node1", "-d", "node4"],
                      ["-f", "i", "-s", fabric.nodes[0].address, "-d", fabric.nodes[3].address]):
            out = asked(fabric, *words)
            if not re.search(rf"dlid: {other}\s+slid: {own}\s", out):
                raise Failure(f"{words}: no path from LID {own} to {other}\n{out}")
        unknown = fabric.start(fabric.nodes[0], ["ib_acme", "-S", SERVICE, "-f", "l", "-s", str(own), "-d", "49000"], "ib_acme")
        if unknown.wait(time.monotonic() + UP_S) is None or "dlid" in unknown.out:
            raise Failure(f"a path to a LID that nobody has\n{unknown.describe()}")
        harness.pair(fabric, PINGPONG, PINGPONG + ["{server}"], nodes=[fabric.nodes[0], fabric.nodes[3]])


def tests(context):
    return [("ibacm finds LIDs, names and addresses", lambda: paths(context))]
