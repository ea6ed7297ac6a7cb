"""Every file of code names its test, and no file is dead.

A file is tested by the file of tests that mirrors it (emulator/nic/x.cc: tests/nic/x_test.cc, a header counts with its .cc), or the comment at its
top says so: `Tested by: PATH, PATH`. A header that nobody includes, a source that no CMake list builds and a module that nobody imports are dead.
Pure functions over a tree given as {path: text}; tidy.py reads the tree.
"""
import functools
import os
import re

CODE = ("wire/", "captures/", "emulator/", "verbs-shim/", "scenarios/", "cli/", "libverbena/")
PYTHON = "python/verbena/"
SOURCES = (".cc", ".c")

TESTED_BY = re.compile(r"^(?://|#)? ?Tested by: (.+?)$", re.M)
INCLUDE = re.compile(r'^\s*#\s*include ["<]([^">]+)[">]', re.M)
# Tokens of CMake that stand for sources: names, and patterns with ${variables} and *.
SOURCE_TOKEN = re.compile(r"[\w${}/.*-]+\.cc?\b")
NOT_A_CALL = re.compile(r"^\s*(?:list|set)\([^)]*\)", re.M)  # their words are no names of sources


def head_of(text):
    """What stands before the first line of code: the comment or the docstring that opens a file."""
    first = re.search(r"^(?:#\s*include|#pragma|#ifndef|#if |import |from |extern|namespace)", text, re.M)
    return text[:first.start()] if first else text


def named_tests(text):
    return [name.strip() for line in TESTED_BY.findall(head_of(text)) for name in line.split(",")]


def mirrors_of(unit):
    """Where the test of a unit (a path without its suffix) may be: in the folder that mirrors its own, or in one above that."""
    if unit.startswith(PYTHON):
        return [f"python/tests/test_{os.path.basename(unit)}.py"]
    folder, name = os.path.split(unit)
    folder = re.sub(r"^verbs-shim\b", "tests/shim", re.sub(r"^emulator/", "tests/", folder))
    folder = folder if folder.startswith("tests/") else "tests/" + folder
    mirrors = []
    while folder != "tests":
        mirrors.append(f"{folder}/{name}_test.cc")
        folder = os.path.dirname(folder)
    return mirrors


def units_of(tree):
    """{unit: its files}."""
    units = {}
    for path in tree:
        is_code = path.startswith(CODE) and path.endswith(SOURCES + (".h",))
        if is_code or (path.startswith(PYTHON) and path.endswith(".py") and not path.endswith("__init__.py")):
            unit = os.path.splitext(path)[0].replace("libverbena/include/verbena/", "libverbena/")
            units.setdefault(unit, []).append(path)
    return units


def check_tested(tree):
    for unit, paths in sorted(units_of(tree).items()):
        names = [name for path in paths for name in named_tests(tree[path])]
        for name in names:
            if name not in tree or not name.startswith(("tests/", "python/tests/")):
                yield f"{paths[0]}: names {name} as its test, which is none"
        if not names and not any(mirror in tree for mirror in mirrors_of(unit)):
            yield f"{paths[0]}: names no test: {mirrors_of(unit)[0]} does not exist, and its comment has no line `Tested by: PATH`"


def included(tree):
    """Paths that some file includes."""
    found = set()
    for path, text in tree.items():
        if path.endswith(SOURCES + (".h",)):
            for name in INCLUDE.findall(text):
                found |= {name, os.path.normpath(os.path.join(os.path.dirname(path), name)), "libverbena/include/" + name}
    return found


@functools.lru_cache(maxsize=None)
def patterns_of(cmake):
    """Regular expressions of the sources that a text of CMake names, with what stands for each of their groups, and the text's words."""
    cmake = NOT_A_CALL.sub("", cmake)
    patterns = []
    for token in sorted(set(SOURCE_TOKEN.findall(cmake))):
        parts = re.split(r"(\$\{[^}]*\}|\*)", token)
        pattern = "".join("([^/]+)" if part == "*" else "(.+)" if part.startswith("$") else re.escape(part) for part in parts)
        patterns.append((re.compile(pattern), [part for part in parts if part == "*" or part.startswith("$")]))
    words = set(re.findall(r"[\w/.-]+", cmake))
    folders = re.findall(r"\$\{CMAKE_CURRENT_SOURCE_DIR\}/([\w/]+/)\*", cmake)  # all folders in one are values as well
    return patterns, words, folders


def builds(cmake, path):
    """Whether this text of CMake, in whose folder `path` begins, has the source: by its name, or by a pattern whose variables have values
    that are words of the text."""
    patterns, words, folders = patterns_of(cmake)

    def is_value(value):
        return value in words or any(value.startswith(folder) and "/" not in value[len(folder):] for folder in folders)
    return any(match and all(variable == "*" or is_value(value) for variable, value in zip(variables, match.groups()))
               for pattern, variables in patterns for match in [pattern.fullmatch(path)])


def cmake_of(tree):
    """{folder: the text of its CMake lists}."""
    lists = {}
    for path in sorted(tree):
        if path.endswith(("CMakeLists.txt", ".cmake")):
            folder = os.path.dirname(path)
            lists[folder] = lists.get(folder, "") + tree[path]
    return lists


def is_built(lists, path):
    if path in lists.get("cmake", ""):
        return True
    folder = os.path.dirname(path)
    while True:
        if folder in lists and builds(lists[folder], os.path.relpath(path, folder or ".")):
            return True
        if not folder:
            return False
        folder = os.path.dirname(folder)


def check_dead(tree):
    includes, lists = included(tree), cmake_of(tree)
    for path in sorted(tree):
        if not path.startswith(CODE + ("tests/", PYTHON)) or path.startswith("tests/systems/"):  # those are compiled by their scenarios
            continue
        if path.endswith(".h") and path not in includes:
            yield f"{path}: is dead: nobody includes it"
        elif path.endswith(SOURCES) and path not in includes and not is_built(lists, path):
            yield f"{path}: is dead: no CMake list builds it"
        elif path.startswith(PYTHON) and path.endswith(".py"):
            name = re.compile(rf"\b{os.path.basename(path)[:-3]}\b")
            others = [text for other, text in tree.items() if other.startswith("python/") and other != path]
            if not path.endswith("__init__.py") and not any(name.search(text) for text in others):
                yield f"{path}: is dead: nobody imports it"
        elif path.endswith("_test.py"):
            folder, name = os.path.split(path)
            thing = re.compile(rf"\b{name[:-len('.py')]}\b|\b{name[:-len('_test.py')]}\b")
            if not any(thing.search(text) for other, text in lists.items()
                       if other.startswith("tests") and (folder.startswith(other) or path in text)):
                yield f"{path}: is dead: no CMake list runs it"


def check(tree):
    return list(check_tested(tree)) + list(check_dead(tree))
