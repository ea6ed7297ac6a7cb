"""qperf's RDMA tests. One server per test, told to quit by its client; every test prints its name and a figure."""
import re

import harness
import matrix


def run_test(context, name):
    with context.fabric() as fabric:
        done = harness.pair(fabric, ["qperf", "-lp", "{port}"],
                            ["qperf", "-lp", "{port}", "{server}", "-to", "15", "-t", "1", name, "quit"],
                            faults=context.faults, timeout=45)
        # ver_* tests print nothing more than their name when all is well.
        figure = r"" if name.startswith("ver_") else r"\s+\w+\s+=\s+[\d.]+"
        if not re.search(rf"^{name}:{figure}", done.client.out, re.M):
            raise harness.Failure(f"no figure of {name}\n{done.describe()}")
        if re.search(r"^\s+\w+\s+=\s+0 ", done.client.out, re.M):
            raise harness.Failure(f"a figure of {name} is 0\n{done.describe()}")


def tests(context):
    names = matrix.QPERF_TESTS + ([] if context.faults else matrix.QPERF_UNRELIABLE)
    return [(f"qperf {name}", lambda name=name: run_test(context, name)) for name in names]
