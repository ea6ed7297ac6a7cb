"""Connections through rdma_cm whose other end refuses, is not there, is killed, or comes back ten thousand times.

Both ends are tests/programs/cm_peer.cc over the distribution's librdmacm; what they are told is one line per event.
"""
import os
import re
import signal
import time

import harness

PORT = "7900"
TIMEOUT = 60
SETTLED = 1  # several times the interval in which processes are looked after
CYCLES = 10000
# After the first cycles. Connections that have ended stay for a while, more of them the faster the cycles are; a leak of a
# connection would be some megabytes. The rings of a channel become resident as frames go round.
HEAP_GROWTH_KIB, RINGS_KIB = 1024, 2 * 4096


def cm_peer(context):
    return os.path.join(os.path.dirname(os.path.abspath(context.verbena)), "tests", "cm_peer")


def wait_for_line(program, line, programs=()):
    harness.wait_until(lambda: re.search(f"(?m)^{line}", program.out), time.monotonic() + TIMEOUT, f"'{line}' of {program.name}",
                       [program, *programs])


def start_server(context, fabric, how):
    server = fabric.start(fabric.nodes[0], [cm_peer(context), "serve", PORT, how], "server")
    wait_for_line(server, "listening")
    return server


def start_client(context, fabric, address=None, **options):
    return fabric.start(fabric.nodes[1], [cm_peer(context), "ask", address or fabric.nodes[0].address, PORT], "client", **options)


def kill(program):
    program.signal_group(signal.SIGKILL)
    program.wait(time.monotonic() + TIMEOUT)


def require_end(client, line):
    """The client ends with this event and no other."""
    if client.wait(time.monotonic() + TIMEOUT) != 0:
        raise harness.Failure(f"the client did not end\n{client.describe()}")
    last = client.out.splitlines()[-1].strip()
    if last != line:
        raise harness.Failure(f"'{last}' instead of '{line}'\n{client.describe()}")


def start_connected(context, fabric):
    """A server and a client, both told that they are connected."""
    server = start_server(context, fabric, "accept")
    client = start_client(context, fabric)
    wait_for_line(client, "RDMA_CM_EVENT_ESTABLISHED 0", [server])
    wait_for_line(server, "RDMA_CM_EVENT_ESTABLISHED 0", [client])
    return server, client


def a_killed_client_is_noticed(context):
    """Though neither side has anything to send."""
    with context.fabric() as fabric:
        server, client = start_connected(context, fabric)
        kill(client)
        wait_for_line(server, "RDMA_CM_EVENT_DISCONNECTED 0")


def the_next_in_the_place_of_a_killed_client_keeps_its_connection(context):
    """It starts before anybody has noticed, and gets the slot of the one that was killed."""
    with context.fabric() as fabric:
        server, client = start_connected(context, fabric)
        kill(client)
        client = start_client(context, fabric)
        wait_for_line(client, "RDMA_CM_EVENT_ESTABLISHED 0", [server])
        wait_for_line(server, "RDMA_CM_EVENT_DISCONNECTED 0", [client])
        if client.wait(time.monotonic() + SETTLED) is not None or server.out.count("DISCONNECTED") != 1:
            raise harness.Failure(f"the second connection ended\n{client.describe()}{server.describe()}")
        kill(client)
        harness.wait_until(lambda: server.out.count("DISCONNECTED") == 2, time.monotonic() + TIMEOUT, "the second end", [server])


def a_killed_server_is_noticed(context):
    with context.fabric() as fabric:
        server = start_server(context, fabric, "accept")
        client = start_client(context, fabric)
        wait_for_line(client, "RDMA_CM_EVENT_ESTABLISHED 0", [server])
        kill(server)
        require_end(client, "RDMA_CM_EVENT_DISCONNECTED 0")


def a_listener_killed_between_request_and_reply_rejects(context):
    """As its kernel would for it: REJ, reason 28 (consumer defined)."""
    with context.fabric() as fabric:
        server = start_server(context, fabric, "ignore")
        client = start_client(context, fabric)
        wait_for_line(server, "RDMA_CM_EVENT_CONNECT_REQUEST 0", [client])
        kill(server)
        require_end(client, "RDMA_CM_EVENT_REJECTED 28")


def a_rejection_carries_its_data(context):
    with context.fabric() as fabric:
        start_server(context, fabric, "reject")
        require_end(start_client(context, fabric), "RDMA_CM_EVENT_REJECTED 28 no entry")


def without_a_listener_it_is_refused(context):
    """A process stands on the node and listens for something else."""
    with context.fabric() as fabric:
        other = fabric.start(fabric.nodes[0], [cm_peer(context), "serve", "7901", "accept"], "server")
        wait_for_line(other, "listening")
        require_end(start_client(context, fabric), "RDMA_CM_EVENT_REJECTED 8")


def management_datagrams_are_counted(context):
    """REQ and REJ, as every other packet."""
    with context.fabric() as fabric:
        start_server(context, fabric, "reject")
        client = start_client(context, fabric, stats=True)
        require_end(client, "RDMA_CM_EVENT_REJECTED 28 no entry")
        counters = client.counters()
        if counters.get("tx_packets", 0) != 1 or counters.get("rx_packets", 0) != 1:
            raise harness.Failure(f"not one packet each way\n{client.describe()}")


def a_dead_address_is_not_resolved(context):
    with context.fabric() as fabric:
        require_end(start_client(context, fabric, "192.0.2.1"), "RDMA_CM_EVENT_ADDR_ERROR -110")


def ten_thousand_cycles_leave_nothing_behind(context):
    with context.fabric() as fabric:
        server = start_server(context, fabric, "quietly")
        client = fabric.start(fabric.nodes[1], [cm_peer(context), "cycle", fabric.nodes[0].address, PORT, str(CYCLES)], "client")
        if client.wait(time.monotonic() + 4 * TIMEOUT) != 0:
            raise harness.Failure(f"the cycles do not end\n{client.describe()}{server.describe()}")
        wait_for_line(server, f"after {CYCLES}:")
        for program in (client, server):
            reports = [tuple(map(int, found)) for found in
                       re.findall(r"after \d+: (\d+) KiB of heap, (\d+) KiB shared, (\d+) descriptors", program.out)]
            heap, shared, descriptors = (late - early for early, late in zip(reports[1], reports[-1]))
            if heap > HEAP_GROWTH_KIB or shared > RINGS_KIB or descriptors > 0:
                raise harness.Failure(f"it grows\n{program.describe()}")


def tests(context):
    found = [a_killed_client_is_noticed, the_next_in_the_place_of_a_killed_client_keeps_its_connection,
             a_killed_server_is_noticed, a_listener_killed_between_request_and_reply_rejects,
             a_rejection_carries_its_data, management_datagrams_are_counted, without_a_listener_it_is_refused]
    if context.link == "shm":  # over sockets the machine's own routes decide who is dead
        found += [a_dead_address_is_not_resolved, ten_thousand_cycles_leave_nothing_behind]
    return [(test.__name__.replace("_", " "), lambda test=test: test(context)) for test in found]
