"""qperf's RDMA tests. One server per test, told to quit by its client; every test prints its name and a figure."""
import re
import time

import harness
import matrix
from rdma_cm import TIMEOUT


def run_test(context, name):
    """It connects by rdma_cm: of itself it names its peer by a LID, which Ethernet does not have."""
    with context.fabric() as fabric:
        done = harness.pair(fabric, ["qperf", "-lp", "{port}"],
                            ["qperf", "-lp", "{port}", "{server}", "-to", "25", "-t", "1", "-cm", "1", name, "quit"],
                            faults=context.faults, timeout=TIMEOUT)
        # ver_* tests print nothing more than their name when all is well.
        figure = r"" if name.startswith("ver_") else r"\s+\w+\s+=\s+[\d.]+"
        if not re.search(rf"^{name}:{figure}", done.client.out, re.M):
            raise harness.Failure(f"no figure of {name}\n{done.describe()}")
        if re.search(r"^\s+\w+\s+=\s+0 ", done.client.out, re.M):
            raise harness.Failure(f"a figure of {name} is 0\n{done.describe()}")


def is_refused(context, name, words):
    """An address vector without a GRH is EINVAL on Ethernet: the client says so, and ends with an error."""
    with context.fabric() as fabric:
        ends = harness.Pair(fabric, ["qperf", "-lp", "{port}"], ["qperf", "-lp", "{port}", "{server}", "-to", "5", "-t", "1", name])
        status = ends.client.wait(time.monotonic() + TIMEOUT)
        if status in (0, None) or not re.search(words, ends.client.out + ends.client.err):
            raise harness.Failure(f"{name} is not refused\n{ends.describe()}")


def tests(context):
    refused = [] if context.faults else matrix.QPERF_BY_LID
    return ([(f"qperf -cm 1 {name}", lambda name=name: run_test(context, name)) for name in matrix.QPERF_TESTS]
            + [(f"qperf {name} is refused", lambda name=name, words=words: is_refused(context, name, words)) for name, words in refused])
