"""Programs over rsockets: their own, and programs for TCP that librspreload leads there."""
import contextlib
import glob
import os
import sys
import tempfile
import time

import harness
import rdma_cm
from rdma_cm import LOSS, PORT_SPACE_UDP, TIMEOUT, Case, require, require_words

ROW = r"(?m)^custom\s+"
# The server ends when it has sent all. If the client looks only then, rpoll() tells it of the end along with the last data
# (POLLHUP, 16), which rstream takes for an error: on a machine with few processors, on hardware too.
ASYNC_STATUS = (0, 16)


def stream(program, *options, status=(0,)):
    return rdma_cm.example(" ".join([program, *options]), program, ["-C", "10", *options], 7471, ROW, server_says=ROW, client_status=status)


def streams():
    for program in ("rstream", "riostream"):
        yield stream(program, "-S", "all")
        yield stream(program, "-S", "100000", "-T", "v")
        for manner in "abn":
            yield stream(program, "-S", "10000", "-T", manner, "-T", "v", status=ASYNC_STATUS if manner == "a" else (0,))
        yield stream(program, "-S", "64", "-i", "64")
        yield stream(program, "-S", "10000", "-B", "4096", "-I", "3")
    yield stream("rstream", "-S", "1000", "-k", "5")
    yield stream("rstream", "-S", "1000", "-f", "ip")
    yield Case("rstream bound to an address, resolved by rdma_cm", ["rstream", "-b", "{server}", "-p", "7500", "-C", "10", "-S", "1000", "-T", "v"],
               ["rstream", "-s", "{server}", "-T", "r", "-p", "7500", "-C", "10", "-S", "1000", "-T", "v"], 7500, says=ROW)


def start_pong(fabric, options, extra):
    """Its client. It binds to the loopback address if it is not told another one, and its server goes on for ever."""
    argv = ["udpong", "-p", str(harness.free_port()), "-C", "20", *options]
    server = fabric.start(fabric.nodes[0], argv + ["-b", fabric.nodes[0].address], "server", extra=extra)
    harness.wait_until(lambda: bound_by_udp(fabric.nodes[0].address, argv[2]), time.monotonic() + 20, "udpong is bound", [server])
    return fabric.start(fabric.nodes[1], argv + ["-s", fabric.nodes[0].address], "client", extra=extra)


def pongs(context):
    """Datagram rsockets make an address handle of the port's own LID, and no GRH: they are InfiniBand's."""
    for options in ([], ["-T", "e"], ["-T", "a"], ["-T", "n"], ["-S", "100"]):
        with context.fabric() as fabric:
            client = start_pong(fabric, options, ("--wire", "infiniband"))
            require(client, 0, time.monotonic() + TIMEOUT)
            require_words(client, ROW)


def pongs_fail_on_ethernet(context):
    """As on the kernel's rxe (docs/interop.md)."""
    with context.fabric() as fabric:
        client = start_pong(fabric, [], ())
        if client.wait(time.monotonic() + TIMEOUT) != 255 or "rconnect: No such file or directory" not in client.err + client.out:
            raise harness.Failure(f"udpong does not fail as on rxe\n{client.describe()}")


def bound_by_udp(address, port):
    octets = "".join(f"{int(octet):02X}" for octet in reversed(address.split(".")))
    with open("/proc/net/udp", encoding="ascii") as table:
        return any(f" {octets}:{int(port):04X} " in line for line in table)


def copies_a_file(context):
    """rcopy: a file's octets through an rsocket."""
    case = Case("rcopy", ["rcopy"], [], 7427)
    with context.fabric() as fabric, tempfile.TemporaryDirectory() as folder:
        server = rdma_cm.start_server(fabric, case, faults=context.faults)
        source, target = os.path.join(folder, "source"), os.path.join(folder, "target")
        with open(source, "wb") as file:
            file.write(bytes(range(256)) * 4000)
        client = fabric.start(fabric.nodes[1], ["rcopy", source, f"{fabric.nodes[0].address}:{target}"], "client",
                              faults=context.faults, seed=2)
        require(client, 0, time.monotonic() + TIMEOUT)
        with open(source, "rb") as one, open(target, "rb") as other:
            if one.read() != other.read():
                raise harness.Failure(f"the copy differs\n{client.describe()}{server.describe()}")


# -- librspreload ------------------------------------------------------------------------------------------------------

def preloaded(argv, **environment):
    """A command line that runs a program for TCP with librspreload in front of what `verbena exec` preloads."""
    found = glob.glob("/usr/lib/*/rsocket/librspreload.so")
    if not found:
        raise harness.Failure("librspreload is not installed")
    settings = " ".join(f"{name}={value}" for name, value in environment.items())
    return ["/bin/sh", "-c", f'exec env {settings} LD_PRELOAD="{found[0]} $LD_PRELOAD" "$@"', "sh", *argv]


def went_by_rdma(program):
    if program.counters().get("tx_packets", 0) == 0:
        raise harness.Failure(f"nothing was sent by RDMA\n{program.describe()}")


@contextlib.contextmanager
def without_semaphore():
    """librspreload's, for forking servers, outlives them."""
    try:
        yield
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink("/dev/shm/sem.rsocket_fork")


def run_preloaded(context, case, **environment):
    with without_semaphore() if environment else contextlib.nullcontext(), context.fabric() as fabric:
        options = {"faults": context.faults, "stats": True}
        server = fabric.start(fabric.nodes[0], preloaded(rdma_cm.filled(fabric, case.server), **environment), "server", **options)
        if environment:  # until a connection comes, it listens by TCP
            harness.wait_until(lambda: harness.listens(case.port), time.monotonic() + 20, "it listens", [server])
        else:
            rdma_cm.wait_for_listener(fabric, fabric.nodes[0], case, server)
        client = fabric.start(fabric.nodes[1], preloaded(rdma_cm.filled(fabric, case.client), **environment), "client", seed=2, **options)
        for program in (client, server):
            require(program, 0, time.monotonic() + TIMEOUT)
        require_words(client, case.says)
        went_by_rdma(client)


def carries_tcp(context):
    """rstream in its mode for TCP sockets."""
    run_preloaded(context, Case("sockets", ["rstream", "-T", "s", "-T", "v", "-C", "10", "-S", "all"],
                                ["rstream", "-T", "s", "-T", "v", "-s", "{server}", "-C", "10", "-S", "all"], 7471, says=ROW))


def carries_tcp_of_a_forking_server(context):
    """The connection comes by TCP, and goes over to rdma_cm in the child that serves it."""
    port = harness.free_port()
    options = ["-T", "v", "-C", "10", "-S", "10000", "-p", str(port)]
    run_preloaded(context, Case("fork", ["rstream", "-T", "f", *options], ["rstream", "-T", "s", "-s", "{server}", *options], port, says=ROW),
                  RDMAV_FORK_SAFE=1)


def carries_tcp_of_python(context):
    """A server and a client in Python, whose sockets are opened as librspreload wants it: of plain type SOCK_STREAM."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tcp_pair.py")
    for manner in ("blocking", "polling"):
        argv = [sys.executable, "-B", script, manner]
        run_preloaded(context, Case("python", argv + ["server", "{server}", "7700"], argv + ["client", "{server}", "7700"], 7700,
                                    says=r"all 50 answers are right"))


def carries_iperf3(context):
    """Its server waits with select(), which librspreload understands for connections that came by TCP, three at most
    (docs/deviations.md says why)."""
    for options in ([], ["-R"], ["--bidir"], ["-P", "2"], ["-l", "1000", "-N"]):
        port = harness.free_port()
        moved = r"(?m)^\[[^]]+\].* [1-9][\d.]* [KM]Bytes .*receiver"
        run_preloaded(context, Case("iperf3", ["iperf3", "-s", "-1", "-B", "{server}", "-p", str(port)],
                                    ["iperf3", "-c", "{server}", "-p", str(port), "-n", "4M", *options], port, says=moved), RDMAV_FORK_SAFE=1)


def tests(context):
    more = [copies_a_file, carries_tcp, carries_tcp_of_python, carries_iperf3]
    if not context.faults:  # udpong's messages are datagrams, and a fork's are not sent again by TCP
        more += [pongs_fail_on_ethernet, carries_tcp_of_a_forking_server]
        if context.link == "shm":
            more.append(pongs)
    return rdma_cm.named(context, streams()) + [(test.__name__.replace("_", " "), lambda test=test: test(context)) for test in more]
