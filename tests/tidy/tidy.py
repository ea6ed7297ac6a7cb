#!/usr/bin/env python3
"""The part of the style that a machine can enforce: size of files, the comment at their top, include direction, and words
that must not be left in them; names of tests, and which test each file has (coverage.py). Reads the tree given as its argument; prints one line per offence."""
import ast
import os
import re
import sys

import coverage

FOLDERS = ["wire", "captures", "emulator", "verbs-shim", "scenarios", "cli", "libverbena", "examples", "python", "bench", "tests", "scripts", "docs", "cmake", "packaging", ".ci"]
SOURCE_SUFFIXES = (".cc", ".h", ".c")
TEXT_SUFFIXES = SOURCE_SUFFIXES + (".py", ".sh", ".md", ".txt", ".cmake", ".json", ".yaml", ".yml")
LINES_SOFT_MAX = 500
LINES_HARD_MAX = 600
LINES_OVER_SOFT_FILES_MAX = 5  # so many files may stand between the two limits

LINE_LENGTH_MAX = 120  # of C++; clang-format leaves comments alone
FUNCTION_LINES_MAX = 70
PUBLIC_METHODS_MAX = 25  # of a class, overloads counted once
METHODS_MAX = 30  # with the private ones
# Classes that have more. They do not grow, and a number that has become too large is lowered.
METHODS_OF = {
    "emulator/nic/nic.h:Nic": 73,  # the surface of the whole NIC
    "emulator/host/engine/engine.h:Engine": 35,  # the surface of the whole engine
    # To be split, each into classes that own data and an invariant.
    "captures/findings/request_stream.h:RequestStream": 62,
    "emulator/fabric/network_state.h:Network::State": 41,
    "emulator/host/link/shm/shm_control.h:ShmControl": 39,
    "emulator/host/link/raw/raw_link.h:RawLink": 39,
    "emulator/nic/transport_ib/selective_repeat/selective_repeat.h:SelectiveRepeat": 35,
    "scenarios/language/random_scenario.cc:Writer": 31,
}

# A packet's encapsulation is the affair of wire/ and of whatever shows packets. The links named here are its medium: the kernel
# puts these headers on, takes them off or filters by them.
KNOWS_ENCAPSULATION = ("wire/", "captures/", "tests/", "emulator/host/link/udp/", "emulator/host/link/raw/")
ENCAPSULATION = re.compile(r"(?:\.|->)(?:ip|udp|ethernet|vlan)\(\)|\b(?:Ethernet|Vlan|Ipv4|Ipv6|Udp)Layout::(?:parse|emit)\b|\bkEtherType(?:Ipv4|Ipv6|Vlan)\b")

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
LINKS = sorted("emulator/host/link/" + entry.name for entry in os.scandir(os.path.join(ROOT, "emulator/host/link")) if entry.is_dir())

# Who may include whom: a folder may include itself, what stands beside it here, and what those may include (design:
# "includes point left only"). A file that stands here by itself has rules of its own.
STANDS_ON = {
    "wire": [],
    "captures/checkers": ["wire"],
    "captures/peel": ["wire"],
    "captures/read": ["captures/peel"],
    "captures/conversations": ["captures/read", "captures/checkers"],
    "captures/findings": ["captures/conversations"],
    "captures/story": ["captures/findings"],
    "captures/check": ["captures/conversations"],
    "captures/render/words": ["captures/story"],
    "captures/render/text": ["captures/render/words", "captures/check"],
    "captures/render/json": ["captures/render/text"],
    "emulator/nic/congestion": ["wire"],
    "emulator/nic/objects": ["emulator/nic/congestion"],
    "emulator/nic/memory": ["emulator/nic/objects"],
    "emulator/nic/state": ["emulator/nic/memory"],
    "emulator/nic/transport_ib": ["emulator/nic/state"],
    "emulator/nic/transport_ib/selective_repeat": ["emulator/nic/transport_ib"],
    "emulator/nic/ethernet": ["emulator/nic/transport_ib"],
    "emulator/nic": ["emulator/nic/ethernet", "emulator/nic/transport_ib/selective_repeat"],
    "emulator/nic/verbs": ["emulator/nic"],
    "emulator/cm": ["emulator/nic"],
    "emulator/fabric": ["emulator/nic"],
    "emulator/sim": ["emulator/cm", "emulator/fabric"],
    "emulator/subnet": ["wire"],
    "emulator/host/os": ["emulator/fabric"],
    "emulator/host/node": ["emulator/host/os"],
    "emulator/host/config": ["emulator/host/node"],
    "emulator/host/fabric_client": ["emulator/host/node"],
    "emulator/host/fabric_client/render": ["emulator/host/fabric_client"],
    "emulator/host/link": ["emulator/host/config", "emulator/host/fabric_client"],
    **{link: ["emulator/host/link"] for link in LINKS},
    "emulator/host/link/link_factory.cc": LINKS,
    "emulator/host/engine": ["emulator/host/link", "emulator/cm"],
    "emulator/host/fabric_process": ["emulator/host/link/shm", "emulator/host/subnet_process"],
    "emulator/host/subnet_process": ["emulator/host/node", "emulator/subnet", "emulator/host/subnet_process/umad_layout.h"],
    "emulator/host/subnet_process/umad_layout.h": [],
    "verbs-shim/verbs": ["emulator/host/engine", "verbs-shim/sysfs/rdma_cm.h"],
    "verbs-shim/rdma_cm": ["verbs-shim/verbs"],
    "verbs-shim/abi": ["verbs-shim/verbs"],
    "verbs-shim/sysfs": ["emulator/host/config", "verbs-shim/sysfs/rdma_cm.h", "emulator/host/subnet_process/umad_layout.h"],
    "verbs-shim/sysfs/rdma_cm.h": [],
    "verbs-shim/sockets": ["verbs-shim/sysfs"],
    "scenarios/language": ["emulator/fabric", "captures/checkers"],
    "scenarios/outcome": ["scenarios/language", "emulator/host/os"],
    "scenarios/workload": ["scenarios/outcome", "emulator/sim"],
    "scenarios/virtual": ["scenarios/workload"],
    "scenarios/search": ["scenarios/virtual"],
    "scenarios/papers": ["scenarios/virtual"],
    "scenarios/real": ["scenarios/outcome", "emulator/host/fabric_process", "emulator/host/fabric_client/render"],
    "cli": ["emulator/host/subnet_process", "captures/render/json", "scenarios/search", "scenarios/papers", "scenarios/real"],
    "libverbena": ["emulator/sim", "captures/checkers"],
    # The modules of Python, each by itself.
    **{f"python/verbena/{module}.py": [f"python/verbena/{below}.py" for below in stands_on.split()] for module, stands_on in {
        "times": "",
        "counters": "",
        "errors": "",
        "listening": "",
        "ports": "",
        "processes": "",
        "remote": "",
        "settings": "",
        "command": "errors",
        "fault": "errors times command",
        "capture": "command",
        "scenario": "command",
        "fabric_process": "command processes",
        "program": "capture listening processes",
        "enter": "program",
        "node": "enter counters",
        "fabric": "node fabric_process fault ports settings",
        "pytest_plugin": "fabric",
        "__init__": "fabric scenario",
    }.items()},
}


def _reach(folder, stands_on):
    reached, left = set(), list(stands_on[folder])
    while left:
        below = left.pop()
        if below not in reached:
            reached.add(below)
            left += stands_on.get(below, [])
    return reached


def circles(stands_on):
    """The rows of a table like STANDS_ON that reach themselves, and the folders that do so through files with rules of their own. A folder
    may name what lies within it."""
    folders = {}
    for row, below in stands_on.items():
        above = _place(row)
        folders.setdefault(above, []).extend(place for place in map(_place, below) if not place.startswith(above))
    return sorted(row for rows in (stands_on, folders) for row in rows if row in _reach(row, rows))


def _place(row):
    return os.path.dirname(row) if "." in os.path.basename(row) else row


ALLOWED = {folder: _reach(folder, STANDS_ON) for folder in STANDS_ON}
RULED = ("wire/", "captures/", "emulator/", "scenarios/", "verbs-shim/", "cli/", "libverbena/", "python/verbena/")  # every source file below these lies in a folder that has a rule
# Operating system headers belong to the folders that touch the machine.
SYSTEM_HEADER = re.compile(r'#include <((sys|linux|net|netinet|arpa|infiniband|rdma)/[^>]*|unistd\.h|fcntl\.h|poll\.h|'
                           r'signal\.h|pthread\.h|sched\.h|dlfcn\.h)>')
PURE = ("wire", "emulator/subnet", "emulator/nic", "emulator/cm", "emulator/fabric", "emulator/sim")
CLOCKS = re.compile(r"std::chrono::(steady|system|high_resolution)_clock|clock_gettime|std::random_device|\brand\(\)")

# Tests wait for conditions; who has to let time pass does so here, by name.
SLEEPERS = ("tests/support/waiting.h", "tests/programs/waiting.py")
SLEEP = re.compile(r"\b(sleep_for|sleep_until|usleep|(?:clock_)?nanosleep|time\.sleep|import sleep|sleep(?=\(\d))\b|(?<=::)sleep(?=\()")

TEST_NAME_MAX = 60  # characters; the subject first
TEST_NAME = re.compile(r"\bBOOST_(?:AUTO|FIXTURE|DATA)_TEST_(?:CASE|SUITE)(?:_\w+)?\(\s*(\w+)|^\s*def (test_\w+)\(", re.M)

INCLUDE = re.compile(r'^\s*#include "([^"]+)"', re.M)
IMPORT = re.compile(r"^\s*from \.(?:(\w+) import|(?= import (\w+)))", re.M)
MARKERS = re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "X" + "XX", "HA" + "CK"]) + r")\b")
WEB_ADDRESS = re.compile(r"\b(https?|ftp)" + r"://|\bwww\." + r"[a-z]")


def folder_of(path):
    """The folder of ALLOWED that a path lies in, or None."""
    for folder in sorted(ALLOWED, key=len, reverse=True):
        if path == folder or path.startswith(folder + "/"):
            return folder
    return None


def check_includes(path, text):
    folder = folder_of(path)
    if folder is None:
        return ["no rule says whom it may include"] if path.startswith(RULED) else []
    offences = []
    for included in INCLUDE.findall(text) + [f"python/verbena/{one or other}.py" for one, other in IMPORT.findall(text)]:
        target = folder_of(included)
        if target is not None and target != folder and target not in ALLOWED[folder]:
            offences.append(f"{folder} must not include {included}")
    if folder in PURE:
        offences += [f"{folder} must not include <{found[0]}>" for found in SYSTEM_HEADER.findall(text)]
        offences += [f"{folder} must not read clocks or draw chance of its own: {found.group(0)}"
                     for found in CLOCKS.finditer(text)]
    return offences


# As clang-format leaves them: what begins at the margin, or in a class, ends with a brace below where it began.
FUNCTION = re.compile(r"^((?:  )?)(?!namespace\b|class\b|struct\b|enum\b|union\b|extern\b|return\b|\}|//|#|\s)[^\n]*[()][^\n]*\{$", re.M)
CLASS = re.compile(r"^( *)(class|struct) (?:alignas\([^)]*\) )?([\w:]*\w)[^;\n]*\{$", re.M)
METHOD = re.compile(r"(?!return\b|using\b|friend\b|static_assert|//|VERBENA|if\b|for\b|while\b|switch\b|else\b|template\b)"
                    r"[^=(;{}\s][^=(;{}]*?([~\w]+|operator[^\w\s(]+|operator\(\))\((?!\*)")


def block_behind(match, text):
    """The lines between an opening line and the brace that ends it, and what the line is indented by."""
    indent = match.group(1)
    body = text[match.end() + 1:]
    end = re.search(rf"^{indent}\}}", body, re.M)
    return body[:end.start() if end else len(body)].splitlines(), indent


def check_functions(text):
    for match in FUNCTION.finditer(text):
        lines, _ = block_behind(match, text)
        if len(lines) > FUNCTION_LINES_MAX:
            yield f"has a function of {len(lines)} lines, more than {FUNCTION_LINES_MAX}: {match.group(0).strip()}"


def classes_of(text):
    """The names of its classes, with those of their public methods and of all."""
    for match in CLASS.finditer(text):
        lines, indent = block_behind(match, text)
        is_public = match.group(2) == "struct"
        public, methods = set(), set()
        for line in lines:
            access = re.match(indent + r" (public|private|protected):", line)
            if access:
                is_public = access.group(1) == "public"
            elif line.startswith(indent + "  ") and not line.startswith(indent + "   "):
                found = METHOD.match(line[len(indent) + 2:])
                if found:
                    methods.add(found.group(1))
                    public |= {found.group(1)} if is_public else set()
        yield match.group(3), public, methods


def python_classes_of(text):
    for one in ast.parse(text).body:
        if isinstance(one, ast.ClassDef):
            methods = {method.name for method in one.body if isinstance(method, ast.FunctionDef)}
            yield one.name, {name for name in methods if not name.startswith("_")}, methods


def check_classes(path, classes):
    for name, public, methods in classes:
        own = METHODS_OF.get(f"{path}:{name}")
        if own is None and len(public) > PUBLIC_METHODS_MAX:
            yield f"{name} has {len(public)} public methods, more than {PUBLIC_METHODS_MAX}"
        if len(methods) > (own or METHODS_MAX):
            yield f"{name} has {len(methods)} methods, more than {own or METHODS_MAX}"
        elif own is not None and len(methods) < own:
            yield f"{name} has only {len(methods)} methods: METHODS_OF says {own}"


def check_source(path, text):
    """A source file may leave the opening comment to the header of its own that it includes first."""
    offences = check_includes(path, text)
    own_header = os.path.splitext(path)[0] + ".h"
    if not text.startswith(("//", "/*")) and not text.startswith(f'#include "{own_header}"'):
        offences.append("does not open with a comment that says what it is responsible for")
    offences += check_functions(text)
    offences += check_encapsulation(path, text)
    if not path.startswith("tests/"):
        offences += check_classes(path, classes_of(text))
    if path.endswith(".h") and "#pragma once" not in text and "#ifndef" not in text:
        offences.append("has no include guard")
    return offences


def check_encapsulation(path, text):
    if path.startswith(KNOWS_ENCAPSULATION):
        return []
    return [f"asks for a header of one encapsulation ({found.group(0)}): ask in common terms (wire/packet_view.h, wire/frame_places.h)" for found in ENCAPSULATION.finditer(text)]


def check_sleeping(path, text):
    if not path.startswith(("tests/", "python/tests/")) or path.startswith("tests/tidy/") or path in SLEEPERS:
        return []
    return [f"sleeps ({found.group(0)}): wait for a condition, as {SLEEPERS[path.endswith('.py')]} does" for found in SLEEP.finditer(text)]


def check_test_names(path, text):
    names = ["".join(found) for found in TEST_NAME.findall(text)] if path.startswith(("tests/", "python/tests/")) else []
    return [f"has a test whose name has {len(name)} characters, more than {TEST_NAME_MAX}: {name}" for name in names if len(name) > TEST_NAME_MAX]


def check_text(path, text):
    offences = [f"has the marker {found}" for found in MARKERS.findall(text)]
    if path != "LICENSE" and WEB_ADDRESS.search(text):
        offences.append("has a web address")
    if re.search(r"[ \t]+$", text, re.M) and path.endswith(SOURCE_SUFFIXES + (".py", ".sh", ".cmake")):
        offences.append("has white space at the end of a line")
    lines = text.count("\n")
    if path.endswith(SOURCE_SUFFIXES + (".py", ".sh")) and lines > LINES_HARD_MAX:
        offences.append(f"has {lines} lines, more than {LINES_HARD_MAX}")
    if path.endswith(SOURCE_SUFFIXES + (".py",)):
        offences += check_sleeping(path, text) + check_test_names(path, text)
    if path.startswith("python/verbena/") and path.endswith(".py"):
        offences += check_includes(path, text) + list(check_classes(path, python_classes_of(text)))
    if path.endswith(SOURCE_SUFFIXES):
        longest = max(map(len, text.splitlines()), default=0)
        if longest > LINE_LENGTH_MAX:
            offences.append(f"has a line of {longest} characters, more than {LINE_LENGTH_MAX}")
        offences += check_source(path, text)
    return offences


def check_mode(is_executable, text):
    """What is to be run says with what, and can be run."""
    if text.startswith("#!") and not is_executable:
        return ["begins with #! and is not executable"]
    if is_executable and not text.startswith("#!"):
        return ["is executable and does not begin with #!"]
    return []


def files_of(root):
    for folder in FOLDERS:
        for place, folders, names in os.walk(os.path.join(root, folder)):
            folders[:] = sorted(name for name in folders if name not in ("__pycache__", "data", "seeds"))
            for name in sorted(names):
                yield os.path.relpath(os.path.join(place, name), root)
    for name in sorted(os.listdir(root)):
        if os.path.isfile(os.path.join(root, name)):
            yield name


def check_tree(root):
    offences, long_files, tree = [], [], {}
    for path in files_of(root):
        if not path.endswith(TEXT_SUFFIXES) and path not in ("Makefile", ".ci/run"):
            continue
        with open(os.path.join(root, path), encoding="utf-8") as file:
            text = file.read()
        tree[path] = text
        is_executable = os.stat(os.path.join(root, path)).st_mode & 0o111 != 0
        offences += [f"{path}: {offence}" for offence in check_text(path, text) + check_mode(is_executable, text)]
        if path.endswith(SOURCE_SUFFIXES + (".py", ".sh")) and text.count("\n") > LINES_SOFT_MAX:
            long_files.append(path)
    if len(long_files) > LINES_OVER_SOFT_FILES_MAX:
        offences.append(f"more than {LINES_OVER_SOFT_FILES_MAX} files are over {LINES_SOFT_MAX} lines: {', '.join(long_files)}")
    offences += [f"{row}: stands in a circle of tests/tidy/tidy.py's STANDS_ON" for row in circles(STANDS_ON)]
    return offences + coverage.check(tree), len(tree)


def main():
    if len(sys.argv) != 2:
        print("usage: tidy.py ROOT", file=sys.stderr)
        return 2
    offences, checked = check_tree(sys.argv[1])
    for offence in offences:
        print(offence)
    print(f"{checked} files checked, {len(offences)} offences")
    return 1 if offences or checked < 20 else 0


if __name__ == "__main__":
    sys.exit(main())
