"""The rdma-core project's Python test suite, as Debian's python3-pyverbs ships it: unpacked, run on one emulated node, counted.

Owns: finding and unpacking the suite, running its own run_tests.py under `verbena exec`, the result of every case. Does not judge a
skip (reasons.py) nor write the table (report.py).
"""
import collections
import dataclasses
import glob
import gzip
import json
import os
import re
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "programs"))

import harness  # noqa: E402

SHIPPED = "/usr/share/doc/rdma-core/tests"  # part of python3-pyverbs; some files are gzipped
PYTHON = "/usr/bin/python3"                 # the one that python3-pyverbs belongs to
OF_ONE_VENDOR = re.compile(r"test_(mlx5|efa|cuda)")
TIMEOUT = 900


@dataclasses.dataclass(frozen=True)
class Case:
    """One case of the suite and how it ended: passed, skipped (with the suite's reason), failed (with its report)."""
    module: str
    name: str
    outcome: str
    text: str


def unpack(into):
    """A copy of the suite that Python can run."""
    files = glob.glob(SHIPPED + "/*.py") + glob.glob(SHIPPED + "/*.py.gz")
    if not files:
        raise harness.Failure(f"{SHIPPED} is empty: python3-pyverbs is not installed, or dpkg was told to leave out documentation "
                              "(path-exclude in /etc/dpkg/dpkg.cfg.d); the suite is part of it")
    os.mkdir(into)
    for file in files:
        name = os.path.basename(file)
        if name.endswith(".gz"):
            with gzip.open(file) as packed, open(os.path.join(into, name[:-3]), "wb") as plain:
                shutil.copyfileobj(packed, plain)
        else:
            shutil.copy(file, into)


def run(verbena, link, only=(), extra=()):
    """All vendor-neutral cases over one link, in a process of one node. `only`: names as unittest takes them;
    `extra`: options of `verbena exec`."""
    with tempfile.TemporaryDirectory(prefix="verbena-conformance-") as folder, harness.Fabric(verbena, link, 1) as fabric:
        unpack(os.path.join(folder, "tests"))
        results = os.path.join(folder, "results.json")
        argv = [PYTHON, "-B", os.path.join(HERE, "record.py"), results, os.path.join(folder, "tests", "run_tests.py"),
                "-v", "--dev", "verbena0", *only]
        # Its exit status is not asked: it is 1 when a case failed, and then the results say which.
        program = fabric.start(fabric.nodes[0], argv, name=f"the suite over {link}", extra=extra)
        ended = program.wait(program.started + TIMEOUT)
        if ended is None or not os.path.exists(results):
            raise harness.Failure(f"the suite did not come to its end\n{program.describe()}")
        with open(results, encoding="utf-8") as file:
            cases = [Case(**case) for case in json.load(file)]
    return [case for case in cases if not OF_ONE_VENDOR.match(case.module)]


def by_module(cases):
    modules = collections.defaultdict(list)
    for case in cases:
        modules[case.module].append(case)
    return dict(sorted(modules.items()))
