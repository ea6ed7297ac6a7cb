"""What happens to a fabric that opensm manages while programs use it: cables die, ports flap, bits are damaged, managers are killed."""
import os
import re
import signal
import socket
import time

import bad_luck
import harness
import subnet
import waiting
from harness import Failure
from managed import TOPOLOGY, UP_S, Managed, carried, ud_peer
from managed_cm import path_of

# Two leaves below two spines: one may do without the other.
LEAF_SPINE = """Switch 8 "L1"
[1] "H1"[1]
[2] "H2"[1]
[5] "C1"[1]
[6] "C2"[1]
Switch 8 "L2"
[1] "H3"[1]
[2] "H4"[1]
[5] "C1"[2]
[6] "C2"[2]
Switch 8 "C1"
Switch 8 "C2"
Hca 1 "H1"
Hca 1 "H2"
Hca 1 "H3"
Hca 1 "H4"
"""
SECONDS = 5  # of a transfer
# Five switches in a ring, each with a node, whose trunks are slower than the nodes' cables.
RING = """name: ring-of-lanes
clock: real
wire: infiniband
topology: {shape: ring, hosts: 5, managed: true, link: {rate: 400Mbps}, trunk: {rate: 100Mbps}, qos: {lane-buffer: 16KiB}}
workloads: [{name: nothing, node: n1, exec: "true"}]
"""


def transfer(fabric, first, second):
    pair = bad_luck.transfer(fabric, SECONDS, nodes=[fabric.nodes[first], fabric.nodes[second]])
    bad_luck.wait_until_busy(pair, pair.client)
    return pair


def busiest(fabric, links):
    """The one of these cables, in the direction that is named, that has carried most."""
    return max(links, key=lambda link: carried(fabric, link))


def rerouted(context, engine, topology, ways, options="", prepare=None):
    """The cable of a transfer dies, or the spine: without a cable opensm finds no fat tree. The engine leads around it, not another one in its
    place, and the transfer ends well."""
    with Managed(context, topology) as fabric:
        if prepare:
            prepare(fabric.folder.name)
        fabric.start_manager(options=f"-R {engine} {options.format(folder=fabric.folder.name)}")
        tables = f"{engine} tables configured on all switches"
        fabric.wait_for_log(tables)
        far = 1 if engine == "torus-2QoS" else 2
        pair = transfer(fabric, 0, far)
        used = busiest(fabric, ways)
        if carried(fabric, used) < 100:
            raise Failure(f"no cable of {ways} carries the transfer: {fabric.stat()['links']}")
        times = fabric.log_text().count(tables)
        if engine == "ftree":
            fabric.fault("switch-crash", used.partition("->")[2])
        else:
            fabric.fault("link-down", used.replace("->", "-"))
        fabric.wait_for_log(tables, times + 1)
        pair.finish(60)
        others = set(re.findall(r"(\S+) tables configured", fabric.log_text())) - {engine}
        if others:
            raise Failure(f"{others} in the place of {engine}\n{fabric.log_text()}")


def engines(context):
    up = ("L2->C1", "L2->C2")  # the client, on the second leaf, writes
    torus, told = subnet.torus()

    def tell(folder):
        with open(os.path.join(folder, "torus.conf"), "w", encoding="utf-8") as file:
            file.write(told)
    rows = [(engine, LEAF_SPINE, up, "", None) for engine in ("minhop", "updn", "ftree", "dfsssp")]
    rows.append(("torus-2QoS", torus, ("S01->S00",), "-Q --torus_config {folder}/torus.conf", tell))
    return [(f"a transfer goes on where {row[0]} reroutes it", lambda row=row: rerouted(context, *row)) for row in rows]


def standby(context):
    """The master is killed in the middle of a transfer, which does not notice. The standby then leads around a cable that dies."""
    with Managed(context, LEAF_SPINE) as fabric:
        first = fabric.start_manager(0)
        words = f"OSM_TMP_DIR={fabric.folder.name} OSM_CACHE_DIR={fabric.folder.name} exec opensm -F {fabric.folder.name}/opensm.conf"
        fabric.start(fabric.nodes[3], ["sh", "-c", f"{words} -f {fabric.folder.name}/second.log"], "opensm")
        fabric.wait_for_log("Entering STANDBY state", log="second.log")
        pair = transfer(fabric, 0, 2)
        used = busiest(fabric, ("L2->C1", "L2->C2"))
        first.signal_group(signal.SIGKILL)
        fabric.wait_for_log("SUBNET UP", log="second.log")
        fabric.fault("link-down", used.replace("->", "-"))
        fabric.wait_for_log("SUBNET UP", 2, log="second.log")
        pair.finish(60)


def flaps(context):
    """opensm hears of each time, and ibqueryerrors counts them, at both ends and nowhere else."""
    with Managed(context) as fabric:
        fabric.start_manager()
        for times in (1, 2, 3):
            fabric.fault("link-down", "H4-S2")
            fabric.wait_for(3, ["ibstat"], r"State: Down")
            fabric.fault("link-up", "H4-S2")
            fabric.wait_for_log("Link state change", times)
            fabric.wait_for(3, ["ibstat"], r"State: Active")
        out = fabric.tries(0, "ibqueryerrors")
        if not re.search(r'^Errors for "H4 verbena0"\n.*\[LinkDownedCounter == 3\]', out, re.M) or "2 bad nodes found" not in out:
            raise Failure(f"{out}\n{fabric.log_text()}")


def bit_errors(context):
    """Each port that a damaged packet has come to has counted it; a program that repeats it goes on."""
    with Managed(context) as fabric:
        fabric.start_manager()
        fabric.fault("add", "H4-S2", "corrupt 5%")
        bad_luck.transfer(fabric, 1, nodes=[fabric.nodes[0], fabric.nodes[3]]).finish(60)
        out = fabric.tries(0, "ibqueryerrors")
        if not re.search(r'^Errors for "H4 verbena0"\n.*\[SymbolErrorCounter == [1-9]', out, re.M) or not re.search(
                r'"S2"\n[\s\S]* port 2: \[SymbolErrorCounter == [1-9]', out) or "2 bad nodes found" not in out:
            raise Failure(out)


NOBODYS_LID = "99"


def reasons(context):
    """perfquery says why a switch has not sent a datagram on: it is longer than a cable's MTU, or nobody has its LID."""
    narrow = TOPOLOGY.replace('"S2"[3]', '"S2"[3] mtu=1024').replace('"S3"[1]', '"S3"[1] mtu=1024')
    with Managed(context, narrow) as fabric:
        fabric.start_manager()
        switch = re.search(r"first switch.* lid (\d+)", fabric.says(0, "ibnetdiscover")).group(1)
        fabric.expect(0, ["smpquery", "portinfo", switch, "3"], r"MtuCap:\.+1024", r"NeighborMTU:\.+1024")
        receiver = fabric.start(fabric.nodes[3], [ud_peer(context), "receive", "0x111"])
        harness.wait_until(lambda: "at " in receiver.out, time.monotonic() + UP_S, "it listens", [receiver])
        lid, qpn = receiver.out.split()[1:3]
        for to, octets in ((lid, "1000"), (lid, "2000"), (NOBODYS_LID, "1000")):
            fabric.says(0, ud_peer(context), "send", to, qpn, "0x111", octets)
        fabric.wait_for(0, ["perfquery", "-E", switch, "1"], r"PortDLIDMappingErrors:\.+1$")
        ways = [fabric.wait_for(0, ["perfquery", "-D", switch, port], r"PortNeighborMTUDiscards") for port in ("3", "5")]
        if sorted(re.findall(r"PortNeighborMTUDiscards:\.+(\d+)", "".join(ways))) != ["0", "1"] or "got 1040" not in receiver.out:
            raise Failure(f"{''.join(ways)}\n{receiver.describe()}")


class Ring(Managed):
    """Of five nodes. The fifth has no TCP side channel here."""

    def serve(self, shape, *options):
        path = os.path.join(self.folder.name, "ring.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(RING)
        server = harness.Program([self.verbena, "fabric", "--fabric", self.name, path], "fabric")
        self.programs.append(server)
        harness.wait_until(lambda: "Ctrl-C ends it" in server.out, time.monotonic() + 20, "the fabric is there", [server])
        return server


def lanes(context, engine, is_deadlock):
    """Each node writes to the second one after it, on the service level of its path. minhop's ways wait for each other in a ring, until a switch
    drops what waits for too long."""
    with Ring(context) as fabric:
        fabric.nodes.append(harness.Node(fabric, 5, socket.socket()))
        fabric.start_manager(options=f"-R {engine}")
        # Only all five together make a ring: they are long at it where one is to be found.
        seconds = 4 * SECONDS if is_deadlock else SECONDS
        argv = ["ib_write_bw", "-F", "-p", "{port}", "-u", "{timeout}", "-D", str(seconds), "-s", "65536", "-S"]
        ends = [((client + 2) % 5, client) for client in range(5)]
        levels = [[str(path_of(fabric, *way)["sl"]) for way in ((server, client), (client, server))] for server, client in ends]
        pairs = [harness.Pair(fabric, [*argv, there], [*argv, back, "{server}"], [fabric.nodes[server], fabric.nodes[client]])
                 for (server, client), (there, back) in zip(ends, levels)]
        said = None
        deadline = time.monotonic() + seconds
        while said is None and time.monotonic() < deadline:
            said = re.search(r"^deadlock: lane \d+: (.*)$", fabric.command("stat"), re.M)
            waiting.let_time_pass(0.1)
        if is_deadlock != (said is not None) or (said and said.group(1).count("waits for") != 5):
            raise Failure(f"{engine}: {said and said.group(0)}\n{fabric.command('stat')}")
        if not is_deadlock:
            for pair in pairs:
                pair.finish(60)


def tests(context):
    return [*engines(context),
            ("a standby takes over beside a transfer", lambda: standby(context)),
            ("a port that flaps is told", lambda: flaps(context)),
            ("damaged bits are symbol errors", lambda: bit_errors(context)),
            ("counters say why a datagram is lost", lambda: reasons(context)),
            ("lanes that wait in a ring are named", lambda: lanes(context, "minhop", True)),
            ("dfsssp's lanes wait in no ring", lambda: lanes(context, "dfsssp", False))]
