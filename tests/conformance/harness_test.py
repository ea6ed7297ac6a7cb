#!/usr/bin/env python3
"""The judgement of the suite's results: what must be complained about is."""
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True

import conformance  # noqa: E402
import reasons  # noqa: E402
import report  # noqa: E402
import suite  # noqa: E402


def passed(number):
    return [suite.Case("test_mr", f"MRTest.test_{i}", "passed", "") for i in range(number)]


HUGE = suite.Case("test_odp", "OdpTestCase.test_huge", "skipped", "There are no huge pages of size 2M allocated")


class Judgement(unittest.TestCase):
    def complaints(self, cases, whole=True):
        return list(conformance.complaints_about(cases, whole))

    def test_enough_passed_and_explained_skips_are_right(self):
        self.assertEqual(self.complaints(passed(conformance.AT_LEAST) + [HUGE]), [])

    def test_a_failed_case_is_named_with_its_report(self):
        (complaint,) = self.complaints(passed(200) + [suite.Case("test_cq", "CQTest.test_x", "failed", "Traceback: why")])
        self.assertIn("test_cq CQTest.test_x", complaint)
        self.assertIn("Traceback: why", complaint)

    def test_a_skip_that_nobody_explained_is_wrong(self):
        (complaint,) = self.complaints(passed(200) + [suite.Case("test_mr", "MRTest.test_x", "skipped", "Moon is full")])
        self.assertIn("Moon is full", complaint)

    def test_too_few_are_wrong_in_the_whole_suite_only(self):
        self.assertEqual(len(self.complaints(passed(149))), 1)
        self.assertEqual(self.complaints(passed(149), whole=False), [])
        self.assertEqual(self.complaints([], whole=False), ["no case ran"])

    def test_every_reason_says_what_it_is(self):
        for reason in reasons.REASONS:
            self.assertIn(reason.what, ("elsewhere", "deviation"))
            self.assertTrue(reason.why)


class Page(unittest.TestCase):
    def test_only_the_part_between_the_markers_changes(self):
        page = f"above\n{report.BEGIN}\nold\n{report.END}\nbelow\n"
        made = report.rewrite(page, {"shm": passed(3) + [HUGE], "udp": passed(4)}, "44")
        self.assertTrue(made.startswith("above\n") and made.endswith("\nbelow\n"))
        self.assertNotIn("old", made)
        self.assertIn("| test_mr | 4 | 3 / 0 / 0 | 4 / 0 / 0 |", made)
        self.assertIn("| **all** | 4 | 3 / 0 / 1 | 4 / 0 / 0 |", made)
        self.assertIn("1: test_odp.test_huge | elsewhere", made)
        with self.assertRaises(ValueError):
            report.rewrite("nothing", {"shm": passed(1)}, "44")


class Suite(unittest.TestCase):
    def test_it_is_there_and_can_be_unpacked(self):
        with tempfile.TemporaryDirectory() as folder:
            suite.unpack(os.path.join(folder, "tests"))
            files = os.listdir(os.path.join(folder, "tests"))
        self.assertIn("run_tests.py", files)
        self.assertIn("test_mr.py", files)
        self.assertFalse([name for name in files if name.endswith(".gz")])


if __name__ == "__main__":
    unittest.main()
