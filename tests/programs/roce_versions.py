"""RoCE v1 beside RoCE v2: which GIDs a device has, and that programs go by the version of the one that they choose.

What is on the wire is judged by the independent check of ICRCs (roce_check.py) and by tshark. Over udp there is no RoCE v1, and that is
said. Over raw two network namespaces are made (network.py).
"""
import os
import re
import tempfile
import time

import captures
import harness
import network
import rdma_cm
import roce_check
from harness import Failure

V1, BOTH = ("--wire", "roce-v1"), ("--wire", "roce")
CONFIG = "/sys/kernel/config/rdma_cm/verbena0"
MODE = f"{CONFIG}/ports/1/default_roce_mode"
TOS = f"{CONFIG}/ports/1/default_roce_tos"
# With both versions each address of a port is there twice, the link-local one first, as on a ConnectX.
V1_OF_ADDRESS, V2_OF_ADDRESS = 2, 3


def pingpong(kind, index):
    return [f"ibv_{kind}_pingpong", "-g", str(index), "-p", "{port}", "-n", "50", "-c"]


def perftest(tool, index, *options):
    return [tool, "-F", "-p", "{port}", "-u", "{timeout}", "-n", "100", "-x", str(index), *options]


# Name, options of both nodes, program, whether it is RoCE v1, whether it survives loss.
RUNS = [
    ("rc pingpong, v1 alone", V1, pingpong("rc", 0), True, True),
    ("rc pingpong by the link-local address, v1 alone", V1, pingpong("rc", 1), True, True),
    ("ud pingpong, v1 alone", V1, pingpong("ud", 0), True, False),
    ("uc pingpong, v1 alone", V1, pingpong("uc", 0), True, False),
    ("ib_read_bw, v1 alone", V1, perftest("ib_read_bw", 0, "-s", "65536"), True, True),
    ("ib_atomic_bw, v1 alone", V1, perftest("ib_atomic_bw", 0), True, True),
    ("ib_send_bw UD, v1 alone", V1, perftest("ib_send_bw", 0, "-c", "UD", "-s", "1024"), True, False),
    ("rc pingpong, entry 0 of both", BOTH, pingpong("rc", 0), True, True),
    ("rc pingpong, v1 of both", BOTH, pingpong("rc", V1_OF_ADDRESS), True, True),
    ("rc pingpong, v2 of both", BOTH, pingpong("rc", V2_OF_ADDRESS), False, True),
    ("ud pingpong, v1 of both", BOTH, pingpong("ud", V1_OF_ADDRESS), True, False),
    ("ud pingpong, v2 of both", BOTH, pingpong("ud", V2_OF_ADDRESS), False, False),
    ("ib_write_bw -x, v1 of both", BOTH, perftest("ib_write_bw", V1_OF_ADDRESS, "-s", "65536"), True, True),
    ("ib_write_bw -x, v2 of both", BOTH, perftest("ib_write_bw", V2_OF_ADDRESS, "-s", "65536"), False, True),
]


def judge(path, is_v1, faults):
    """All packets are of one version, whole and right, and tshark says the same."""
    counts = roce_check.summary(path)
    if counts["roce"] == 0 or counts["roce"] != counts["packets"] or counts["wrong_icrc"]:
        raise Failure(f"of {counts['packets']} packets {counts['roce']} are RoCE, and {counts['wrong_icrc']} have a wrong ICRC")
    if counts["v1"] != (counts["roce"] if is_v1 else 0):
        raise Failure(f"{counts['v1']} of {counts['roce']} packets are RoCE v1")
    bad = captures.tshark(path, "-Y", f"_ws.malformed || _ws.expert.severity >= {captures.EXPERT_ERROR}")
    if bad:
        raise Failure("malformed to tshark\n" + "\n".join(bad[:10]))
    seen = captures.tshark(path, "-Y", "infiniband.bth && " + ("infiniband.grh" if is_v1 else "udp.dstport == 4791"))
    if len(seen) != counts["roce"]:
        raise Failure(f"tshark knows {len(seen)} of {counts['roce']} packets")
    if faults and not counts["comments"]:
        raise Failure("no packet was hit by a fault")


def runs(context, extra, argv, is_v1):
    faults = harness.survivable(context.faults, argv) + captures.CERTAIN if context.faults else ()
    with context.fabric() as fabric, tempfile.TemporaryDirectory() as place:
        paths = [os.path.join(place, name) for name in ("server.pcapng", "client.pcapng")]
        harness.pair(fabric, argv, argv + ["{server}"], faults=faults, captures=paths, extra=extra)
        for path in paths:
            judge(path, is_v1, faults)


def versions_that_differ_hear_nothing(context):
    """The program says so after its retries, as on hardware."""
    with context.fabric() as fabric:
        server, client = pingpong("rc", V1_OF_ADDRESS), pingpong("rc", V2_OF_ADDRESS) + ["{server}"]
        pair = harness.Pair(fabric, server, client, server_options={"extra": BOTH}, client_options={"extra": BOTH})
        if pair.client.wait(time.monotonic() + 30) in (None, 0) or "transport retry counter exceeded" not in pair.client.err:
            raise Failure(f"the client has not failed by its retries\n{pair.describe()}")


LISTING = r"""
at=/sys/class/infiniband/verbena0/ports/1
for i in $(ls -v $at/gids); do echo "$i $(cat $at/gids/$i) $(cat $at/gid_attrs/types/$i) $(cat $at/gid_attrs/ndevs/$i)"; done
"""
TABLES = {
    (): [("address", "RoCE v2"), ("link-local", "RoCE v2")],
    V1: [("address", "IB/RoCE v1"), ("link-local", "IB/RoCE v1")],
    BOTH: [("link-local", "IB/RoCE v1"), ("link-local", "RoCE v2"), ("address", "IB/RoCE v1"), ("address", "RoCE v2")],
}


def listings_agree(context, extra):
    """Files below /sys, and ibv_devinfo, which asks ibv_query_gid and ibv_query_gid_type."""
    with context.fabric(1) as fabric:
        node = fabric.nodes[0]
        tail = f"7f2f:5b{node.number:02x}"
        gids = {"address": f"0000:0000:0000:0000:0000:ffff:{tail}", "link-local": f"fe80:0000:0000:0000:0056:7fff:fe2f:5b{node.number:02x}"}
        listed = fabric.run(node, ["sh", "-c", LISTING], extra=extra)
        wanted = [f"{i} {gids[kind]} {version} verbena0" for i, (kind, version) in enumerate(TABLES[extra])]
        if listed.out.splitlines() != wanted:
            raise Failure(f"instead of {wanted}\n{listed.describe()}")
        info = fabric.run(node, ["ibv_devinfo", "-v"], extra=extra)
        found = re.findall(r"GID\[ *(\d+)\]:\s+(\S+), (\S+ \S+)", info.out)
        # It writes a GID of RoCE v1 in full, as of InfiniBand, and one of v2 as an IPv6 address.
        shown = {"address": f"::ffff:127.47.91.{node.number}", "link-local": f"fe80::56:7fff:fe2f:5b{node.number:02x}"}
        wanted = [(str(i), gids[kind] if version == "IB/RoCE v1" else shown[kind], version.removeprefix("IB/"))
                  for i, (kind, version) in enumerate(TABLES[extra])]
        if found != wanted:
            raise Failure(f"{found} instead of {wanted}\n{info.describe()}")


def set_by_configfs(fabric, node, shell, mode, extra):
    """As cma_roce_mode does: the folder is made, a word is written, the folder goes."""
    done = fabric.run(node, [shell, "-c", f'mkdir {CONFIG} && echo "{mode}" > {MODE} && cat {MODE} && rmdir {CONFIG} && ls /sys/kernel/config/rdma_cm'],
                      extra=extra)
    if done.out != mode + "\n":
        raise Failure(f"instead of {mode}\n{done.describe()}")


def rdma_cm_goes_by_the_mode(context):
    """RoCE v2 unless the administrator of the node that connects has said v1; the other end answers as it was asked."""
    with context.fabric() as fabric, tempfile.TemporaryDirectory() as place:
        client = fabric.nodes[1]
        rounds = [(None, False), (("sh", "IB/RoCE v1"), True), (("bash", "RoCE v2"), False), (("bash", "IB/RoCE v1"), True), (("sh", "RoCE v2"), False)]
        for number, (setting, is_v1) in enumerate(rounds):
            if setting:
                set_by_configfs(fabric, client, setting[0], setting[1], BOTH)
            path = os.path.join(place, f"{number}.pcapng")
            case = rdma_cm.RPING
            faults = case.loss if context.faults else ()
            server = rdma_cm.start_server(fabric, case, faults=faults, extra=BOTH)
            asker = rdma_cm.start_client(fabric, case, faults=faults, extra=BOTH, capture=path)
            for program in (asker, server):
                rdma_cm.require(program, 0, time.monotonic() + rdma_cm.TIMEOUT, also=[server, asker])
            judge(path, is_v1, ())


def configfs_refuses_what_the_kernel_refuses(context):
    script = f"""
mkdir {CONFIG} || exit 1
mkdir {CONFIG} 2>/dev/null && echo made twice
mkdir /sys/kernel/config/rdma_cm/mlx5_9 2>/dev/null && echo made without a device
stat -c %a {MODE}
for word in "RoCE v3" "IB/RoCE v1" ""; do (echo "$word" > {MODE}) 2>/dev/null && echo "took '$word'"; done
cat {MODE} {TOS}
echo 0x68 > {TOS} && cat {TOS}
(echo 256 > {TOS}) 2>/dev/null && echo took 256
(echo tos > {TOS}) 2>/dev/null && echo took a word
cat {TOS}
echo 0 > {TOS}
rmdir {CONFIG} || exit 1
test -e {MODE} && echo still there
exit 0
"""
    with context.fabric(1) as fabric:
        done = fabric.run(fabric.nodes[0], ["dash", "-c", script])
        if done.out.splitlines() != ["644", "RoCE v2", "0", "104", "104"]:
            raise Failure(done.describe())
        left = [name for name in os.listdir("/dev/shm") if fabric.name in name]
        if left:
            raise Failure(f"{left} is left in /dev/shm")


def tos_of_the_port_is_in_the_packets(context):
    with context.fabric() as fabric, tempfile.TemporaryDirectory() as place:
        client, path = fabric.nodes[1], os.path.join(place, "tos.pcapng")
        fabric.run(client, ["dash", "-c", f"mkdir {CONFIG}; echo 104 > {TOS}"])
        try:
            server = rdma_cm.start_server(fabric, rdma_cm.RPING)
            asker = rdma_cm.start_client(fabric, rdma_cm.RPING, capture=path)
            for program in (asker, server):
                rdma_cm.require(program, 0, time.monotonic() + rdma_cm.TIMEOUT, also=[server, asker])
        finally:
            fabric.run(client, ["dash", "-c", f"echo 0 > {TOS}; rmdir {CONFIG}"])
        if not captures.tshark(path, "-Y", "ip.dsfield == 0x68 && infiniband.bth"):
            raise Failure("no packet has the type of service")


def udp_says_that_it_cannot(context):
    with context.fabric(1) as fabric:
        for extra in (V1, BOTH, ("--nic", "wire=roce-v1")):
            program = fabric.start(fabric.nodes[0], ["true"], extra=extra)
            if program.wait(time.monotonic() + 20) != 2 or len(program.err.splitlines()) != 1 or "--link shm" not in program.err:
                raise Failure(f"no word that udp cannot carry it\n{program.describe()}")


def over_raw(context):
    """Both versions over a cable of the kernel's, and a member of a group on each node."""
    for extra, index, is_v1 in ((V1, 0, True), (BOTH, 0, True), (BOTH, 1, False)):
        for argv in (pingpong("rc", index), pingpong("ud", index)):
            if argv[0] == "ibv_ud_pingpong" and context.faults:
                continue
            with network.Network(context) as made, tempfile.TemporaryDirectory() as place:
                faults = harness.survivable(context.faults, argv) + captures.CERTAIN if context.faults else ()
                paths = [os.path.join(place, name) for name in ("server.pcapng", "client.pcapng")]
                options = [{"faults": faults, "capture": path, "extra": extra} for path in paths]
                network.pair(made, argv, *options)
                for path in paths:
                    judge(path, is_v1, faults)


def tests(context):
    if context.link == "udp":
        return [] if context.faults else [("udp says that it cannot carry v1", lambda: udp_says_that_it_cannot(context))]
    if context.link == "raw":
        if os.geteuid() != 0 and (reason := network.may_not(context)):
            return [(f"skipped: {reason}", lambda: None)]
        return [("both versions over raw", lambda: over_raw(context))]
    found = [(name, lambda row=row: runs(context, *row)) for name, *row, is_reliable in RUNS if is_reliable or not context.faults]
    found.append(("rdma_cm goes by the mode", lambda: rdma_cm_goes_by_the_mode(context)))
    if context.faults:
        return found
    return [*found,
            *((f"listings agree with {' '.join(extra) or 'nothing said'}", lambda extra=extra: listings_agree(context, extra)) for extra in TABLES),
            ("versions that differ hear nothing", lambda: versions_that_differ_hear_nothing(context)),
            ("configfs refuses what the kernel refuses", lambda: configfs_refuses_what_the_kernel_refuses(context)),
            ("tos of the port is in the packets", lambda: tos_of_the_port_is_in_the_packets(context))]
