"""The rows of the table, as data: a figure of ours, what stands beside it, and what is wanted.

Values are named "measurement.figure" (measurements.py). How a row is judged is in report.py.
"""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Beside:
    """What a figure of ours is compared with, and what the comparison shall give."""
    name: str
    value: str            # "measurement.figure"; empty: nothing, the figure counts by itself
    wanted: float | None  # None: for information
    difference: bool = False  # ours less the other's, instead of a ratio


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    program: str
    value: str
    unit: str
    beside: tuple
    more_is_better: bool = False


def more(name, program, value, unit, *beside):
    return Row(name, program, value, unit, beside, more_is_better=True)


def less(name, program, value, unit, *beside):
    return Row(name, program, value, unit, beside)


def itself(wanted):
    return Beside("", "", wanted)


def shm_bandwidth(operation):
    return more(f"bandwidth-shm-{operation}", f"ib_{operation}_bw 64 KiB", f"shm {operation}.gbytes", "GB/s",
                Beside("two-copy ring", "ring bandwidth.bandwidth_gbytes", 0.55),
                Beside("UCX posix tag_bw", "posix tag_bw.gbytes", 1))


def shm_latency(operation):
    return less(f"latency-shm-{operation}", f"ib_{operation}_lat 8 B", f"shm {operation}_lat.typical_us", "us",
                Beside("cache line, one way", "ring latency.latency_microseconds", 8),
                Beside("UCX posix tag_lat", "posix tag_lat.typical_us", 1),
                Beside("bare frames, ICRC", "frame latency.latency_microseconds", 1.6))


def shm_rate(operation):
    return more(f"rate-shm-{operation}", f"ib_{operation}_bw 64 B", f"shm small {operation}s.millions", "M/s",
                Beside("UCX posix am_bw", "posix am_bw.millions", 1),
                Beside("bare frames, ICRC", "frame rate.rate_millions", 0.6))


def udp_latency(operation, wanted):
    return less(f"latency-udp-{operation}", f"ib_{operation}_lat 8 B", f"udp {operation}_lat.typical_us", "us",
                Beside("raw UDP, polled", "raw udp latency.latency_microseconds", wanted),
                Beside("UCX tcp tag_lat", "tcp tag_lat.typical_us", None))


def idle(link):
    return (less(f"idle-{link}-wakes", "open device, 10 s", f"idle.{link}_wakes", "wakes", itself(0)),
            less(f"idle-{link}-cpu", "open device, 10 s", f"idle.{link}_cpu_percent", "% CPU", itself(0.1)))


def fabric_rate(name, what, options, wanted):
    return more(name, what, f"fabric {options}.millions", "M/s",
                Beside("direct cable", f"shm {options}.millions", wanted))


ROWS = (
    shm_bandwidth("write"), shm_bandwidth("read"), shm_bandwidth("send"),
    shm_latency("write"), shm_latency("send"),
    shm_rate("write"), shm_rate("send"),
    fabric_rate("fabric-rate", "ib_write_bw 64 B, a star", "plain writes", 0.5),
    fabric_rate("fabric-rate-sends", "ib_send_bw 64 B", "plain sends", 0.5),
    fabric_rate("fabric-rate-reads", "ib_read_bw 64 B", "plain reads", 0.5),
    fabric_rate("fabric-rate-lists", "ib_write_bw -l 32 -Q 32 -t 512", "deep writes", 0.5),
    fabric_rate("fabric-rate-send-lists", "ib_send_bw, the same", "deep sends", 0.5),
    fabric_rate("fabric-round-trips", "ib_write_bw -l 32 -Q 32 -t 128", "small writes", None),
    more("bandwidth-udp-write", "ib_write_bw 64 KiB", "udp write.gbytes", "GB/s",
         Beside("raw UDP, GSO and GRO", "raw udp bandwidth.bandwidth_gbytes", 0.85),
         Beside("UCX tcp tag_bw", "tcp tag_bw.gbytes", 2.5)),
    udp_latency("write", 1.4), udp_latency("send", None),
    more("qps-64KiB", "ib_write_bw -q 1000", "1000 qps.gbytes", "GB/s", Beside("-q 1", "one qp.gbytes", 0.9)),
    more("qps-64B", "ib_write_bw -q 1000", "1000 qps small.millions", "M/s",
         Beside("-q 1", "one qp small.millions", 0.7)),
    less("passive-sleeping", "8 B write, seen", "sleeping target.median_microseconds", "us",
         Beside("futex wake", "futex.median_microseconds", 1.5)),
    more("passive-slept", "sleeps per write", "sleeping target.sleeps_per_write", "sleeps", itself(0.9)),
    less("passive-busy", "ib_write_bw 64 KiB", "busy target.sleeps_per_1000", "sleeps/1000 msg", itself(0.1)),
    *idle("shm"), *idle("udp"),
    less("start-up", "ibv_devices", "start-up.ours_ms", "ms", Beside("bare", "start-up.bare_ms", 15, difference=True)),
    less("memory-qp", "RC QP, 64/64", "memory.kib_64", "KiB", itself(32)),
    less("memory-qp-own", "RC QP, 1/1", "memory.kib_1", "KiB", itself(2)),
    more("connections", "cmtime -c 1000, set up", "connections.per_second", "/s", itself(5000)),
    more("connections-end", "cmtime -c 1000, ended", "connections.ended_per_second", "/s", itself(None)),
    more("connections-udp", "cmtime -c 1000, udp", "connections over udp.per_second", "/s", itself(None)),
    more("capture-client", "ib_write_bw --pcap", "captured by the client.gbytes", "GB/s",
         Beside("without", "uncaptured.gbytes", 0.5)),
    more("capture-server", "ib_write_bw --pcap", "captured by the server.gbytes", "GB/s",
         Beside("without", "uncaptured.gbytes", None)),
    more("sim-star-64", "64 hosts, arrivals", "simulated star.millions_of_arrivals", "M/s", itself(3)),
    more("sim-star-64-hosts", "64 hosts, at hosts", "simulated star.millions_of_host_arrivals", "M/s", itself(None)),
    less("sim-fat-tree-1024", "1 MiB each, k=16", "simulated fat tree.total_seconds", "s", itself(15)),
    less("sim-fat-tree-memory", "1 MiB each, k=16", "simulated fat tree.peak_gib", "GiB", itself(4)),
    less("sim-growth", "1,024 hosts, k=16", "simulated 1024 hosts.cpu_ns_per_packet", "ns/packet",
         Beside("16 hosts, k=4", "simulated 16 hosts.cpu_ns_per_packet", 2)),
    less("sim-dcqcn", "64 hosts, DCQCN", "simulated star, dcqcn.cpu_ns_per_packet", "ns/packet",
         Beside("without", "simulated star.cpu_ns_per_packet", 1.25)),
    less("sim-dcqcn-incast", "64 hosts, 3:1, DCQCN", "simulated incasts, dcqcn.cpu_ns_per_packet", "ns/packet",
         Beside("without", "simulated incasts.cpu_ns_per_packet", None)),
)


# What `--quick` measures: the rows by which a change of the data path is judged first.
QUICK = ("bandwidth-shm-write", "bandwidth-shm-read", "bandwidth-shm-send", "latency-shm-write", "latency-shm-send",
         "rate-shm-write", "rate-shm-send", "bandwidth-udp-write", "latency-udp-write")


def chosen(patterns, quick=False):
    """The rows whose names begin with one of these; all if there are none. `quick`: of those that are in QUICK."""
    return [row for row in ROWS if (not patterns or any(row.name.startswith(pattern) for pattern in patterns))
            and (not quick or row.name in QUICK)]


def measurements_of(rows):
    """The names of all that has to be measured for these rows, each once, neighbours in the table one after the other."""
    names = {}
    for row in rows:
        for value in (row.value, *(beside.value for beside in row.beside if beside.value)):
            names[value.partition(".")[0]] = None
    return list(names)
