#!/usr/bin/env python3
"""The last line of `make test` counts what ran, and no more."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts"))

import test_totals  # noqa: E402


def written(folder, **files):
    for name, text in files.items():
        with open(os.path.join(folder, name.replace("_", "-") + ".xml"), "w", encoding="utf-8") as file:
            file.write(text)


class Totals(unittest.TestCase):
    def of(self, stage, verdict, **files):
        with tempfile.TemporaryDirectory() as folder:
            written(folder, **files)
            return test_totals.of_stage(folder, stage, verdict)

    def test_files_of_a_stage_are_added_up(self):
        one, other = '<testsuite tests="5" failures="1" skipped="1"/>', '<testsuites><testsuite tests="2" errors="1"/></testsuites>'
        self.assertEqual(self.of("core", "FAILED", core=one, core_more=other), (4, 2, 1))

    def test_stage_without_tests_is_one(self):
        self.assertEqual(self.of("format", "passed"), (1, 0, 0))
        self.assertEqual(self.of("format", "FAILED"), (0, 1, 0))

    def test_failure_that_no_test_knows_is_counted(self):
        self.assertEqual(self.of("core", "FAILED", core='<testsuite tests="5"/>'), (5, 1, 0))

    def test_nothing_to_run_has_passed_nothing(self):
        self.assertEqual(self.of("changed", "nothing"), (0, 0, 0))
        self.assertEqual(self.of("changed", "partly", changed_near_1='<testsuite tests="3"/>'), (3, 0, 0))

    def failures_of(self, text):
        with tempfile.TemporaryDirectory() as folder:
            written(folder, core=text)
            return list(test_totals.failures(test_totals.paths_of(folder, "core")))

    def test_failures_are_told_by_name_and_words(self):
        # As CTest, tests/programs/junit.py and pytest write them.
        self.assertEqual(self.failures_of('<testsuite><testcase name="ok"/><testcase name="a"><failure message=""/><system-out>why\n</system-out>'
                                          '</testcase></testsuite>'), [("a", "why\n")])
        self.assertEqual(self.failures_of('<testsuite><testcase name="b"><failure message="m">m\nmore</failure></testcase></testsuite>'),
                         [("b", "m\nmore")])
        self.assertEqual(self.failures_of('<testsuites><testsuite><testcase name="c"><error message="m"/></testcase></testsuite></testsuites>'),
                         [("c", "m")])

    def test_long_words_keep_both_ends(self):
        lines = [str(number) for number in range(1000)]
        shown = test_totals.shortened("\n".join(lines))
        self.assertEqual((shown[0], shown[-1], len(shown)), ("0", "999", 2 * test_totals.LINES_SHOWN + 1))
        self.assertIn("950 lines", shown[test_totals.LINES_SHOWN])


if __name__ == "__main__":
    unittest.main()
