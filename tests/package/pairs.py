"""Pairs of perftest by a `verbena` that was installed or unpacked somewhere: what each test of packages runs in the end.

Knows nothing of how the command came to its place.
"""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
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


if __name__ == "__main__":  # pairs.py VERBENA: one pair, its average in MB/s; for where this file is all that there is of the tests
    try:
        print(f"{write_bw(sys.argv[1]):.1f}")
    except harness.Failure as failure:
        sys.exit(str(failure))
