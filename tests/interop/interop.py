#!/usr/bin/env python3
"""Runs programs between Verbena and the Linux kernel's rxe, which runs in an emulated machine, and judges what they say and every ICRC.

  interop.py --verbena build/verbena --kernel build/interop/kernel [--short] [--only REGEX] [--list] [--write docs/interop.md] [--junit FILE]

Exit status 0: every row worked, but for those that rxe is known to fail (deviations.py), and every ICRC of either side was right.
Captures of rows that failed are kept in --failed.
"""
import argparse
import collections
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "programs"))

import deviations  # noqa: E402
import ends  # noqa: E402
import guest  # noqa: E402
import harness  # noqa: E402
import image  # noqa: E402
import junit  # noqa: E402
import page  # noqa: E402
import roce_check  # noqa: E402
import rows  # noqa: E402
import wire  # noqa: E402

Outcome = collections.namedtuple("Outcome", "row place problem packets wrong seconds")


def run_programs(row, place, server, client):
    port = row.port or harness.free_port()
    family = place.family if row.cm else "ipv4"  # the side channel's

    def filled(words, own):
        return [word.format(port=port, server=server.address[family], own=own.address[family], gid=own.gid, mtu=place.mtu)
                for word in words]
    programs = [server.start(filled(row.server, server), "server", row.timeout + 30)]
    try:
        server.await_listener(row, port, programs[0])
        programs.append(client.start(filled(row.client, client), "client", row.timeout))
        finish(row, *programs)
    finally:
        for program in reversed(programs):
            program.close()


def finish(row, server, client):
    deadline = time.monotonic() + row.timeout
    ended = client.wait(deadline)
    problem = "" if ended == 0 else "did not end" if ended is None else f"exit status {ended}"
    if not problem and not re.search(row.says, client.out + client.err):
        problem = f"it does not say {row.says}"
    if not problem and row.server_ends and server.wait(deadline) != 0:
        problem = f"exit status {server.status} of the server"
    if problem:
        for program in (client, server):  # what it has said is there when it has ended
            if program.status is None:
                program.signal_group(signal.SIGKILL)
                program.wait(time.monotonic() + harness.PATIENCE_AFTER_FAILURE_S)
        raise harness.Failure(f"{problem}\n{server.describe()}{client.describe()}")


def judge(row, path, own_capture):
    """(packets, wrong ICRCs): a wrong one is a failure, but where a fault was to make them; and ours must then have made some."""
    ours = wire.octets_of_addresses(wire.OURS)
    packets, wrong = collections.Counter(), collections.Counter()
    for frame, _, _ in roce_check.packets(path):
        right = roce_check.icrc_is_right(frame)
        if right is not None:
            side = "Verbena" if roce_check.source_of(frame) in ours else "rxe"
            packets[side] += 1
            wrong[side] += not right
    corrupting = {"Verbena": any("corrupt" in fault for fault in row.faults), "rxe": "corrupt" in row.netem}
    for side, corrupts in corrupting.items():
        if not packets[side] and row.two_way:
            raise harness.Failure(f"no packet of {side} was on the wire")
        if wrong[side] and not corrupts:
            raise harness.Failure(f"{wrong[side]} of {packets[side]} packets of {side} have a wrong ICRC")
    if corrupting["Verbena"] and not wrong["Verbena"] or row.faults and not roce_check.summary(own_capture)["comments"]:
        raise harness.Failure(f"no packet was hit by {row.faults}")
    return packets.total(), wrong.total()


def check(verbena, path):
    """Neither side breaks a rule of the transport that `verbena check` knows."""
    done = subprocess.run([verbena, "check", path], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        raise harness.Failure(f"verbena check ends with {done.returncode}\n{done.stdout}{done.stderr}")


def run_row(row, place, card, verbena, kernel, folder):
    started = time.monotonic()
    path, own = (os.path.join(folder, name) for name in ("wire.pcap", "verbena.pcapng"))
    packets, wrong, problem = 0, 0, ""
    try:
        kernel.use(row, place)
        verbena.use(row, place, own if row.faults else None)
        pair = (verbena, kernel) if place.ours == "server" else (kernel, verbena)
        with card.recording(path), verbena.fabric:
            run_programs(row, place, *pair)
        packets, wrong = judge(row, path, own)
        if not (row.faults or row.netem):
            check(verbena.verbena, path)
        if row.netem:
            kernel.require_netem()
    except harness.Failure as failure:
        problem = str(failure)
    return Outcome(row, place, problem, packets, wrong, time.monotonic() - started)


def report(outcome, known):
    name = f"{outcome.row.name}: {outcome.place}"
    if outcome.problem and not known:
        print(f"FAILED  {name} ({outcome.seconds:.1f} s)\n{outcome.problem}", flush=True)
    else:
        mark = "rxe    " if outcome.problem else "ok     "
        corrupted = f", {outcome.wrong} of them corrupted" if outcome.wrong else ""
        print(f"{mark} {name} ({outcome.seconds:.1f} s, {outcome.packets} packets{corrupted})", flush=True)


def idle_netem(outcomes):
    """Chance may spare a run, but not all of them."""
    corrupted = [outcome for outcome in outcomes if "corrupt" in outcome.row.netem]
    if len(corrupted) > 4 and not any(outcome.wrong for outcome in corrupted):
        yield "the guest's netem corrupted nothing in any run"


def keep(folder, failed, number):
    os.makedirs(failed, exist_ok=True)
    for name in os.listdir(folder):
        shutil.copy(os.path.join(folder, name), os.path.join(failed, f"{number:03}-{name}"))


def run_all(options, cases):
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="verbena-interop-") as folder:
        kernel_path, image_path = (os.path.join(folder, name) for name in ("vmlinux", "initrd"))
        image.build(options.kernel, kernel_path, image_path)
        wire.set_up()
        with wire.Card() as card, guest.Guest(kernel_path, image_path, card.socket) as machine:
            kernel, verbena = ends.Kernel(machine), ends.Verbena(os.path.abspath(options.verbena))
            for number, (row, place) in enumerate(cases):
                with tempfile.TemporaryDirectory(dir=folder) as captures:
                    outcome = run_row(row, place, card, verbena, kernel, captures)
                    outcomes.append(outcome)
                    report(outcome, deviations.reason_of(outcome))
                    if outcome.problem:
                        keep(captures, options.failed, number)
            return outcomes, kernel.release


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--verbena", required=True)
    parser.add_argument("--kernel", required=True, help="the unpacked kernel package")
    parser.add_argument("--short", action="store_true", help="what `make test` runs")
    parser.add_argument("--only", default="", help="rows whose name and place this regular expression fits")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--write", metavar="PAGE", help="write the table into this page")
    parser.add_argument("--failed", default="build/interop/failed", help="where captures of rows that failed are kept")
    parser.add_argument("--junit", metavar="FILE", help="write the outcomes for CI services")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    cases = [(row, place) for row, place in (rows.short_table() if options.short else rows.table())
             if re.search(options.only, f"{row.name}: {place}")]
    if options.list:
        print("\n".join(f"{row.name}: {place}" for row, place in cases))
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the temporary folder goes, too
    shutil.rmtree(options.failed, ignore_errors=True)
    try:
        if not options.inside:
            wire.enter_namespace([*sys.argv, "--inside"])
        outcomes, release = run_all(options, cases)
    except (harness.Failure, image.Unbuildable, FileNotFoundError) as failure:
        print(f"interop: {failure}", file=sys.stderr)
        return 1
    complaints = [*deviations.complaints(outcomes), *idle_netem(outcomes)]
    print("\n".join(complaints + [page.summary(outcomes)]))
    if options.write:
        page.rewrite(options.write, outcomes, release)
    if options.junit:
        junit.write(options.junit, "interop", [(f"{outcome.row.name}: {outcome.place}", outcome.seconds,
                                                "" if deviations.reason_of(outcome) else outcome.problem) for outcome in outcomes])
    return 0 if outcomes and not complaints else 1


if __name__ == "__main__":
    sys.exit(main())
