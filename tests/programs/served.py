"""Programs on a fabric that a fabric process serves: through switches, under faults from another shell, and when somebody dies."""
import json
import os
import re
import signal
import subprocess
import tempfile
import time

import bad_luck
import harness
import rdma_cm
import rdma_cm_tools
import rsockets
from harness import Failure

NODES = 4
SHAPES = ("star", "ring")
ROWS = (("ibv_rc_pingpong", ["ibv_rc_pingpong", "-g", "0", "-p", "{port}", "-n", "200", "-c"], r"^\d+ iters in "),
        ("ib_write_bw", ["ib_write_bw", "-F", "-p", "{port}", "-u", "{timeout}", "-n", "500", "-s", "65536"],
         r"^\s*65536\s+500\s+[\d.]+"),
        ("ib_send_lat", ["ib_send_lat", "-F", "-p", "{port}", "-u", "{timeout}", "-n", "500", "-s", "64"],
         r"^\s*64\s+500\s+[\d.]+"))
# The last acknowledgement of a pingpong must not be lost (harness.PINGPONG_LOSS says why).
LOSS_OF = {"ibv_rc_pingpong": harness.PINGPONG_LOSS, "ib_write_bw": ("drop 1%",), "ib_send_lat": harness.PINGPONG_LOSS}
# 4.096 us x 2^12 = 17 ms, eight times at most.
SHORT_TIMEOUT, SHORT_BUDGET_S = "12", 5


class Served(harness.Fabric):
    """A fabric with a process of its own that serves it."""

    def __init__(self, context, shape="star", *options):
        super().__init__(context.verbena, "fabric", NODES, prefer=tuple(range(1, NODES + 1)))
        if [node.number for node in self.nodes] != list(range(1, NODES + 1)):
            raise Failure(f"the nodes 1 to {NODES} are in use")
        self.server = self.serve(shape, *options)

    def serve(self, shape, *options):
        words = [shape] if shape.endswith(".yaml") else ["--topology", shape, "--nodes", str(NODES)]
        argv = [self.verbena, "fabric", "--fabric", self.name, *words, *options]
        server = harness.Program(argv, "fabric")
        self.programs.append(server)
        harness.wait_until(lambda: "Ctrl-C ends it" in server.out, time.monotonic() + 20, "the fabric is there", [server])
        return server

    def command(self, *words, status=0):
        done = subprocess.run([self.verbena, words[0], "--fabric", self.name, *words[1:]], capture_output=True, text=True,
                              timeout=30, check=False)
        if done.returncode != status:
            raise Failure(f"{words}: exit status {done.returncode} instead of {status}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def fault(self, *words, status=0):
        return self.command("fault", *words, status=status)

    def stat(self):
        return json.loads(self.command("stat", "--json"))


def run_row(context, shape, row, lossy):
    name, argv, pattern = row
    with Served(context, shape) as fabric:
        # Far apart: two switches lie between them in the ring.
        nodes = [fabric.nodes[0], fabric.nodes[2]]
        for fault in LOSS_OF[name] if lossy else ():
            fabric.fault("add", "n1-s1", fault)
        done = harness.Pair(fabric, argv, argv + ["{server}"], nodes).finish(60)
        if not re.search(pattern, done.client.out, re.M):
            raise Failure(f"no result\n{done.describe()}")
        stat = fabric.stat()
        carried = {link["name"]: link["frames"] for link in stat["links"]}
        # In the ring there are two shortest ways: which one a flow takes depends on its UDP port.
        hops = ("s1->s2", "s2->s1", "s1->s4", "s4->s1") if shape == "ring" else ("s1->n3", "n3->s1")
        if sum(carried[hop] for hop in hops) < 400:
            raise Failure(f"the packets did not take the cables: {carried}")
        hits = sum(fault["hits"] for fault in stat["faults"])
        if lossy != (hits > 0):
            raise Failure(f"{hits} packets were hit by faults\n{stat['faults']}")


def connects(context, case, lossy):
    """By rdma_cm between nodes that two switches part. What is lost, the connection manager's repetitions make good."""
    with Served(context, "ring") as fabric:
        # One request, so that a message of a connection is certainly lost; and of the packets that may be a few.
        for fault in (("s1->n1", "drop 100% opcode=cm count=1"), *(("n1-s1", rule) for rule in case.loss)) if lossy else ():
            fabric.fault("add", *fault)
        rdma_cm.run_on(fabric, context, case)
        stat = fabric.stat()
        carried = {link["name"]: link["frames"] for link in stat["links"]}
        if carried["n2->s2"] == 0 or carried["s2->n2"] == 0:
            raise Failure(f"the packets did not take the cables: {carried}")
        if lossy and stat["faults"][0]["hits"] != 1:
            raise Failure(f"no message of the connection manager was lost\n{stat['faults']}")


def transfer(fabric, seconds, first=0, second=2, timeout=SHORT_TIMEOUT):
    argv = ["ib_write_bw", "-F", "-p", "{port}", "-u", timeout, "-D", str(seconds), "-s", "65536"]
    pair = harness.Pair(fabric, argv, argv + ["{server}"], [fabric.nodes[first], fabric.nodes[second]])
    bad_luck.wait_until_busy(pair, pair.client)
    return pair


def require_retry_exceeded(pair, seconds):
    status = pair.client.wait(time.monotonic() + seconds)
    if status is None:
        raise Failure(f"the client goes on over a dead network\n{pair.describe()}")
    if status == 0 or bad_luck.RETRY_EXCEEDED not in pair.client.out + pair.client.err:
        raise Failure(f"the client did not get IBV_WC_RETRY_EXC_ERR\n{pair.describe()}")


def link_down_on_star(context):
    with Served(context) as fabric:
        doomed, bystander = transfer(fabric, 30), transfer(fabric, 4, 1, 3, timeout=str(harness.ACK_TIMEOUT))
        fabric.fault("link-down", "n3-s1")
        require_retry_exceeded(doomed, SHORT_BUDGET_S)
        bystander.finish(60)
        fabric.fault("link-up", "n3-s1")
        argv = ROWS[0][1]
        harness.pair(fabric, argv, argv + ["{server}"], nodes=[fabric.nodes[0], fabric.nodes[2]], timeout=30)


def link_down_on_ring(context):
    with Served(context, "ring", "--detection", "20ms") as fabric:
        pair = transfer(fabric, 4, 0, 1, timeout="16")
        before = {link["name"]: link["frames"] for link in fabric.stat()["links"]}
        if before["s1->s2"] + before["s2->s1"] == 0:
            raise Failure(f"the packets do not go the short way: {before}")
        fabric.fault("link-down", "s1-s2")
        pair.finish(60)
        after = {link["name"]: link["frames"] for link in fabric.stat()["links"]}
        if after["s3->s2"] + after["s3->s4"] < 1000:
            raise Failure(f"the packets did not go the other way round: {after}")


def node_killed(context):
    with Served(context) as fabric:
        doomed, bystander = transfer(fabric, 30), transfer(fabric, 4, 1, 3, timeout=str(harness.ACK_TIMEOUT))
        doomed.server.signal_group(signal.SIGKILL)
        doomed.server.process.wait()
        require_retry_exceeded(doomed, SHORT_BUDGET_S)
        bystander.finish(60)
        if fabric.server.status is not None:
            raise Failure(f"the fabric process has ended\n{fabric.server.describe()}")
        argv = ROWS[0][1]
        harness.pair(fabric, argv, argv + ["{server}"], nodes=[fabric.nodes[0], fabric.nodes[2]], timeout=30)


def device_removed(context):
    """Its programs live on and are told, by rdma_cm and by verbs; to their peers it is a dead network."""
    with Served(context) as fabric:
        doomed, bystander = transfer(fabric, 30), transfer(fabric, 4, 1, 3, timeout=str(harness.ACK_TIMEOUT))
        watch = fabric.start(fabric.nodes[0], ["ibv_asyncwatch"], "watch")
        server = fabric.start(fabric.nodes[0], ["rping", "-s", "-a", fabric.nodes[0].address], "server")
        rdma_cm.wait_for_listener(fabric, fabric.nodes[0], rdma_cm.RPING, server)
        client = fabric.start(fabric.nodes[2], ["rping", "-c", "-a", fabric.nodes[0].address, "-v"], "client")
        harness.wait_until(lambda: "rdma-ping-9:" in client.out and "async event FD" in watch.out, time.monotonic() + 20,
                           "they are at it", [watch, server, client])
        fabric.fault("device-removal", "n1")
        require_retry_exceeded(doomed, SHORT_BUDGET_S)
        deadline = time.monotonic() + 60
        if server.wait(deadline) is None:
            raise Failure(f"it goes on without its device\n{server.describe()}")
        rdma_cm.require_words(server, "cma detected device removal")
        harness.wait_until(lambda: "IBV_EVENT_DEVICE_FATAL" in watch.out, deadline, "the event is told", [watch])
        bystander.finish(60)
        rdma_cm.run_on(fabric, context, rdma_cm.RPING)  # whoever comes now has the device


SYSFS_PORT = "/sys/class/infiniband/verbena0/ports/1/"


def said(fabric, node, argv, status=0):
    done = fabric.start(node, argv, argv[0])
    if done.wait(time.monotonic() + 30) != status:
        raise Failure(f"exit status {done.status} instead of {status}\n{done.describe()}")
    return done.out + done.err


def port_states(fabric, node):
    """As sysfs and the verbs say it to programs that come now."""
    return (said(fabric, node, ["cat", SYSFS_PORT + "state", SYSFS_PORT + "phys_state"]).split("\n")[:2] +
            re.findall(r"state:\s+(PORT_\w+)", said(fabric, node, ["ibv_devinfo"])))


def port_down_and_up(context):
    """Those who live are told, those who come find it so; connections wait for it, and retry."""
    with Served(context) as fabric:
        near, far = fabric.nodes[0], fabric.nodes[2]
        watches = [fabric.start(node, ["ibv_asyncwatch"], "watch") for node in (near, far)]
        server = fabric.start(near, ["rping", "-s", "-a", near.address], "server")
        rdma_cm.wait_for_listener(fabric, near, rdma_cm.RPING, server)
        client = fabric.start(far, ["rping", "-c", "-a", near.address, "-v"], "client")
        harness.wait_until(lambda: "rdma-ping-9:" in client.out and all("async event FD" in watch.out for watch in watches),
                           time.monotonic() + 20, "they are at it", [*watches, server, client])
        def change(word, event, times):
            fabric.fault(word, "n1")
            harness.wait_until(lambda: watches[0].out.count(event) == times, time.monotonic() + 60, f"{event} is told", watches)

        change("port-error", "IBV_EVENT_PORT_ERR", 1)
        reached = len(client.out)
        change("port-active", "IBV_EVENT_PORT_ACTIVE", 1)
        harness.wait_until(lambda: len(client.out) > reached + 10_000, time.monotonic() + 60, "the traffic goes on", [server, client])
        change("port-error", "IBV_EVENT_PORT_ERR", 2)
        down, elsewhere = port_states(fabric, near), port_states(fabric, far)
        if down != ["1: DOWN", "2: Polling", "PORT_DOWN"] or elsewhere != ["4: ACTIVE", "5: LinkUp", "PORT_ACTIVE"]:
            raise Failure(f"wrong states: {down}, {elsewhere}")
        change("port-active", "IBV_EVENT_PORT_ACTIVE", 2)
        if port_states(fabric, near) != elsewhere:
            raise Failure(f"it is not back: {port_states(fabric, near)}")
        if said(fabric, near, ["cat", SYSFS_PORT + "counters/link_downed"]).strip() != "2":
            raise Failure("it went down twice")
        if "IBV_EVENT_PORT" in watches[1].out:
            raise Failure(f"the peer's port has lost nothing\n{watches[1].describe()}")


def fabric_killed(context):
    with Served(context) as fabric:
        doomed = transfer(fabric, 30)
        fabric.server.signal_group(signal.SIGKILL)
        fabric.server.process.wait()
        require_retry_exceeded(doomed, SHORT_BUDGET_S)
        for program in fabric.programs:
            program.close()
        fabric.programs.clear()
        bad_luck.require_no_traces(fabric)
        if "no fabric" not in fabric.fault("list", status=2):
            raise Failure("a fabric that is gone still answers")
        fabric.server = fabric.serve("star")
        argv = ROWS[0][1]
        harness.pair(fabric, argv, argv + ["{server}"], nodes=[fabric.nodes[0], fabric.nodes[2]], timeout=30)


def ends_cleanly(context):
    with Served(context) as fabric:
        pair = transfer(fabric, 30)
        fabric.server.signal_group(signal.SIGINT)
        if fabric.server.wait(time.monotonic() + 10) != 0:
            raise Failure(f"Ctrl-C did not end it\n{fabric.server.describe()}")
        require_retry_exceeded(pair, SHORT_BUDGET_S)


def honours_delay(context):
    """Two cables each way of 2 ms: no answer comes before 8 ms."""
    with Served(context, "star", "--delay", "2ms") as fabric:
        argv = ["ib_send_lat", "-F", "-p", "{port}", "-u", "16", "-n", "50", "-s", "8"]
        done = harness.Pair(fabric, argv, argv + ["{server}"], [fabric.nodes[0], fabric.nodes[2]]).finish(60)
        row = re.search(r"^\s*8\s+50\s+([\d.]+)", done.client.out, re.M)
        if not row or not 4000 <= float(row.group(1)) <= 8000:  # half a round trip, microseconds, the least
            raise Failure(f"not 4 ms one way\n{done.describe()}")


def honours_rate(context):
    """400 Mb/s are 47.7 MiB/s: never more; a busy machine may leave some of them unused."""
    with Served(context, "star", "--rate", "400Mbps") as fabric:
        argv = ["ib_write_bw", "-F", "-p", "{port}", "-u", "17", "-n", "1000", "-s", "65536"]
        done = harness.Pair(fabric, argv, argv + ["{server}"], [fabric.nodes[0], fabric.nodes[2]]).finish(60)
        row = re.search(r"^\s*65536\s+\d+\s+[\d.]+\s+([\d.]+)", done.client.out, re.M)  # MiB/s
        if not row or not 5 <= float(row.group(1)) <= 47.7:
            raise Failure(f"not the rate of the cable\n{done.describe()}")


def wrong_words(context):
    with Served(context) as fabric:
        for words, text in ((("break", "it"), "unknown word 'break'"), (("link-down", "n1-n2"), "no link 'n1-n2'"),
                            (("add", "n1-s1", "drip 1%"), "drip"), (("remove", "7"), "no fault 7"),
                            (("link-rate", "all", "fast"), "'fast' is no rate"), (("partition", "n1", "s1"), "'s1' is not"),
                            (("link-down",), "link-down LINK"),
                            (("port-error", "s1"), "'s1' is not a node"), (("port-active",), "port-active NODE"), ((), "a word is missing")):
            said = fabric.fault(*words, status=2)
            if text not in said or said.count("\n") != 1:
                raise Failure(f"{words}: {said}")
        done = subprocess.run([fabric.verbena, "fabric", "--fabric", fabric.name, "--topology", "star"], capture_output=True,
                              text=True, timeout=30, check=False)
        if done.returncode != 2 or "served by another process already" not in done.stderr:
            raise Failure(f"a second one: {done.returncode} {done.stderr}")
        argv = fabric.exec_argv(fabric.nodes[0], ["true"])
        argv[argv.index("--node") + 1] = "5"
        done = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False)
        if done.returncode != 2 or "has the nodes 1 to 4" not in done.stderr:
            raise Failure(f"a node too many: {done.returncode} {done.stderr}")
        fabric.fault("add", "n1-s1", "drop 1%")
        fabric.fault("partition", "n1,n2", "n3")
        listed = fabric.fault("list")
        if "1  n1-s1  drop 1%" not in listed or "n3->n2  cut off" not in listed:
            raise Failure(listed)
        fabric.fault("clear")
        fabric.fault("heal")
        if fabric.fault("list"):
            raise Failure(fabric.fault("list"))


def ports_count_by_rail(context):
    """A device with two ports: each port is a rail of the node, and what goes by it is counted there."""
    with Served(context, "star", "--rails", "2") as fabric:
        for port in (1, 2):
            before = {node["name"]: node["counters"].get("tx_packets", 0) for node in fabric.stat()["nodes"]}
            argv = ["ib_write_bw", "-F", "-p", "{port}", "-i", str(port), "-n", "500"]
            done = harness.pair(fabric, argv, argv + ["{server}"], extra=("--ports", "2"))
            sent = {node["name"]: node["counters"].get("tx_packets", 0) - before[node["name"]] for node in fabric.stat()["nodes"]}
            by_rail = [sent["n2.1"], sent["n2.2"]]
            if by_rail[2 - port] != 0 or by_rail[port - 1] < 500 or sent[f"n1.{port}"] == 0 or sent[f"n1.{3 - port}"] != 0:
                raise Failure(f"by port {port} the nodes have sent {sent}\n{done.describe()}")


# The second rail of each node is slower, and that of the first node slower still.
RATES = """
workloads: [{verb: write, from: n1, to: n2, size: 1, count: 1}]
topology:
  rails: 2
  nodes: [n1, n2, n3, n4]
  switches: [s1, s2]
  links:
    - {between: [n1.1, s1], rate: 25Gbps}
    - {between: [n1.2, s2], rate: 10Gbps}
    - {between: [n2.1, s1], rate: 25Gbps}
    - {between: [n2.2, s2], rate: 50Gbps}
    - {between: [n3.1, s1], rate: 25Gbps}
    - {between: [n3.2, s2], rate: 25Gbps}
    - {between: [n4.1, s1], rate: 25Gbps}
    - {between: [n4.2, s2], rate: 25Gbps}
"""


def rails_have_their_rates(context):
    """Each device, or port, shows the rate of its own cable; what the user says goes before."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rates.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(RATES)
        with Served(context, path) as fabric:
            for node, interfaces, options, wanted in (
                    (0, ("verbena0", "verbena1"), (), "25000 10000"), (1, ("verbena0", "verbena1"), (), "25000 50000"),
                    (2, ("verbena0", "verbena1"), (), "25000 25000"), (0, ("verbena0", "verbena0p2"), ("--ports", "2"), "25000 10000"),
                    (1, ("verbena0",), ("--devices", "1"), "25000"),
                    (0, ("verbena0", "verbena1"), ("--nic", "speed=1Gbps,2Gbps"), "1000 2000")):
                shown = fabric.run(fabric.nodes[node], ["cat", *(f"/sys/class/net/{name}/speed" for name in interfaces)], extra=options)
                if shown.out.split() != wanted.split():
                    raise Failure(f"instead of {wanted}\n{shown.describe()}")


def tests(context):
    found = []
    for shape in SHAPES:
        for row in ROWS:
            for lossy in (False, True):
                name = f"{row[0]} through a {shape}{' under loss' if lossy else ''}"
                found.append((name, lambda shape=shape, row=row, lossy=lossy: run_row(context, shape, row, lossy)))
    for case in (rdma_cm.RPING, rdma_cm_tools.perftest("ib_write_bw"), rsockets.stream("rstream", "-S", "1000", "-T", "v")):
        for lossy in (False, True):
            name = f"{case.name} connects through a ring{' under loss' if lossy else ''}"
            found.append((name, lambda case=case, lossy=lossy: connects(context, case, lossy)))
    found += [("wrong words: one line, exit status 2", lambda: wrong_words(context)),
              ("a delay is honoured", lambda: honours_delay(context)),
              ("a rate is honoured", lambda: honours_rate(context)),
              ("link down on a star: retry error, others go on", lambda: link_down_on_star(context)),
              ("link down on a ring: the other way round", lambda: link_down_on_ring(context)),
              ("node killed: the peer gets a retry error, others go on", lambda: node_killed(context)),
              ("device removed: its programs are told, peers get a retry error", lambda: device_removed(context)),
              ("port down and up: its programs are told, connections go on", lambda: port_down_and_up(context)),
              ("each rail has the rate of its own cable", lambda: rails_have_their_rates(context)),
              ("each of two ports of a device counts at its rail", lambda: ports_count_by_rail(context)),
              ("fabric killed: retry error, nothing stays, a new one serves", lambda: fabric_killed(context)),
              ("Ctrl-C ends the fabric", lambda: ends_cleanly(context))]
    return found
