#!/usr/bin/env python3
"""Runs the rdma-core suite over the links and wires, and judges the result.

  conformance.py --verbena build/verbena [--link shm|udp] [--wire roce-v1|infiniband] [--write docs/conformance.md] [TEST...]

With --link, over that link alone; with --wire, over that wire; with neither over each link and, in shared memory, over each wire. Exit status 0: no case failed, every skip is explained (reasons.py), and, of the whole suite, at least AT_LEAST passed.
TEST is a name as unittest takes it (tests.test_mr.MRTest.test_reg_mr).
"""
import argparse
import os
import subprocess
import sys

sys.dont_write_bytecode = True

import reasons  # noqa: E402
import report  # noqa: E402
import suite  # noqa: E402
from harness import LINKS, Failure  # noqa: E402

AT_LEAST = 150  # of 170
OF_ETHERNET = 12  # that InfiniBand skips


# A run has a link and a wire; None: the default one.
RUNS = [(link, None) for link in LINKS] + [("shm", "roce-v1"), ("shm", "infiniband")]


def runs_of(links, wire):
    """The runs that the command line asks for."""
    if wire is not None:
        return [(link, wire) for link in links or ["shm"]]
    return [(link, None) for link in links] if links else RUNS


def name_of(link, wire):
    return link if wire is None else f"{link}, {wire}"


def complaints_about(cases, whole, wire=None):
    """What is wrong with a result, a line each."""
    for case in cases:
        if case.outcome == "failed":
            yield f"failed: {case.module} {case.name}\n{case.text}"
        if case.outcome == "skipped" and reasons.reason_of(case) is None:
            yield f"skipped without a reason that reasons.py knows: {case.module} {case.name}: {case.text}"
    passed = report.count(cases, "passed")
    wanted = AT_LEAST - (OF_ETHERNET if wire == "infiniband" else 0)
    if whole and passed < wanted:
        yield f"{passed} cases passed; wanted are {wanted}"
    if not cases:
        yield "no case ran"


def package_version():
    shown = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "python3-pyverbs"], capture_output=True, text=True, check=False)
    return shown.stdout or "of unknown version"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--verbena", required=True)
    parser.add_argument("--link", choices=LINKS, action="append", help="one link or several")
    parser.add_argument("--wire", help="another wire than the default one, as `verbena exec` has it: roce-v1, roce, infiniband")
    parser.add_argument("--write", metavar="PAGE", help="write the table into this page")
    parser.add_argument("test", nargs="*")
    options = parser.parse_args()

    results, complaints = {}, 0
    for link, wire in runs_of(options.link, options.wire):
        name = name_of(link, wire)
        try:
            results[name] = suite.run(os.path.abspath(options.verbena), link, options.test, ("--wire", wire) if wire else ())
        except Failure as failure:
            print(failure, file=sys.stderr)
            return 1
        cases = results[name]
        print(f"{name}: {len(cases)} cases, " +
              ", ".join(f"{report.count(cases, outcome)} {outcome}" for outcome in ("passed", "failed", "skipped")))
        for complaint in complaints_about(cases, not options.test, wire):
            print(f"{name}: {complaint}", file=sys.stderr)
            complaints += 1
    if options.write:
        with open(options.write, encoding="utf-8") as file:
            page = file.read()
        with open(options.write, "w", encoding="utf-8") as file:
            file.write(report.rewrite(page, results, package_version()))
        print(f"{options.write} is written")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
