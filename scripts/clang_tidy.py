#!/usr/bin/env python3
"""clang-tidy (.clang-tidy) over the sources that the preset tidy would compile, which is configured before.

  clang_tidy.py [FILE...]     what is checked together with these; all but tests/ when none is named

Most of what a check goes through is headers, so files that a target compiles alike are checked together, as a unit that includes
them. A unit that fails is halved until a file fails alone: names in unnamed namespaces may be the same in two files.
What a file uses and does not include is an error. The builds see that of a file that they compile by itself; a file that they
compile together with others (verbena_together in cmake/options.cmake) is read by itself here.
Nothing is checked again until a file of its unit, a header, or the checks have changed; build/clang-tidy-clean is the record of that.
"""
import concurrent.futures
import dataclasses
import glob
import hashlib
import itertools
import json
import os
import re
import shlex
import subprocess
import sys

BUILD = "build/tidy"
RECORD = "build/clang-tidy-clean"
UNIT_MAX = 16
INCLUDE = re.compile(r'^#include "([^"]+)"$', re.M)


@dataclasses.dataclass(frozen=True, order=True)
class Source:
    """A file as a target compiles it. Paths are relative to the root."""
    target: str
    words: tuple  # of the compiler's command, without the file and what it becomes
    path: str
    together: bool  # no build compiles it by itself

    def alike(self):
        """What the sources of a unit have in common; a C file has a unit of its own."""
        return self.target, self.words, self.path if self.path.endswith(".c") else ""


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def all_sources():
    for entry in json.loads(read(f"{BUILD}/compile_commands.json")):
        *words, _, becomes, _, path = shlex.split(entry["command"])[1:]  # ... -o BECOMES -c PATH
        words.append("-Wno-unknown-warning-option")  # they are g++'s
        target = becomes.partition(".dir/")[0]
        path = os.path.relpath(path)
        written = path.startswith("build/")  # by CMake: a unit, or C that is nobody's to mend
        for one in INCLUDE.findall(read(path)) if written and os.path.exists(path) else [path]:
            yield Source(target, tuple(words), one, written)


def units_of(sources):
    for _, alike in itertools.groupby(sorted(sources), Source.alike):
        alike = list(alike)
        yield from (alike[first:first + UNIT_MAX] for first in range(0, len(alike), UNIT_MAX))


class Record:
    """What was found clean, as a hash of all that this depends on."""

    def __init__(self):
        headers = [path for path in glob.glob("**/*.h", recursive=True) if not path.startswith("build/")]
        self._common = "\0".join(map(read, [".clang-tidy", __file__, *sorted(headers)]))
        self._file = open(RECORD, "a+", encoding="utf-8")
        self._file.seek(0)
        self._keys = set(self._file.read().split())

    def once(self, check, sources):
        """Whether the check passes; it is not run if it has passed before."""
        text = [self._common, check.__name__, *sources[0].words] + [word for one in sources for word in (one.path, read(one.path))]
        key = hashlib.sha256("\0".join(text).encode()).hexdigest()
        if key in self._keys:
            return True
        if not check(sources):
            return False
        print(key, file=self._file, flush=True)
        return True


def run(command):
    """Whether it succeeds; what it says if not."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    said = [line for line in done.stdout.splitlines() if not line.endswith(" generated.")]
    return done.returncode == 0, "\n".join(said)


def tell(passed, said):
    if not passed:
        print(said, flush=True)
    return passed


def tidy(sources):
    path = sources[0].path
    if len(sources) > 1:
        path = f"{BUILD}/units/{sources[0].target}/{path}_{len(sources)}.cc"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as unit:
            unit.writelines(f'#include "{os.path.abspath(source.path)}"\n' for source in sources)
    done = run(["clang-tidy-19", "--quiet", path, "--", *sources[0].words])
    if len(sources) == 1:
        return tell(*done)
    half = len(sources) // 2
    return done[0] or all([tidy(sources[:half]), tidy(sources[half:])])


def compiles(sources):
    return tell(*run(["clang++-19", *sources[0].words, "-fsyntax-only", sources[0].path]))


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    named = {os.path.relpath(path) for path in sys.argv[1:]}
    sources = [one for one in all_sources() if one.path in named or not one.path.startswith(("tests/", "build/"))]
    units = [unit for unit in units_of(sources) if not named or named.intersection(one.path for one in unit)]
    checks = [(tidy, unit) for unit in units]
    checks += [(compiles, [one]) for unit in units for one in unit if one.together and (not named or one.path in named)]
    record = Record()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return 0 if all(list(pool.map(lambda check: record.once(*check), checks))) else 1


if __name__ == "__main__":
    sys.exit(main())
