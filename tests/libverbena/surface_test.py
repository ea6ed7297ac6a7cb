#!/usr/bin/env python3
"""What of libverbena is to be seen from outside: no symbol but those of its namespace, and headers that need nothing but the standard
library and compile by themselves under other people's flags.

  surface_test.py LIBRARY COMPILER
"""
import os
import re
import shutil
import subprocess
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
INCLUDE = os.path.join(ROOT, "libverbena", "include")
HEADERS = sorted(os.listdir(os.path.join(INCLUDE, "verbena")))
# What a member of the namespace begins with, once it has a name that can be read.
OWN = re.compile(r"libverbena::")
STRICT = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror", "-fno-exceptions",
          "-fno-rtti", "-x", "c++"]
LIBRARY = COMPILER = ""


def symbols(library):
    """(name, version) of each that the library defines for others."""
    done = subprocess.run(["nm", "-D", "--defined-only", "-C", "--with-symbol-versions", library], capture_output=True, text=True,
                          timeout=60, check=True)
    found = []
    for line in done.stdout.splitlines():
        _, kind, name = line.split(" ", 2)
        if kind != "A":  # the name of a version
            found.append(tuple(name.rsplit("@@", 1)))
    return found


class Surface(unittest.TestCase):
    def test_nothing_is_exported_but_the_public_namespace(self):
        found = symbols(LIBRARY)
        self.assertGreater(len(found), 40)
        for name, version in found:
            self.assertRegex(name, OWN)
            self.assertNotRegex(name, r"^(std::|verbena::|fmt::|typeinfo|vtable|guard)")
            self.assertEqual(version, "LIBVERBENA_0", name)

    def test_the_check_of_exports_would_see_others(self):
        offenders = [name for name, *_ in symbols(os.path.realpath(os.path.join(os.path.dirname(LIBRARY), "libibverbs.so.1")))
                     if not OWN.search(name)]
        self.assertIn("ibv_open_device", [name.split("@")[0] for name in offenders])

    def test_it_needs_nothing_of_verbs(self):
        done = subprocess.run(["objdump", "-p", LIBRARY], capture_output=True, text=True, timeout=60, check=True)
        self.assertIn("SONAME               libverbena.so.0\n", done.stdout)
        for library in ("ibverbs", "yaml", "pcap", "boost"):
            self.assertNotRegex(done.stdout, rf"NEEDED +lib{library}")

    def test_headers_include_the_standard_library_and_one_another(self):
        for header in HEADERS:
            with open(os.path.join(INCLUDE, "verbena", header), encoding="utf-8") as file:
                included = re.findall(r"^#include (.*)$", file.read(), re.M)
            for name in included:
                self.assertRegex(name, r"^<(verbena/\w+\.h|[a-z_]+)>$", header)

    def test_each_header_compiles_by_itself_under_strict_flags(self):
        compilers = [COMPILER] + [found for found in [shutil.which("clang++-19")] if found]
        for compiler in compilers:
            for header in HEADERS:
                source = f"#include <verbena/{header}>\nint main() {{}}\n"
                done = subprocess.run([compiler, *STRICT, "-I", INCLUDE, "-"], input=source, capture_output=True, text=True, timeout=120,
                                      check=False)
                self.assertEqual(done.returncode, 0, f"{compiler} {header}\n{done.stderr}")

    def test_the_page_shows_the_example_that_is_built(self):
        with open(os.path.join(ROOT, "docs", "embedding.md"), encoding="utf-8") as file:
            shown = re.search(r"```cpp\n(.*?)  // \.\.\. ", file.read(), re.S).group(1)
        with open(os.path.join(ROOT, "examples", "go_back_n.cc"), encoding="utf-8") as file:
            built = file.read()
        self.assertGreater(shown.count("\n"), 30)
        self.assertIn(shown, built)

    def test_few_classes_are_all_that_there_is(self):
        classes = set()
        for header in HEADERS:
            with open(os.path.join(INCLUDE, "verbena", header), encoding="utf-8") as file:
                classes |= set(re.findall(r"^class (?:LIBVERBENA_PUBLIC|\[\[nodiscard\]\]) (\w+)", file.read(), re.M))
        self.assertEqual(classes, {"Result", "Pd", "Mr", "Cq", "Qp", "Nic", "PeerQp", "Settings", "World"})


if __name__ == "__main__":
    LIBRARY, COMPILER = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1], verbosity=2)
