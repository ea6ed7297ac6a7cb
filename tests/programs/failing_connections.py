"""Connections that fail on demand: single messages of the connection manager are lost or come often, requests are rejected, listeners
die; what both ends are told is the distribution's librdmacm's word. The reasons of REJ are tshark's."""
import json
import os
import re
import signal
import tempfile
import time

import captures
import harness
import rdma_cm
import served
import waiting
from harness import Failure
from rdma_cm_endings import PORT, SETTLED, TIMEOUT, cm_peer, require_end, start_server

# What goes wrong at the server's or at the client's end, the last that the client is told, and what the server is told.
REQUEST, REJECTED = "RDMA_CM_EVENT_CONNECT_REQUEST 0", "RDMA_CM_EVENT_REJECTED"
ENDS = (("server", "reject", f"{REJECTED} 28", ""),
        ("server", "reject reason=stale-connection", f"{REJECTED} 10", ""),
        ("server", "reject reason=invalid-service-id", f"{REJECTED} 8", ""),
        ("server", "kill verb=rdma_accept", f"{REJECTED} 28", REQUEST),
        ("server", "fail verb=rdma_accept", f"{REJECTED} 28", REQUEST),
        ("client", "cm-event event=ADDR_ERROR", "RDMA_CM_EVENT_ADDR_ERROR -110", ""),
        ("client", "cm-event event=ADDR_ERROR errno=ENETUNREACH", "RDMA_CM_EVENT_ADDR_ERROR -101", ""),
        ("client", "cm-event event=ROUTE_ERROR", "RDMA_CM_EVENT_ROUTE_ERROR -110", ""),
        ("client", "cm-event event=REJECTED reason=invalid-mtu", f"{REJECTED} 26", f"{REQUEST}\n{REJECTED} 28"),
        ("client", "cm-event event=CONNECT_ERROR", "RDMA_CM_EVENT_CONNECT_ERROR -22", f"{REQUEST}\n{REJECTED} 28"),
        ("client", "cm-event event=UNREACHABLE", "RDMA_CM_EVENT_UNREACHABLE -110", f"{REQUEST}\n{REJECTED} 4"))


def start(context, fabric, side, fault, **options):
    """Server and client, of which one has the fault. `options`: the client's."""
    faults = {"server": {}, "client": dict(options)}
    faults[side]["faults"] = [fault]
    server = fabric.start(fabric.nodes[0], [cm_peer(context), "serve", PORT, "accept"], "server", **faults["server"])
    harness.wait_until(lambda: "listening" in server.out, time.monotonic() + TIMEOUT, "it listens", [server])
    address = fabric.nodes[0].address
    return server, fabric.start(fabric.nodes[1], [cm_peer(context), "ask", address, PORT], "client", **faults["client"])


def ends(context, side, fault, client_hears, server_hears):
    with context.fabric() as fabric:
        server, client = start(context, fabric, side, fault)
        require_end(client, client_hears)
        wanted = f"listening\n{server_hears}".strip()
        harness.wait_until(lambda: server.out.strip() == wanted, time.monotonic() + TIMEOUT, f"'{wanted}' of the server", [server, client])


# Some of each kind, by their numbers in the specification's table (12.6.7.2).
REASONS = (("no-resources", 3), ("invalid-mtu", 26), ("invalid-rnr-retry", 29), ("vendor-option", 35))


def reasons(context):
    """A REJ is what tshark reads, with each reason."""
    for word, number in REASONS:
        with context.fabric() as fabric, tempfile.TemporaryDirectory() as folder:
            capture = os.path.join(folder, "client.pcapng")
            _, client = start(context, fabric, "server", f"reject reason={word}", capture=capture)
            require_end(client, f"{REJECTED} {number}")
            found = captures.tshark(capture, "-Y", "infiniband.cm.rej.reason", "-T", "fields", "-e", "infiniband.cm.rej.reason",
                                    "-e", "infiniband.cm.rej.msgrej")
            if [[int(field, 0) for field in line.split("\t")] for line in found] != [[number, 0]]:  # 0: a REQ is rejected
                raise Failure(f"{word}: tshark reads {found}")


MESSAGES = ("cm-req", "cm-rep", "cm-rtu", "cm-dreq", "cm-drep")
CYCLES = 3


def cycles(context, faults, unestablished=0):
    """Connections that are made and ended again: the client's end is hit in both directions. How often each fault has hit.
    `unestablished`: so many connections are ended before the server hears that they are there."""
    with context.fabric() as fabric, tempfile.TemporaryDirectory() as folder:
        server = start_server(context, fabric, "accept")
        stats = os.path.join(folder, "stats.json")
        argv = [cm_peer(context), "cycle", fabric.nodes[0].address, PORT, str(CYCLES)]
        client = fabric.start(fabric.nodes[1], argv, "client", faults=faults, extra=["--stats-json", stats])
        rdma_cm.require(client, 0, time.monotonic() + TIMEOUT, also=[server])
        wanted = {"CONNECT_REQUEST": CYCLES, "ESTABLISHED": CYCLES - unestablished, "DISCONNECTED": CYCLES}
        harness.wait_until(lambda: {name: server.out.count(f"RDMA_CM_EVENT_{name} 0") for name in wanted} == wanted,
                           time.monotonic() + TIMEOUT, f"the server is told {wanted}", [server])
        with open(stats, encoding="utf-8") as file:
            return [fault["hits"] for fault in json.load(file)["faults"]]


def storm(context):
    """Each message comes a hundred times, and is heard once."""
    hits = cycles(context, [f"duplicate opcode={message} copies=100 dir=both" for message in MESSAGES])
    if hits != [CYCLES] * len(MESSAGES):
        raise Failure(f"hits: {hits}")


def each_is_lost_once(context):
    """One message of each kind is lost, and sent again. The DREQ behind a lost RTU ends what its receiver has not heard to be there."""
    faults = [f"drop opcode={message} dir=both count=1" for message in MESSAGES[:3]]
    faults += [f"drop opcode={message} dir=both skip=2 count=1" for message in MESSAGES[3:]]
    hits = cycles(context, faults, unestablished=1)
    if hits != [1] * len(MESSAGES):
        raise Failure(f"hits: {hits}")


def datagrams(context):
    """A SIDR_REQ is refused, which is UNREACHABLE for its sender, as the kernel has it."""
    case = next(case for case in rdma_cm.CASES if case.name == "udaddy")
    for fault, status in (("reject", 2), ("reject reason=invalid-service-id", 1), ("reject reason=no-qp", 3)):
        with context.fabric() as fabric:
            server = fabric.start(fabric.nodes[0], rdma_cm.filled(fabric, case.server), "server", faults=[fault])
            rdma_cm.wait_for_listener(fabric, fabric.nodes[0], case, server)
            client = rdma_cm.start_client(fabric, case)
            client.wait(time.monotonic() + TIMEOUT)
            if f"RDMA_CM_EVENT_UNREACHABLE, error: {status}" not in client.out + client.err:
                raise Failure(f"{fault}: no status {status}\n{client.describe()}")


def group(context):
    """A membership fails."""
    with context.fabric() as fabric:
        argv = ["mckey", "-m", "239.1.2.3", "-b", fabric.nodes[0].address]
        program = fabric.start(fabric.nodes[0], argv, "mckey", faults=["cm-event event=MULTICAST_ERROR errno=ENETUNREACH"])
        if program.wait(time.monotonic() + TIMEOUT) is None or "MULTICAST_ERROR, error: -101" not in program.out + program.err:
            raise Failure(program.describe())


def silent(context):
    """A dead cable says nothing: neither that nobody listens behind it, nor that the peer behind it was killed."""
    with served.Served(context) as fabric:
        server = start_server(context, fabric, "accept")
        connected = fabric.start(fabric.nodes[1], [cm_peer(context), "ask", fabric.nodes[0].address, PORT], "client")
        harness.wait_until(lambda: "ESTABLISHED" in connected.out, time.monotonic() + TIMEOUT, "it is connected", [connected])
        fabric.fault("link-down", "n1-s1")
        server.signal_group(signal.SIGKILL)
        server.wait(time.monotonic() + TIMEOUT)
        late = fabric.start(fabric.nodes[2], [cm_peer(context), "ask", fabric.nodes[0].address, "7901"], "late")
        harness.wait_until(lambda: "ROUTE_RESOLVED" in late.out, time.monotonic() + TIMEOUT, "it asks", [late])
        waiting.let_time_pass(SETTLED)
        for program, last in ((connected, "ESTABLISHED 0"), (late, "ROUTE_RESOLVED 0")):
            if not program.out.strip().endswith(last) or program.process.poll() is not None:
                raise Failure(f"a dead cable has spoken\n{program.describe()}")
        fabric.fault("link-up", "n1-s1")
        fabric.start(fabric.nodes[0], [cm_peer(context), "serve", "7901", "accept"], "server")
        harness.wait_until(lambda: "ESTABLISHED 0" in late.out, time.monotonic() + TIMEOUT, "it is heard", [late])


def from_outside(context):
    """A listener that runs rejects from when a fabric's command says so, and until it is taken back."""
    with served.Served(context) as fabric:
        start_server(context, fabric, "accept")
        number = re.search(r"fault (\d+)", fabric.fault("n1", "reject", "reason=invalid-mtu")).group(1)
        client = fabric.start(fabric.nodes[1], [cm_peer(context), "ask", fabric.nodes[0].address, PORT], "client")
        require_end(client, f"{REJECTED} 26")
        if "1 event" not in fabric.fault("remove", number):
            raise Failure("remove does not say that it had hit")
        client = fabric.start(fabric.nodes[1], [cm_peer(context), "ask", fabric.nodes[0].address, PORT], "client")
        harness.wait_until(lambda: "ESTABLISHED 0" in client.out, time.monotonic() + TIMEOUT, "it is accepted", [client])


def tests(context):
    found = [(f"{fault}, at the {side}", lambda side=side, fault=fault, one=one, other=other: ends(context, side, fault, one, other))
             for side, fault, one, other in ENDS]
    more = {"a REJ is what tshark reads": reasons, "messages come a hundred times": storm, "one of each message is lost": each_is_lost_once,
            "a SIDR_REQ is refused": datagrams, "a membership fails": group, "a dead cable is silent": silent, "a listener is told from outside": from_outside}
    return found + [(name, lambda test=test: test(context)) for name, test in more.items()]
