#!/usr/bin/env python3
"""Tries the tarball in Debian 11, 12, 13 and unstable with each release's own programs, and the package in Debian 12: make test-distributions.

  distributions.py [--release NAME]... [--only ROW] [--write PAGE]

Exit status 1 if a row has not passed. Needs root (enter.sh), what `make tarball` and `make package` have left in build/, and the
releases below build/distributions, which it makes where they are missing; nothing else of the network.
"""
import argparse
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(ROOT, "build")
BEGIN, END = "<!-- begin: written by `make test-distributions` -->", "<!-- end -->"
TIMEOUT_S = 900
PROGRAMS = ["perftest", "ibverbs-utils", "ibverbs-providers", "rdmacm-utils", "ucx-utils", "libfabric-bin", "infiniband-diags", "opensm",
            "python3", "iproute2"]


@dataclass
class Release:
    suite: str
    name: str
    more: list = field(default_factory=list)
    installs: bool = False  # the package, whose libraries are this release's


RELEASES = [
    Release("bullseye", "Debian 11"),
    Release("bookworm", "Debian 12", ["libfmt9", "libisal2", "libyaml-cpp0.7"], installs=True),
    Release("trixie", "Debian 13", ["openmpi-bin"]),  # what its ucx_perftest is started by
    Release("sid", "Debian unstable", ["openmpi-bin"]),  # the newest UCX, libfabric and rdma-core that there are as packages
]


class Failure(Exception):
    """The run as a whole cannot be made."""


def only_one(pattern, made_by):
    found = glob.glob(os.path.join(BUILD, pattern))
    if len(found) != 1:
        raise Failure(f"{len(found)} files like {pattern} in {BUILD}, not one: {made_by} makes it")
    return found[0]


def lay_out(place):
    """What a release sees as /opt/verbena: the tarball unpacked, the package and the tests. Returns the command's path there."""
    tarball = only_one("portable/verbena-*.tar.gz", "make tarball")
    subprocess.run(["tar", "-xzf", tarball, "-C", place], check=True)
    shutil.copy(only_one("package/verbena_*.deb", "make package"), place + "/verbena.deb")
    os.makedirs(place + "/tests")
    shutil.copytree(os.path.join(ROOT, "tests", "programs"), place + "/tests/programs", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(os.path.join(HERE, "inside.py"), place + "/tests/inside.py")
    shutil.copy(os.path.join(ROOT, "packaging", "debian", "tests", "pairs"), place + "/tests/pairs")
    os.chmod(place, 0o755)
    return "/opt/verbena/" + os.path.basename(tarball).removesuffix(".tar.gz") + "/bin/verbena"


def run_inside(release, files, *arguments):
    folder = os.path.join(BUILD, "distributions", release.suite)
    made = subprocess.run([os.path.join(ROOT, "packaging", "chroot.sh"), release.suite, folder, *PROGRAMS, *release.more], check=False)
    if made.returncode != 0:
        raise Failure(f"{release.name} could not be made")
    with tempfile.TemporaryDirectory(prefix="verbena-release.") as place:
        command = [os.path.join(HERE, "enter.sh"), folder, files, place, "/usr/bin/python3", "-B", "/opt/verbena/tests/inside.py"]
        done = subprocess.run([*command, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, timeout=TIMEOUT_S,
                              check=False)
    if done.returncode != 0:
        raise Failure(f"{release.name}: the run inside ended with {done.returncode}")
    return json.loads(done.stdout)


def try_release(release, files, verbena, only):
    found = run_inside(release, files, verbena, only)
    if release.installs and only == "all":
        installed = run_inside(release, files, "/usr/bin/verbena", "none", "/opt/verbena/verbena.deb")
        found["rows"].update(installed["rows"])
    for row, outcome in found["rows"].items():
        print(f"{release.name}: {row}: {outcome}", flush=True)
    return found


def table(results):
    """`results`: what was found, by release's name."""
    lines = ["| | " + " | ".join(results) + " |", "|---|" + "---|" * len(results)]
    packages = list(next(iter(results.values()))["versions"])
    for package in packages:
        lines.append(f"| {package} | " + " | ".join(found["versions"][package] for found in results.values()) + " |")
    rows = dict.fromkeys(row for found in results.values() for row in found["rows"])
    for row in rows:
        cells = [found["rows"].get(row, "-").splitlines()[0] for found in results.values()]
        lines.append(f"| **{row}** | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def write_page(path, text):
    with open(path, encoding="utf-8") as file:
        page = file.read()
    head, found, rest = page.partition(BEGIN)
    tail = rest.partition(END)[2]
    if not found or END not in rest:
        raise Failure(f"{path} has no place for the table: {BEGIN} ... {END}")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{head}{BEGIN}\n{text}\n{END}{tail}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--release", action="append", choices=[release.suite for release in RELEASES])
    parser.add_argument("--only", default="all", metavar="ROW")
    parser.add_argument("--write", metavar="PAGE")
    options = parser.parse_args()
    if options.write and (options.release or options.only != "all"):
        parser.error("--write: a page is of a whole run")
    if os.geteuid() != 0:
        raise Failure("needs root: the folders of a release are root's, and so is entering them")
    results = {}
    with tempfile.TemporaryDirectory(prefix="verbena-distributions.") as files:
        verbena = lay_out(files)
        for release in RELEASES:
            if not options.release or release.suite in options.release:
                results[release.name] = try_release(release, files, verbena, options.only)
    outcomes = [outcome for found in results.values() for outcome in found["rows"].values()]
    if not outcomes:
        raise Failure(f"no row is called '{options.only}'")
    if options.write:
        write_page(options.write, table(results))
    passed = outcomes.count("passed")
    missing = sum(outcome.startswith("not there: ") for outcome in outcomes)  # of the release: nothing to judge
    print(f"{passed} passed, {len(outcomes) - passed - missing} failed, {missing} not there")
    return 0 if passed != 0 and passed + missing == len(outcomes) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as failure:
        sys.exit(f"distributions: {failure}")
