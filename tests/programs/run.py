#!/usr/bin/env python3
"""Runs one family of program tests over one link and says which passed.

  run.py --verbena build/verbena --family write --link shm [--loss] [--only TEXT] [--list]

A family is a list of named tests: rows of matrix.py, or a module of its own with `tests(context)`.
"""
import argparse
import dataclasses
import os
import re
import sys
import time
import traceback

sys.dont_write_bytecode = True

import bad_luck  # noqa: E402
import busy  # noqa: E402
import captures  # noqa: E402
import command_line  # noqa: E402
import congestion  # noqa: E402
import crowd  # noqa: E402
import devices  # noqa: E402
import exhaust  # noqa: E402
import explained  # noqa: E402
import failing_connections  # noqa: E402
import failing_verbs  # noqa: E402
import harness  # noqa: E402
import infiniband  # noqa: E402
import leaks  # noqa: E402
import listings  # noqa: E402
import managed  # noqa: E402
import managed_acm  # noqa: E402
import managed_cm  # noqa: E402
import managed_faults  # noqa: E402
import managed_gids  # noqa: E402
import managed_notices  # noqa: E402
import matrix  # noqa: E402
import network  # noqa: E402
import own_sockets  # noqa: E402
import pause_frames  # noqa: E402
import personalities  # noqa: E402
import qperf  # noqa: E402
import rdma_cm  # noqa: E402
import rdma_cm_devices  # noqa: E402
import rdma_cm_endings  # noqa: E402
import rdma_cm_tools  # noqa: E402
import roce_versions  # noqa: E402
import rsockets  # noqa: E402
import served  # noqa: E402
import shared_port  # noqa: E402
import subnet  # noqa: E402

# A family is called as its module is.
MODULES = {"fabric": served, **{module.__name__: module for module in (
    bad_luck, busy, captures, command_line, congestion, crowd, devices, exhaust, explained, failing_connections, failing_verbs, infiniband,
    leaks, listings, managed, managed_acm, managed_cm, managed_faults, managed_gids, managed_notices, network, own_sockets, pause_frames,
    personalities, qperf,
    rdma_cm, rdma_cm_devices, rdma_cm_endings,
    rdma_cm_tools, roce_versions, rsockets, shared_port, subnet)}}


@dataclasses.dataclass
class Context:
    """What every test is given."""
    verbena: str
    link: str
    faults: tuple

    def fabric(self, nodes=2):
        return harness.Fabric(self.verbena, self.link, nodes)


def run_case(context, case):
    """One row of the matrix: both ends exit with 0, and each that prints results prints all its rows."""
    with context.fabric() as fabric:
        done = harness.pair(fabric, case.server_argv, case.client_argv, faults=context.faults, stats=bool(context.faults),
                            timeout=case.timeout)
        rows = len(re.findall(case.row, done.client.out, re.M))
        if rows < case.rows:
            raise harness.Failure(f"{rows} result rows instead of {case.rows}\n{done.describe()}")


def loss_is_real(context):
    """Guards the runs under loss against a fault plan that does nothing: packets must have been sent again."""
    with context.fabric() as fabric:
        argv = ["ib_write_bw", "-F", "-p", "{port}", "-u", "{timeout}", "-n", "200", "-s", "65536"]
        done = harness.pair(fabric, argv, argv + ["{server}"], faults=context.faults, stats=True)
        if done.client.counters().get("tx_retransmitted_packets", 0) == 0:
            raise harness.Failure(f"nothing was retransmitted under {context.faults}\n{done.describe()}")


def tests_of(context, family):
    if family in MODULES:
        return MODULES[family].tests(context)
    cases = [case for case in matrix.all_cases() if case.family == family and (case.reliable or not context.faults)]
    tests = [(case.name, lambda case=case: run_case(context, case)) for case in cases]
    if context.faults:
        tests.append(("packets are retransmitted under loss", lambda: loss_is_real(context)))
    return tests


def run_one(name, test):
    started = time.monotonic()
    try:
        test()
    except harness.Failure as failure:
        report = str(failure)
    except Exception:  # a defect of the test itself is a failure of it
        report = traceback.format_exc()
    else:
        print(f"ok      {name} ({time.monotonic() - started:.1f} s)", flush=True)
        return True
    print(f"FAILED  {name} ({time.monotonic() - started:.1f} s)\n{report}", flush=True)
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--verbena", required=True)
    parser.add_argument("--family", required=True)
    parser.add_argument("--link", choices=(*harness.LINKS, "raw"), default="shm")
    parser.add_argument("--loss", action="store_true")
    parser.add_argument("--only", default="", help="tests whose name has this text")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()

    loss = getattr(MODULES.get(options.family), "LOSS", harness.LOSS)
    context = Context(os.path.abspath(options.verbena), options.link, loss if options.loss else ())
    tests = [(name, test) for name, test in tests_of(context, options.family) if options.only in name]
    if options.list:
        print("\n".join(name for name, _ in tests))
        return 0
    if not os.access(context.verbena, os.X_OK):
        print(f"no program at {context.verbena}", file=sys.stderr)
        return 1
    passed = sum(run_one(name, test) for name, test in tests)
    print(f"{passed} passed, {len(tests) - passed} failed")
    return 0 if tests and passed == len(tests) else 1


if __name__ == "__main__":
    sys.exit(main())
