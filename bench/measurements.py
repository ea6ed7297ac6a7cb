"""Everything that is measured, by name. rows.py says which of it stands beside which.

A measurement takes a `processes.Bench` and returns {figure: value}; a row names a value as "measurement.figure".
"""
import functools

import connections
import processes
import quiet

# Options of ib_write_bw and its likes. -N: no peak figure; working it out takes perftest minutes for a million messages.
LARGE = "-s 65536 -m 4096 -N"
SMALL = "-s 64 -N -l 32 -Q 32"
# Through a fabric process a round trip is two turns of three processes on two cores: a window of 128 messages measures that,
# one of 512 the rate.
SMALL_DEEP = SMALL + " -t 512"
SMALL_PLAIN = "-s 64 -N"  # as a user calls it: a doorbell and a completion for each message
# Both with 1 and with 1,000 QPs the same bytes and as many completions. perftest ends badly unless -n is a multiple of -Q,
# and an ACK timeout of a second outlasts a round of all QPs (the default of 67 ms does not).
MANY_LARGE = "-s 65536 -m 4096 -N -Q 4 -u 18"
MANY_SMALL = "-s 64 -N -Q 16 -u 18"
# Latency is first tried with few round trips: an application that polls memory and has to share its core with the progress
# thread may need milliseconds for each.
TRIPS_FIRST, TRIPS_MAX, LATENCY_S = 500, 200000, 1


def bandwidth(link, command):
    return lambda bench: bench.perftest(link, command)


def latency(link, tool):
    def measure(bench):
        first = bench.perftest(link, f"{tool} -s 8 -n {TRIPS_FIRST}")
        trips = min(TRIPS_MAX, int(LATENCY_S * 1e6 / (2 * first["average_us"])))
        return first if trips < 2 * TRIPS_FIRST else bench.perftest(link, f"{tool} -s 8 -n {trips}")
    return measure


def limit(program, *figures):
    return lambda bench: bench.limit(program, *figures)


def ucx(transports, options):
    return lambda bench: processes.ucx(transports, options)


def capture(end):
    return functools.partial(quiet.captured, end=end)


POSIX, TCP = "posix,self", "tcp,self"

MEASUREMENTS = {
    "ring bandwidth": limit("ring_limit", "bandwidth"),
    "ring latency": limit("ring_limit", "latency"),
    "frame rate": limit("frame_limit", "rate"),
    "frame latency": limit("frame_limit", "latency"),
    "raw udp bandwidth": limit("udp_limit", "bandwidth"),
    "raw udp latency": limit("udp_limit", "latency"),
    "futex": limit("futex_limit"),
    "posix tag_bw": ucx(POSIX, "-t tag_bw -s 65536 -n 50000 -w 5000"),
    "posix tag_lat": ucx(POSIX, "-t tag_lat -s 8 -n 200000 -w 20000"),
    "posix am_bw": ucx(POSIX, "-t am_bw -d memory -x posix -s 64 -n 2000000 -w 200000"),
    "tcp tag_bw": ucx(TCP, "-t tag_bw -s 65536 -n 10000 -w 1000"),
    "tcp tag_lat": ucx(TCP, "-t tag_lat -s 8 -n 20000 -w 2000"),
    "shm write": bandwidth("shm", f"ib_write_bw {LARGE} -n 40000"),
    "shm read": bandwidth("shm", f"ib_read_bw {LARGE} -n 40000"),
    "shm send": bandwidth("shm", f"ib_send_bw {LARGE} -n 40000"),
    "shm write_lat": latency("shm", "ib_write_lat"),
    "shm send_lat": latency("shm", "ib_send_lat"),
    "shm small writes": bandwidth("shm", f"ib_write_bw {SMALL} -n 960000"),
    "shm small sends": bandwidth("shm", f"ib_send_bw {SMALL} --recv_post_list=32 -n 960000"),
    "shm plain writes": bandwidth("shm", f"ib_write_bw {SMALL_PLAIN} -n 480000"),
    "shm deep writes": bandwidth("shm", f"ib_write_bw {SMALL_DEEP} -n 960000"),
    "shm plain sends": bandwidth("shm", f"ib_send_bw {SMALL_PLAIN} -n 480000"),
    "shm deep sends": bandwidth("shm", f"ib_send_bw {SMALL_DEEP} --recv_post_list=32 -n 960000"),
    "shm plain reads": bandwidth("shm", f"ib_read_bw {SMALL_PLAIN} -n 240000"),
    "fabric small writes": bandwidth("fabric", f"ib_write_bw {SMALL} -n 960000"),
    "fabric plain writes": bandwidth("fabric", f"ib_write_bw {SMALL_PLAIN} -n 480000"),
    "fabric deep writes": bandwidth("fabric", f"ib_write_bw {SMALL_DEEP} -n 960000"),
    "fabric plain sends": bandwidth("fabric", f"ib_send_bw {SMALL_PLAIN} -n 480000"),
    "fabric deep sends": bandwidth("fabric", f"ib_send_bw {SMALL_DEEP} --recv_post_list=32 -n 960000"),
    "fabric plain reads": bandwidth("fabric", f"ib_read_bw {SMALL_PLAIN} -n 240000"),
    "udp write": bandwidth("udp", f"ib_write_bw {LARGE} -n 10000"),
    "udp write_lat": latency("udp", "ib_write_lat"),
    "udp send_lat": latency("udp", "ib_send_lat"),
    "one qp": bandwidth("shm", f"ib_write_bw {MANY_LARGE} -q 1 -t 128 -n 40000"),
    "1000 qps": bandwidth("shm", f"ib_write_bw {MANY_LARGE} -q 1000 -t 8 -n 40"),
    "one qp small": bandwidth("shm", f"ib_write_bw {MANY_SMALL} -q 1 -t 128 -n 800000"),
    "1000 qps small": bandwidth("shm", f"ib_write_bw {MANY_SMALL} -q 1000 -t 32 -n 800"),
    "sleeping target": quiet.sleeping_target,
    "busy target": quiet.busy_target,
    "idle": quiet.idle,
    "start-up": quiet.start_up,
    "memory": quiet.memory,
    "connections": functools.partial(connections.set_up, link="shm"),
    "connections over udp": functools.partial(connections.set_up, link="udp"),
    "uncaptured": bandwidth("shm", "ib_write_bw -s 65536 -m 4096 -N -n 20000"),
    "captured by the client": capture(1),
    "captured by the server": capture(0),
    # Shape, size, writes of 1 MiB per host, window of a QP in KiB. Where costs are compared the window is what the wires
    # hold, so that both do the same: no queue overflows.
    "simulated star": limit("simulator_speed", "star", "64", "100", "2048"),
    "simulated fat tree": limit("simulator_speed", "fat-tree", "16", "1", "2048"),
    "simulated 16 hosts": limit("simulator_speed", "fat-tree", "4", "200", "128"),
    "simulated 1024 hosts": limit("simulator_speed", "fat-tree", "16", "3", "128"),
    "simulated star, dcqcn": limit("simulator_speed", "star", "64", "100", "2048", "dcqcn"),
    "simulated incasts": limit("simulator_speed", "incast", "64", "100", "128"),
    "simulated incasts, dcqcn": limit("simulator_speed", "incast", "64", "100", "128", "dcqcn"),
}
