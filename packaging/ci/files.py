"""Reads the files of this folder, and turns what they would have a CI system or a container tool do into phases that inside.py runs.

Knows of each format what the files here use of it, and refuses the rest: an expression or an instruction that it cannot carry out as the
real system would is an error, never passed over. A phase is {name, argv, env, when: success | failure | always, user}.
"""
import json
import os
import re
import shlex

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FILES = "/opt/verbena"  # where enter.sh shows them
ACTION_SHELL = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"]  # GitHub's, for `shell: bash`


class Unknown(Exception):
    """Something in a file that is not carried out here."""


def text_of(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return file.read()


def action():
    return yaml.safe_load(text_of("action.yml"))


def gitlab():
    return yaml.safe_load(text_of("gitlab.yml"))


def manifests():
    return list(yaml.safe_load_all(text_of("kubernetes/pair.yaml")))


def devcontainer():
    lines = text_of("devcontainer/devcontainer.json").splitlines()
    return json.loads("\n".join(line for line in lines if not line.lstrip().startswith("//")))


def dockerfile():
    """Pairs of instruction and argument, continued lines joined."""
    joined = re.sub(r"\\\n\s*", "", re.sub(r"^#.*\n", "", text_of("Dockerfile"), flags=re.M))
    return [tuple(line.split(None, 1)) for line in joined.splitlines() if line.strip()]


def inputs_in(text):
    """The inputs that a text of action.yml asks for."""
    expressions = re.findall(r"\$\{\{\s*(.*?)\s*\}\}", text)
    names = [expression.removeprefix("inputs.") for expression in expressions]
    for expression, name in zip(expressions, names):
        if not expression.startswith("inputs.") or not re.fullmatch(r"[a-z]+", name):
            raise Unknown(f"expression '{expression}'")
    return names


def with_inputs(text, inputs):
    inputs_in(text)
    return re.sub(r"\$\{\{\s*inputs\.([a-z]+)\s*\}\}", lambda found: inputs[found.group(1)], text)


def inputs_of(given):
    """`given` and the defaults, as GitHub does it; what is required and missing, or given and unknown, is an error."""
    declared = action()["inputs"]
    if unknown := set(given) - set(declared):
        raise Unknown(f"inputs {unknown}")
    if missing := [name for name, entry in declared.items() if entry.get("required") and name not in given]:
        raise Unknown(f"without inputs {missing}")
    return {name: given.get(name, entry.get("default", "")) for name, entry in declared.items()}


def phases_of_action(given):
    inputs = inputs_of(given)
    phases = []
    for step in action()["runs"]["steps"]:
        if "uses" in step:
            continue  # what it is given is held against the folder by check.py
        if step["shell"] != "bash" or step.get("if", "failure()") != "failure()":
            raise Unknown(f"step {step}")
        env = {name: with_inputs(value, inputs) for name, value in step.get("env", {}).items()}
        env |= {"GITHUB_ACTION_PATH": FILES + "/ci", "RUNNER_TEMP": "/tmp"}
        phases.append({"name": step["name"], "argv": [*ACTION_SHELL, step["run"]], "env": env,
                       "when": "failure" if "if" in step else "success", "user": 0})
    return phases


def phases_of_gitlab(script, status):
    """`status`: what CI_JOB_STATUS is when after_script runs. before_script and script are one shell, as GitLab's runner has it."""
    job = gitlab()[".verbena"]
    main = "\n".join(["set -eo pipefail", *job["before_script"], *script])
    after = "\n".join(job["after_script"])
    common = {"env": job["variables"], "user": 0}
    return [{"name": "script", "argv": ["bash", "-c", main], "when": "success", **common},
            {"name": "after_script", "argv": ["bash", "-c", after], "when": "always", **common,
             "env": job["variables"] | {"CI_JOB_STATUS": status}}]


def phases_of_dockerfile():
    """RUN and COPY as root, before USER; the folder with the package is the current one. What follows USER is of the container's start."""
    phases, arguments, user = [], {}, None
    for instruction, rest in dockerfile():
        if instruction == "ARG":
            name, _, value = rest.partition("=")
            arguments[name] = shlex.split(value)[0]
        elif instruction == "COPY":
            phases.append({"name": f"COPY {rest}", "argv": ["sh", "-c", f"cp {rest}"]})
        elif instruction == "RUN":
            phases.append({"name": f"RUN {rest}", "argv": ["sh", "-c", rest], "env": dict(arguments)})
        elif instruction == "USER":
            user = rest
        elif instruction not in ("FROM", "WORKDIR", "CMD") or (instruction == "FROM" and rest != "debian:12"):
            raise Unknown(f"{instruction} {rest}")
        if user and instruction in ("COPY", "RUN"):
            raise Unknown(f"{instruction} behind USER")
    return [{"when": "success", "user": 0, "env": {}, **phase} for phase in phases], user


def jobs():
    """The jobs' containers, by the name in the label `app`."""
    return {document["spec"]["template"]["metadata"]["labels"]["app"]: document["spec"]["template"]["spec"]["containers"][0]
            for document in manifests() if document["kind"] == "Job"}
