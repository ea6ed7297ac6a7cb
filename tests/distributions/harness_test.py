#!/usr/bin/env python3
"""The parts of the distributions' run that need no release: the page it writes, and what it says when something is missing."""
import os
import subprocess
import sys
import tempfile
import unittest

import distributions
import inside

FOUND = {
    "Debian 1": {"versions": {"libc6": "2.1"}, "rows": {"rping": "passed", "ucx": "exit status 1\n  more of it"}},
    "Debian 2": {"versions": {"libc6": "2.2"}, "rows": {"rping": "passed"}},
}


class Page(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.page = folder.name + "/page.md"

    def write(self, text):
        with open(self.page, "w", encoding="utf-8") as file:
            file.write(text)
        distributions.write_page(self.page, distributions.table(FOUND))
        with open(self.page, encoding="utf-8") as file:
            return file.read()

    def test_table_has_versions_outcomes_and_a_failures_first_line(self):
        lines = distributions.table(FOUND).splitlines()
        self.assertEqual(lines[0], "| | Debian 1 | Debian 2 |")
        self.assertIn("| libc6 | 2.1 | 2.2 |", lines)
        self.assertIn("| **rping** | passed | passed |", lines)
        self.assertIn("| **ucx** | exit status 1 | - |", lines)

    def test_what_stands_outside_the_marks_is_kept(self):
        before = f"before\n{distributions.BEGIN}\nold\n{distributions.END}\nafter\n"
        after = self.write(before)
        self.assertTrue(after.startswith("before\n") and after.endswith("\nafter\n"))
        self.assertNotIn("old", after)
        self.assertEqual(self.write(after), after)

    def test_a_page_without_the_marks_is_refused(self):
        with self.assertRaises(distributions.Failure):
            self.write("nothing\n")


class Outcomes(unittest.TestCase):
    def test_a_row_that_fails_says_why_and_one_that_does_not_passes(self):
        def fails(_):
            raise inside.harness.Failure("no result")
        self.assertEqual(inside.outcome("verbena", fails), "no result")
        self.assertEqual(inside.outcome("verbena", lambda _: None), "passed")

    def test_what_is_missing_is_told_with_how_to_make_it(self):
        kept, distributions.BUILD = distributions.BUILD, "/nonexistent"
        try:
            with self.assertRaisesRegex(distributions.Failure, "make tarball makes it"):
                distributions.lay_out("/nonexistent")
        finally:
            distributions.BUILD = kept

    def test_wrong_arguments_are_told(self):
        program = os.path.join(distributions.HERE, "distributions.py")
        for arguments in (["--release", "sarge"], ["--release", "trixie", "--write", "page"], ["--nosuch"]):
            done = subprocess.run([sys.executable, "-B", program, *arguments], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
