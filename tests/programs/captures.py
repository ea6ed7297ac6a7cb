"""Captures of real programs' runs: tshark finds nothing malformed, every ICRC is right, faults are written on packets."""
import os
import shutil
import subprocess
import tempfile

import harness
import roce_check

EXPERT_ERROR = 8388608  # PI_ERROR of Wireshark's expert information


def perftest(tool, *options):
    return [tool, "-F", "-p", "{port}", "-u", "{timeout}", "-n", "20", *options]


RUNS = {
    "ibv_rc_pingpong": ["ibv_rc_pingpong", "-g", "0", "-p", "{port}", "-n", "20", "-c"],
    "ibv_ud_pingpong": ["ibv_ud_pingpong", "-g", "0", "-p", "{port}", "-n", "20", "-c"],
    "ibv_uc_pingpong": ["ibv_uc_pingpong", "-g", "0", "-p", "{port}", "-n", "20", "-c"],
    "ib_send_bw": perftest("ib_send_bw", "-s", "65536"),
    "ib_write_bw": perftest("ib_write_bw", "-s", "65536"),
    "ib_read_bw": perftest("ib_read_bw", "-s", "65536"),
    "ib_atomic_bw": perftest("ib_atomic_bw"),
    "ib_write_lat inline": perftest("ib_write_lat", "-I", "32", "-s", "32"),
}
# Hits in every run, whatever chance does, and no program notices.
CERTAIN = ("delay by=50us every=10",)
# Longer timeouts than the paper's: two programs, and what else there is, share the cores.
SELECTIVE = ("--nic", "loss-recovery=selective-repeat rto-low=5ms rto-high=20ms")
IS_SELECTIVE = "infiniband.bth.reserved7 == 3"  # docs/selective-repeat.md: a header of its own follows
# More than a window, so that the first answer finds something left to be sent.
SELECTIVE_RUNS = {"ibv_rc_pingpong": RUNS["ibv_rc_pingpong"], **{name: RUNS[name] + ["-n", "100"] for name in ("ib_send_bw", "ib_write_bw")}}
UNRELIABLE = ("ibv_ud_pingpong", "ibv_uc_pingpong")


def tshark(path, *arguments):
    if shutil.which("tshark") is None:
        raise harness.Failure("tshark is not installed")
    done = subprocess.run(["tshark", "-n", "-r", path, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=120, check=False)
    if done.returncode != 0:
        raise harness.Failure(f"tshark cannot read the capture: {done.stderr}")
    return done.stdout.splitlines()


def check(path, context, client, options=()):
    counts = roce_check.summary(path)
    where = f"in the capture of the {'client' if client else 'server'}: {counts['packets']} packets"
    if counts["roce"] == 0 or counts["roce"] != counts["packets"]:
        raise harness.Failure(f"{counts['roce']} RoCE v2 packets {where}")
    if counts["wrong_icrc"]:
        raise harness.Failure(f"{counts['wrong_icrc']} wrong ICRCs {where}")
    bad = tshark(path, *options, "-Y", f"_ws.malformed || _ws.expert.severity >= {EXPERT_ERROR}")
    if bad:
        raise harness.Failure(f"malformed to tshark {where}\n" + "\n".join(bad[:10]))
    seen = len(tshark(path, *options, "-Y", "infiniband.bth"))
    if seen != counts["roce"]:
        raise harness.Failure(f"tshark knows {seen} packets as RoCE {where}")
    if not context.faults and counts["comments"]:
        raise harness.Failure(f"faults are written on packets, and there is no fault plan, {where}")
    return counts


def run_one(context, argv, extra=(), wanted=None):
    with context.fabric() as fabric, tempfile.TemporaryDirectory() as place:
        paths = [os.path.join(place, name) for name in ("server.pcapng", "client.pcapng")]
        faults = harness.survivable(context.faults, argv) + CERTAIN if context.faults else ()
        harness.pair(fabric, argv, argv + ["{server}"], faults=faults, captures=paths, extra=extra)
        # Its guess at RPC over RDMA takes our own header for some.
        options = ("--disable-protocol", "rpcordma") if wanted else ()
        counts = [check(path, context, client, options) for client, path in enumerate(paths)]
        if faults and not any(CERTAIN[0] in comment for count in counts for comment in count["comments"]):
            raise harness.Failure("packets were hit by faults, and no packet of the captures says so")
        if wanted and not any(tshark(path, "-Y", wanted) for path in paths):
            raise harness.Failure(f"no packet of the captures is one of {wanted}")
        for path in paths:
            explained = subprocess.run([context.verbena, "explain", path], stdin=subprocess.DEVNULL, capture_output=True,
                                       text=True, timeout=60, check=False)
            if explained.returncode != 0 or not explained.stdout:
                raise harness.Failure(f"verbena explain ended with {explained.returncode}: {explained.stderr}")


def tests(context):
    rows = [(f"capture of {name}", lambda argv=argv: run_one(context, argv)) for name, argv in RUNS.items()
            if not (context.faults and name in UNRELIABLE)]
    rows += [(f"capture of {name} with selective repeat", lambda argv=argv: run_one(context, argv, SELECTIVE, IS_SELECTIVE))
             for name, argv in SELECTIVE_RUNS.items()]
    return rows
