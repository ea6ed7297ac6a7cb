#!/usr/bin/env python3
"""Reads from the binaries of an unpacked tarball what they need of a machine: libraries, and versions of their symbols.

  check.py FOLDER     exit status 1 and a line for each binary that needs more than promised
"""
import os
import re
import subprocess
import sys

NEWEST = {"GLIBC": (2, 31), "GCC": (10,)}  # of Debian 11; of libstdc++ and others: nothing
LIBRARIES = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libgcc_s.so.1", "ld-linux-x86-64.so.2"}
OWN = {"libibverbs.so": {"libibverbs.so.1"}}  # what our libraries need of one another
BINARIES = 4


def binaries(folder):
    for at, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(at, name)
            with open(path, "rb") as file:
                if file.read(4) == b"\x7fELF":
                    yield path


def offences_of(path):
    dump = subprocess.run(["readelf", "--wide", "--dynamic", "--version-info", path], check=True, capture_output=True, text=True).stdout
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dump))
    for library in sorted(needed - LIBRARIES - OWN.get(os.path.basename(path), set())):
        yield f"needs {library}"
    if re.search(r"\((RPATH|RUNPATH)\)", dump):
        yield "has a path of libraries compiled in"
    wants = dump.partition("Version needs section")[2]
    for version in sorted(set(re.findall(r"Name: (\S+)", wants))):
        family, _, number = version.partition("_")
        limit = NEWEST.get(family)
        if version.startswith("IBVERBS_") and os.path.basename(path) in OWN:
            continue
        if limit is None or not re.fullmatch(r"[\d.]+", number) or tuple(map(int, number.split("."))) > limit:
            yield f"needs {version}"


def main(arguments):
    if len(arguments) != 1 or not os.path.isdir(arguments[0]):
        print(__doc__, file=sys.stderr)
        return 2
    found = sorted(binaries(arguments[0]))
    offences = [f"{path}: {offence}" for path in found for offence in offences_of(path)]
    if len(found) != BINARIES:
        offences.append(f"{len(found)} binaries, not {BINARIES}: {found}")
    for offence in offences:
        print(offence)
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
