#!/usr/bin/env python3
"""One command line on several machines: Open MPI's mpirun starts `verbena exec --link udp --node SUBNET -- PROGRAM` on four hosts.

  hosts.py --verbena build/verbena [--junit FILE]

A host is a network namespace with a host name of its own; mpirun reaches it as it reaches machines, by an agent that takes ssh's place.
The program is a ring allreduce over UCX (rc_verbs), whose elements are all compared; each way of saying which address a host has is
tried, and each host's NIC must have sent packets. docs/hosts.md has the same lines. Needs scripts/setup.sh systems-short.
"""
import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path[1:1] = [os.path.dirname(HERE), os.path.join(ROOT, "tests", "programs")]

import harness  # noqa: E402
import junit  # noqa: E402
import namespaces  # noqa: E402

HOSTS = 4
RANKS = 8  # two a host: processes share its node
ELEMENTS, ROUNDS = 200003, 3
RUN_S = 120
NODES = ("10.47.0.0/24", namespaces.INTERFACE, "hosts:{hostfile}")


def agent_of(nets, folder):
    """Does what ssh does: runs a command line on the host that is named. Each has its own host name, as machines have: Open MPI's
    daemons know each other by it."""
    lines = ["#!/bin/sh", "host=$1; shift", "case $host in"]
    for node in nets.nodes:
        # A kernel that lets nobody have a host name of his own fails here, and says so.
        argv = [*node.holder.enter, "unshare", "--uts", "sh", "-c", f"echo host-{node.name} > /proc/sys/kernel/hostname; exec sh -c \"$*\"", "sh"]
        lines.append(f'{node.address}) exec {shlex.join(argv)} "$@" ;;')
    lines += ['*) echo "no host $host" >&2; exit 1 ;;', "esac"]
    path = os.path.join(folder, "agent")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    os.chmod(path, 0o755)
    return path


def hostfile_of(nets, folder):
    path = os.path.join(folder, "hosts")
    with open(path, "w", encoding="utf-8") as file:
        file.write("".join(f"{node.address} slots={RANKS // HOSTS}\n" for node in nets.nodes))
    return path


def compile_program(folder):
    program = os.path.join(folder, "ring_allreduce")
    subprocess.run(["mpicc.openmpi", "-O1", "-o", program, os.path.join(HERE, "ring_allreduce.c")], check=True, timeout=120)
    return program


def run_on_hosts(nets, verbena, folder, node, program):
    """The launcher stands on the first host, as a user does."""
    settings = {"plm_rsh_agent": agent_of(nets, folder), "pml": "ucx", "osc": "ucx", "oob_tcp_if_include": namespaces.INTERFACE}
    mca = [word for name, value in settings.items() for word in ("--mca", name, value)]
    hostfile = hostfile_of(nets, folder)
    argv = ["mpirun.openmpi", "--allow-run-as-root", "--hostfile", hostfile, "-n", str(RANKS), *mca, "-x", "UCX_TLS=rc_v,self",
            verbena, "exec", "--link", "udp", "--node", node.format(hostfile=hostfile), "--stats", "--", program, str(ELEMENTS),
            str(ROUNDS)]
    launcher = harness.Program([*nets.nodes[0].holder.enter, "unshare", "--uts", "sh", "-c",
                                'echo host-n1 > /proc/sys/kernel/hostname; exec "$@"', "sh", *argv], "mpirun")
    nets.programs.append(launcher)
    if launcher.wait(time.monotonic() + RUN_S) is None:
        raise harness.Failure("mpirun did not end in time\n" + launcher.describe())
    return launcher


def judge(launcher):
    """What the ranks say of themselves, and that each host's NIC has sent packets."""
    if launcher.status != 0 or f"ring allreduce: {RANKS} ranks, {ROUNDS} rounds of {ELEMENTS} elements" not in launcher.out:
        raise harness.Failure("the allreduce failed\n" + launcher.describe())
    if not launcher.out.rstrip().endswith(" 0 wrong"):
        raise harness.Failure("elements are wrong\n" + launcher.describe())
    reports = re.findall(r"verbena: counters of node (\S+), 1 process\n((?: +\w+ +\d+\n)+)", launcher.err)
    nodes = {address for address, counters in reports if re.search(r"\n? +tx_packets +[1-9]", counters)}
    if len(reports) != RANKS or nodes != {f"{namespaces.PREFIX}.{place}" for place in range(1, HOSTS + 1)}:
        raise harness.Failure(f"{len(reports)} processes on {sorted(nodes)} have sent packets\n" + launcher.describe())


def run_one(verbena, folder, node, program):
    """What is wrong; empty: nothing."""
    try:
        with namespaces.Network(verbena, HOSTS) as nets:
            launcher = run_on_hosts(nets, verbena, folder, node, program)
            judge(launcher)
    except harness.Failure as failure:
        return str(failure)
    return ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--verbena", required=True, type=os.path.abspath)
    parser.add_argument("--junit", metavar="FILE", type=os.path.abspath)
    options = parser.parse_args()
    cases = []
    with tempfile.TemporaryDirectory(prefix="verbena-hosts-") as folder:
        os.environ["TMPDIR"] = folder  # Open MPI's sessions
        program = compile_program(folder)
        for node in NODES:
            began = time.monotonic()
            problem = run_one(options.verbena, folder, node, program)
            cases.append((f"{HOSTS} hosts, --node {node}", time.monotonic() - began, problem))
            print(f"{'FAILED ' if problem else 'ok     '} {cases[-1][0]} ({cases[-1][1]:.1f} s)\n{problem}".rstrip(), flush=True)
    if options.junit:
        junit.write(options.junit, "hosts", cases)
    return 1 if any(problem for _, _, problem in cases) else 0


if __name__ == "__main__":
    sys.exit(main())
