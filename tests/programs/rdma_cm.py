"""Programs that connect through rdma_cm: the examples of the distribution's librdmacm, and how servers and clients are run.

Programs over rsockets are in rsockets.py, tools that can use rdma_cm as well in rdma_cm_tools.py.

A server is known to listen by the name that it holds (emulator/host/node/service_directory.h), not by a TCP port.
"""
import dataclasses
import json
import os
import re
import signal
import subprocess
import tempfile
import time

import harness

LOSS = ("drop 2%", "reorder by=3 1%")  # of a family that is run under loss (run.py)
PORT_SPACE_IPOIB, PORT_SPACE_TCP, PORT_SPACE_UDP, PORT_SPACE_IB = 0x2, 0x106, 0x111, 0x13f
TIMEOUT = 100  # a lost message of the connection manager is sent again after 4.8 s


@dataclasses.dataclass
class Case:
    name: str
    server: list
    client: list
    port: int
    port_space: int = PORT_SPACE_TCP
    says: str = ""         # of the client's output
    reliable: bool = True  # survives packet loss
    server_ends: bool = True
    server_says: str = ""
    client_status: tuple = (0,)
    loss: tuple = LOSS     # what it survives, if reliable


def example(name, program, options, port, says, **more):
    """Server and client of one program with the same options; the client names the server with -s."""
    return Case(name, [program, *options], [program, "-s", "{server}", *options], port, says=says, **more)


COMPLETE = r"test complete\s+return status 0"
RPING = Case("rping", ["rping", "-s", "-a", "{server}", "-C", "10"], ["rping", "-c", "-a", "{server}", "-C", "10", "-v", "-V"], 7174,
             says=r"ping data: rdma-ping-9")
UCMATOSE = example("ucmatose", "ucmatose", ["-c", "20"], 7471, COMPLETE)
CASES = [
    RPING,
    Case("rping with its own event channels", ["rping", "-s", "-a", "{server}", "-C", "10", "-q", "-S", "5000"],
         ["rping", "-c", "-a", "{server}", "-C", "10", "-q", "-S", "5000", "-v"], 7174, says=r"rdma-ping-9"),
    UCMATOSE,
    example("ucmatose of 100 connections", "ucmatose", ["-c", "100"], 7471, COMPLETE),
    example("ucmatose with migration, type of service and ACK timeout", "ucmatose", ["-m", "-t", "32", "-a", "12", "-S", "5000"], 7471, COMPLETE),
    Case("ucmatose bound to addresses", ["ucmatose", "-f", "ip", "-b", "{server}", "-p", "7500"],
         ["ucmatose", "-f", "ip", "-s", "{server}", "-b", "{client}", "-p", "7500"], 7500, says=COMPLETE),
    example("ucmatose in the IB port space", "ucmatose", ["-P", "ib"], 7471, COMPLETE, port_space=PORT_SPACE_IB),
    example("udaddy", "udaddy", [], 7174, COMPLETE, port_space=PORT_SPACE_UDP, reliable=False),
    example("udaddy of 20 pairs", "udaddy", ["-c", "20", "-C", "5", "-S", "1000"], 7174, COMPLETE, port_space=PORT_SPACE_UDP, reliable=False),
    example("udaddy in the IPoIB port space", "udaddy", ["-p", "0x0002"], 7174, COMPLETE, port_space=PORT_SPACE_IPOIB, reliable=False),
    Case("rdma_client", ["rdma_server"], ["rdma_client", "-s", "{server}"], 7471, says=r"rdma_client: end 0"),
    Case("rdma_xclient", ["rdma_xserver"], ["rdma_xclient", "-s", "{server}"], 7471, says=r"rdma_xclient: end 0"),
    Case("rdma_xclient over XRC", ["rdma_xserver", "-c", "x"], ["rdma_xclient", "-c", "x", "-s", "{server}"], 7471, PORT_SPACE_IB,
         says=r"rdma_xclient: end 0"),
    example("cmtime", "cmtime", ["-c", "1000"], 7471, r"disconnect\s+:", server_ends=False),
]


def wait_for_listener(fabric, node, case, program):
    service = f"/{fabric.name}/{node.address}/{case.port_space << 16 | case.port:x}"
    names = (service + "/", service + ".6/", service + ".ib/")  # for those who ask by IPv4, by IPv6, by GIDs

    def listens():
        with open(node.unix_sockets, encoding="ascii", errors="replace") as table:
            return any("@verbena-cm/" in line and any(name in line for name in names) for line in table)
    harness.wait_until(listens, time.monotonic() + 20, f"{case.name} listens", [program])


def filled(fabric, words):
    return [word.replace("{client}", fabric.nodes[1].address).replace("{server}", fabric.nodes[0].address) for word in words]


def start_server(fabric, case, **options):
    server = fabric.start(fabric.nodes[0], filled(fabric, case.server), "server", **options)
    wait_for_listener(fabric, fabric.nodes[0], case, server)
    return server


def start_client(fabric, case, **options):
    return fabric.start(fabric.nodes[1], filled(fabric, case.client), "client", **options)


def require(program, status, deadline, also=()):
    """It must end in time with this exit status, or with one of these; `also`: whose output a failure shows too."""
    allowed = status if isinstance(status, tuple) else (status,)
    if program.wait(deadline) not in allowed:
        raise harness.Failure(f"exit status {program.status} instead of {status}\n"
                              + "".join(shown.describe() for shown in (program, *also)))


def require_words(program, words):
    if not re.search(words, program.out + program.err):
        raise harness.Failure(f"it does not say {words}\n{program.describe()}")


def run_on(fabric, context, case):
    faults = case.loss if context.faults else ()
    server = start_server(fabric, case, faults=faults, seed=1)
    client = start_client(fabric, case, faults=faults, seed=2)
    deadline = time.monotonic() + TIMEOUT
    require(client, case.client_status, deadline, also=[server])
    if case.server_ends:
        require(server, 0, deadline)
    if client.status == 0:
        require_words(client, case.says)
    require_words(server, case.server_says)


def run_case(context, case):
    with context.fabric() as fabric:
        run_on(fabric, context, case)


def named(context, cases):
    """As run.py wants them: those that can work under the faults."""
    return [(case.name, lambda case=case: run_case(context, case)) for case in cases if case.reliable or not context.faults]


def goes_by_ipv6(context):
    """Nodes that have IPv6 addresses, and an IPv4 node named by its address in IPv6."""
    with context.fabric() as fabric:
        case = dataclasses.replace(RPING)
        case.server = [word.replace("{server}", "::ffff:{server}") for word in RPING.server]
        case.client = [word.replace("{server}", "::ffff:{server}") for word in RPING.client]
        run_on(fabric, context, case)
        if context.link != "shm":  # the kernel's interfaces have no such addresses
            return
        for place, node in enumerate(fabric.nodes):
            node.number = node.address = f"fd56::{place + 1}"
        run_on(fabric, context, RPING)
        # Its server is for IPv4 only unless it is told so, as the kernel has it.
        run_on(fabric, context, dataclasses.replace(UCMATOSE, server=["ucmatose", "-f", "ipv6", "-b", "::", "-c", "20"],
                                                    client=["ucmatose", "-f", "ipv6", "-s", "{server}", "-c", "20"]))


def send_to_group(fabric, group, receivers, sender, options):
    """Starts mckey on these nodes; the sender last, when the receivers are there."""
    argv = ["stdbuf", "-oL", "mckey", "-m", group, "-C", "5"]
    for receiver in [fabric.start(node, argv, "receiver") for node in receivers]:
        harness.wait_until(lambda: "receiving data transfers" in receiver.out, time.monotonic() + 20, "it receives", [receiver])
    fabric.start(sender, argv + ["-s", *options], "sender")  # which pauses for seconds, for a switch to learn of it


def require_complete(programs):
    deadline = time.monotonic() + TIMEOUT
    for program in programs:
        require(program, 0, deadline, also=[other for other in programs if other is not program])
        require_words(program, COMPLETE)


def reaches_a_group(context):
    """mckey: one that sends, and four that receive: on its own node, on another one, and two processes on a third."""
    manners = ([], ["-o"])  # as a member that sends only
    with context.fabric(3) as fabric, context.fabric(3) as another:
        for options, place in zip(manners, (fabric, another)):
            sender, other, third = place.nodes
            # Over udp nodes of one network hear each other's groups, whatever their fabric is called.
            send_to_group(place, f"239.1.{sender.number}.3", (sender, other, third, third), sender, options)
        require_complete(fabric.programs + another.programs)


def is_refused_without_listener(context):
    """A process stands on the node, but nobody has the port: REJ, reason 8, at once."""
    case = RPING
    with context.fabric() as fabric:
        start_server(fabric, UCMATOSE)
        client = start_client(fabric, case)
        require(client, 255, time.monotonic() + 10)
        if "REJECTED, error 8" not in client.out + client.err:
            raise harness.Failure(f"it was not refused\n{client.describe()}")


def a_port_is_taken_once(context):
    """Two processes of one node: the second gets EADDRNOTAVAIL, as the kernel says of wildcards, and its like on another node does not."""
    case = UCMATOSE
    with context.fabric() as fabric:
        start_server(fabric, case)
        second = fabric.start(fabric.nodes[0], case.server, "second")
        second.wait(time.monotonic() + 20)
        if second.status == 0 or "Cannot assign requested address" not in second.out + second.err:
            raise harness.Failure(f"the second was not told that the port is in use\n{second.describe()}")
        elsewhere = fabric.start(fabric.nodes[1], case.server, "elsewhere")
        wait_for_listener(fabric, fabric.nodes[1], case, elsewhere)


def processes_of_a_node_share_qp1(context):
    """Two servers on one node, of which the first that came dies: the other is still reached."""
    first, second = RPING, UCMATOSE
    with context.fabric() as fabric:
        doomed = start_server(fabric, first)
        server = start_server(fabric, second)
        client = start_client(fabric, second)
        require(client, 0, time.monotonic() + TIMEOUT)
        require(server, 0, time.monotonic() + TIMEOUT)
        server = start_server(fabric, second)
        doomed.signal_group(signal.SIGKILL)
        doomed.wait(time.monotonic() + 10)
        require(start_client(fabric, second), 0, time.monotonic() + TIMEOUT)
        require(server, 0, time.monotonic() + TIMEOUT)
        if context.link == "shm":  # elsewhere nobody knows that nobody is there, and the retries take their time
            require(start_client(fabric, first), 255, time.monotonic() + TIMEOUT)


def is_dissected(context):
    """tshark knows every message, and finds none malformed; the data begins with the PSNs that REQ and REP announce."""
    case = RPING
    with context.fabric() as fabric, tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rping.pcapng")
        server = start_server(fabric, case, capture=path)  # here, for a client may leave before its last answer comes
        client = start_client(fabric, case)
        require(client, 0, time.monotonic() + TIMEOUT)
        require(server, 0, time.monotonic() + TIMEOUT)
        text = subprocess.run(["tshark", "-r", path], check=True, capture_output=True, text=True).stdout
        for message in ("ConnectRequest", "ConnectReply", "ReadyToUse", "DisconnectRequest", "DisconnectReply"):
            if message not in text:
                raise harness.Failure(f"no {message}\n{text}")
        if "Malformed" in text:
            raise harness.Failure(text)
        checked = subprocess.run([context.verbena, "check", "--json", path], check=False, capture_output=True, text=True)
        rows = {row["checker"]: row for row in json.loads(checked.stdout)[0]["checkers"]}
        if checked.returncode != 0 or rows["cm-psn"]["judged"] != 2:
            raise harness.Failure(f"the checkers say {checked.returncode}, {rows['cm-psn']}")


# What each program says when it cannot: words, exit status. {nobody} is a node of the fabric that has no listener.
WRONG = [
    (["rping", "-c", "-a", "10.9.8.7"], "RDMA_CM_EVENT_ADDR_ERROR, error -110", 255),
    (["rping", "-c", "-a", "{nobody}"], "RDMA_CM_EVENT_REJECTED, error 8", 255),
    (["rping", "-s", "-a", "10.1.1.1"], "rdma_bind_addr: Cannot assign requested address", 255),
    (["ucmatose", "-s", "{nobody}"], "RDMA_CM_EVENT_REJECTED, error: 8", 8),
    (["ucmatose", "-b", "10.1.1.1"], "return status -1", 255),
    (["udaddy", "-s", "{nobody}"], "RDMA_CM_EVENT_UNREACHABLE, error: 1", 1),
    (["rdma_client", "-s", "{nobody}"], "rdma_connect: Connection refused", 255),
    (["rdma_xclient", "-c", "x", "-s", "{nobody}"], "rdma_connect: Connection refused", 255),
    (["mckey", "-m", "10.0.0.1"], "RDMA_CM_EVENT_ADDR_ERROR, error: -110", 255),
    (["mckey", "-m", "{nobody}", "-b", "{server}"], "return status -1", 255),  # not a group
    (["rstream", "-s", "{nobody}"], "rconnect: Connection refused", 255),
    (["rcopy", "/etc/passwd", "{nobody}:/nonexistent"], "Connection refused", 255),
    (["ib_write_bw", "-F", "-R", "{nobody}"], "Unable to perform rdma_client function", 1),
]


def says_what_is_wrong(context):
    """The statuses are those of the kernel's connection manager; at once, for shared memory knows who is there."""
    with context.fabric() as fabric:
        for words, answer, status in WRONG:
            argv = filled(fabric, [word.replace("{nobody}", fabric.nodes[1].address) for word in words])
            program = fabric.start(fabric.nodes[0], argv)
            require(program, status, time.monotonic() + 20)
            require_words(program, re.escape(answer))


def tests(context):
    if context.faults:
        return named(context, CASES)
    more = [goes_by_ipv6, reaches_a_group, is_refused_without_listener, a_port_is_taken_once, processes_of_a_node_share_qp1, is_dissected]
    if context.link == "shm":
        more.append(says_what_is_wrong)
    return named(context, CASES) + [(test.__name__.replace("_", " "), lambda test=test: test(context)) for test in more]
