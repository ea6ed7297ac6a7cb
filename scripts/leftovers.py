#!/usr/bin/env python3
"""Tells whether a test run left anything behind: processes, shared memory, temporary files, network namespaces.

  leftovers.py snapshot FILE TMPDIR            before the run
  leftovers.py compare FILE MARK TMPDIR        after it; MARK is the value of VERBENA_TEST_RUN in the run's processes
"""
import json
import os
import sys
import time

PLACES = ["/dev/shm", "/tmp", "/run/netns"]


def listing(own_temporary):
    found = {}
    for place in PLACES:
        names = sorted(os.listdir(place)) if os.path.isdir(place) else []
        found[place] = [name for name in names if os.path.join(place, name) != own_temporary]
    return found


def ancestors():
    pids, pid = set(), os.getpid()
    while pid > 1:
        pids.add(pid)
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            pid = int(file.read().rpartition(")")[2].split()[1])
    return pids


def processes_marked(mark):
    """Processes of the run that still live, but for those that lead to this one. Zombies have an empty environment."""
    needle = f"VERBENA_TEST_RUN={mark}".encode()
    left, family = [], ancestors()
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) in family:
            continue
        try:
            with open(f"/proc/{entry}/environ", "rb") as file:
                if needle not in file.read().split(b"\0"):
                    continue
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                left.append(f"process {entry}: {file.read().replace(bytes(1), b' ').decode(errors='replace')}")
        except OSError:
            continue
    return left


def things_left(before, mark, own_temporary):
    left = processes_marked(mark)
    after = listing(own_temporary)
    for place in PLACES:
        new = sorted(set(after[place]) - set(before[place]))
        if place == "/tmp":  # others may work on this machine too: only what bears the project's name is ours
            new = [name for name in new if "verbena" in name]
        left += [f"new in {place}: {name}" for name in new]
    left += [f"in the temporary directory: {name}" for name in sorted(os.listdir(own_temporary))]
    return left


def main():
    if len(sys.argv) == 4 and sys.argv[1] == "snapshot":
        with open(sys.argv[2], "w", encoding="utf-8") as file:
            json.dump(listing(sys.argv[3]), file)
        return 0
    if len(sys.argv) != 5 or sys.argv[1] != "compare":
        print(__doc__, file=sys.stderr)
        return 2
    with open(sys.argv[2], encoding="utf-8") as file:
        before = json.load(file)
    deadline = time.monotonic() + 5  # a process that has just been told to end may need a moment
    left = things_left(before, sys.argv[3], sys.argv[4])
    while left and time.monotonic() < deadline:
        time.sleep(0.1)
        left = things_left(before, sys.argv[3], sys.argv[4])
    for line in left:
        print(f"left behind: {line}")
    print("nothing is left behind" if not left else f"{len(left)} things are left behind")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
