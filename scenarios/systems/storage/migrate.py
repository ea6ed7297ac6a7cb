#!/usr/bin/python3
"""Migrates a paused guest from one QEMU to another over RDMA, and compares the memory of both.

  migrate.py memory FILE                   what the guest's memory begins with: random octets, and a quarter of zeros
  migrate.py run FOLDER ADDRESS:PORT       through the monitors FOLDER/source.sock and FOLDER/target.sock
"""
import filecmp
import json
import os
import socket
import sys
import time

MEMORY_BYTES = 64 << 20
# Above what the firmware takes at reset, and below the end.
UNTOUCHED = slice(16 << 20, 32 << 20)
MIGRATION_S = 40


class Monitor:
    """QEMU's machine protocol: one command, one answer."""

    def __init__(self, path, deadline):
        self.socket = socket.socket(socket.AF_UNIX)
        while True:
            try:
                self.socket.connect(path)
                break
            except OSError:
                if time.monotonic() > deadline:
                    sys.exit(f"nobody listens at {path}")
                time.sleep(0.05)
        self.file = self.socket.makefile("rw", encoding="utf-8")
        self.file.readline()
        self("qmp_capabilities")

    def __call__(self, command, **arguments):
        self.file.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
        self.file.flush()
        while True:
            line = self.file.readline()
            if not line:
                sys.exit(f"QEMU has gone: {command}")
            answer = json.loads(line)
            if "error" in answer:
                sys.exit(f"{command}: {answer['error']['desc']}")
            if "return" in answer:
                return answer["return"]


def write_memory(path):
    random = os.urandom(MEMORY_BYTES // 4 * 3)
    with open(path, "wb") as file:
        file.write(random + bytes(MEMORY_BYTES - len(random)))


def migrate(source, where):
    source("migrate", uri=f"rdma:{where}")
    deadline = time.monotonic() + MIGRATION_S
    while time.monotonic() < deadline:
        state = source("query-migrate")
        if state.get("status") in ("completed", "failed"):
            return state
        time.sleep(0.05)
    sys.exit(f"the migration has not ended in {MIGRATION_S} s")


def saved(monitor, path):
    monitor("pmemsave", val=0, size=MEMORY_BYTES, filename=path)
    return path


def run(folder, where):
    deadline = time.monotonic() + 10
    source, target = (Monitor(os.path.join(folder, f"{end}.sock"), deadline) for end in ("source", "target"))
    state = migrate(source, where)
    if state["status"] != "completed":
        source("quit")
        sys.exit(f"migration failed: {state.get('error-desc', '')}")
    while target("query-status")["status"] == "inmigrate":
        time.sleep(0.05)
    both = [saved(source, os.path.join(folder, "source.saved")), saved(target, os.path.join(folder, "target.saved"))]
    if not filecmp.cmp(*both, shallow=False):
        sys.exit("WRONG: the memories differ")
    with open(both[1], "rb") as is_now, open(os.path.join(folder, "memory"), "rb") as was:
        if is_now.read()[UNTOUCHED] != was.read()[UNTOUCHED]:
            sys.exit("WRONG: the memory is not what it was filled with")
    source("quit")
    target("quit")
    print(f"{MEMORY_BYTES >> 20} MiB are alike, {state['ram']['normal']} pages were sent, {state['ram']['duplicate']} were of one octet")


if __name__ == "__main__":
    if sys.argv[1] == "memory":
        write_memory(sys.argv[2])
    else:
        run(sys.argv[2], sys.argv[3])
