#!/usr/bin/env python3
"""Runs phases (files.py) in a release that tests/distributions/enter.sh has entered, one after the other in /tmp/job, and prints as JSON
what came of them. Judges nothing.

  inside.py PLAN.json      {"copy": [files for /tmp/job], "phases": [...], "read": [files of /tmp/job]}
"""
import glob
import json
import os
import shutil
import subprocess
import sys

JOB = "/tmp/job"
PATIENCE_S = 100


def run_phase(phase, environment, failed):
    if phase["when"] not in ("always", "failure" if failed else "success"):
        return {"name": phase["name"], "ran": False}
    as_user = {"user": phase["user"], "group": phase["user"], "extra_groups": []} if phase["user"] else {}
    done = subprocess.run(phase["argv"], cwd=JOB, env=environment | phase["env"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=PATIENCE_S, check=False, **as_user)
    return {"name": phase["name"], "ran": True, "status": done.returncode, "out": done.stdout}


def run_phases(phases):
    """GitHub's files for the path and the summary are there for every phase: who does not know them does not miss them."""
    environment = dict(os.environ) | {"GITHUB_PATH": JOB + "/github-path", "GITHUB_STEP_SUMMARY": JOB + "/summary.md"}
    results, failed = [], False
    for phase in phases:
        results.append(run_phase(phase, environment, failed))
        failed = failed or results[-1].get("status", 0) != 0
        if os.path.exists(JOB + "/github-path"):
            with open(JOB + "/github-path", encoding="utf-8") as file:
                environment["PATH"] = ":".join([*file.read().split("\n")[:-1], os.environ["PATH"]])
    return results


def read(name):
    try:
        with open(os.path.join(JOB, name), encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return None


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        plan = json.load(file)
    os.makedirs(JOB)
    os.chmod(JOB, 0o777)
    for path in plan["copy"]:
        shutil.copy(path, JOB)
    results = run_phases(plan["phases"])
    listed = sorted(os.path.relpath(path, JOB) for path in glob.glob(JOB + "/**", recursive=True) if os.path.isfile(path))
    print(json.dumps({"phases": results, "files": listed, "read": {name: read(name) for name in plan["read"]}}))


if __name__ == "__main__":
    main()
