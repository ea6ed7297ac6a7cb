#!/usr/bin/env python3
"""The main job, shown: two unmodified RDMA programs on two emulated nodes, clean and under packet loss.

Prints both results side by side with the counters that explain the difference. Exit status 0: every run completed and the
validating run found the data intact.
"""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "tests", "programs"))

import harness  # noqa: E402
import roce_check  # noqa: E402

VERBENA = os.path.join(ROOT, "build", "verbena")
PLACE = os.path.join(ROOT, "demo")
LOSS, SEED = "drop 0.1%", 7
WRITE_BW = ["ib_write_bw", "-F", "-p", "{port}", "-s", "65536", "-n", "5000"]
SEND_LAT = ["ib_send_lat", "-F", "-p", "{port}", "-s", "8", "-n", "5000"]
PINGPONG = ["ibv_rc_pingpong", "-g", "0", "-p", "{port}", "-s", "65536", "-m", "4096", "-n", "300", "-c"]
COUNTERS = [
    ("packets sent", ["tx_packets"]),
    ("packets sent again", ["tx_retransmitted_packets"]),
    ("arrived out of sequence", ["out_of_sequence"]),
    ("gaps reported to the sender", ["packet_seq_err", "implied_nak_seq_err"]),
    ("timeouts", ["local_ack_timeout_err"]),
]


def run(argv, faults, captures=(None, None)):
    """One pair of programs on nodes 1 and 2 of a fabric of its own."""
    with harness.Fabric(VERBENA, "shm", prefer=(1, 2)) as fabric:
        done = harness.pair(fabric, argv, argv + ["{server}"], faults=faults, seed=SEED, stats=True, captures=captures,
                            timeout=120)
        counters = [done.client.counters(), done.server.counters()]
        total = {name: sum(one.get(name, 0) for one in counters) for name in set().union(*counters)}
        return done.client.out, total


def row_of(output):
    """The figures of perftest's one result row."""
    return re.search(r"^\s*(\d+\s+\d+\s+[\d.].*)$", output, re.M).group(1).split()


def line(name, values, unit=""):
    print(f"  {name:<34}" + "".join(f"{value:>14}{unit:<5}" for value in values))


def show(title, figures, totals):
    print(f"\n{title}")
    for name, unit, values in figures:
        line(name, values, unit)
    for name, parts in COUNTERS:
        line(name, [sum(total.get(part, 0) for part in parts) for total in totals])


def main():
    os.makedirs(PLACE, exist_ok=True)
    print("Two nodes, 127.47.91.1 and 127.47.91.2, over shared memory; programs of the distribution, unmodified.")
    print(f"Left: clean. Right: --fault '{LOSS}' --seed {SEED} on both nodes. Counters are of both nodes together.")
    print(f"\n  {'':<34}{'clean':>14}{'':5}{'0.1 % lost':>14}")

    runs = [run(WRITE_BW, faults) for faults in ((), (LOSS,))]
    show("ib_write_bw, 5000 x 64 KiB", [("bandwidth, average", " MB/s", [row_of(out)[3] for out, _ in runs])],
         [total for _, total in runs])

    runs = [run(SEND_LAT, faults) for faults in ((), (LOSS,))]
    show("ib_send_lat, 5000 x 8 B", [("latency, typical", " us", [row_of(out)[4] for out, _ in runs]),
                                     ("latency, average", " us", [row_of(out)[5] for out, _ in runs]),
                                     ("latency, largest", " us", [row_of(out)[3] for out, _ in runs])],
         [total for _, total in runs])

    captures = [os.path.join(PLACE, f"pingpong-{end}.pcapng") for end in ("server", "client")]
    for path in captures:
        if os.path.exists(path):
            os.remove(path)
    _, total = run(PINGPONG, (LOSS,), captures)
    print(f"\nibv_rc_pingpong -c, 300 x 64 KiB both ways under the same loss: data intact,"
          f" {total.get('tx_retransmitted_packets', 0)} packets sent again.")
    counts = roce_check.summary(captures[1])
    shown = os.path.relpath(captures[1])
    print(f"Capture: {shown} ({counts['packets']} packets, {len(counts['comments'])} of them with the fault that hit them)")
    print(f"  open it in Wireshark, or:  {os.path.relpath(VERBENA)} explain {shown}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except harness.Failure as failure:
        print(f"demo: a run did not complete: {failure}", file=sys.stderr)
        sys.exit(1)
