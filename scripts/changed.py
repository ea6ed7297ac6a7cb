#!/usr/bin/env python3
"""The stage `changed` of scripts/test.sh: builds and runs what the changed files need, and says what it left out.

  changed.py [--build build] [--results build/test-results] [--list]

A file counts as changed if it differs from the merge base with the upstream of main (else with origin/main, else with main), or
from the commit that BASE names. Near tests (those of the changed folders) always run; all others that depend on the changes run
as long as CHANGED_SECONDS (165) allow, 0 for no limit. --list prints the tests and runs nothing.
Exit status: 0 all that the changes need has passed, 1 something failed, 3 nothing was there to run, 4 what ran has passed but not
all was reached.
"""
import argparse
import dataclasses
import os
import re
import signal
import subprocess
import sys
import time

import dependents

PASSED, FAILED, NOTHING, PARTLY = 0, 1, 3, 4
BASES = ("main@{upstream}", "origin/main", "main")
SECONDS = 165
CLANG_TIDY_FILES_MAX = 4
BATCH = 12  # tests that are built and run together
CXX = (".cc", ".h", ".c")
# Where the tests of a folder are, if not in tests/ under the same name.
MIRRORS = (("emulator/", "tests/"), ("verbs-shim/", "tests/shim/"), ("python/verbena/", "python/tests/"), ("", "tests/"))
PROGRAMS = "tests/programs/"
TESTED_BY = re.compile(r"^(?://|#) Tested by: (.*)$", re.M)
FAMILY_MODULES = {"fabric": "served"}  # of tests/programs; others have the family's name, or are rows of matrix.py


def git(root, *words):
    done = subprocess.run(["git", "-C", root, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return done.stdout if done.returncode == 0 else None


def base_of(root, named):
    """The commit to compare with, and what it is in words."""
    for name in [named] if named else BASES:
        found = git(root, "merge-base", "HEAD", name)
        if found:
            return found.strip(), f"the merge base with {name}"
    if named or git(root, "rev-parse", "HEAD") is None:
        sys.exit(f"changed: git knows no commit {named or 'HEAD'}")
    return "HEAD", "HEAD, for there is no branch main"


def changed_files(root, base):
    differ = git(root, "diff", "--name-only", "--no-renames", "-z", base)
    untracked = git(root, "ls-files", "--others", "--exclude-standard", "-z")
    return sorted({name for name in (differ + untracked).split("\0") if name})


def all_files(root):
    return [name for name in git(root, "ls-files", "--cached", "--others", "--exclude-standard", "-z").split("\0") if name]


def mirror_of(path):
    """The folder of tests that mirrors the folder of this file."""
    folder = os.path.dirname(path) + "/"
    if folder.startswith(("tests/", "python/tests/")):
        return folder
    return next(there + folder[len(here):] for here, there in MIRRORS if folder.startswith(here))


@dataclasses.dataclass
class Plan:
    """What the changes need: tests by name, files by path."""
    near: list
    far: list
    programs: list
    python: bool
    format: list
    tidy: list

    def is_empty(self):
        return not (self.near or self.far or self.programs or self.python or self.format)


def scripts_of(test, root):
    """The files that an entry of CTest is given, relative to the root. The script that runs all families of programs stands for the
    family's own file."""
    prefix = os.path.realpath(root) + os.sep
    found = {word[len(prefix):] for word in test.words if word.startswith(prefix)}
    if PROGRAMS + "run.py" not in found:
        return found
    family = test.words[test.words.index("--family") + 1]
    own = f"{PROGRAMS}{FAMILY_MODULES.get(family, family)}.py"
    return {own if os.path.exists(os.path.join(root, own)) else PROGRAMS + "matrix.py"}


def make_plan(root, changed, sources, targets, tests, costs):
    """`tests` are all of CTest's, `costs` the seconds that they have taken; those labelled style always run and are no part of the plan."""
    named = {user for path in changed if not path.endswith(CXX + (".py", ".md")) for user in sources.naming(path)}
    files = sources.users(set(changed) | named)
    touched = dependents.touched_targets(root, targets, files)
    near_folders = {os.path.normpath(mirror_of(path)) for path in changed if not path.startswith("tests/")}
    tested_by = {name for path in changed if path.endswith(CXX + (".py",)) for name in names_in_head(root, path)}
    plan = Plan([], [], [], False, [], [])
    for test in tests:
        scripts = scripts_of(test, root)
        depends = bool(test.targets & touched) or bool(scripts & files)
        if "core" in test.labels and depends:
            own = {os.path.relpath(source, root) for key in test.targets for source in targets[key].sources}
            own = {source for source in own if source.startswith("tests/") and not source.startswith("tests/support/")} | scripts
            is_near = (own & (tested_by | set(changed)) or any(os.path.dirname(source) in near_folders for source in own))
            (plan.near if is_near else plan.far).append(test.name)
        elif "programs" in test.labels and scripts & (files | tested_by):
            plan.programs.append(test.name)
    plan.far.sort(key=lambda name: costs.get(name, 1.0))  # short ones first: the most of them within the time
    plan.programs.sort(key=lambda name: costs.get(name, 1.0))
    plan.python = any(path.startswith("python/") for path in changed)
    existing = [path for path in changed if os.path.exists(os.path.join(root, path))]
    plan.format = [path for path in existing if path.endswith(CXX)]
    plan.tidy = [path for path in existing if path.endswith((".cc", ".c")) and not path.startswith("tests/")]
    return plan


def names_in_head(root, path):
    """The tests that the comment at the top of a file, or of the header beside it, names (`Tested by: PATH, PATH`;
    tests/tidy/coverage.py)."""
    heads = [path] + [os.path.splitext(path)[0] + ".h"] * path.endswith((".cc", ".c"))
    texts = [dependents.read_text(os.path.join(root, head)) for head in heads if os.path.exists(os.path.join(root, head))]
    return [name.strip() for text in texts for line in TESTED_BY.findall(text) for name in line.split(",")]


class Run:
    """Runs the steps of a plan, one after the other, and keeps what is to be said at the end."""

    def __init__(self, root, build, results, seconds):
        self._root, self._build, self._results = root, build, results
        self._end = time.monotonic() + seconds if seconds else None
        self._jobs = str(os.cpu_count())
        self.failed, self.skipped = [], []

    def left(self):
        return None if self._end is None else self._end - time.monotonic()

    def step(self, name, command, limit=None):
        """Whether it passed; None if the time was not enough for it."""
        print(f"\n-- {name}", flush=True)
        child = subprocess.Popen(command, cwd=self._root, stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            status = child.wait(limit)
        except BaseException as reason:
            os.killpg(child.pid, signal.SIGTERM)  # with all that it has started
            child.wait()
            if isinstance(reason, subprocess.TimeoutExpired):
                return None
            raise
        if status != 0:
            self.failed.append(name)
        return status == 0

    def tests(self, name, names, targets, limited):
        """Builds and runs entries of CTest; when the time ends, those that are left count as skipped."""
        batches = [names[first:first + BATCH] for first in range(0, len(names), BATCH)]
        for number, batch in enumerate(batches):
            left = self.left() if limited else None
            if left is not None and left <= 0:
                self.skipped += batch
                continue
            some = f"{name}, {number + 1} of {len(batches)}" if len(batches) > 1 else name
            needed = sorted({target for test in batch for target in targets[test]})
            build = ["scripts/build.sh", "release", *needed]
            built = self.step(f"build for {some}: {len(needed)} targets", build, left) if needed else True
            if built is None:
                self.skipped += batch
            elif built:
                self.ctest(some, f"changed-{name}-{number + 1}", ["-R", "^(" + "|".join(map(re.escape, batch)) + ")$", "-j", self._jobs])

    def ctest(self, name, results, selection):
        self.step(name, ["ctest", "--test-dir", self._build, "--output-on-failure", "--no-tests=error",
                         "--output-junit", os.path.join(self._results, results + ".xml"), *selection])


def carry_out(plan, run, targets, args):
    if plan.format:
        run.step("format", ["clang-format-19", "--dry-run", "-Werror", *plan.format])
    run.tests("near", plan.near, targets, limited=False)
    if run.step("build for style", ["scripts/build.sh", "release", "verbena"]):
        run.ctest("style", "changed-style", ["-L", "style"])
    if 0 < len(plan.tidy) <= CLANG_TIDY_FILES_MAX:
        if run.step("configure for clang-tidy", ["scripts/build.sh", "tidy", "--configure-only"]):
            run.step("clang-tidy", ["scripts/clang_tidy.py", *plan.tidy])
    elif plan.tidy:
        run.skipped.append(f"clang-tidy of {len(plan.tidy)} files")
    if plan.python:
        run.step("build for python", ["scripts/build.sh", "release", "product"])
        run.step("python", ["/usr/bin/python3", "-B", "-m", "pytest", "-p", "no:cacheprovider", "-q", "-n", "2", "--basetemp",
                            os.path.join(args.build, "python"), "--junitxml", os.path.join(args.results, "changed-python.xml"), "python/tests"])
    run.tests("far", plan.far, targets, limited=True)
    run.tests("programs", plan.programs, targets, limited=True)


def verdict(plan, run):
    if run.failed:
        print(f"changed: failed: {', '.join(run.failed)}")
        return FAILED
    if run.skipped:
        shown = ", ".join(run.skipped[:5]) + (", ..." if len(run.skipped) > 5 else "")
        print(f"changed: all that ran has passed, but {len(run.skipped)} more depend on the changes: {shown}\n"
              "changed: run the rest with CHANGED_SECONDS=0, or the stages core, tidy and programs")
        return PARTLY
    print(f"changed: all that the changes need has passed: {len(plan.near + plan.far + plan.programs)} tests and style")
    return PASSED


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--results", default="build/test-results")
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    args.build, args.results = os.path.abspath(args.build), os.path.abspath(args.results)
    root = os.getcwd()
    base, words = base_of(root, os.environ.get("BASE") or None)
    changed = changed_files(root, base)
    print(f"changed: {len(changed)} files differ from {base[:10]}, {words}", flush=True)
    if not changed:
        print("changed: nothing to run, and nothing was shown to work")
        return NOTHING

    dependents.ask_for_targets(args.build)
    if subprocess.run(["scripts/build.sh", "release", "--configure-only"]).returncode != 0:
        return FAILED
    targets = dependents.read_targets(args.build)
    tests = dependents.read_tests(args.build, targets)
    sources = dependents.Sources(root, all_files(root) + sorted(dependents.generated_units(root, args.build, targets)))
    plan = make_plan(root, changed, sources, targets, tests, dependents.read_costs(args.build))
    print(f"changed: {len(plan.near)} near tests, {len(plan.far)} others that depend on the changes, {len(plan.programs)} of programs"
          f"{', those of the Python module' if plan.python else ''}, and style", flush=True)
    if args.list:
        print("\n".join(plan.near + plan.far + plan.programs))
        return PASSED
    of_test = {test.name: {targets[key].name for key in test.targets} for test in tests}
    for name in plan.programs:  # they find the command's libraries beside it
        of_test[name] = of_test[name] | {"product"}
    run = Run(root, args.build, args.results, float(os.environ.get("CHANGED_SECONDS", SECONDS)))
    carry_out(plan, run, of_test, args)
    return verdict(plan, run)


if __name__ == "__main__":
    sys.exit(main())
