"""GIDs and P_Keys that a subnet manager gives to ports: a subnet prefix that is not the default one, alias GUIDs, partitions of names."""
import os
import re
import signal
import time

import captures
import harness
import rdma_cm
from harness import Failure
from managed import UP_S, Managed
from managed_cm import RING, connected, hears_gids, listening
from rdma_cm_endings import PORT, cm_peer

PREFIX, PREFIX_TEXT = "0xfec0000000000001", "fec0:0000:0000:0001"
ALIAS, ALIAS_TEXT = "0x1122334455667788", "fec0::1:1122:3344:5566:7788"

# Asks the administrator for an alias GUID at a place of a port's table (GUIDInfoRecord, IBA volume 1, 15.2.5.18). Attributes stand 56 octets
# behind the start of a datagram.
ASKER = r"""
import ctypes, struct, sys
umad = ctypes.CDLL("libibumad.so.3")
SA, SET, GUID_INFO_RECORD, BYTES = 3, 2, 0x30, 256
manager, lid, place, guid = (int(word, 0) for word in sys.argv[1:])
umad.umad_init()
port = umad.umad_open_port(b"verbena0", 1)
agent = umad.umad_register(port, SA, 2, 0, (ctypes.c_long * 2)(0, 0))
buffer = ctypes.create_string_buffer(umad.umad_size() + BYTES)
octets = (ctypes.c_ubyte * BYTES).from_buffer(buffer, umad.umad_size())
header = struct.pack(">BBBBHHQHHI", 1, SA, 2, SET, 0, 0, 1, GUID_INFO_RECORD, 0, 0)
mask = 1 | 2 | 1 << (4 + place)  # the LID, the block, the GUID
record = struct.pack(">HBBI8Q", lid, 0, 0, 0, *(guid if i == place else 0 for i in range(8)))
octets[:] = (header + bytes(24) + struct.pack(">Q", mask) + record).ljust(BYTES, bytes(1))
umad.umad_set_addr(buffer, manager, 1, 0, 0x80010000)
assert umad.umad_send(port, agent, buffer, BYTES, 1000, 3) == 0
length = ctypes.c_int(BYTES)
assert umad.umad_recv(port, buffer, ctypes.byref(length), -1) >= 0
print("status", struct.unpack_from(">H", bytes(octets), 4)[0])
"""


def gids_of(fabric, node):
    return re.findall(r"^\s*GID\[\s*(\d+)\]:\s*(\S+)", fabric.says(node, "ibv_devinfo", "-v"), re.M)


def by_name(fabric, tool, gid):
    """The server listens at the GID on the first node."""
    server = fabric.start(fabric.nodes[0], [tool, "-f", "gid", "-b", gid], "server")
    harness.wait_until(lambda: hears_gids(fabric, 0), time.monotonic() + UP_S, "it listens", [server])
    client = fabric.run(fabric.nodes[2], [tool, "-f", "gid", "-s", gid])
    if "test complete" not in client.out or server.wait(time.monotonic() + UP_S) != 0:
        raise Failure(f"{tool}\n{client.describe()}{server.describe()}")


def another_prefix(context):
    with Managed(context, RING, "net.1") as fabric:  # as ibsim calls its examples
        fabric.start_manager(settings=f"subnet_prefix {PREFIX}\n")
        fabric.wait_for(2, ["ibstat"], r"State: Active")
        (place, gid), = gids_of(fabric, 2)
        file = fabric.says(2, "cat", "/sys/class/infiniband/verbena0/ports/1/gids/0").strip()
        if place != "0" or not gid.startswith(PREFIX_TEXT) or file != gid or not gids_of(fabric, 0)[0][1].startswith(PREFIX_TEXT):
            raise Failure(f"the GID table has {place}: {gid}, its file {file}")
        # With a GRH, by IP address, and by GID.
        argv = ["ibv_rc_pingpong", "-g", "0", "-n", "100", "-p", "{port}"]
        done = harness.Pair(fabric, argv, argv + ["{server}"], [fabric.nodes[0], fabric.nodes[2]]).finish(UP_S)
        if f"GID {PREFIX_TEXT[:4]}::1:" not in done.client.out:
            raise Failure(done.describe())
        connected(fabric, rdma_cm.RPING, 0, 2)
        by_name(fabric, "ucmatose", gids_of(fabric, 0)[0][1])
        # Whoever is killed is missed, as under the default prefix.
        server = listening(fabric, 2, rdma_cm.RPING)
        client = fabric.start(fabric.nodes[0], ["rping", "-c", "-v", "-a", fabric.nodes[2].address, "-C", "1000000"], "client")
        harness.wait_until(lambda: "ping data" in client.out, time.monotonic() + UP_S, "they are connected", [client, server])
        server.signal_group(signal.SIGKILL)
        server.wait(time.monotonic() + UP_S)
        if client.wait(time.monotonic() + UP_S) is None or "DISCONNECT EVENT" not in client.out + client.err:
            raise Failure(client.describe())


def alias_guids(context):
    with Managed(context, RING) as fabric:
        fabric.start_manager(settings=f"subnet_prefix {PREFIX}\n")
        fabric.wait_for(0, ["ibstat"], r"State: Active")
        path = os.path.join(fabric.folder.name, "asker.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(ASKER)
        watcher = fabric.start(fabric.nodes[0], ["stdbuf", "-oL", "ibv_asyncwatch"], "watcher")
        harness.wait_until(lambda: "async event FD" in watcher.out, time.monotonic() + UP_S, "it watches", [watcher])
        said = fabric.says(0, "python3", path, str(fabric.lid(0)), str(fabric.lid(0)), "3", ALIAS)
        if said.strip() != "status 0":
            raise Failure(said)
        harness.wait_until(lambda: re.search("IBV_EVENT_GID_CHANGE", watcher.out), time.monotonic() + UP_S, "the event", [watcher])
        found = gids_of(fabric, 0)
        if [place for place, _ in found] != ["0", "3"] or not found[1][1].endswith("1122:3344:5566:7788"):
            raise Failure(f"the GID table has {found}")
        fabric.expect(0, ["smpquery", "guidinfo", str(fabric.lid(0))], r"0x1122334455667788")
        argv = ["ibv_rc_pingpong", "-n", "100", "-p", "{port}", "-g"]
        done = harness.Pair(fabric, argv + ["3"], argv + ["0", "{server}"], [fabric.nodes[0], fabric.nodes[2]]).finish(UP_S)
        if f"remote address: LID 0x{fabric.lid(0):04x}" not in done.client.out or ALIAS_TEXT not in done.client.out:
            raise Failure(done.describe())
        by_name(fabric, "ucmatose", ALIAS_TEXT)
        by_name(fabric, "udaddy", ALIAS_TEXT)


LIMITED, OTHER = "0x7fff", "0x8005"


def pkeys_of_names(context):
    """The P_Key of a name is that of its path, of the messages and of the QPs. Two limited members of a partition have no path in it."""
    with Managed(context, RING) as fabric:
        partitions = os.path.join(fabric.folder.name, "partitions.conf")
        with open(partitions, "w", encoding="utf-8") as file:
            file.write("Default=0x7fff, ipoib : ALL=limited, SELF=full ;\nOther=0x0005 : ALL=full ;\n")
        fabric.start_manager(3, options=f"-P {partitions}")
        for node in (0, 2):
            fabric.wait_for(node, ["sh", "-c", "cd /sys/class/infiniband/verbena0/ports/1/pkeys; echo $(cat *)"], r"(?=.*0x7fff)(?=.*0x8005)")
        gid = fabric.says(0, "cat", "/sys/class/infiniband/verbena0/ports/1/gids/0").strip()
        server = fabric.start(fabric.nodes[0], [cm_peer(context), "serve", PORT, "accept", f"{gid}/{OTHER}"], "server")
        harness.wait_until(lambda: "listening" in server.out, time.monotonic() + UP_S, "it listens", [server])
        capture = os.path.join(fabric.folder.name, "ask.pcapng")
        client = fabric.start(fabric.nodes[2], [cm_peer(context), "ask", f"{gid}/{OTHER}", PORT], "client", capture=capture)
        harness.wait_until(lambda: all("P_Key" in one.out and "ESTABLISHED" in one.out for one in (client, server)), time.monotonic() + UP_S,
                           "both are told that they are connected", [client, server])
        server.signal_group(signal.SIGKILL)
        if client.wait(time.monotonic() + UP_S) != 0 or any(f"P_Key {OTHER}" not in one.out for one in (client, server)):
            raise Failure(f"{client.describe()}{server.describe()}")
        seen = set(captures.tshark(capture, "-T", "fields", "-e", "infiniband.bth.p_key", "-e", "infiniband.cm.req.pkey"))
        if {int(pkey, 0) for words in seen for pkey in words.split("\t") if pkey} != {int(OTHER, 0)} or not any(all(words.split("\t")) for words in seen):
            raise Failure(f"P_Keys of packets: {seen}")
        refused = fabric.start(fabric.nodes[2], [cm_peer(context), "ask", f"{gid}/{LIMITED}", PORT], "refused")
        if refused.wait(time.monotonic() + UP_S) is None or "ROUTE_ERROR -22" not in refused.out:
            raise Failure(f"limited members have a path\n{refused.describe()}")
        unknown = fabric.start(fabric.nodes[2], [cm_peer(context), "ask", f"{gid}/0x8006", PORT], "unknown")
        if unknown.wait(time.monotonic() + UP_S) != 2 or "No such device" not in unknown.err:
            raise Failure(f"a P_Key that the port does not have\n{unknown.describe()}")


def tests(context):
    return [("ports have the subnet's prefix in their GIDs", lambda: another_prefix(context)),
            ("names have the P_Key of their connections", lambda: pkeys_of_names(context)),
            ("ports have the alias GUIDs that are asked for", lambda: alias_guids(context))]
