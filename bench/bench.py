#!/usr/bin/env python3
"""Verbena's speed beside what this machine can do at all, and beside what a user would pick instead.

Measures every row of rows.py in one run: in every round one after the other what a row compares, all processes on cores 0
and 1. The result are the ratios; the figures themselves move with the machine, of which the header tells. All of it is
kept in build/bench/DATE-COMMIT.json, and --compare sets it beside such a file of another run. Ends with 0 whether or not a
row meets what is wanted, or is slower than it was, unless --check is given; with 1 if something could not be measured, and
with 2 if nothing can.

  bench.py [--quick] [--row NAME]... [--rounds N] [--build DIR] [--json FILE] [--compare OLD.json] [--check]
  bench.py --measured NEW.json --compare OLD.json
"""
import argparse
import os
import signal
import subprocess
import sys
import time

import machine
import processes
import report
import results
import rows
from cache_lines import count
from measurements import MEASUREMENTS

FAILURES = (processes.harness.Failure, subprocess.SubprocessError, OSError, ValueError, KeyError, ZeroDivisionError)
ROUNDS, ROUNDS_QUICK = 5, 3
QUICK_S = 90  # no round begins that would end later; what is left of two minutes is for counting
LINE_PROBE = ("ring_limit", "latency")


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


def measure_rounds(bench, names, options, started):
    """As many rounds as are asked for, and as fit into the time if there is a limit; one at least."""
    rounds = []
    while len(rounds) < options.rounds:
        begun = time.monotonic()
        rounds.append(measure_round(bench, names, f"round {len(rounds) + 1} of {options.rounds}:"))
        ended = time.monotonic()
        if options.limit_s is not None and ended - started + (ended - begun) > options.limit_s:
            break
    return rounds


def probe(bench):
    """The machine (machine.py)."""
    text = processes.run_alone([bench.program("machine_probe")])
    return machine.facts(text, bench.limit("ring_limit", "bandwidth")["bandwidth_gbytes"])


def count_lines(bench):
    """The cache lines that messages move between the cores; none if they cannot be counted, which is told on stderr."""
    try:
        return count.run(bench.program("exchange"))
    except (count.CountFailed, OSError) as failure:
        print(f"bench: cache lines: FAILED: {failure}", file=sys.stderr)
        return []


def parse_arguments(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="the rows that matter most, in two minutes")
    parser.add_argument("--row", action="append", metavar="NAME", help="only rows whose names begin so; may be repeated")
    parser.add_argument("--list", action="store_true", help="print the names of all rows")
    parser.add_argument("--rounds", type=int, default=None)
    parser.add_argument("--build", default=os.path.join(processes.ROOT, "build"), metavar="DIR")
    parser.add_argument("--json", metavar="FILE", help="write to this file instead of build/bench/DATE-COMMIT.json")
    parser.add_argument("--compare", metavar="OLD.json", help="then print each row beside what that file says")
    parser.add_argument("--measured", metavar="NEW.json", help="measure nothing: take this file's figures")
    parser.add_argument("--check", action="store_true", help="end with 1 if a row does not meet what is wanted")
    options = parser.parse_args(arguments)
    options.limit_s = None
    if options.rounds is None:
        options.limit_s = QUICK_S if options.quick else None
        options.rounds = ROUNDS_QUICK if options.quick else int(os.environ.get("BENCH_ROUNDS", ROUNDS))
    if options.rounds < 1:
        parser.error("at least one round")
    if not rows.chosen(options.row, options.quick):
        parser.error(f"no{' quick' if options.quick else ''} row is called {' or '.join(options.row)}; --list names them all")
    if options.measured and not options.compare:
        parser.error("--measured is for --compare")
    return options


def measure(bench, chosen, options):
    """Everything, printed as it comes. Returns (the results' document, whether something could not be measured)."""
    started = time.monotonic()
    measured_on = probe(bench)
    print(f"machine_probe ({time.monotonic() - started:.1f} s)", file=sys.stderr, flush=True)
    rounds = measure_rounds(bench, rows.measurements_of(chosen), options, started)
    cache_lines = count_lines(bench)
    after = bench.limit(*LINE_PROBE)["latency_microseconds"] * 1e3
    lines = report.print_table(chosen, rounds, machine.describe(measured_on), options.quick)
    print("", *(count.describe(cache_lines) if cache_lines else ["Cache lines were not counted."]), sep="\n")
    if warning := machine.moved(measured_on[machine.LINE], after):
        print(warning)
    unmeasured = not cache_lines or any(figures is None for found in rounds for figures in found.values())
    commit = results.commit_of(processes.ROOT)
    return results.document(measured_on, lines, rounds, cache_lines, options.quick, commit), unmeasured


def main():
    options = parse_arguments()
    chosen = rows.chosen(options.row, options.quick)
    if options.list:
        print("\n".join(row.name for row in chosen))
        return 0
    try:
        old = results.load(options.compare) if options.compare else None
        new = results.load(options.measured) if options.measured else None
    except results.BadFile as bad:
        print(f"bench: {bad}", file=sys.stderr)
        return 2
    if new:
        print(*machine.describe(new["machine"]), "", *results.compare(new, old), sep="\n")
        return 0
    build = os.path.abspath(options.build)
    lacking = processes.missing(build)
    if lacking:
        print(f"bench: {lacking}", file=sys.stderr)
        return 2
    try:
        new, unmeasured = measure(processes.Bench(build), chosen, options)
    except FAILURES as failure:  # those of a row are told and leave the others
        print(f"bench: the machine cannot be measured: {failure}", file=sys.stderr)
        return 1
    path = options.json or results.default_path(build, new)
    results.write(path, new)
    print(f"kept in {os.path.relpath(path)}")
    if old:
        print("", *results.compare(new, old), sep="\n")
    missed = any(line["met"] is False for line in new["rows"])
    return 1 if unmeasured or (options.check and missed) else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("bench: ended by SIGTERM"))  # cleaning up on the way out
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("bench: interrupted")
