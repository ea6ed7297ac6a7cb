"""Programs on nodes with addresses of their own: two network namespaces, joined by a veth pair, over the raw and the udp link.

Needs CAP_NET_ADMIN: root, or a kernel that gives it inside a user namespace. Where the user has neither, nothing is tested, and
a line says so.
"""
import dataclasses
import os
import re
import subprocess
import sys
import time

import harness
import rdma_cm

LOSS = rdma_cm.LOSS
INTERFACE = "v0"
# New interfaces drop what comes first. Nobody listens there: to be refused is to have arrived.
REACHES = """import socket, sys
try:
    socket.create_connection((sys.argv[1], 9), 30)
except ConnectionRefusedError:
    pass
"""


class Holder:
    """A process that stands in a network namespace of its own, and the words that lead there."""

    def __init__(self, fabric, beside=None):
        enter = beside.enter_user if beside else []
        self.enter_user = []
        user = [] if os.geteuid() == 0 or beside else ["--user", "--map-root-user"]
        argv = [*enter, "unshare", "--net", *user, "sh", "-c", "echo up; exec sleep 1000"]
        self.program = harness.Program(argv, "namespace")
        fabric.programs.append(self.program)
        harness.wait_until(lambda: self.program.out, time.monotonic() + 20, "there is a network namespace", [self.program])
        self.pid = str(self.program.process.pid)
        if os.geteuid() != 0:
            self.enter_user = ["nsenter", "--target", beside.pid if beside else self.pid, "--user", "--preserve-credentials"]
        self.enter = ["nsenter", "--target", self.pid, "--net"] + self.enter_user[3:]

    def run(self, command):
        words = command.split() if isinstance(command, str) else command
        done = subprocess.run(self.enter + words, capture_output=True, text=True, timeout=40, check=False)
        if done.returncode != 0:
            raise harness.Failure(f"{command}: {done.stderr}")


class Node:
    def __init__(self, holder, address):
        self.number = self.address = address  # how `verbena exec --node` and programs name it
        self.holder = holder
        self.unix_sockets = f"/proc/{holder.pid}/net/unix"


class Network(harness.Fabric):
    """Two nodes of one Ethernet. addresses(1) are those of IPv6."""

    def __init__(self, context):
        super().__init__(context.verbena, f"raw:{INTERFACE}" if context.link == "raw" else context.link, nodes=0)
        try:
            one = Holder(self)
            self.holders = [one, Holder(self, beside=one)]
            self.holders[1].run(f"ip link add {INTERFACE} mtu 9000 type veth peer name {INTERFACE} mtu 9000 netns {one.pid}")
            for place, holder in enumerate(self.holders, 1):
                for command in ("link set lo up", f"addr add 10.47.0.{place}/24 dev {INTERFACE}",
                                f"addr add fd47::{place}/64 dev {INTERFACE} nodad", f"link set {INTERFACE} up"):
                    holder.run(f"ip {command}")
            for address in ("10.47.0.2", "fd47::2"):
                one.run([sys.executable, "-c", REACHES, address])
        except BaseException:
            self.__exit__()
            raise
        self.use("10.47.0.{}")

    def add_cable(self):
        """A second one beside the first, in the same IP network: each node has two devices from here on."""
        second = "v1"
        self.holders[1].run(f"ip link add {second} mtu 9000 type veth peer name {second} mtu 9000 netns {self.holders[0].pid}")
        for place, holder in enumerate(self.holders, 1):
            holder.run(f"ip addr add 10.47.0.{place + 10}/24 dev {second}")
            holder.run(f"ip link set {second} up")
            self.nodes[place - 1].number += f",10.47.0.{place + 10}"
        if self.link.startswith("raw:"):
            self.link += f",{second}"

    def use(self, addresses):
        self.nodes = [Node(holder, addresses.format(place)) for place, holder in enumerate(self.holders, 1)]

    def __exit__(self, *_):
        self.nodes = []  # they have reserved nothing
        super().__exit__()

    def exec_argv(self, node, argv, **options):
        return super().exec_argv(node, argv, **{**options, "prefix": node.holder.enter})


def listens_in(holder, port):
    """As harness.listens(), in another network namespace."""
    with open(f"/proc/{holder.pid}/net/tcp", encoding="ascii") as file:
        return any(f":{port:04X} " in line and " 0A " in line for line in file)


def pair(network, argv, server_options, client_options, timeout=60):
    """As harness.pair(), of programs that meet by TCP. Returns the server and the client."""
    port = 18515
    server, client = network.nodes
    argv = harness.fill(argv, port, server.address, server_options)
    programs = [network.start(server, argv, "server", **server_options)]
    harness.wait_until(lambda: listens_in(server.holder, port), time.monotonic() + timeout, "the server listens", programs)
    programs.append(network.start(client, argv + [server.address], "client", **client_options))
    deadline = time.monotonic() + timeout
    if any(program.wait(deadline) != 0 for program in programs):
        raise harness.Failure("".join(program.describe() for program in programs))
    return programs


def connects(context):
    """rping, ucmatose and udaddy, by IPv4 and IPv6."""
    with Network(context) as network:
        for addresses, family in (("10.47.0.{}", "ip"), ("fd47::{}", "ipv6")):
            network.use(addresses)
            ucmatose = ["ucmatose", "-f", family, "-c", "20"]
            for case in (rdma_cm.RPING, dataclasses.replace(rdma_cm.UCMATOSE, server=ucmatose + ["-b", "{server}"],
                                                            client=ucmatose + ["-s", "{server}"])):
                rdma_cm.run_on(network, context, case)
        if not context.faults:
            network.use("10.47.0.{}")
            rdma_cm.run_on(network, context, next(case for case in rdma_cm.CASES if case.name == "udaddy"))


def two_devices_share_a_network(context):
    """The device of the source address carries the connection, by a cable of its own; without one, that of the kernel's route."""
    ways = [(["-a", "10.47.0.1"], 2, 1), (["-I", "10.47.0.2", "-a", "10.47.0.1"], 2, 1), (["-I", "10.47.0.12", "-a", "10.47.0.11"], 12, 11)]
    for options, source, destination in ways:
        with Network(context) as network:
            network.add_cable()
            case = dataclasses.replace(rdma_cm.RPING, server=["rping", "-s", "-a", "0.0.0.0", "-C", "10"], client=["rping", "-c", "-C", "10", *options])
            server = rdma_cm.start_server(network, case, faults=context.faults, stats=True)
            client = rdma_cm.start_client(network, case, faults=context.faults, stats=True)
            for program, own in ((client, source), (server, destination)):
                rdma_cm.require(program, 0, time.monotonic() + rdma_cm.TIMEOUT, also=[server, client])
                # A device that has carried nothing has no counters behind its name.
                used = re.findall(r"of the device (\S+)\n +tx_packets", program.err)
                if used != [f"10.47.0.{own}"]:
                    raise harness.Failure(f"{used} instead of 10.47.0.{own} has sent\n{program.describe()}")


def reaches_a_group(context):
    """mckey: members on the sender's node and on the other one; the sender is a member, and then sends only."""
    for options in ([], ["-o"]):
        with Network(context) as network:
            rdma_cm.send_to_group(network, "239.1.2.3", network.nodes, network.nodes[0], options)
            rdma_cm.require_complete(network.programs[len(network.holders):])


def may_not(context):
    """Why nothing can be tested here; empty: it can."""
    try:
        with Network(context):
            return ""
    except harness.Failure as failure:
        if os.geteuid() == 0 or "not permitted" not in str(failure):
            raise
        return "no network namespaces without privileges"


def tests(context):
    found = [connects, two_devices_share_a_network]
    if not context.faults:  # datagrams are not sent again
        found.append(reaches_a_group)
    if os.geteuid() != 0 and (reason := may_not(context)):
        return [(f"skipped: {reason}", lambda: None)]
    return [(test.__name__.replace("_", " "), lambda test=test: test(context)) for test in found]
