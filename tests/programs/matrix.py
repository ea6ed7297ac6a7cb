"""What must run unmodified: the programs and the options that every link and fault plan has to carry.

A case is data. `{port}`, `{server}` and `{timeout}` are filled in by the harness; server and client get the same options, and the client
the server's address at the end. Counts are small: what is tested is that it works, not how fast.
"""
from dataclasses import dataclass, field

PERFTEST_ROW = r"^\s*\d+\s+\d+\s+[\d.]+"   # bytes, iterations, first figure
PINGPONG_ROW = r"^\d+ iters in "


@dataclass
class Case:
    name: str
    argv: list
    row: str
    reliable: bool = True  # survives packet loss
    timeout: int = 60
    family: str = ""
    rows: int = 1  # at least so many result rows
    tags: tuple = field(default_factory=tuple)

    @property
    def server_argv(self):
        return self.argv

    @property
    def client_argv(self):
        return self.argv + ["{server}"]


def perftest(family, tool, *options, reliable=True, rows=1, iterations=100, name="", timeout=60):
    # -F: no remark on CPU frequencies.
    argv = [tool, "-F", "-p", "{port}", "-u", "{timeout}", "-n", str(iterations), *options]
    return Case(name or " ".join([tool, *options]), argv, PERFTEST_ROW, reliable, timeout, family, rows)


def pingpong(kind, *options, reliable=True, iterations=100):
    argv = [f"ibv_{kind}_pingpong", "-g", "0", "-p", "{port}", "-n", str(iterations), "-c", *options]
    return Case(" ".join([f"ibv_{kind}_pingpong", *options]), argv, PINGPONG_ROW, reliable, 60, "pingpong")


def xrc_pingpong(*options, iterations=100):
    # Its -c is the number of clients that the server waits for. Only the client says when all is done.
    argv = ["ibv_xsrq_pingpong", "-g", "0", "-p", "{port}", "-n", str(iterations), *options]
    return Case(" ".join(["ibv_xsrq_pingpong", *options]), argv, r"^success", True, 60, "pingpong")


def pingpongs():
    yield pingpong("rc")
    yield pingpong("rc", "-e")
    yield pingpong("rc", "-N")
    for mtu in (256, 4096):
        yield pingpong("rc", "-m", str(mtu), "-s", "65536", iterations=30)
    for memory in (("-o",), ("-o", "-P"), ("-O",), ("-O", "-P"), ("-j",)):  # on demand, implicit, prefetched; the device's
        yield pingpong("rc", *memory)
    yield pingpong("uc", reliable=False)
    yield pingpong("uc", "-e", "-m", "512", reliable=False)
    yield pingpong("ud", reliable=False)
    yield pingpong("ud", "-e", "-s", "4096", reliable=False)
    # With several QPs it counts all their messages together and leaves when it has enough, whatever is still on its way.
    yield pingpong("srq", reliable=False, iterations=20)
    yield pingpong("srq", "-e", "-q", "4", reliable=False, iterations=20)
    yield pingpong("srq", "-q", "1")
    yield pingpong("srq", "-e", "-q", "1")
    yield xrc_pingpong()
    yield xrc_pingpong("-e")
    yield xrc_pingpong("-s", "65536", iterations=20)


def bandwidth(family, tool, inline, events, connections=("RC",)):
    """The options that a bandwidth tool has: -b, -q, -a, --mtu, -I, -e."""
    yield perftest(family, tool, "-s", "65536")
    yield perftest(family, tool, "-b", "-s", "8192")
    yield perftest(family, tool, "-q", "16", "-s", "4096", iterations=50)
    yield perftest(family, tool, "-a", rows=23, iterations=5, timeout=120)
    for mtu in (256, 512, 1024, 2048, 4096):
        yield perftest(family, tool, "-m", str(mtu), "-s", "16384", iterations=30)
    if inline:
        yield perftest(family, tool, "-I", "64", "-s", "64")
    if events:
        yield perftest(family, tool, "-e", "-s", "4096")
        yield perftest(family, tool, "-e", "-b", "-s", "4096")
    for connection in connections:
        if connection != "RC":
            yield perftest(family, tool, "-c", connection, "-s", "2048", reliable=False)
            yield perftest(family, tool, "-c", connection, "-s", "2048", "-b", reliable=False, iterations=50)
            yield perftest(family, tool, "-c", connection, "-s", "1024", "-q", "16", reliable=False, iterations=20)


def latency(family, tool, inline, events, connections=("RC",)):
    yield perftest(family, tool, "-s", "8")
    yield perftest(family, tool, "-a", rows=23, iterations=5, timeout=120)
    yield perftest(family, tool, "-m", "1024", "-s", "16384", iterations=30)
    if inline:
        yield perftest(family, tool, "-I", "64", "-s", "64")
    if events:
        # ib_send_lat waits for events of two CQs on one channel and takes them to come in turn: when an ACK is lost, the answer
        # overtakes it, and the program polls the wrong CQ and judges a completion that it has not got. Seen with its send CQ
        # of one entry, which then overruns.
        yield perftest(family, tool, "-e", "-s", "64", reliable=tool != "ib_send_lat")
    for connection in connections:
        if connection != "RC":
            yield perftest(family, tool, "-c", connection, "-s", "64", reliable=False)


def extended(family, tool):
    """Over extended reliable connections, which perftest sets up with one mask for both halves."""
    yield perftest(family, tool, "-c", "XRC", "-s", "4096", iterations=50)


def atomics():
    for kind in ("CMP_AND_SWAP", "FETCH_AND_ADD"):
        yield perftest("atomic", "ib_atomic_bw", "-A", kind)
        yield perftest("atomic", "ib_atomic_bw", "-A", kind, "-b")
        yield perftest("atomic", "ib_atomic_bw", "-A", kind, "-q", "16", iterations=20)
        yield perftest("atomic", "ib_atomic_lat", "-A", kind)
    yield perftest("atomic", "ib_atomic_bw", "-e")
    yield perftest("atomic", "ib_atomic_lat", "-e")


# qperf names its peer by a LID, which Ethernet does not have: only what connects by rdma_cm (-cm 1) can run.
QPERF_TESTS = [
    "rc_bw", "rc_bi_bw", "rc_lat", "rc_rdma_read_bw", "rc_rdma_read_lat", "rc_rdma_write_bw", "rc_rdma_write_lat",
    "rc_rdma_write_poll_lat", "rc_compare_swap_mr", "rc_fetch_add_mr", "ver_rc_compare_swap", "ver_rc_fetch_add",
]
QPERF_BY_LID = [("rc_lat", "failed to modify QP to RTR"), ("uc_lat", "failed to modify QP to RTR"), ("ud_lat", "failed to create address handle")]


def all_cases():
    yield from pingpongs()
    yield from bandwidth("send", "ib_send_bw", True, True, ("RC", "UC", "UD"))
    yield perftest("send", "ib_send_bw", "--use-srq", "-q", "4", "-s", "8192")
    yield from extended("send", "ib_send_bw")
    yield from latency("send", "ib_send_lat", True, True, ("RC", "UC", "UD"))
    yield from extended("send", "ib_send_lat")
    yield from bandwidth("write", "ib_write_bw", True, False, ("RC", "UC"))
    yield from extended("write", "ib_write_bw")
    yield perftest("write", "ib_write_bw", "--odp", "-s", "65536")
    yield from latency("write", "ib_write_lat", True, False, ("RC", "UC"))
    yield from bandwidth("read", "ib_read_bw", False, True)
    yield from extended("read", "ib_read_bw")
    yield perftest("read", "ib_read_bw", "--odp", "-s", "65536")
    yield from latency("read", "ib_read_lat", False, True)
    yield from atomics()
