"""rdma_cm on a fabric that opensm manages: paths and memberships of multicast groups are the subnet administrator's."""
import os
import re
import signal
import time

import captures
import harness
import rdma_cm
from harness import Failure
from managed import UP_S, Managed

# Five switches in a ring. The last adapter is slower than the others.
RING = """Switch 8 "S1"
[1] "H1"[1]  # 4xEDR
[3] "S2"[4]  # 4xEDR
Switch 8 "S2"
[1] "H2"[1]  # 4xEDR
[3] "S3"[4]  # 4xEDR
Switch 8 "S3"
[1] "H3"[1]  # 4xEDR
[3] "S4"[4]  # 4xEDR
Switch 8 "S4"
[1] "H4"[1]  # 4xSDR
[3] "S5"[4]  # 4xEDR
Switch 8 "S5"
[3] "S1"[4]  # 4xEDR
Hca 1 "H1"
Hca 1 "H2"
Hca 1 "H3"
Hca 1 "H4"
"""
GROUP, MGID = "239.1.2.3", "ff12:4001:ffff::f01:203"
MESSAGES = 10  # that mckey sends


def ring(context):
    return Managed(context, RING)


def path_of(fabric, source, destination):
    """What saquery says of the path between two nodes."""
    out = fabric.says(source, "saquery", "PR", "--pkey", "0xffff", "--slid", str(fabric.lid(source)), "--dlid", str(fabric.lid(destination)))
    return {name: int(re.search(rf"^\s+{name}\.+(\w+)$", out, re.M).group(1), 0) for name in ("slid", "dlid", "sl", "mtu", "rate")}


def listening(fabric, node, case):
    """The server of a case on a node, which is not the first one."""
    argv = [word.replace("{server}", fabric.nodes[node].address) for word in case.server]
    server = fabric.start(fabric.nodes[node], argv, "server")
    rdma_cm.wait_for_listener(fabric, fabric.nodes[node], case, server)
    return server


def connected(fabric, case, client, server, **options):
    """Both ends of a case have ended well."""
    programs = [listening(fabric, server, case)]
    argv = [word.replace("{server}", fabric.nodes[server].address) for word in case.client]
    programs.insert(0, fabric.start(fabric.nodes[client], argv, "client", **options))
    for program in programs:
        if program.wait(time.monotonic() + UP_S) != 0:
            raise Failure(f"{case.name}\n{''.join(one.describe() for one in programs)}\n{fabric.log_text()}")
    if not re.search(case.says, programs[0].out):
        raise Failure(f"{case.name}\n{programs[0].describe()}")


SERVICE_LEVEL = 5


def service_levels(context):
    """Messages of the connection manager, requests, their answers and datagrams have the SL and the LIDs of the manager's path."""
    with ring(context) as fabric:
        partitions = os.path.join(fabric.folder.name, "partitions.conf")
        with open(partitions, "w", encoding="utf-8") as file:
            file.write(f"Default=0x7fff, ipoib, sl={SERVICE_LEVEL} : ALL=full ;\n")
        fabric.start_manager(options=f"-Q -P {partitions}")
        path = path_of(fabric, 0, 2)
        if path["sl"] != SERVICE_LEVEL:
            raise Failure(f"opensm gives out {path}")
        udaddy = next(case for case in rdma_cm.CASES if case.name == "udaddy")
        for case in (rdma_cm.RPING, udaddy):
            capture = os.path.join(fabric.folder.name, f"{case.name}.pcapng")
            connected(fabric, case, 0, 2, capture=capture)
            fields = [word for name in ("slid", "dlid", "sl") for word in ("-e", f"infiniband.lrh.{name}")]
            seen = {tuple(int(value, 0) for value in line.split("\t")) for line in captures.tshark(capture, "-T", "fields", *fields)}
            wanted = {(path["slid"], path["dlid"], path["sl"]), (path["dlid"], path["slid"], path["sl"])}
            if seen != wanted:
                raise Failure(f"{case.name}: packets have {seen} instead of {wanted}")


def a_lane_for_each(context):
    """dfsssp draws a service level for each path by chance; both directions of a connection have the one that was drawn."""
    with ring(context) as fabric:
        fabric.start_manager(options="-R dfsssp")
        drawn = set()
        for _ in range(8):
            capture = os.path.join(fabric.folder.name, "rping.pcapng")
            connected(fabric, rdma_cm.RPING, 0, 2, capture=capture)
            levels = set(captures.tshark(capture, "-T", "fields", "-e", "infiniband.lrh.sl"))
            if len(levels) != 1:
                raise Failure(f"packets of one connection have the service levels {levels}")
            drawn |= levels
        if len(drawn) == 1:
            raise Failure(f"eight connections have the service level {drawn}")


def no_manager(context):
    """The node of a manager that has ended refuses to say a path, which is a route error. When there is a manager again, there is a path."""
    with ring(context) as fabric:
        manager = fabric.start_manager()
        listener = listening(fabric, 2, rdma_cm.RPING)
        manager.signal_group(signal.SIGKILL)
        manager.wait(time.monotonic() + UP_S)
        argv = ["rping", "-c", "-a", fabric.nodes[2].address, "-C", "1"]
        lost = fabric.start(fabric.nodes[0], argv, "client")
        if lost.wait(time.monotonic() + UP_S) in (None, 0) or "RDMA_CM_EVENT_ROUTE_ERROR, error -22" not in lost.out + lost.err:
            raise Failure(f"a path without a manager\n{lost.describe()}")
        fabric.start_manager(3, log="second.log")
        fabric.wait_for(0, ["sminfo"], rf"sm lid {fabric.lid(3)} ")
        found = fabric.start(fabric.nodes[0], argv[:-1] + ["10"], "client")
        if found.wait(time.monotonic() + UP_S) != 0:
            raise Failure(f"no path by the second manager\n{found.describe()}{listener.describe()}\n{fabric.log_text('second.log')}")


def groups_of(fabric):
    return fabric.says(0, "saquery", "-g").count(MGID)


def member(fabric, node, *options):
    """mckey, once it says that it has joined, or cannot."""
    program = fabric.start(fabric.nodes[node], ["stdbuf", "-oL", "mckey", "-m", GROUP, "-b", fabric.nodes[node].address, *options], "mckey")
    harness.wait_until(lambda: re.search(r"joined dgid|MULTICAST_ERROR", program.out), time.monotonic() + UP_S, "mckey has joined", [program])
    return program


def received(fabric, node):
    out = fabric.says(node, "perfquery", "-x", str(fabric.lid(node)), "1")
    return int(re.search(r"PortMulticastRcvPkts:\.+(\d+)$", out, re.M).group(1))


def await_tree(fabric, mlid, ways):
    """opensm answers those who join before it has programmed the switches; what is sent before that is lost, on hardware as well.
    `ways`: how many ports each switch, by its route from the first node, sends the group's packets to."""
    for route, ports in ways.items():
        fabric.wait_for(0, ["ibroute", "-M", "-D", route], rf"^{mlid}(\s+x){{{ports}}}\s*$")


def groups(context):
    """opensm leads a group's packets to its members, and to nobody else. Whoever ends, or is killed, is none any more."""
    with ring(context) as fabric:
        fabric.start_manager()
        members = [member(fabric, node) for node in (0, 1, 2)]
        joined = re.search(rf"joined dgid: {MGID} mlid (0xc0\w+)", members[0].out)
        if not joined:
            raise Failure(members[0].describe())
        await_tree(fabric, joined.group(1), {"0,1": 2, "0,1,3": 3, "0,1,3,3": 2})
        # A group's packets are as fast as those of its first member.
        slow = member(fabric, 3)
        if "RDMA_CM_EVENT_MULTICAST_ERROR, error: -22" not in slow.out:
            raise Failure(f"a port that is too slow has joined\n{slow.describe()}")
        sender = member(fabric, 0, "-s", "-C", str(MESSAGES))
        for program in (sender, *members):
            if program.wait(time.monotonic() + UP_S) != 0:
                raise Failure(f"mckey\n{''.join(one.describe() for one in (sender, *members))}")
        counts = [received(fabric, node) for node in (1, 2, 3)]
        if counts != [MESSAGES, MESSAGES, 0]:
            raise Failure(f"members have received {counts[:2]} packets, the other one {counts[2]}")
        harness.wait_until(lambda: groups_of(fabric) == 0, time.monotonic() + UP_S, "the group is gone with its members", [])
        killed = member(fabric, 1)
        if groups_of(fabric) != 1:
            raise Failure("there is no group")
        killed.signal_group(signal.SIGKILL)
        killed.wait(time.monotonic() + UP_S)
        harness.wait_until(lambda: groups_of(fabric) == 0, time.monotonic() + UP_S, "the killed member is none any more", [])


def hears_gids(fabric, node):
    with open(fabric.nodes[node].unix_sockets, encoding="ascii", errors="replace") as table:
        return re.search(rf"@verbena-cm/\d+/{fabric.name}/{fabric.nodes[node].address}/\w+\.ib/", table.read()) is not None


def by_gid(context):
    """Programs that name ports by GIDs (AF_IB): connections, datagrams and rsockets. A GID that nobody has is no path's."""
    with ring(context) as fabric:
        fabric.start_manager()
        gids = [fabric.says(node, "cat", "/sys/class/infiniband/verbena0/ports/1/gids/0").strip() for node in (0, 2)]
        for tool, options, says in (("ucmatose", [], "test complete"), ("udaddy", ["-C", "5"], "test complete"), ("rstream", ["-S", "4096", "-C", "100"], "^custom")):
            server = fabric.start(fabric.nodes[0], [tool, "-f", "gid", "-b", gids[0], *options], "server")
            harness.wait_until(lambda: hears_gids(fabric, 0), time.monotonic() + UP_S, "it listens", [server])
            client = fabric.run(fabric.nodes[2], [tool, "-f", "gid", "-s", gids[0], "-b", gids[1], *options])
            if not re.search(says, client.out, re.M) or (tool != "rstream" and server.wait(time.monotonic() + UP_S) != 0):
                raise Failure(f"{tool}\n{client.describe()}{server.describe()}")
            server.close()
        lost = fabric.start(fabric.nodes[2], ["ucmatose", "-f", "gid", "-s", gids[0][:-4] + "ffff"], "client")
        if lost.wait(time.monotonic() + UP_S) in (None, 0) or "RDMA_CM_EVENT_ROUTE_ERROR, error: -22" not in lost.out:
            raise Failure(f"a path to nobody\n{lost.describe()}")


def tests(context):
    return [("programs name each other by GIDs", lambda: by_gid(context)),
            ("paths have the manager's service level", lambda: service_levels(context)),
            ("dfsssp spreads connections over lanes", lambda: a_lane_for_each(context)),
            ("a path without a manager is an error", lambda: no_manager(context)),
            ("a group's packets reach its members alone", lambda: groups(context))]
