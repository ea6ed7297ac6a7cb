#!/usr/bin/env python3
"""scripts/clang_tidy.py over a small tree: a finding fails wherever it is, and what is clean is not checked again."""
import json
import os
import shutil
import subprocess
import sys
import unittest

import small_tree

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
FINDING = "int %s(int v) { return (v ? 1 : 2) / 2 * 1.5 > 1; }\n"
FILES = {
    "wire/a.h": "#pragma once\nint a(int v);\n",
    "wire/word.h": "#pragma once\nusing Word = int;\n",
    # Of one unit:
    "wire/a.cc": '#include "wire/a.h"\n\n#include "wire/word.h"\nnamespace { Word one() { return 1; } }\nint a(int v) { return one() + v; }\n',
    "wire/b.cc": '#include "wire/a.h"\n#include "wire/word.h"\nint b(Word v) { return a(v); }\n',
    # The same name in unnamed namespaces; each is compiled by itself:
    "wire/c.cc": "namespace { int same() { return 1; } }\nint c() { return same(); }\n",
    "wire/d.cc": "namespace { int same() { return 2; } }\nint d() { return same(); }\n",
    "wire/e.c": "int e(int v);\nint e(int v) { return v; }\n",
    "tests/f.cc": "int f() { return 1; }\n",
    "build/tidy/wire/unit_1.cc": '#include "wire/a.cc"\n#include "wire/b.cc"\n',
}
COMPILED = ("build/tidy/wire/unit_1.cc", "wire/c.cc", "wire/d.cc", "wire/e.c", "tests/f.cc")


class ClangTidy(small_tree.SmallTree):
    files = FILES

    def setUp(self):
        super().setUp()
        entries = [{"directory": f"{self.root}/build/tidy", "file": f"{self.root}/{path}",
                    "command": f"c++ -I{self.root} -Wall -Werror -o wire/CMakeFiles/wire.dir/{path}.o -c {self.root}/{path}"}
                   for path in COMPILED]
        self.write("build/tidy/compile_commands.json", json.dumps(entries))
        os.mkdir(os.path.join(self.root, "scripts"))
        shutil.copy(os.path.join(ROOT, "scripts/clang_tidy.py"), os.path.join(self.root, "scripts"))
        shutil.copy(os.path.join(ROOT, ".clang-tidy"), self.root)

    def plant(self, path, more):
        """Adds a line to a file; returns what a finding in it begins with."""
        self.write(path, FILES[path] + more)
        return f"{path}:{FILES[path].count(chr(10)) + 1}:"

    def run_it(self, *files):
        done = subprocess.run([sys.executable, "-B", "scripts/clang_tidy.py", *files], cwd=self.root, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout

    def checked(self):
        """How many checks have passed, by the record."""
        with open(os.path.join(self.root, "build/clang-tidy-clean"), encoding="utf-8") as file:
            return len(file.readlines())

    def assert_found(self, where, *files):
        status, said = self.run_it(*files)
        self.assertEqual(status, 1, said)
        self.assertIn(where, said)
        return said

    def test_a_clean_tree_passes_and_is_not_checked_again(self):
        self.assertEqual(self.run_it(), (0, ""))
        checked = self.checked()
        self.assertEqual(self.run_it(), (0, ""))
        self.assertEqual(self.checked(), checked)

    def test_a_change_has_its_own_unit_checked_again(self):
        self.run_it()
        checked = self.checked()
        self.plant("wire/a.cc", "int more() { return 1; }\n")
        self.assertEqual(self.run_it(), (0, ""))
        self.assertEqual(self.checked(), checked + 2)  # the unit, and the file by itself

    def test_a_finding_fails_in_every_kind_of_file(self):
        self.run_it()
        places = [self.plant(f"wire/{name}.cc", FINDING % f"found_{name}") for name in "abcd"]
        places.append(self.plant("wire/e.c", "double e2(int v);\ndouble e2(int v) { return v / 2 * 1.5; }\n").replace(":3:", ":4:"))
        for _ in range(2):  # no record hides them
            said = self.assert_found(places[0])
            self.assertEqual([place for place in places if place not in said], [])
            self.assertEqual(said.count("bugprone-integer-division"), len(places))

    def test_a_finding_in_a_header_fails(self):
        where = self.plant("wire/word.h", "int defined() { return 1; }\n")
        self.assertIn("misc-definitions-in-headers", self.assert_found(where))

    def test_what_is_silenced_in_the_line_passes(self):
        self.plant("wire/b.cc", (FINDING % "found").rstrip() + "  // NOLINT(bugprone-integer-division)\n")
        self.assertEqual(self.run_it(), (0, ""))

    def test_a_file_must_include_what_it_uses(self):
        self.write("wire/b.cc", '#include "wire/a.h"\nint b(Word v) { return a(v); }\n')  # a.cc includes it before
        self.assertIn("unknown type name 'Word'", self.assert_found("wire/b.cc:2:"))

    def test_a_warning_of_the_compiler_fails(self):
        where = self.plant("wire/b.cc", "static void unused() {}\n")
        self.assert_found(where)

    def test_named_files_are_checked_and_no_other_unit(self):
        self.plant("wire/c.cc", FINDING % "found")
        self.assertEqual(self.run_it("./wire/e.c"), (0, ""))
        self.assert_found("wire/c.cc:3:", "./wire/c.cc")

    def test_tests_are_checked_when_named(self):
        where = self.plant("tests/f.cc", FINDING % "found")
        self.assertEqual(self.run_it()[0], 0)
        self.assert_found(where, "tests/f.cc")


if __name__ == "__main__":
    unittest.main()
