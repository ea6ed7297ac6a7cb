"""What Verbena costs while nothing, or next to nothing, is to be done: idle devices, sleeping targets, starting, memory.

Each function does one measurement on a `processes.Bench` and returns {figure: value}. Threads are looked at from outside,
through /proc.
"""
import os
import statistics
import subprocess
import tempfile
import time

import harness
from processes import CLIENT_PIN, SERVER_PIN, TIMEOUT_S, perftest_argv, perftest_figures, printed_figures

IDLE_SETTLE_S, IDLE_S = 1, 10
BUSY_FROM_S, BUSY_FOR_S = 1.8, 1.5  # perftest exchanges its parameters a second after its start
STARTS = 20
QUEUE_PAIRS = 8000  # so many that pages of code, which are there once, do not count
HEADERS_BYTES = 70  # Ethernet, IPv4, UDP, BTH and RETH


def threads(pid):
    """(sleeps, times run, nanoseconds run) of all threads of a process together."""
    sleeps = runs = nanoseconds = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/status", encoding="ascii", errors="replace") as file:
            switches = {line.split(":")[0]: int(line.split()[1]) for line in file if "ctxt_switches" in line}
        sleeps += switches["voluntary_ctxt_switches"]
        with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as file:
            on_core, _, times = map(int, file.read().split())
        runs += times
        nanoseconds += on_core
    return sleeps, runs, nanoseconds


def idle(bench):
    """One process per kind of link, each with a device that it opened and left alone."""
    figures = {}
    with harness.Fabric(bench.verbena, "shm", 1) as shm, harness.Fabric(bench.verbena, "udp", 1) as udp:
        seconds = str(IDLE_SETTLE_S + IDLE_S + TIMEOUT_S)
        idlers = [fabric.start(fabric.nodes[0], [bench.program("idle_device"), seconds], "idle_device")
                  for fabric in (shm, udp)]
        harness.wait_until(lambda: all("ready" in idler.out for idler in idlers), time.monotonic() + 20,
                           "the devices are open", idlers)
        time.sleep(IDLE_SETTLE_S)
        before = [threads(idler.process.pid) for idler in idlers]
        time.sleep(IDLE_S)
        after = [threads(idler.process.pid) for idler in idlers]
    for fabric, old, new in zip((shm, udp), before, after):
        figures[f"{fabric.link}_wakes"] = new[1] - old[1]
        figures[f"{fabric.link}_cpu_percent"] = (new[2] - old[2]) / 1e9 / IDLE_S * 100
    return figures


def busy_target(bench):
    """ib_write_bw's server, whose application waits in a system call: how often its threads go to sleep meanwhile."""
    argv = perftest_argv("ib_write_bw -s 65536 -m 4096 -D 4 -f 1")
    with bench.pair("shm", argv) as pair:
        time.sleep(BUSY_FROM_S)
        before, since = threads(pair.server.process.pid), time.monotonic()
        time.sleep(BUSY_FOR_S)
        after, elapsed = threads(pair.server.process.pid), time.monotonic() - since
        millions = perftest_figures(pair.finish(TIMEOUT_S))["millions"]
    return {"sleeps_per_1000": (after[0] - before[0]) / (millions * 1e3 * elapsed), "millions": millions}


def sleeping_target(bench):
    """passive_target's two processes."""
    with tempfile.TemporaryDirectory(prefix="verbena-bench-") as folder, harness.Fabric(bench.verbena, "shm") as fabric:
        argv = [bench.program("passive_target"), os.path.join(folder, "shared")]
        target, initiator = (fabric.start(node, argv + [role], role, prefix=pin) for node, role, pin in
                             zip(fabric.nodes, ("target", "initiator"), (SERVER_PIN, CLIENT_PIN)))
        deadline = time.monotonic() + TIMEOUT_S
        if initiator.wait(deadline) != 0 or target.wait(deadline) != 0:
            raise harness.Failure(f"passive_target failed\n{initiator.describe()}{target.describe()}")
        return printed_figures(initiator.out)


def wall_milliseconds(argv):
    started = time.monotonic()
    subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   timeout=TIMEOUT_S, check=False)  # bare ibv_devices fails where there is no kernel module
    return (time.monotonic() - started) * 1e3


def start_up(bench):
    with harness.Fabric(bench.verbena, "shm", 1) as fabric:
        bare = [*CLIENT_PIN, "ibv_devices"]
        ours = fabric.exec_argv(fabric.nodes[0], ["ibv_devices"], prefix=CLIENT_PIN)
        times = [(wall_milliseconds(ours), wall_milliseconds(bare)) for _ in range(STARTS)]
    return dict(zip(("ours_ms", "bare_ms"), map(statistics.median, zip(*times))))


def memory(bench):
    """Resident KiB per idle queue pair: with 64/64 work requests, and with 1/1, which is next to nothing but the NIC's own."""
    figures = {}
    with harness.Fabric(bench.verbena, "shm", 1) as fabric:
        for work_requests in (64, 1):
            argv = [bench.program("qp_memory"), QUEUE_PAIRS, work_requests]
            program = fabric.run(fabric.nodes[0], argv, TIMEOUT_S, prefix=CLIENT_PIN)
            figures[f"kib_{work_requests}"] = printed_figures(program.out)["rss_bytes_per_qp"] / 1024
    return figures


def captured(bench, end):
    """ib_write_bw while one end (0: server, 1: client) writes the headers of every packet to a file."""
    with tempfile.TemporaryDirectory(prefix="verbena-bench-") as folder:
        files = [None, None]
        files[end] = os.path.join(folder, "headers.pcapng")
        return bench.perftest("shm", "ib_write_bw -s 65536 -m 4096 -N -n 20000", capture=files, snap=HEADERS_BYTES)
