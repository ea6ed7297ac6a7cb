"""Which tests depend on which files: read from the build (CMake's file API, CTest's list) and from the sources themselves.

Includes and imports are read from the text, not from the compiler's notes, so that a file that was never compiled counts as well.
It runs nothing but cmake and ctest, and decides nothing: scripts/changed.py does.
"""
import dataclasses
import glob
import json
import os
import re
import subprocess

CODE = (".cc", ".h", ".c")
INCLUDE = re.compile(r'^\s*#include ["<]([^">]+)[">]', re.M)
IMPORT = re.compile(r"^\s*(?:import|from) (\w+)", re.M)
INCLUDE_ROOTS = ("", "libverbena/include")  # relative to the root, beside the folder of the file itself
BUILD_FILE = re.compile(r"(^|/)(CMakeLists\.txt|CMakePresets\.json|[^/]+\.(cmake|in))$")


@dataclasses.dataclass
class Target:
    """One of CMake's targets; paths are absolute."""
    name: str
    folder: str
    sources: list
    artifacts: list
    dependencies: list  # the ids of other targets


@dataclasses.dataclass
class Test:
    """One entry of CTest. `words` are what its command and its environment say."""
    name: str
    labels: list
    words: list
    targets: set = dataclasses.field(default_factory=set)  # ids


def read_text(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def ask_for_targets(build):
    """Has the next configuration say what it builds."""
    query = os.path.join(build, ".cmake/api/v1/query")
    os.makedirs(query, exist_ok=True)
    with open(os.path.join(query, "codemodel-v2"), "w", encoding="utf-8"):
        pass


def read_targets(build):
    replies = os.path.join(build, ".cmake/api/v1/reply")
    index = json.loads(read_text(sorted(glob.glob(os.path.join(replies, "index-*.json")))[-1]))
    model = json.loads(read_text(os.path.join(replies, index["reply"]["codemodel-v2"]["jsonFile"])))
    source, build = model["paths"]["source"], model["paths"]["build"]
    targets = {}
    for entry in model["configurations"][0]["targets"]:
        told = json.loads(read_text(os.path.join(replies, entry["jsonFile"])))
        targets[told["id"]] = Target(told["name"], os.path.join(source, told["paths"]["source"]),
                                     [os.path.join(source, one["path"]) for one in told.get("sources", [])],
                                     [os.path.join(build, one["path"]) for one in told.get("artifacts", [])],
                                     [one["id"] for one in told.get("dependencies", [])])
    return targets


def read_tests(build, targets):
    out = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], stdout=subprocess.PIPE, check=True, text=True).stdout
    of_name = {target.name: key for key, target in targets.items()}
    of_artifact = {artifact: key for key, target in targets.items() for artifact in target.artifacts}
    tests = []
    for told in json.loads(out)["tests"]:
        properties = {one["name"]: one["value"] for one in told.get("properties", [])}
        words = told.get("command", []) + [word.partition("=")[2] for word in properties.get("ENVIRONMENT", [])]
        test = Test(told["name"], properties.get("LABELS", []), words)
        test.targets = {of_artifact[word] for word in words if word in of_artifact}
        # CTest does not tell the command of a program that was never built.
        test.targets |= {of_name[name] for name in (f"test_{test.name}",) if name in of_name}
        tests.append(test)
    return tests


def read_costs(build):
    """Seconds that each test took when CTest last ran it."""
    lines = read_text(os.path.join(build, "Testing/Temporary/CTestCostData.txt")).splitlines()
    return {words[0]: float(words[2]) for words in map(str.split, lines) if len(words) == 3}


class Sources:
    """What the files of a tree include, import and name. Paths are relative to the root; generated units below build/ count as well."""

    def __init__(self, root, paths):
        self._root = os.path.realpath(root)
        self._texts = {path: read_text(os.path.join(root, path)) for path in paths if path.endswith(CODE + (".py",))}
        self._users = {}
        for path, text in self._texts.items():
            for used in self._used(path, text):
                self._users.setdefault(used, set()).add(path)

    def _used(self, path, text):
        beside = os.path.dirname(path)
        if path.endswith(".py"):
            return [os.path.join(beside, name + ".py") for name in IMPORT.findall(text)]
        return [os.path.normpath(os.path.join(folder, name)) for name in INCLUDE.findall(text) for folder in (*INCLUDE_ROOTS, beside)]

    def users(self, paths):
        """These files and all that include or import them, however far away."""
        found, left = set(), list(paths)
        while left:
            path = left.pop()
            if path not in found:
                found.add(path)
                left += self._users.get(path, ())
        return found

    def naming(self, path):
        """Files whose text names this one (which no compiler reads), or the folder that it lies in."""
        folder = os.path.dirname(path)
        words = [os.path.basename(path)] + ([f'{folder}"', f'{folder}/"'] if folder else [])
        return {other for other, text in self._texts.items() if any(word in text for word in words)}


def generated_units(root, build, targets):
    """Units that the build has written (several sources compiled together), relative to the root."""
    build = os.path.realpath(build) + os.sep
    sources = {os.path.realpath(source) for target in targets.values() for source in target.sources}
    return {os.path.relpath(source, os.path.realpath(root)) for source in sources if source.startswith(build)}


def touched_targets(root, targets, files):
    """Ids of the targets that are made of one of the files, or are declared by one of them, and of all that depend on those."""
    root = os.path.realpath(root)
    paths = {os.path.join(root, path) for path in files}
    declared = [root if path.startswith("cmake/") or "/" not in path else os.path.join(root, os.path.dirname(path))
                for path in files if BUILD_FILE.search(path)]
    touched = {key for key, target in targets.items()
               if any(os.path.realpath(source) in paths for source in target.sources)
               or any((os.path.realpath(target.folder) + os.sep).startswith(folder + os.sep) for folder in declared)}
    while True:
        more = {key for key, target in targets.items() if key not in touched and touched.intersection(target.dependencies)}
        if not more:
            return touched
        touched |= more
