"""The ranks of an mpirun in network namespaces, one for each node: what `nodes:` of a scenario is over a fabric process.

Owns: the script that mpirun runs in place of the program, which enters the namespace of its rank's node and runs the program there by
`verbena exec --link udp`; the counters that it leaves. mpirun itself runs in the first node's namespace, on no node.
"""
import os
import re
import shlex
import shutil

import harness

# Open MPI's ranks speak with mpirun by TCP, and that only over the loopback interface unless it is told otherwise. The nodes' addresses
# differ, but the processes stand on one machine, in one folder for sessions.
LAUNCHER = {"PMIX_MCA_ptl_base_remote_connections": "1", "PMIX_MCA_ptl_base_if_include": "v0", "PMIX_MCA_gds": "hash"}


def program_at(words):
    """Where the program stands in the words of an mpirun: behind its options."""
    launcher = next(i for i, word in enumerate(words) if os.path.basename(word).startswith("mpirun"))
    for i, word in enumerate(words[launcher + 1:], launcher + 1):
        if not word.startswith("-") and (os.path.isfile(word) or shutil.which(word)):
            return i
    raise harness.Failure(f"which program does it run: {shlex.join(words)}")


def script_of(nets, count, folder):
    """Counters go to a file for each process; the program's own stderr goes where mpirun wants it."""
    lines = ["#!/bin/sh", f"case $((${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}} % {count})) in"]
    for place in range(count):
        argv = nets.exec_argv(nets.nodes[place], ["sh", "-c", 'exec "$@" 2>&3', "sh"], stats=True)
        lines.append(f'{place}) exec {shlex.join(argv)} "$@" 3>&2 2>{shlex.quote(folder)}/counters.{place}.$$ ;;')
    return "\n".join([*lines, "esac"]) + "\n"


def start(nets, workload, words, folder):
    """The launcher, as a program of the harness."""
    path = os.path.join(folder, f"rank-of-{workload['name']}")
    with open(path, "w", encoding="utf-8") as file:
        file.write(script_of(nets, workload["nodes"], folder))
    os.chmod(path, 0o755)
    at = program_at(words)
    settings = [f"{name}={value}" for name, value in LAUNCHER.items()]
    program = harness.Program([*nets.nodes[0].holder.enter, "env", *settings, *words[:at], path, *words[at:]], workload["name"])
    nets.programs.append(program)
    return program


def counters(folder, place):
    """Of all processes of a node, by name."""
    total = {}
    for name in os.listdir(folder):
        if not name.startswith(f"counters.{place}."):
            continue
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            for counter, value in re.findall(r"^ *([a-z][a-z0-9_]*) +(\d+)$", file.read(), re.M):
                total[counter] = total.get(counter, 0) + int(value)
    return total
