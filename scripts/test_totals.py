#!/usr/bin/env python3
"""The last line of `make test`: how many tests passed and failed, over all stages.

  test_totals.py FOLDER STAGE=passed|FAILED...

FOLDER has a JUnit file for each stage that consists of tests: STAGE.xml, or STAGE-SOMETHING.xml. A stage without one (a build, a format check) counts
as one test; so does a failure of which no test knows.
"""
import glob
import os
import sys
import xml.etree.ElementTree as xml


def suites(path):
    root = xml.parse(path).getroot()
    return [root] if root.tag == "testsuite" else root.findall("testsuite")


def counts(paths):
    """Tests, and those of them that did not pass: (total, failed)."""
    found = [suite for path in paths for suite in suites(path)]
    total, *not_passed = (sum(int(suite.get(name) or 0) for suite in found) for name in ("tests", "failures", "errors"))
    return total, sum(not_passed)


def of_stage(folder, stage, verdict):
    paths = [path for pattern in (f"{stage}.xml", f"{stage}-*.xml") for path in glob.glob(os.path.join(glob.escape(folder), pattern))]
    total, failed = counts(paths)
    if total == 0 or (failed == 0 and verdict != "passed"):
        total, failed = total + 1, failed + (verdict != "passed")
    return total - failed, failed


def main():
    folder, *stages = sys.argv[1:]
    rows = [of_stage(folder, *stage.split("=", 1)) for stage in stages]
    print(f"{sum(passed for passed, _ in rows)} passed, {sum(failed for _, failed in rows)} failed")


if __name__ == "__main__":
    main()
