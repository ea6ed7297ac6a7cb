#!/usr/bin/env python3
"""Runs real systems (UCX, libfabric, MPI, storage) on emulated nodes: the scenarios of scenarios/systems, under each condition.

  systems.py --verbena build/verbena [--short] [--only REGEX] [--repeat N] [--list] [--write docs/systems.md] [--junit FILE]

Needs scripts/setup.sh systems (--short: systems-short). Exit status 0: every run did what the catalogue says of it. Captures and outputs of runs that failed are kept in --failed.
"""
import argparse
import collections
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import yaml

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(1, os.path.join(HERE, "..", "programs"))

import catalogue  # noqa: E402
import conditions  # noqa: E402
import harness  # noqa: E402
import junit  # noqa: E402
import namespaces  # noqa: E402
import page  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(HERE))
SCENARIOS = os.path.join("scenarios", "systems")
CAPTURE = {"snap": 128, "limit": "16MiB"}  # the beginning of each cable, for whoever looks into a failure
BUILD_S = 300
LEAVES_S = 20  # `verbena run` ends by itself at the scenario's timeout; this is for what it then has to clear up

Outcome = collections.namedtuple("Outcome", "row condition problem seconds")


def read(row, condition="clean"):
    others = {"killed": row.killed.file if row.killed else "", "flapping": row.flapping}
    name = others.get(condition) or row.name
    with open(os.path.join(ROOT, SCENARIOS, f"{name}.yaml"), encoding="utf-8") as file:
        return yaml.safe_load(file)


def outputs_in(folder):
    """What the programs of a run have said, for a report."""
    text = ""
    for name in sorted(os.listdir(folder)):
        if name.endswith((".out", ".err")) or "." not in name:
            with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                text += "".join(f"    {name} | {line}\n" for line in file.read().splitlines()[-25:])
    return text


def run_scenario(verbena, scenario, row, condition, folder):
    """Over a fabric process; harness.Failure says what is wrong."""
    path, summary_path = os.path.join(folder, f"{row.name}.yaml"), os.path.join(folder, "summary.json")
    scenario["capture"] = CAPTURE
    with open(path, "w", encoding="utf-8") as file:
        yaml.safe_dump(scenario, file, sort_keys=False, width=1000)
    program = harness.Program([verbena, "run", path, "--json", summary_path, "--out", folder], "verbena run")
    try:
        status = program.wait(time.monotonic() + conditions.seconds_of(scenario["timeout"]) + LEAVES_S)
        if status is None or status not in (0, 1):
            raise harness.Failure(f"verbena run does not end as it should\n{program.describe()}")
        with open(summary_path, encoding="utf-8") as file:
            summary = json.load(file)
        if status != 0 or not summary["held"]:
            wrong = [f"{one['text']}: {one['observed']}" for one in summary["expectations"] if not one["held"]]
            raise harness.Failure("; ".join(wrong or [summary["end"], summary["error"]]) + f"\n{program.describe()}{outputs_in(folder)}")
        if row.sends and not summary["packets"]["arrivals"]:
            raise harness.Failure(f"no packet was sent\n{program.describe()}")
        if problem := conditions.fault_problem(condition, row, summary):
            raise harness.Failure(f"{problem}\n{program.describe()}{outputs_in(folder)}")
    finally:
        program.close()


def run_one(verbena, row, condition, folder):
    started, problem = time.monotonic(), ""
    try:
        scenario = conditions.laid_over(read(row, condition), condition, row)
        if condition == "udp":
            namespaces.run(verbena, scenario)
        else:
            run_scenario(verbena, scenario, row, condition, folder)
    except harness.Failure as failure:
        problem = str(failure)
    finally:
        for path in row.leaves:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
    return Outcome(row, condition, problem, time.monotonic() - started)


def complaint(outcome):
    """What is wrong with an outcome in view of the catalogue; empty: nothing."""
    deviation = outcome.row.deviation(outcome.condition)
    if deviation is None:
        return outcome.problem
    if not outcome.problem:
        return f"works, and the catalogue says that it does not: {deviation.why}"
    if not re.search(deviation.says, outcome.problem):
        return f"fails otherwise than the catalogue says ({deviation.says}): {outcome.problem}"
    return ""


def report(outcome):
    name = f"{outcome.row.name}: {outcome.condition}"
    wrong = complaint(outcome)
    if wrong:
        print(f"FAILED  {name} ({outcome.seconds:.1f} s)\n{wrong}", flush=True)
    else:
        print(f"{'known  ' if outcome.problem else 'ok     '} {name} ({outcome.seconds:.1f} s)", flush=True)


def keep(folder, failed, outcome, number):
    target = os.path.join(failed, f"{outcome.row.name}-{outcome.condition}-{number}")
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(folder, target)


def run_all(options, runs):
    outcomes = []
    # What a scenario has of programs of its own stands beside it, and is named from the top of the tree.
    os.chdir(ROOT)
    for number in range(options.repeat):
        for row, condition in runs:
            with tempfile.TemporaryDirectory(prefix="verbena-systems-") as folder:
                outcome = run_one(options.verbena, row, condition, folder)
                outcomes.append(outcome)
                report(outcome)
                if complaint(outcome):
                    keep(folder, options.failed, outcome, number)
    return outcomes


def build_programs(runs):
    """Those that the distribution does not have, once each; harness.Failure says why one cannot be made."""
    os.makedirs(os.path.join(ROOT, "build", "systems"), exist_ok=True)
    for words in dict.fromkeys(row.build for row, _ in runs if row.build):
        done = subprocess.run(words, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=BUILD_S, check=False)
        if done.returncode != 0:
            raise harness.Failure(f"{' '.join(words)} ends with {done.returncode}\n{done.stderr}")


def missing_packages(runs):
    packages = dict.fromkeys(package for row, _ in runs for package in row.packages)
    return [package for package in packages if not page.version_of(package)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--verbena", required=True)
    parser.add_argument("--short", action="store_true", help="what `make test` runs")
    parser.add_argument("--only", default="", help="runs whose 'name: condition' this regular expression fits")
    parser.add_argument("--repeat", type=int, default=1, help="so many times each")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--write", metavar="PAGE", help="write the table into this page")
    parser.add_argument("--junit", metavar="FILE", type=os.path.abspath, help="write the outcomes for CI services")
    parser.add_argument("--failed", default="build/systems/failed", help="where what runs left that failed is kept")
    options = parser.parse_args()
    options.verbena, options.failed = os.path.abspath(options.verbena), os.path.abspath(options.failed)
    options.write = options.write and os.path.abspath(options.write)
    runs = [(row, condition) for row, condition in catalogue.runs(options.short) if re.search(options.only, f"{row.name}: {condition}")]
    if options.list:
        print("\n".join(f"{row.name}: {condition}" for row, condition in runs))
        return 0
    if missing := missing_packages(runs):
        print(f"systems: packages are missing: {' '.join(missing)}; scripts/setup.sh systems installs them", file=sys.stderr)
        return 1
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the temporary folders go, too
    try:
        build_programs(runs)
    except harness.Failure as failure:
        print(f"systems: {failure}", file=sys.stderr)
        return 1
    outcomes = run_all(options, runs)
    wrong = [outcome for outcome in outcomes if complaint(outcome)]
    for outcome in wrong:
        print(f"failed: {outcome.row.name}: {outcome.condition}: {complaint(outcome).splitlines()[0]}")
    print(page.summary(outcomes))
    if options.junit:
        junit.write(options.junit, "systems", [(f"{outcome.row.name}: {outcome.condition}", outcome.seconds, complaint(outcome))
                                               for outcome in outcomes])
    if options.write:
        page.rewrite(options.write, outcomes, {row.name: read(row) for row in catalogue.ROWS})
    return 0 if outcomes and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
