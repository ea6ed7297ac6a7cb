#!/usr/bin/env python3
"""Verbena's speed beside what this machine can do at all, and beside what a user would pick instead.

Measures every row of rows.py in one run: in every round one after the other what a row compares, all processes on cores 0
and 1. The result are the ratios; the figures themselves move with the machine. Ends with 0 whether or not a row meets what
is wanted, unless --check is given; with 1 if something could not be measured, and with 2 if nothing can.

  bench.py [--row NAME]... [--rounds N] [--build DIR] [--json FILE] [--check]
"""
import argparse
import json
import os
import signal
import subprocess
import sys
import time

import processes
import report
import rows
from measurements import MEASUREMENTS

FAILURES = (processes.harness.Failure, subprocess.SubprocessError, OSError, ValueError, KeyError, ZeroDivisionError)


def measure_round(bench, names, progress):
    """{measurement: figures}, None for what failed, which is told on stderr."""
    found = {}
    for name in names:
        started = time.monotonic()
        try:
            found[name] = MEASUREMENTS[name](bench)
            text = ", ".join(f"{figure} {report.number(value)}" for figure, value in found[name].items())
        except FAILURES as failure:
            found[name] = None
            text = f"FAILED: {failure}"
        print(f"{progress} {name}: {text} ({time.monotonic() - started:.1f} s)", file=sys.stderr, flush=True)
    return found


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--row", action="append", metavar="NAME", help="only rows whose names begin so; may be repeated")
    parser.add_argument("--list", action="store_true", help="print the names of all rows")
    parser.add_argument("--rounds", type=int, default=int(os.environ.get("BENCH_ROUNDS", "5")))
    parser.add_argument("--build", default=os.path.join(processes.ROOT, "build"), metavar="DIR")
    parser.add_argument("--json", metavar="FILE", help="also write every figure of every round to this file")
    parser.add_argument("--check", action="store_true", help="end with 1 if a row does not meet what is wanted")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("at least one round")
    if not rows.chosen(options.row):
        parser.error(f"no row is called {' or '.join(options.row)}; --list names them all")
    return options


def main():
    options = parse_arguments()
    chosen = rows.chosen(options.row)
    if options.list:
        print("\n".join(row.name for row in chosen))
        return 0
    build = os.path.abspath(options.build)
    lacking = processes.missing(build)
    if lacking:
        print(f"bench: {lacking}", file=sys.stderr)
        return 2
    bench, names = processes.Bench(build), rows.measurements_of(chosen)
    rounds = [measure_round(bench, names, f"round {number + 1} of {options.rounds}:") for number in range(options.rounds)]
    lines = report.print_table(chosen, rounds)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"rows": lines, "rounds": rounds}, file, indent=1)
    unmeasured = any(figures is None for found in rounds for figures in found.values())
    missed = any(line["met"] is False for line in lines)
    return 1 if unmeasured or (options.check and missed) else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("bench: ended by SIGTERM"))  # cleaning up on the way out
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("bench: interrupted")
