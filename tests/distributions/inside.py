#!/usr/bin/env python3
"""Runs inside a release of Debian, as enter.sh has set it up: each program of that release on emulated nodes, as a user without
privileges. Prints one JSON document: the versions of the packages, and of each row its outcome ("passed", or why not).

  inside.py VERBENA ROWS [PACKAGE]     ROWS: names of rows, or "all". PACKAGE: a .deb to install first, by root, and to run from; how long
                                       it took from there to the first pair's result is one row more

The Python of the oldest release is 3.9.
"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import types

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "programs"), os.path.join(HERE, "..", "programs")]  # in a release, in the tree

import harness  # noqa: E402
import managed  # noqa: E402
import rdma_cm  # noqa: E402

USER = 1000
MINUTE_S = 15
PACKAGES = ["libc6", "libibverbs1", "librdmacm1", "perftest", "ucx-utils", "libfabric-bin", "libibumad3", "infiniband-diags", "opensm"]
PERFTEST_ROW = r"^\s*\d+\s+\d+\s+[\d.]+"
WRITE_BW = ["ib_write_bw", "-F", "-p", "{port}", "-u", "{timeout}", "-s", "65536", "-n", "500"]
SEND_LAT = ["ib_send_lat", "-F", "-p", "{port}", "-u", "{timeout}", "-s", "8", "-n", "500"]
PINGPONG = ["ibv_rc_pingpong", "-g", "0", "-p", "{port}", "-n", "200", "-c"]
UCX = ["env", "UCX_TLS=rc_v", "UCX_NET_DEVICES=verbena0:1", "ucx_perftest", "-p", "{port}"]
UCX_TEST = ["-t", "tag_lat", "-s", "4096", "-n", "500"]
FI_PINGPONG = ["fi_pingpong", "-c", "-I", "20", "-d", "verbena0"]
FI_PINGPONG_ROW = r"^1m\s+20\s+=20\s"
FI_ECANCELED = 125
TRIES = 5


def require(program, pattern):
    if not re.search(pattern, program.out, re.M):
        raise harness.Failure(f"no result like {pattern}\n{program.describe()}")


def pair(fabric, argv, pattern, client_end=("{server}",), server_end=(), **options):
    """perftest measures the processor's clock first. Where it says that it could not, on a busy machine, its figures are none."""
    for _ in range(TRIES):
        done = harness.pair(fabric, [*argv, *server_end], [*argv, *client_end], **options)
        if "Correlation coefficient" not in done.client.out + done.client.err:
            break
    require(done.client, pattern)


def devinfo(fabric):
    require(fabric.run(fabric.nodes[0], ["ibv_devinfo"]), r"(?s)hca_id:\s+verbena0\b.*PORT_ACTIVE")


def connected(fabric, case):
    rdma_cm.run_on(fabric, types.SimpleNamespace(faults=()), case)


def write_bw_connected(fabric):
    port = harness.free_port()
    argv = harness.fill([*WRITE_BW, "-R"], port, "", {})
    connected(fabric, rdma_cm.Case("ib_write_bw -R", argv, [*argv, "{server}"], port, says=r"\n\s*65536\s+500\s+[\d.]+"))


def of_managers(fabric, check):
    check(types.SimpleNamespace(verbena=fabric.verbena))


class NotThere(Exception):
    """The release does not have what the row is about."""


def ucx(fabric):
    if not glob.glob("/usr/lib/*/ucx/libuct_ib.so*"):
        raise NotThere("its UCX is built without verbs")
    linked = subprocess.run(["ldd", "/usr/bin/ucx_perftest"], capture_output=True, text=True, check=True).stdout
    if "libmpi" in linked:  # it then takes both its ends from an mpirun, and no address
        argv = ["mpirun", "-n", "2", "--oversubscribe", "--mca", "pml", "ob1", "--mca", "btl", "self,vader", *UCX[:-2], *UCX_TEST]
        done = fabric.start(fabric.nodes[0], argv, name="mpirun", by_rank=2)
        if done.wait(time.monotonic() + 60) != 0:
            raise harness.Failure(done.describe())
        require(done, r"^Final:\s+500 ")
        return
    pair(fabric, UCX, r"^Final:\s+500 ", ["{server}", *UCX_TEST])


def fi_pingpong(fabric, *endpoint):
    """It compares what comes back (-c). A row of its table: octets, messages sent, as many come back intact."""
    argv = [*FI_PINGPONG, *endpoint]
    pair(fabric, argv, FI_PINGPONG_ROW, ["-P", "{port}", "{server}"], ["-B", "{port}"])


def fi_pingpong_rxm(fabric, limit_s=60):
    """The client compares what comes back and prints its table. How the two end is a race of ofi_rxm: its thread for connections
    learns of the peer's disconnect and drops completions that the endpoint has not read yet. One end is then told of flushed
    work (FI_ECANCELED, 125), or waits for ever."""
    argv = [*FI_PINGPONG, "-p", "verbs;ofi_rxm", "-e", "rdm"]
    both = harness.Pair(fabric, [*argv, "-B", "{port}"], [*argv, "-P", "{port}", "{server}"])
    status = both.client.wait(time.monotonic() + limit_s)
    if status not in (0, FI_ECANCELED) or both.server.status not in (None, 0, FI_ECANCELED):
        raise harness.Failure(f"a program did not end as it should\n{both.describe()}")
    require(both.client, FI_PINGPONG_ROW)


def captured(fabric):
    with tempfile.TemporaryDirectory() as place:
        harness.pair(fabric, PINGPONG, [*PINGPONG, "{server}"], captures=(None, place + "/lost.pcapng"), faults=["drop psn=6"])
        told = subprocess.run([fabric.verbena, "explain", place + "/lost.pcapng"], capture_output=True, text=True, check=False)
    if told.returncode != 0 or "dropped by fault 'drop psn=6'" not in told.stdout:
        raise harness.Failure(f"explain ended with {told.returncode}\n{told.stdout[-2000:]}{told.stderr}")


def scenario(fabric):
    for name in ("topology-ring-link", "real-pingpong-loss"):
        done = subprocess.run([fabric.verbena, "run", name], capture_output=True, text=True, timeout=120, check=False)
        if done.returncode != 0:
            raise harness.Failure(f"{name} ended with {done.returncode}\n{done.stdout}{done.stderr}")


ROWS = {
    "ibv_devinfo": devinfo,
    "ibv_rc_pingpong -c": lambda fabric: pair(fabric, PINGPONG, r"^200 iters in "),
    "ib_write_bw": lambda fabric: pair(fabric, WRITE_BW, PERFTEST_ROW),
    "ib_write_bw, 1 % lost": lambda fabric: pair(fabric, WRITE_BW, PERFTEST_ROW, faults=harness.LOSS),
    "ib_send_lat": lambda fabric: pair(fabric, SEND_LAT, PERFTEST_ROW),
    "ib_write_bw -R (rdma_cm)": write_bw_connected,
    "rping": lambda fabric: connected(fabric, rdma_cm.RPING),
    "ucx_perftest, rc_verbs": ucx,
    "fi_pingpong, MSG of verbs": lambda fabric: fi_pingpong(fabric, "-p", "verbs", "-e", "msg"),
    "fi_pingpong, RDM of ofi_rxm": fi_pingpong_rxm,
    "opensm manages a fabric": lambda fabric: of_managers(fabric, managed.brought_up),
    "infiniband-diags, each tool": lambda fabric: of_managers(fabric, managed.every_tool),
    "verbena explain of a capture": captured,
    "verbena run, both clocks": scenario,
}


class RankedFabric(harness.Fabric):
    """Beside programs on a node of theirs: an mpirun, whose processes have one each by their ranks."""

    def start(self, node, argv, name="program", by_rank=0, **options):
        if not by_rank:
            return super().start(node, argv, name, **options)
        program = harness.Program([self.verbena, "exec", "--fabric", self.name, "--nodes", str(by_rank), "--", *argv], name)
        self.programs.append(program)
        return program


def outcome(verbena, check):
    try:
        with RankedFabric(verbena, "shm") as fabric:
            check(fabric)
        return "passed"
    except NotThere as reason:
        return f"not there: {reason}"
    except (harness.Failure, subprocess.TimeoutExpired) as failure:
        return str(failure)


def of_package():
    done = subprocess.run(["/opt/verbena/tests/pairs"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return "passed" if done.returncode == 0 else f"exit status {done.returncode}\n{done.stdout}"


def versions():
    """Since Debian 13 some libraries have names that end with t64."""
    def version(package):
        return subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True, check=False).stdout
    return {package: version(package) or version(package + "t64") or "-" for package in PACKAGES}


def install(package):
    """Moments of its begin; root's."""
    started = time.monotonic()
    done = subprocess.run(["dpkg", "--install", package], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"dpkg --install: {done.stdout}{done.stderr}")
    return started


def main(arguments):
    if len(arguments) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    verbena, wanted = arguments[:2]
    started = install(arguments[2]) if len(arguments) == 3 else None
    os.setgroups([])
    os.setgid(USER)
    os.setuid(USER)
    rows = {}
    if started is not None:
        name = f"from dpkg --install to a pair of ib_write_bw, within {MINUTE_S} s"
        rows[name] = outcome(verbena, ROWS["ib_write_bw"])
        took = time.monotonic() - started
        if rows[name] == "passed" and took > MINUTE_S:
            rows[name] = f"passed, but took {took:.1f} s"
        print(f"{name}: took {took:.1f} s", file=sys.stderr)
        rows["debian/tests of the package"] = of_package()
    for name, check in ROWS.items():
        if wanted in ("all", name):
            rows[name] = outcome(verbena, check)
    print(json.dumps({"versions": versions(), "rows": rows}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
