#!/usr/bin/env python3
"""Becomes a program under the system call filter that containers have by default: the profile of the distribution's container tools,
as it is for a process without capabilities.

  seccomp_exec.py PROGRAM [ARGUMENTS ...]
"""
import ctypes
import json
import os
import sys

import seccomp

PROFILE = "/usr/share/containers/seccomp.json"
PR_SET_NO_NEW_PRIVS = 38
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
COMPARISONS = {"SCMP_CMP_EQ": seccomp.EQ, "SCMP_CMP_NE": seccomp.NE, "SCMP_CMP_MASKED_EQ": seccomp.MASKED_EQ}


def holds_here(rule):
    """For a process that has no capability: what needs one is not for it, what is said of those that lack one is."""
    included = rule.get("includes") or {}
    architectures = included.get("arches")
    return not included.get("caps") and (not architectures or ARCHITECTURES[os.uname().machine] in architectures)


def arguments_of(rule):
    found = []
    for argument in rule.get("args") or ():
        operation = COMPARISONS[argument["op"]]
        values = (argument["value"], argument["valueTwo"]) if operation == seccomp.MASKED_EQ else (argument["value"],)
        found.append(seccomp.Arg(argument["index"], operation, *values))
    return found


def make_filter(profile):
    otherwise = seccomp.ERRNO(profile["defaultErrnoRet"])
    made = seccomp.SyscallFilter(otherwise)
    for rule in filter(holds_here, profile["syscalls"]):
        action = seccomp.ALLOW if rule["action"] == "SCMP_ACT_ALLOW" else seccomp.ERRNO(rule.get("errnoRet", 1))
        for name in rule["names"]:
            try:
                made.add_rule(action, name, *arguments_of(rule))
            except (RuntimeError, ValueError):
                continue  # a call of another architecture, or one that libseccomp has no number of: refused, as what is not named
    return made


def main():
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    with open(PROFILE, encoding="utf-8") as file:
        made = make_filter(json.load(file))
    if ctypes.CDLL(None).prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        print("seccomp_exec: PR_SET_NO_NEW_PRIVS is refused", file=sys.stderr)
        return 125
    made.load()
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
