"""Programs that connect through rdma_cm: the distribution's librdmacm and rsockets over the emulated device.

A server is known to listen by the name that it holds (emulator/host/service_directory.h), not by a TCP port.
"""
import os
import re
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass

import harness

PORT_SPACE_TCP, PORT_SPACE_UDP = 0x106, 0x111
TIMEOUT = 100  # a lost message of the connection manager is sent again after 4.8 s


@dataclass
class Case:
    name: str
    server: list
    client: list
    port: int
    port_space: int = PORT_SPACE_TCP
    says: str = ""         # of the client's output
    reliable: bool = True  # survives packet loss
    server_ends: bool = True


CASES = [
    Case("rping", ["rping", "-s", "-a", "{server}", "-C", "10"], ["rping", "-c", "-a", "{server}", "-C", "10", "-v", "-V"], 7174,
         says=r"ping data: rdma-ping-9"),
    Case("ucmatose", ["ucmatose", "-c", "20"], ["ucmatose", "-s", "{server}", "-c", "20"], 7471, says=r"test complete\s+return status 0"),
    Case("udaddy", ["udaddy"], ["udaddy", "-s", "{server}"], 7174, PORT_SPACE_UDP, says=r"test complete\s+return status 0", reliable=False),
    Case("rdma_client", ["rdma_server"], ["rdma_client", "-s", "{server}"], 7471, says=r"rdma_client: end 0"),
    Case("cmtime", ["cmtime", "-c", "1000"], ["cmtime", "-s", "{server}", "-c", "1000"], 7471, says=r"disconnect\s+:", server_ends=False),
    Case("ib_write_bw -R", ["ib_write_bw", "-F", "-R", "-n", "100"], ["ib_write_bw", "-F", "-R", "-n", "100", "{server}"], 18515,
         says=r"(?m)^\s*65536\s+100"),
    Case("ib_send_lat -R", ["ib_send_lat", "-F", "-R", "-n", "100"], ["ib_send_lat", "-F", "-R", "-n", "100", "{server}"], 18515,
         says=r"(?m)^\s*2\s+100"),
    Case("rstream", ["rstream", "-S", "all", "-C", "10"], ["rstream", "-s", "{server}", "-S", "all", "-C", "10"], 7471,
         says=r"(?m)^custom"),
    Case("riostream", ["riostream", "-C", "10"], ["riostream", "-s", "{server}", "-C", "10"], 7471, says=r"(?m)^custom"),
]


def wait_for_listener(fabric, node, case, program):
    name = f"@verbena-cm/{os.geteuid()}/{fabric.name}/{node.address}/{case.port_space << 16 | case.port:x}/"

    def listens():
        with open("/proc/net/unix", encoding="ascii", errors="replace") as table:
            return any(name in line for line in table)
    harness.wait_until(listens, time.monotonic() + 20, f"{case.name} listens", [program])


def start_server(fabric, case, **options):
    node = fabric.nodes[0]
    server = fabric.start(node, harness.fill(case.server, 0, node.address, options), "server", **options)
    wait_for_listener(fabric, node, case, server)
    return server


def start_client(fabric, case, **options):
    argv = harness.fill(case.client, 0, fabric.nodes[0].address, options)
    return fabric.start(fabric.nodes[1], argv, "client", **options)


def require(program, status, deadline):
    if program.wait(deadline) != status:
        raise harness.Failure(f"exit status {program.status} instead of {status}\n{program.describe()}")


def run_case(context, case):
    with context.fabric() as fabric:
        server = start_server(fabric, case, faults=context.faults, seed=1)
        client = start_client(fabric, case, faults=context.faults, seed=2)
        deadline = time.monotonic() + TIMEOUT
        require(client, 0, deadline)
        if case.server_ends:
            require(server, 0, deadline)
        if not re.search(case.says, client.out):
            raise harness.Failure(f"the client does not say {case.says}\n{client.describe()}")


def copies_a_file(context):
    """rcopy: a file's octets through an rsocket."""
    case = Case("rcopy", ["rcopy"], [], 7427)
    with context.fabric() as fabric, tempfile.TemporaryDirectory() as folder:
        server = start_server(fabric, case, faults=context.faults)
        source, target = os.path.join(folder, "source"), os.path.join(folder, "target")
        with open(source, "wb") as file:
            file.write(bytes(range(256)) * 4000)
        client = fabric.start(fabric.nodes[1], ["rcopy", source, f"{fabric.nodes[0].address}:{target}"], "client",
                              faults=context.faults, seed=2)
        require(client, 0, time.monotonic() + TIMEOUT)
        with open(source, "rb") as one, open(target, "rb") as other:
            if one.read() != other.read():
                raise harness.Failure(f"the copy differs\n{client.describe()}{server.describe()}")


def fio_writes(context):
    """fio's rdma engine, which connects by itself."""
    case = Case("fio", [], [], 20333)
    common = ["fio", "--name=g", "--ioengine=rdma", "--port=20333", "--bs=64k", "--size=4m"]
    with context.fabric() as fabric:
        server = fabric.start(fabric.nodes[0], common + ["--rw=read"], "server")
        wait_for_listener(fabric, fabric.nodes[0], case, server)
        client = fabric.start(fabric.nodes[1], common + ["--rw=write", "--verb=write", "--iodepth=4",
                                                       f"--hostname={fabric.nodes[0].address}"], "client")
        require(client, 0, time.monotonic() + TIMEOUT)
        require(server, 0, time.monotonic() + TIMEOUT)


def is_refused_without_listener(context):
    """A process stands on the node, but nobody has the port: REJ, reason 8, at once."""
    case = CASES[0]
    with context.fabric() as fabric:
        start_server(fabric, CASES[1])
        client = start_client(fabric, case)
        require(client, 255, time.monotonic() + 10)
        if "REJECTED, error 8" not in client.out + client.err:
            raise harness.Failure(f"it was not refused\n{client.describe()}")


def a_port_is_taken_once(context):
    """Two processes of one node: the second gets EADDRINUSE, and its like on another node does not."""
    case = CASES[1]
    with context.fabric() as fabric:
        start_server(fabric, case)
        second = fabric.start(fabric.nodes[0], case.server, "second")
        second.wait(time.monotonic() + 20)
        if second.status == 0 or "Address already in use" not in second.out + second.err:
            raise harness.Failure(f"the second was not told that the port is in use\n{second.describe()}")
        elsewhere = fabric.start(fabric.nodes[1], case.server, "elsewhere")
        wait_for_listener(fabric, fabric.nodes[1], case, elsewhere)


def processes_of_a_node_share_qp1(context):
    """Two servers on one node, of which the first that came dies: the other is still reached."""
    first, second = CASES[0], CASES[1]
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
    """tshark knows every message, and finds none malformed."""
    case = CASES[0]
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


def tests(context):
    named = [(case.name, lambda case=case: run_case(context, case)) for case in CASES if case.reliable or not context.faults]
    named.append(("rcopy copies a file", lambda: copies_a_file(context)))
    if context.faults:
        return named
    for test in (fio_writes, is_refused_without_listener, a_port_is_taken_once, processes_of_a_node_share_qp1, is_dissected):
        named.append((test.__name__.replace("_", " "), lambda test=test: test(context)))
    return named
