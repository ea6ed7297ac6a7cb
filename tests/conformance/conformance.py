#!/usr/bin/env python3
"""Runs the rdma-core suite over the links and judges the result.

  conformance.py --verbena build/verbena [--link shm|udp] [--write docs/conformance.md] [TEST...]

Exit status 0: no case failed, every skip is explained (reasons.py), and, of the whole suite, at least AT_LEAST passed.
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
    parser.add_argument("--link", choices=LINKS, action="append", help="one link or several; default: all")
    parser.add_argument("--wire", help="another wire than the default one, as `verbena exec` has it: roce-v1, roce, infiniband")
    parser.add_argument("--write", metavar="PAGE", help="write the table into this page")
    parser.add_argument("test", nargs="*")
    options = parser.parse_args()

    results, complaints = {}, 0
    for link in options.link or LINKS:
        try:
            results[link] = suite.run(os.path.abspath(options.verbena), link, options.test, ("--wire", options.wire) if options.wire else ())
        except Failure as failure:
            print(failure, file=sys.stderr)
            return 1
        cases = results[link]
        print(f"{link}: {len(cases)} cases, " +
              ", ".join(f"{report.count(cases, outcome)} {outcome}" for outcome in ("passed", "failed", "skipped")))
        for complaint in complaints_about(cases, not options.test, options.wire):
            print(f"{link}: {complaint}", file=sys.stderr)
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
