#!/usr/bin/env python3
"""Verbena's speed beside what this machine can do at all, and beside what a user would pick instead.

Every round measures all three one after the other; a figure is the median over the rounds, and the ratios are the result.
Processes are pinned to cores 0 and 1, but for ib_write_lat's. Rounds: BENCH_ROUNDS (3).

  bench.py [--json FILE] [--rounds N] [--link shm|udp]
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "tests", "programs"))

import harness  # noqa: E402

BUILD = os.path.join(ROOT, "build")
SERVER_PIN, CLIENT_PIN = (["taskset", "-c", "0"], ["taskset", "-c", "1"])
UCX = {"shm": {"UCX_TLS": "posix,self"}, "udp": {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "lo"}}
UCX_NAME = {"shm": "UCX posix", "udp": "UCX tcp"}
LIMIT = {"shm": "ring_limit", "udp": "udp_limit"}
LIMIT_NAME = {"shm": "two-copy ring", "udp": "raw UDP, GSO"}
TIMEOUT_S = 60


def perftest(link, tool, *options, pinned=True):
    """The client's result row."""
    pins = (SERVER_PIN, CLIENT_PIN) if pinned else ((), ())
    with harness.Fabric(os.path.join(BUILD, "verbena"), link) as fabric:
        argv = [tool, "-F", "-p", "{port}", *options]
        done = harness.Pair(fabric, argv, argv + ["{server}"], server_options={"prefix": pins[0]},
                            client_options={"prefix": pins[1]}).finish(TIMEOUT_S)
        row = re.search(r"^\s*(\d+\s+\d+\s+[\d.].*)$", done.client.out, re.M)
        if row is None:
            raise harness.Failure(f"no result row\n{done.describe()}")
        return [float(figure) for figure in row.group(1).split()]


def ucx(link, test, size, iterations):
    """UCX's own benchmark between two processes: a dict of its final CSV row."""
    environment = {**os.environ, **UCX[link], "UCX_LOG_LEVEL": "error"}
    port = harness.free_port()
    common = ["ucx_perftest", "-p", str(port)]
    what = ["-t", test, "-s", str(size), "-n", str(iterations), "-w", str(iterations // 10), "-f", "-v"]
    server = subprocess.Popen(SERVER_PIN + common, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    try:
        harness.wait_until(lambda: harness.listens(port), time.monotonic() + 20, "ucx_perftest listens")
        done = subprocess.run(CLIENT_PIN + common[:1] + ["127.0.0.1"] + common[1:] + what, env=environment, check=True,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT_S)
    finally:
        server.kill()
        server.wait()
    names, values = done.stdout.strip().splitlines()[-2:]
    return dict(zip(names.split(","), map(float, values.split(","))))


def limits(link):
    done = subprocess.run([os.path.join(BUILD, "bench", LIMIT[link])], check=True, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=TIMEOUT_S)
    return {name: float(value) for name, value in (line.split() for line in done.stdout.splitlines())}


MIB = 1 << 20
FEW = {"shm": 20000, "udp": 5000}       # messages of 64 KiB
MANY = {"shm": 500000, "udp": 200000}   # small messages
TRIPS = {"shm": 100000, "udp": 20000}   # round trips
WRITE_TRIPS = 5000


def verbena_figures(link):
    figures = {}
    row = perftest(link, "ib_write_bw", "-s", "65536", "-m", "4096", "-n", str(FEW[link]))
    figures["bandwidth"] = row[3] * MIB / 1e9
    # Its application polls memory and not a CQ, so the progress thread works for it and needs a place to run.
    figures["write latency"] = perftest(link, "ib_write_lat", "-s", "8", "-n", str(WRITE_TRIPS), pinned=False)[4]
    figures["send latency"] = perftest(link, "ib_send_lat", "-s", "8", "-n", str(TRIPS[link]))[4]
    figures["message rate"] = perftest(link, "ib_write_bw", "-s", "64", "-n", str(MANY[link]))[4]
    return figures


def ucx_figures(link):
    latency = ucx(link, "tag_lat", 8, TRIPS[link])["50.0_percentile_lat"]
    bandwidth = max(ucx(link, test, 65536, FEW[link])["overall_bw"] for test in ("tag_bw", "ucp_am_bw"))
    rate = max(ucx(link, test, 64, MANY[link])["overall_mr"] for test in ("tag_bw", "ucp_am_bw"))
    return {"bandwidth": bandwidth * MIB / 1e9, "write latency": latency, "send latency": latency,
            "message rate": rate / 1e6}


def limit_figures(link):
    found = limits(link)
    return {"bandwidth": found["bandwidth_gbytes"], "write latency": found["latency_microseconds"],
            "send latency": found["latency_microseconds"], "message rate": found["message_rate_millions"]}


ROWS = [
    ("bandwidth", "bandwidth, 64 KiB", "GB/s", "ib_write_bw", True),
    ("write latency", "latency, 8 B", "us", "ib_write_lat", False),
    ("send latency", "latency, 8 B", "us", "ib_send_lat", False),
    ("message rate", "messages, 64 B", "M/s", "ib_write_bw", True),
]


def measure(link, rounds):
    """name -> column -> values of all rounds."""
    columns = {"limit": limit_figures, "verbena": verbena_figures, "ucx": ucx_figures}
    values = {row[0]: {column: [] for column in columns} for row in ROWS}
    for number in range(rounds):
        for column, figures in columns.items():
            print(f"{link}: round {number + 1} of {rounds}, {column}", file=sys.stderr, flush=True)
            for name, value in figures(link).items():
                values[name][column].append(value)
    return values


def report(link, values):
    """Prints the table of one link and returns its rows. A ratio above 1 means that Verbena is better."""
    print(f"\n{link:<18} {'':13} {'Verbena':>9} {LIMIT_NAME[link]:>15} {'ratio':>7} {UCX_NAME[link]:>11} {'ratio':>7}")
    rows = []
    for name, what, unit, tool, more_is_better in ROWS:
        ours, limit, peer = (statistics.median(values[name][column]) for column in ("verbena", "limit", "ucx"))
        ratios = [ours / other if more_is_better else other / ours for other in (limit, peer)]
        print(f"{what:<18} {tool:<13} {ours:9.3f} {limit:15.3f} {ratios[0]:7.2f} {peer:11.3f} {ratios[1]:7.2f}  {unit}")
        rows.append({"link": link, "what": what, "tool": tool, "unit": unit, "verbena": ours, "limit": limit, "ucx": peer,
                     "ratio_to_limit": ratios[0], "ratio_to_ucx": ratios[1], "rounds": values[name]})
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", help="also write every figure of every round to this file")
    parser.add_argument("--rounds", type=int, default=int(os.environ.get("BENCH_ROUNDS", "3")))
    parser.add_argument("--link", choices=harness.LINKS, action="append")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("at least one round")
    rows = []
    tables = [(link, measure(link, options.rounds)) for link in options.link or harness.LINKS]
    print(f"\nMedians of {options.rounds} rounds, two processes on cores 0 and 1 (ib_write_lat: not pinned). Ratios above 1: Verbena is better.")
    print("Limits: copies through a ring of 4 KiB slots and one cache line's way between two cores; UDP on loopback.")
    for link, values in tables:
        rows += report(link, values)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (harness.Failure, subprocess.SubprocessError) as failure:
        print(f"bench: {failure}", file=sys.stderr)
        sys.exit(1)
