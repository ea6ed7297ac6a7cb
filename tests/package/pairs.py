"""Pairs of perftest by a `verbena` that was installed or unpacked somewhere: what each test of packages runs in the end.

Knows nothing of how the command came to its place.
"""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "programs"))

import harness  # noqa: E402

WRITE_BW = ["ib_write_bw", "-F", "-p", "{port}", "-s", "65536", "-n", "500"]
RESULT_ROW = re.compile(r"^\s*65536\s+500\s+[\d.]+\s+([\d.]+)", re.M)


def write_bw(verbena, **options):
    """One pair of ib_write_bw on two nodes. Returns the average of the client's row, which must be there."""
    with harness.Fabric(verbena, "shm") as fabric:
        done = harness.pair(fabric, WRITE_BW, WRITE_BW + ["{server}"], **options)
        row = RESULT_ROW.search(done.client.out)
        if not row or float(row.group(1)) <= 0:
            raise harness.Failure("no result\n" + done.describe())
        return float(row.group(1))
