"""InfiniBand: programs on ports with LIDs, which send packets with an LRH.

What is on the wire is judged by tshark, from captures in records of ERF: that it finds each packet whole, from the LID of one node to that of
the other, with a GRH where the program wants one. RoCE's links over sockets cannot carry it, and that is said.
"""
import os
import re
import subprocess
import tempfile
import time

import captures
import harness
import rdma_cm
from harness import Failure

WIRE = ("--wire", "infiniband")


def pingpong(kind, *options):
    return [f"ibv_{kind}_pingpong", "-p", "{port}", "-n", "50", *options]


def perftest(tool, *options):
    return [tool, "-F", "-p", "{port}", "-u", "{timeout}", "-n", "100", *options]


# Name, program, whether its packets have a GRH, whether it survives loss.
RUNS = [
    ("rc pingpong", pingpong("rc", "-c"), False, True),
    ("rc pingpong with a GRH", pingpong("rc", "-c", "-g", "0"), True, True),
    ("rc pingpong on a service level", pingpong("rc", "-c", "-l", "3"), False, True),
    ("uc pingpong", pingpong("uc", "-c"), False, False),
    ("ud pingpong", pingpong("ud", "-c"), False, False),
    ("ud pingpong with a GRH", pingpong("ud", "-c", "-g", "0"), True, False),
    ("srq pingpong", pingpong("srq"), False, False),  # each end counts over all QPs, and leaves while another QP's last packet may be lost
    ("srq pingpong on one QP", pingpong("srq", "-q", "1"), False, True),
    ("xsrq pingpong", ["ibv_xsrq_pingpong", "-p", "{port}", "-n", "50"], False, True),
    ("ib_write_bw", perftest("ib_write_bw", "-s", "65536"), False, True),
    ("ib_read_bw with a GRH", perftest("ib_read_bw", "-x", "0", "-s", "65536"), True, True),
    ("ib_atomic_bw", perftest("ib_atomic_bw"), False, True),
    ("ib_send_bw UD", perftest("ib_send_bw", "-c", "UD", "-s", "1024"), False, False),
]


def judge(verbena, path, lids, has_grh):
    """tshark knows each packet, finds nothing wrong with any, and reads these LIDs."""
    bad = captures.tshark(path, "-Y", f"_ws.malformed || _ws.expert.severity >= {captures.EXPERT_ERROR}")
    if bad:
        raise Failure("malformed to tshark\n" + "\n".join(bad[:10]))
    lines = captures.tshark(path, "-T", "fields", "-e", "infiniband.lrh.slid", "-e", "infiniband.lrh.dlid", "-e", "infiniband.lrh.lnh",
                            "-e", "infiniband.bth.opcode")
    if not lines:
        raise Failure("the capture has no packets")
    for line in lines:
        source, destination, next_header, opcode = (line.split("\t") + [""] * 4)[:4]
        if {int(source, 0), int(destination, 0)} - lids or int(next_header, 0) != (3 if has_grh else 2) or not opcode:
            raise Failure(f"a packet from {source} to {destination}, next header {next_header}, opcode {opcode}")
    checked = subprocess.run([verbena, "check", path], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
    if checked.returncode != 0:
        raise Failure(f"verbena check says {checked.returncode}\n{checked.stdout}{checked.stderr}")


def runs(context, argv, has_grh):
    faults = harness.survivable(context.faults, argv) if context.faults else ()
    with context.fabric() as fabric, tempfile.TemporaryDirectory() as place:
        paths = [os.path.join(place, name) for name in ("server.pcapng", "client.pcapng")]
        harness.pair(fabric, argv, argv + ["{server}"], faults=faults, captures=paths, extra=WIRE)
        for path in paths:
            judge(context.verbena, path, {node.number for node in fabric.nodes}, has_grh)


LISTING = r"""
at=/sys/class/infiniband/verbena0/ports/1
for name in link_layer lid lid_mask_count sm_lid sm_sl state phys_state rate cap_mask pkeys/0 pkeys/127 gids/0 gid_attrs/types/0; do echo "$name $(cat $at/$name)"; done
ls $at/gids $at/gid_attrs/ndevs
"""


def listings_agree(context):
    """Files below /sys, ibv_devinfo and ibstat say the same."""
    with context.fabric(1) as fabric:
        node = fabric.nodes[0]
        listed = fabric.run(node, ["sh", "-c", LISTING], extra=WIRE)
        number, tail = node.number, f"{node.number:02x}"
        wanted = ["link_layer InfiniBand", f"lid {number:#x}", "lid_mask_count 0", "sm_lid 0xbfff", "sm_sl 0", "state 4: ACTIVE", "phys_state 5: LinkUp", "rate 100 Gb/sec (4X EDR)",
                  "cap_mask 0x02410868", "pkeys/0 0xffff", "pkeys/127 0x0000", f"gids/0 fe80:0000:0000:0000:0056:7fff:fe2f:5b{tail}", "gid_attrs/types/0 IB/RoCE v1"]
        lines = listed.out.splitlines()
        if lines[:len(wanted)] != wanted or "0" not in lines[len(wanted):]:
            raise Failure(f"instead of {wanted}\n{listed.describe()}")
        info = fabric.run(node, ["ibv_devinfo", "-v"], extra=WIRE)
        for pattern in (r"link_layer:\s+InfiniBand", rf"port_lid:\s+{number}\n", r"sm_lid:\s+49151", r"port_lmc:\s+0x00", r"state:\s+PORT_ACTIVE",
                        rf"GID\[\s*0\]:\s+fe80:0000:0000:0000:0056:7fff:fe2f:5b{tail}"):
            if not re.search(pattern, info.out):
                raise Failure(f"ibv_devinfo without {pattern}\n{info.describe()}")


def sockets_carry_none(context):
    with context.fabric(1) as fabric:
        program = fabric.start(fabric.nodes[0], ["true"], extra=WIRE)
        if program.wait(time.monotonic() + 20) != 2 or "InfiniBand is emulated over shared memory alone" not in program.err:
            raise Failure(f"no word that {context.link} cannot carry it\n{program.describe()}")


def rdma_cm_goes_by_lid(context, case):
    with context.fabric() as fabric, tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, "client.pcapng")
        faults = case.loss if context.faults else ()
        server = rdma_cm.start_server(fabric, case, faults=faults, extra=WIRE)
        asker = rdma_cm.start_client(fabric, case, faults=faults, extra=WIRE, capture=path)
        for program in (asker, server):
            rdma_cm.require(program, 0, time.monotonic() + rdma_cm.TIMEOUT, also=[server, asker])
        lines = captures.tshark(path, "-T", "fields", "-e", "infiniband.cm.req.prim_locallid", "-e", "infiniband.cm.req.prim_remotelid", "-Y",
                                "infiniband.cm.req.prim_locallid")
        number = {node.number for node in fabric.nodes}
        if not lines or {int(value, 0) for value in lines[0].split("\t")} != number:
            raise Failure(f"REQ names the LIDs {lines[:1]}")


def tests(context):
    if context.link == "udp":
        return [] if context.faults else [("udp says that it cannot carry it", lambda: sockets_carry_none(context))]
    found = [(name, lambda row=row: runs(context, *row)) for name, *row, is_reliable in RUNS if is_reliable or not context.faults]
    found.append(("rdma_cm goes by LID", lambda: rdma_cm_goes_by_lid(context, rdma_cm.RPING)))
    if context.faults:
        return found
    return [*found, ("listings agree", lambda: listings_agree(context))]
