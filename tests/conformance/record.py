#!/usr/bin/env python3
"""Runs the suite's own run_tests.py and writes down how each case ended.

  record.py RESULTS.json .../run_tests.py [ARGUMENTS of it]

Its arguments, output and exit status are run_tests.py's.
"""
import json
import os
import runpy
import sys
import unittest


class Recording(unittest.TextTestResult):
    """The suite's own result, and beside it a list of what it was told."""
    cases = []

    def _note(self, test, outcome, text=""):
        name = test.id().split(".")  # tests.test_mr.MRTest.test_reg_mr
        self.cases.append({"module": name[1], "name": ".".join(name[2:]), "outcome": outcome, "text": text})

    def addSuccess(self, test):
        super().addSuccess(test)
        self._note(test, "passed")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._note(test, "skipped", reason)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._note(test, "failed", self._exc_info_to_string(err, test))

    def addError(self, test, err):
        super().addError(test, err)
        text = self._exc_info_to_string(err, test)
        if isinstance(test, unittest.TestCase):
            self._note(test, "failed", text)
        else:  # a module or class that could not be set up
            self.cases.append({"module": str(test), "name": "", "outcome": "failed", "text": text})

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self._note(test, "passed")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self._note(test, "failed", "expected to fail, and did not")


def main():
    results, script = sys.argv[1:3]
    sys.argv[:] = sys.argv[2:]
    sys.path.insert(0, os.path.dirname(script))
    unittest.TextTestRunner.resultclass = Recording
    os.chdir(os.path.dirname(os.path.dirname(script)))
    try:
        runpy.run_path(script, run_name="__main__")
    finally:
        if Recording.cases:  # nothing was run: the caller misses the file
            with open(results + ".part", "w", encoding="utf-8") as file:
                json.dump(Recording.cases, file)
            os.rename(results + ".part", results)


if __name__ == "__main__":
    main()
