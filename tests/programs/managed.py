"""A fabric of InfiniBand whose ports wait for a subnet manager: opensm and infiniband-diags on its nodes, unmodified."""
import contextlib
import os
import re
import signal
import tempfile
import time

import harness
import served
from harness import Failure

NODES = 4
TOPOLOGY = """# three switches, each joined to each, two of them with adapters
Switch 8 "S1"  # "first switch"
[1] "H1"[1]  # 4xEDR
[2] "H2"[1]  # 4xEDR
[3] "S2"[3]  # 4xHDR
[5] "S3"[1]  # 4xHDR
Switch 8 "S2"
[1] "H3"[1]  # 4xEDR
[2] "H4"[1]  # 4xEDR
[5] "S3"[2]  # 4xHDR
Switch 4 "S3"
Hca 1 "H1"
Hca 1 "H2"
Hca 1 "H3"
Hca 1 "H4"
"""
UP_S = 30


class Managed(served.Served):
    def __init__(self, context, topology=TOPOLOGY, file="a.net"):
        self.folder = tempfile.TemporaryDirectory()
        self.file = os.path.join(self.folder.name, file)
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(topology)
        super().__init__(context)

    def serve(self, shape, *options):
        argv = [self.verbena, "fabric", "--fabric", self.name, "--topology", self.file, "--managed"]
        server = harness.Program(argv, "fabric")
        self.programs.append(server)
        harness.wait_until(lambda: "Ctrl-C ends it" in server.out, time.monotonic() + 20, "the fabric is there", [server])
        return server

    def __exit__(self, *details):
        # What is killed leaves the file of its ports (docs/infiniband.md).
        self.server.signal_group(signal.SIGTERM)
        self.server.wait(time.monotonic() + UP_S)
        super().__exit__(*details)
        if os.path.exists(left := f"/dev/shm/verbena-{os.getuid()}-subnet-{self.name}"):
            raise Failure(f"left behind: {left}")
        self.folder.cleanup()

    def start_manager(self, node=0, log="osm.log", options="", settings=""):
        """opensm, once it says SUBNET UP."""
        log = os.path.join(self.folder.name, log)
        config = os.path.join(self.folder.name, "opensm.conf")
        with open(config, "w", encoding="utf-8") as file:
            file.write("force_log_flush TRUE\nsminfo_polling_timeout 500\npolling_retry_number 2\n" + settings)
        words = f"OSM_TMP_DIR={self.folder.name} OSM_CACHE_DIR={self.folder.name} exec opensm -F {config} -f {log} {options}"
        manager = self.start(self.nodes[node], ["sh", "-c", words], "opensm")
        self.wait_for_log("SUBNET UP", log=log, programs=[manager])
        return manager

    def log_text(self, log="osm.log"):
        with contextlib.suppress(FileNotFoundError), open(os.path.join(self.folder.name, log), encoding="utf-8", errors="replace") as file:
            return file.read()
        return ""

    def wait_for_log(self, text, times=1, log="osm.log", programs=()):
        harness.wait_until(lambda: self.log_text(log).count(text) >= times, time.monotonic() + UP_S, f"opensm says {text}", list(programs))

    def says(self, node, *argv):
        return self.run(self.nodes[node], list(argv)).out

    def tries(self, node, *argv):
        """However it ends: on the way to what is waited for, LIDs may lead nowhere."""
        program = self.start(self.nodes[node], list(argv))
        program.wait(time.monotonic() + UP_S)
        return program.out

    def expect(self, node, argv, *patterns):
        out = self.says(node, *argv)
        missing = [pattern for pattern in patterns if not re.search(pattern, out, re.M)]
        if missing:
            raise Failure(f"{argv} on node {node + 1}: missing {missing} in\n{out}\n{self.log_text()}")
        return out

    def wait_for(self, node, argv, pattern):
        """What the program says, once it says so. The manager needs its time."""
        outs = []

        def is_said():
            outs.append(self.tries(node, *argv))
            return re.search(pattern, outs[-1], re.M)
        try:
            harness.wait_until(is_said, time.monotonic() + UP_S, f"{argv} on node {node + 1} says {pattern}")
        except Failure as failure:
            raise Failure(f"{failure}\n{outs[-1]}\n{self.log_text()}") from failure
        return outs[-1]

    def lid(self, node):
        return int(re.search(r"Base lid: (\d+)", self.says(node, "ibstat"), re.M).group(1))


def before_a_manager(context):
    with Managed(context) as fabric:
        fabric.expect(2, ["ibstat"], r"^CA 'verbena0'", r"State: Initializing", r"Physical state: LinkUp", r"Base lid: 0$", r"SM lid: 0$")
        fabric.expect(2, ["smpquery", "-D", "nodeinfo", "0,1"], r"NodeType:\.+Switch")


def brought_up(context):
    with Managed(context) as fabric:
        fabric.start_manager(1)
        lids = set()
        for node in range(NODES):
            fabric.expect(node, ["ibstat"], r"State: Active", r"Rate: 100", r"SM lid: [1-9]", r"Link layer: InfiniBand")
            lids.add(fabric.lid(node))
        if len(lids) != NODES or 0 in lids:
            raise Failure(f"LIDs: {lids}")
        fabric.expect(3, ["sminfo"], r"SMINFO_MASTER")
        links = fabric.expect(0, ["iblinkinfo"], r"4X +25\.78125 Gbps", r"4X +53\.125 Gbps")
        if re.search(r" 10\.0 Gbps Active", links):
            raise Failure(f"a link is as slow as one without extended speeds\n{links}")
        found = fabric.expect(0, ["ibnetdiscover"], r'^Switch\t8 "S-\w+"\s+# "first switch"', r'"H4 verbena0"')
        if found.count("\nCa\t") != NODES:
            raise Failure(found)
        fabric.expect(0, ["ibtracert", str(fabric.lid(0)), str(fabric.lid(3))], r'^To ca .* "H4 verbena0"')


def stat(context):
    """What `verbena stat` says of a port is what ibstat says on its node."""
    with Managed(context) as fabric:
        waiting = fabric.stat()
        if waiting["managed"] is not True or [(node["lid"], node["state"], node["sm_lid"]) for node in waiting["nodes"]] != [(0, "INIT", 0)] * NODES:
            raise Failure(f"before a manager: {waiting}")
        fabric.start_manager(1, options="-l 1")
        manager = fabric.lid(1)
        for number, node in enumerate(fabric.stat()["nodes"]):
            if (node["lid"], node["lmc"], node["state"], node["sm_lid"]) != (fabric.lid(number), 1, "ACTIVE", manager):
                raise Failure(f"node {number + 1}, whose manager is at {manager}: {node}")
        text = fabric.command("stat")
        if f"InfiniBand, managed: {NODES} of {NODES} ports know a subnet manager, at LID {manager}\n" not in text or not re.search(
                rf"^H4 .* {fabric.lid(3)}-{fabric.lid(3) + 1} +ACTIVE +{manager}$", text, re.M):
            raise Failure(text)
        known = sorted(int(lid) for lid in re.findall(r"^Switch.* lid (\d+) lmc", fabric.says(0, "ibnetdiscover"), re.M))
        switches = fabric.stat()["switches"]
        if [one["name"] for one in switches] != ["S1", "S2", "S3"] or sorted(one["lid"] for one in switches) != known or not re.search(
                rf"^S3 +{switches[2]['lid']} +{manager}$", text, re.M):
            raise Failure(f"switches {known}: {switches}\n{text}")


def guids(context):
    """What ibv_devices and ibstat say of a node is what the manager knows it by."""
    with Managed(context) as fabric:
        fabric.start_manager()
        own = re.search(r"Port GUID: 0x(\w+)", fabric.says(2, "ibstat")).group(1)
        fabric.expect(0, ["smpquery", "nodeinfo", str(fabric.lid(2))], rf"PortGuid:\.+0x{own}$")


def cable_dies(context):
    """Both ends are down, the manager hears of it and leads around it, and back when the cable is there again."""
    with Managed(context) as fabric:
        fabric.start_manager()
        trace = ["ibtracert", str(fabric.lid(0)), str(fabric.lid(3))]
        if '"S3"' in fabric.expect(0, trace, r"^To ca"):
            raise Failure("the shortest way does not lead over S3")
        s1 = re.search(r"first switch.* lid (\d+)", fabric.says(0, "ibnetdiscover")).group(1)
        fabric.fault("link-down", "S1-S2")
        fabric.expect(0, ["smpquery", "portinfo", s1, "3"], r"LinkState:\.+Down", r"PhysLinkState:\.+Polling")
        fabric.wait_for_log("Link state change")
        fabric.wait_for(0, trace, r'"S3"[\s\S]*^To ca')
        fabric.expect(0, ["perfquery", s1, "3"], r"LinkDownedCounter:\.+1$")
        fabric.fault("link-up", "S1-S2")
        fabric.wait_for(0, ["smpquery", "portinfo", s1, "3"], r"LinkState:\.+Active")
        fabric.wait_for(0, trace, r'\A(?![\s\S]*"S3")[\s\S]*^To ca')


def rates(context):
    """After link-rate the tools on both ends say the new rate. The link has not gone down meanwhile."""
    with Managed(context) as fabric:
        fabric.start_manager()
        switch = re.search(r"first switch.* lid (\d+)", fabric.says(0, "ibnetdiscover")).group(1)
        fabric.fault("link-rate", "H1-S1", "40Gbps")
        fabric.expect(0, ["ibstat"], r"State: Active", r"Rate: 40$")
        fabric.expect(0, ["ibstatus"], r"rate:\s+40 Gb/sec \(4X QDR\)")
        fabric.expect(0, ["ibv_devinfo", "-v"], r"active_width:\s+4X", r"active_speed:\s+10\.0 Gbps")
        fabric.expect(1, ["smpquery", "portinfo", switch, "1"], r"LinkState:\.+Active", r"LinkSpeedActive:\.+10\.0 Gbps", r"LinkSpeedExtActive:\.+No Extended")
        fabric.expect(1, ["iblinkinfo"], r"4X +10\.0 Gbps Active/ +LinkUp.*\"H1 verbena0\"")
        fabric.fault("link-rate", "H1-S1", "400Gbps")
        fabric.expect(0, ["ibstat"], r"State: Active", r"Rate: 400$")
        fabric.expect(1, ["smpquery", "portinfo", switch, "1"], r"LinkSpeedExtActive:\.+106\.25 Gbps")
        fabric.expect(1, ["ibstat"], r"Rate: 100$")
        fabric.expect(0, ["perfquery", switch, "1"], r"LinkDownedCounter:\.+0$")


def unserved(context):
    """Classes that no agent and no program of a node serves are refused at once, as the kernel does: the tools do not wait for their timeout."""
    with Managed(context) as fabric:
        fabric.start_manager()
        switch = re.search(r"first switch.* lid (\d+)", fabric.says(0, "ibnetdiscover")).group(1)
        for argv in (["ibccquery", "-t", "20000", "CongestionInfo", str(fabric.lid(3))], ["ibccquery", "-t", "20000", "CongestionInfo", switch],
                     ["vendstat", "-t", "20000", "-N", switch]):
            began = time.monotonic()
            program = fabric.start(fabric.nodes[0], argv)
            if program.wait(began + UP_S) in (None, 0) or time.monotonic() - began > 15 or "timed out" in program.out + program.err:
                raise Failure(f"{argv} took {time.monotonic() - began:.1f} s\n{program.describe()}")


def every_tool(context):
    """Those of infiniband-diags that nothing else here runs, each with a line that is true of this fabric."""
    with Managed(context) as fabric:
        fabric.start_manager(1)
        lid, far = str(fabric.lid(0)), str(fabric.lid(3))
        found = fabric.says(0, "ibnetdiscover")
        switch = re.search(r"first switch.* lid (\d+)", found).group(1)
        cache, tables = (os.path.join(fabric.folder.name, name) for name in ("cache", "lfts"))
        ends = [r'"H%d verbena0"' % (number + 1) for number in range(NODES)]
        fabric.expect(0, ["ibaddr", far], rf"LID start 0x{int(far):x} end 0x{int(far):x}")
        fabric.expect(0, ["ibhosts"], *ends)
        fabric.expect(0, ["ibswitches"], r'"first switch" base port 0 lid \d+ lmc 0', '"S2"', '"S3"')
        fabric.expect(0, ["ibnodes"], *ends, '"first switch"')
        for argv in (["ibrouters"], ["ibidsverify"]):
            if out := fabric.expect(0, argv).strip():
                raise Failure(f"{argv} has found something: {out}")
        fabric.expect(0, ["ibroute", switch], rf"^0x{int(far):04x} 003 :.*'H4 verbena0'")
        fabric.expect(0, ["ibroute", "-M", switch], r"Multicast mlids \[0xc000-0xc3ff\] of switch Lid")
        fabric.expect(0, ["dump_lfts"], rf"^0x{int(far):04x} 003 :.*'H4 verbena0'")
        fabric.expect(0, ["dump_mfts"], r"of switch .* \(first switch\)")
        fabric.expect(0, ["smpdump", far, "0x10"], r"^4834 2076 6572 6265 6e61 30")  # its description, "H4 verbena0"
        fabric.expect(0, ["ibqueryerrors"], r" 0 ports have errors")
        fabric.expect(0, ["ibportstate", switch, "3", "query"], r"LinkState:\.+Active", r"PeerPort|Peer PortInfo")
        fabric.says(0, "ibnetdiscover", "--cache", cache)
        fabric.expect(0, ["ibnetdiscover", "--load-cache", cache], *ends)
        s1 = re.search(r'switchguid=0x(\w+)\(\w+\)\nSwitch.*"first switch"', found).group(1)
        fabric.says(0, "ibcacheedit", "--switchguid", f"0x{s1}:0x77", cache, cache + "2")
        fabric.expect(0, ["ibnetdiscover", "--load-cache", cache + "2"], r"switchguid=0x77")
        fabric.says(0, "sh", "-c", f"dump_lfts > {tables}")
        fabric.expect(0, ["check_lft_balance", "-l", tables, "-i", cache, "-v"], r"first switch|S2")
        fabric.start(fabric.nodes[3], ["ibsysstat", "-S"])
        fabric.start(fabric.nodes[3], ["ibping", "-S"])
        fabric.wait_for(0, ["ibsysstat", far, "cpu"], r"^cpu 0: model")
        fabric.wait_for(0, ["ibping", "-c", "2", far], "2 packets transmitted, 2 received")
        fabric.expect(0, ["saquery", "-p", "--src-to-dst", f"{lid}:{far}"], rf"dlid\.+{far}$", rf"slid\.+{lid}$")


def switch_dies(context):
    with Managed(context) as fabric:
        fabric.start_manager()
        fabric.fault("switch-crash", "S2")
        fabric.wait_for(3, ["ibstat"], r"State: Down")
        fabric.fault("switch-restart", "S2")
        fabric.wait_for(3, ["ibstat"], r"State: Active")
        fabric.wait_for(0, ["ibnetdiscover"], r'"H4 verbena0"')


def second_manager(context):
    """Of two, one stands by, and takes over when the master is killed."""
    with Managed(context) as fabric:
        first = fabric.start_manager(0)
        fabric.start(fabric.nodes[3], ["sh", "-c", f"OSM_TMP_DIR={fabric.folder.name} OSM_CACHE_DIR={fabric.folder.name} exec opensm "
                     f"-F {fabric.folder.name}/opensm.conf -f {fabric.folder.name}/second.log"], "opensm")
        fabric.wait_for_log("Entering STANDBY state", log="second.log")
        first.signal_group(signal.SIGKILL)
        fabric.wait_for_log("Entering MASTER state", log="second.log")
        fabric.wait_for(1, ["sminfo"], rf"sm lid {fabric.lid(3)} ")


def carried(fabric, link):
    return {one["name"]: one["frames"] for one in fabric.stat()["links"]}[link]


def ud_peer(context):
    return os.path.join(os.path.dirname(os.path.abspath(context.verbena)), "tests", "ud_peer")


PINGPONG = ["ibv_rc_pingpong", "-p", "{port}", "-n", "200", "-c"]


def data(context):
    """Packets go the way that the manager has programmed, and the agents have counted them. When a cable dies, they go on by another one."""
    with Managed(context) as fabric:
        fabric.start_manager()

        def run():
            harness.pair(fabric, PINGPONG, PINGPONG + ["{server}"], nodes=[fabric.nodes[0], fabric.nodes[3]])
        run()
        if carried(fabric, "S1->S2") < 200 or carried(fabric, "S1->S3") != 0:
            raise Failure(f"the packets did not go the direct way: {fabric.stat()['links']}")
        counted = fabric.expect(1, ["perfquery", "-x", str(fabric.lid(3)), "1"], r"PortXmitPkts:\.+\d+$")
        if int(re.search(r"PortXmitPkts:\.+(\d+)$", counted, re.M).group(1)) < 200:
            raise Failure(counted)
        fabric.fault("link-down", "S1-S2")
        fabric.wait_for(0, ["ibtracert", str(fabric.lid(0)), str(fabric.lid(3))], r'"S3"[\s\S]*^To ca')
        run()
        if carried(fabric, "S1->S3") < 200:
            raise Failure(f"the packets did not go around: {fabric.stat()['links']}")


def partitions(context):
    """Of the default partition only the manager's node is a full member: the others hear it, and not each other. Switches let both pass."""
    with Managed(context) as fabric:
        path = os.path.join(fabric.folder.name, "partitions.conf")
        with open(path, "w", encoding="utf-8") as file:
            file.write("Default=0x7fff, ipoib : ALL=limited, SELF=full ;\nOther=0x0005 : ALL=full ;\n")
        fabric.start_manager(options=f"-P {path}")
        fabric.wait_for(3, ["smpquery", "pkeys", "-D", "0"], r"0x7fff")
        fabric.wait_for(3, ["sh", "-c", "cd /sys/class/infiniband/verbena0/ports/1/pkeys; echo $(cat *)"], r"(?=.*0x7fff)(?=.*0x8005)")
        harness.pair(fabric, PINGPONG, PINGPONG + ["{server}"], nodes=[fabric.nodes[0], fabric.nodes[3]])
        limited = harness.Pair(fabric, PINGPONG, PINGPONG + ["{server}"], nodes=[fabric.nodes[1], fabric.nodes[3]])
        if limited.client.wait(time.monotonic() + UP_S) in (None, 0) or "transport retry counter exceeded" not in limited.client.err:
            raise Failure(f"limited members hear each other\n{limited.describe()}")
        fabric.wait_for_log("num:257 (Bad P_Key)")


def wrong_qkey(context):
    """A datagram with another Q_Key is dropped; the port counts it, and the manager hears of it (trap 258)."""
    with Managed(context) as fabric:
        fabric.start_manager()
        receiver = fabric.start(fabric.nodes[3], [ud_peer(context), "receive", "0x111"])
        harness.wait_until(lambda: "at " in receiver.out, time.monotonic() + UP_S, "it listens", [receiver])
        lid, qpn = receiver.out.split()[1:3]
        fabric.says(1, ud_peer(context), "send", lid, qpn, "0x112", "100")
        fabric.wait_for_log("num:258 (Bad Q_Key)")
        fabric.expect(0, ["smpquery", "portinfo", lid, "1"], r"QkeyViolations:\.+1$", r"PkeyViolations:\.+0$")
        fabric.says(1, ud_peer(context), "send", lid, qpn, "0x111", "100")
        harness.wait_until(lambda: "got 140" in receiver.out, time.monotonic() + UP_S, "the right one arrives", [receiver])


def partition_at_a_switch(context):
    """Two nodes have no partition in common: the switch keeps the packet back, and tells the manager (trap 259)."""
    with Managed(context) as fabric:
        path = os.path.join(fabric.folder.name, "partitions.conf")
        names = [re.search(r"Port GUID: (0x\w+)", fabric.says(node, "ibstat")).group(1) for node in (1, 3)]
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"Default=0x7fff : ALL=limited, SELF=full ;\nOther=0x0005 : {names[0]}=full ;\nMore=0x0006 : {names[1]}=full ;\n")
        fabric.start_manager(options=f"-P {path}")
        fabric.wait_for(1, ["smpquery", "pkeys", "-D", "0"], r"0x8005")
        receiver = fabric.start(fabric.nodes[3], [ud_peer(context), "receive", "0x111"])
        harness.wait_until(lambda: "at " in receiver.out, time.monotonic() + UP_S, "it listens", [receiver])
        lid, qpn = receiver.out.split()[1:3]
        index = fabric.says(1, "sh", "-c", "cd /sys/class/infiniband/verbena0/ports/1/pkeys; grep -l 0x8005 *").strip()
        fabric.says(1, ud_peer(context), "send", lid, qpn, "0x111", "100", "-", index)
        fabric.wait_for_log("num:259 (Bad P_Key (switch external port))")


def wrong_mkey(context):
    """Who asks without the manager's key is not answered, and the manager hears of it (trap 256)."""
    with Managed(context) as fabric:
        fabric.start_manager(settings="m_key 0x0000000000001234\nm_key_protection_level 2\n")
        ask = ["smpquery", "portinfo", str(fabric.lid(3)), "1"]
        if "LinkState" in fabric.tries(1, *ask):
            raise Failure("a port answers whoever does not know its key")
        fabric.wait_for_log("num:256 (Bad M_Key)")
        fabric.expect(1, ask[:1] + ["-y", "0x1234"] + ask[1:], r"LinkState:\.+Active", r"MkeyViolations:\.+[1-9]")


def tables_lead_round(context):
    """opensm is given a file of tables that lead one LID round and round. `verbena stat` says so, and the subnet lives on."""
    with Managed(context) as fabric:
        first = fabric.start_manager()
        lid = fabric.lid(3)
        tables, switch = [], None
        for line in fabric.says(0, "dump_fts").splitlines():
            if found := re.match(r"Unicast lids .*\((.*)\):", line):
                switch = found.group(1)
            if line.startswith(f"0x{lid:04x} "):
                line = re.sub(r"^(0x\w+) \d+", lambda row: f"{row.group(1)} {ROUND[switch]}", line)
            tables.append(line)
        path = os.path.join(fabric.folder.name, "tables.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(tables) + "\n")
        if fabric.stat()["loops"]:
            raise Failure(f"loops in opensm's own tables: {fabric.stat()['loops']}")
        first.signal_group(signal.SIGKILL)
        second = fabric.start_manager(log="file.log", options=f"-R file -U {path}")
        wanted = [{"lid": lid, "lids": 1, "links": ["S1->S2", "S2->S3", "S3->S1"]}]
        harness.wait_until(lambda: fabric.stat()["loops"] == wanted, time.monotonic() + UP_S, "the loop is named", [second])
        if f"loop: LID {lid} goes round: S1->S2 S2->S3 S3->S1" not in fabric.command("stat"):
            raise Failure(fabric.command("stat"))
        # However fast packets go round, commands and managers are heard.
        lost = harness.Pair(fabric, PINGPONG, PINGPONG + ["{server}"], nodes=[fabric.nodes[0], fabric.nodes[3]])
        harness.wait_until(lambda: carried(fabric, "S3->S1") > 10000, time.monotonic() + UP_S, "packets go round", [lost.server])
        for program in (lost.client, lost.server):
            program.signal_group(signal.SIGKILL)
            program.wait(time.monotonic() + UP_S)
        second.signal_group(signal.SIGKILL)
        third = fabric.start_manager(log="third.log")
        harness.wait_until(lambda: not fabric.stat()["loops"], time.monotonic() + UP_S, "the loop is mended", [third])
        harness.pair(fabric, PINGPONG, PINGPONG + ["{server}"], nodes=[fabric.nodes[0], fabric.nodes[3]])


ROUND = {"first switch": "003", "S2": "005", "S3": "001"}  # out of TOPOLOGY's switches, each to the next one


def tests(context):
    return [("ports wait for a manager", lambda: before_a_manager(context)),
            ("opensm brings the fabric up", lambda: brought_up(context)),
            ("stat says what ibstat says", lambda: stat(context)),
            ("a node is known by its GUIDs", lambda: guids(context)),
            ("a cable dies and comes back", lambda: cable_dies(context)),
            ("tools follow the rate of a link", lambda: rates(context)),
            ("what nobody serves is refused", lambda: unserved(context)),
            ("every tool says what is true", lambda: every_tool(context)),
            ("a switch dies and comes back", lambda: switch_dies(context)),
            ("packets follow the manager", lambda: data(context)),
            ("tables that lead round are named", lambda: tables_lead_round(context)),
            ("limited members hear full ones alone", lambda: partitions(context)),
            ("a wrong Q_Key is told the manager", lambda: wrong_qkey(context)),
            ("a partition at a switch is told the manager", lambda: partition_at_a_switch(context)),
            ("a wrong M_Key is told the manager", lambda: wrong_mkey(context)),
            ("a second manager takes over", lambda: second_manager(context))]
