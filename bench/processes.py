"""Runs one program, or a server and its client, on the two cores, and returns their figures.

Owns: pinning (server core 0, client core 1), time limits, and reading what perftest, ucx_perftest and our own programs
print. Knows nothing of rows. Everything it starts has ended when it returns.
"""
import contextlib
import os
import re
import shutil
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "tests", "programs"))

import harness  # noqa: E402
import served  # noqa: E402

CORES = {0, 1}
SERVER_PIN, CLIENT_PIN = ["taskset", "-c", "0"], ["taskset", "-c", "1"]
PROGRAMS = ("taskset", "valgrind", "ucx_perftest", "ibv_devices", "ib_write_bw", "ib_read_bw", "ib_send_bw", "ib_write_lat",
            "ib_send_lat")
TIMEOUT_S = 60
MIB = 1 << 20


def missing(build):
    """What this machine lacks, as one line, or None."""
    lacking = [name for name in PROGRAMS if shutil.which(name) is None]
    if lacking:
        return f"not installed: {', '.join(lacking)} (scripts/setup.sh bench installs them)"
    if not os.access(os.path.join(build, "verbena"), os.X_OK):
        return f"{build}/verbena does not exist: build first, or say --build DIR"
    if not CORES <= os.sched_getaffinity(0):
        return "needs cores 0 and 1, one for either process"
    return None


class Bench:
    """What to measure: a build. Its methods each do one measurement and return {figure: value}."""

    def __init__(self, build):
        self.verbena = os.path.join(build, "verbena")
        self.own = os.path.join(build, "bench")

    def program(self, name):
        """The path of a program of bench/."""
        return os.path.join(self.own, name)

    @contextlib.contextmanager
    def pair(self, link, argv, client_argv=None, capture=(None, None), snap=0):
        """A perftest server and client that have just been started; both end with the context."""
        extra = ("--pcap-snap", str(snap)) if snap else ()
        options = [{"prefix": pin, "capture": file, "extra": extra if file else ()}
                   for pin, file in zip((SERVER_PIN, CLIENT_PIN), capture)]
        through_switch = link == "fabric"  # with a fabric process between them, on whichever core it finds
        with served.Served(self, "star") if through_switch else harness.Fabric(self.verbena, link) as fabric:
            yield harness.Pair(fabric, argv, client_argv or argv + ["{server}"], None, *options)

    def perftest(self, link, command, **options):
        """The figures of the client's result line. `command` is one string."""
        with self.pair(link, perftest_argv(command), **options) as pair:
            return perftest_figures(pair.finish(TIMEOUT_S))

    def limit(self, program, *figures):
        return printed_figures(run_alone([self.program(program), *figures]))


def perftest_argv(command):
    tool, *options = command.split()
    return [tool, "-F", "-p", "{port}", *options]


def perftest_figures(pair):
    found = re.search(r"^\s*(\d+\s+\d+\s+[\d.].*)$", pair.client.out, re.M)
    if found is None:
        raise harness.Failure(f"no result line\n{pair.describe()}")
    figures = [float(figure) for figure in found.group(1).split()]
    if "_lat" in " ".join(pair.client.argv):
        return {"typical_us": figures[4], "average_us": figures[5]}
    return {"gbytes": figures[3] * MIB / 1e9, "millions": figures[4]}


def printed_figures(text):
    """Lines `name value`, as the programs of bench/ print them."""
    return {name: float(value) for name, value in (line.split() for line in text.splitlines())}


@contextlib.contextmanager
def started(argv, environment=()):
    """A program outside any fabric; it ends with the context, or with this process."""
    program = harness.Program(["env", *environment, *argv], os.path.basename(argv[0]))
    try:
        yield program
    finally:
        program.close()


def run_alone(argv, environment=()):
    """Standard output of a program that must end with 0. `environment`: NAME=VALUE, added to what there is."""
    with started(argv, environment) as program:
        if program.wait(time.monotonic() + TIMEOUT_S) != 0:
            raise harness.Failure(f"did not end with 0 within {TIMEOUT_S} s\n{program.describe()}")
        return program.out


def ucx(transports, options):
    """UCX's own benchmark between two processes. `transports`: value of UCX_TLS; `options`: one string."""
    environment = [f"UCX_TLS={transports}", "UCX_LOG_LEVEL=error"]
    if "tcp" in transports:
        environment.append("UCX_NET_DEVICES=lo")
    port = harness.free_port()
    with started([*SERVER_PIN, "ucx_perftest", "-p", port], environment) as server:
        harness.wait_until(lambda: harness.listens(port), time.monotonic() + 20, "ucx_perftest listens", [server])
        client = [*CLIENT_PIN, "ucx_perftest", "127.0.0.1", "-p", port, "-f", "-v", *options.split()]
        text = run_alone(client, environment)
    names, values = text.strip().splitlines()[-2:]
    row = dict(zip(names.split(","), map(float, values.split(","))))
    return {"gbytes": row["overall_bw"] * MIB / 1e9, "millions": row["overall_mr"] / 1e6,
            "typical_us": row["50.0_percentile_lat"]}
