"""Programs that connect through rdma_cm between nodes with two devices, or with two ports of one: each uses the one that the kernel would
choose."""
import dataclasses
import re
import time

import harness
import rdma_cm
from rdma_cm import COMPLETE, PORT_SPACE_UDP, Case

TWO = ("--devices", "2")
BOTH_PORTS = ("--ports", "2")
PING = r"ping data: rdma-ping-2"
STREAM = ["-C", "10", "-S", "1000"]


@dataclasses.dataclass
class Row:
    """{server} and {client} are the addresses of the first devices, {server2} and {client2} of the second ones."""
    case: Case
    client_uses: str = "{client2}"  # the devices that the client's node opens
    server_uses: str = "{server2}"


def rping(name, server, client, **more):
    return Row(Case(name, ["rping", "-s", "-C", "3", *server], ["rping", "-c", "-C", "3", "-v", *client], 7174, says=PING), **more)


BOTH = "{server} {server2}"
ROWS = [
    rping("rping's wildcard is reached at the second address", ["-a", "0.0.0.0"], ["-a", "{server2}"], server_uses=BOTH),
    rping("rping's wildcard is reached at the first address", ["-a", "0.0.0.0"], ["-a", "{server}"], client_uses="{client}", server_uses=BOTH),
    rping("rping bound to the second device", ["-a", "{server2}"], ["-a", "{server2}"]),
    rping("rping from the second device", ["-a", "{server2}"], ["-I", "{client2}", "-a", "{server2}"]),
    rping("rping from the first device to the second", ["-a", "{server2}"], ["-I", "{client}", "-a", "{server2}"], client_uses="{client}"),
    rping("rping by IPv6", ["-a", "::ffff:{server2}"], ["-a", "::ffff:{server2}"]),
    Row(Case("ucmatose", ["ucmatose", "-c", "5"], ["ucmatose", "-c", "5", "-s", "{server2}"], 7471, says=COMPLETE), server_uses=BOTH),
    Row(Case("ucmatose bound to addresses", ["ucmatose", "-b", "{server2}"], ["ucmatose", "-b", "{client2}", "-s", "{server2}"], 7471,
             says=COMPLETE)),
    Row(Case("udaddy", ["udaddy"], ["udaddy", "-s", "{server2}"], 7174, PORT_SPACE_UDP, says=COMPLETE), server_uses=BOTH),
    Row(Case("udaddy bound to addresses", ["udaddy", "-b", "{server2}"], ["udaddy", "-b", "{client2}", "-s", "{server2}"], 7174,
             PORT_SPACE_UDP, says=COMPLETE)),
    Row(Case("rdma_client", ["rdma_server"], ["rdma_client", "-s", "{server2}"], 7471, says="rdma_client: end 0"), server_uses=BOTH),
    Row(Case("rstream", ["rstream", *STREAM], ["rstream", "-s", "{server2}", *STREAM], 7471, says="custom"), server_uses=BOTH),
    Row(Case("rstream bound to the second device", ["rstream", "-b", "{server2}", *STREAM], ["rstream", "-s", "{server2}", *STREAM], 7471,
             says="custom")),
    Row(Case("ib_write_bw -R", ["ib_write_bw", "-F", "-R", "-n", "50"], ["ib_write_bw", "-F", "-R", "-n", "50", "{server2}"], 18515,
             says="65536"), client_uses="{client} {client2}", server_uses=BOTH),  # which opens the first one to look at it
]


@dataclasses.dataclass
class Place:
    """What wait_for_listener has to know of a node: an address of it, which may be that of its second device."""
    address: str
    unix_sockets: str = "/proc/net/unix"


def second_address(node):
    return node.address.replace(".91.", ".92.")


def filled(fabric, words):
    server2, client2 = (second_address(node) for node in fabric.nodes[:2])
    return rdma_cm.filled(fabric, [word.replace("{server2}", server2).replace("{client2}", client2) for word in words])


def start(fabric, node, words, name):
    return fabric.start(node, filled(fabric, words), name, extra=TWO, stats=True)


def start_server(fabric, row):
    server = start(fabric, fabric.nodes[0], row.case.server, "server")
    address = filled(fabric, row.server_uses.split())[-1]
    rdma_cm.wait_for_listener(fabric, Place(address), row.case, server)
    return server


def require_devices(program, wanted):
    used = re.findall(r"of the device (\S+)", program.err)
    if used != wanted:
        raise harness.Failure(f"it has opened {used} instead of {wanted}\n{program.describe()}")


def run_row(context, row):
    with context.fabric() as fabric:
        server = start_server(fabric, row)
        client = start(fabric, fabric.nodes[1], row.case.client, "client")
        deadline = time.monotonic() + rdma_cm.TIMEOUT
        rdma_cm.require(client, 0, deadline, also=[server])
        rdma_cm.require(server, 0, deadline, also=[client])
        rdma_cm.require_words(client, row.case.says)
        require_devices(client, filled(fabric, row.client_uses.split()))
        require_devices(server, filled(fabric, row.server_uses.split()))


def a_group_is_on_the_device_of_the_bound_address(context):
    """mckey: who is bound to the second device hears what another node's second one sends."""
    with context.fabric() as fabric:
        argv = ["stdbuf", "-oL", "mckey", "-m", f"239.1.{fabric.nodes[0].number}.4", "-C", "5", "-b"]
        receiver = start(fabric, fabric.nodes[0], [*argv, "{server2}"], "receiver")
        harness.wait_until(lambda: "receiving data transfers" in receiver.out, time.monotonic() + 20, "it receives", [receiver])
        sender = start(fabric, fabric.nodes[1], [*argv, "{client2}", "-s"], "sender")
        for program, device in ((sender, "{client2}"), (receiver, "{server2}")):
            rdma_cm.require(program, 0, time.monotonic() + rdma_cm.TIMEOUT, also=[sender, receiver])
            require_devices(program, filled(fabric, [device]))


def each_device_of_a_node_has_ports_of_its_own(context):
    """Two processes of a node have the same port, each on a device; who wants it on any device comes too late."""
    with context.fabric() as fabric:
        rows = [rping("first", ["-a", "{server}"], ["-a", "{server}"], server_uses="{server}"), rping("second", ["-a", "{server2}"], ["-a", "{server2}"])]
        servers = [start_server(fabric, row) for row in rows]
        late = start(fabric, fabric.nodes[0], ["rping", "-s", "-a", "0.0.0.0"], "late")
        rdma_cm.require(late, 255, time.monotonic() + 20)
        rdma_cm.require_words(late, "rdma_bind_addr: Cannot assign requested address")
        for row, server in zip(rows, servers):
            client = start(fabric, fabric.nodes[1], row.case.client, "client")
            for program in (client, server):
                rdma_cm.require(program, 0, time.monotonic() + rdma_cm.TIMEOUT, also=servers)


# {server2} and {client2} are the addresses of the second ports of the nodes' devices.
PORT_CASES = [
    Case("rping bound to the second port", ["rping", "-s", "-C", "3", "-a", "{server2}"],
         ["rping", "-c", "-C", "3", "-v", "-a", "{server2}"], 7174, says=PING),
    Case("rping's wildcard is reached at the second port", ["rping", "-s", "-C", "3", "-a", "0.0.0.0"],
         ["rping", "-c", "-C", "3", "-v", "-I", "{client2}", "-a", "{server2}"], 7174, says=PING),
    Case("rping's wildcard is reached at the first port", ["rping", "-s", "-C", "3", "-a", "0.0.0.0"],
         ["rping", "-c", "-C", "3", "-v", "-a", "{server}"], 7174, says=PING),
    Case("udaddy between second ports", ["udaddy", "-b", "{server2}"], ["udaddy", "-b", "{client2}", "-s", "{server2}"], 7174,
         PORT_SPACE_UDP, says=COMPLETE),
    Case("ib_send_bw -R to the second port", ["ib_send_bw", "-F", "-R", "-n", "50"], ["ib_send_bw", "-F", "-R", "-n", "50", "{server2}"], 18515,
         says="65536"),
]


def run_port_case(context, case):
    """That it works is that the ports are right: a QP hears nothing by the other one."""
    def filled_ports(fabric, words):
        server2, client2 = (node.address.replace("127.47.", "127.48.") for node in fabric.nodes[:2])
        return rdma_cm.filled(fabric, [word.replace("{server2}", server2).replace("{client2}", client2) for word in words])

    with context.fabric() as fabric:
        server = fabric.start(fabric.nodes[0], filled_ports(fabric, case.server), "server", extra=BOTH_PORTS)
        rdma_cm.wait_for_listener(fabric, Place(filled_ports(fabric, ["{server2}"])[0]), case, server)
        client = fabric.start(fabric.nodes[1], filled_ports(fabric, case.client), "client", extra=BOTH_PORTS)
        deadline = time.monotonic() + rdma_cm.TIMEOUT
        rdma_cm.require(client, 0, deadline, also=[server])
        rdma_cm.require(server, 0, deadline, also=[client])
        rdma_cm.require_words(client, case.says)


# What programs say of an address that the node does not have, since it has no third device, or is another one's.
WRONG = [
    (["rping", "-s", "-a", "{server3}"], "rdma_bind_addr: Cannot assign requested address"),
    (["rping", "-s", "-a", "{client2}"], "rdma_bind_addr: Cannot assign requested address"),
    (["rping", "-c", "-I", "{server3}", "-a", "{client}"], "rdma_resolve_addr: Cannot assign requested address"),
    (["rping", "-c", "-a", "{server2}"], "RDMA_CM_EVENT_REJECTED, error 8"),  # its own, with no listener
]


def says_what_is_wrong(context):
    with context.fabric() as fabric:
        third = fabric.nodes[0].address.replace(".91.", ".93.")
        for words, answer in WRONG:
            program = start(fabric, fabric.nodes[0], [word.replace("{server3}", third) for word in words], "program")
            rdma_cm.require(program, 255, time.monotonic() + 20)
            rdma_cm.require_words(program, re.escape(answer))


def tests(context):
    more = [a_group_is_on_the_device_of_the_bound_address, each_device_of_a_node_has_ports_of_its_own, says_what_is_wrong]
    return ([(row.case.name, lambda row=row: run_row(context, row)) for row in ROWS]
            + [(case.name, lambda case=case: run_port_case(context, case)) for case in PORT_CASES]
            + [(test.__name__.replace("_", " "), lambda test=test: test(context)) for test in more])
