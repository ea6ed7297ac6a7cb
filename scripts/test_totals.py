#!/usr/bin/env python3
"""The last line of `make test`: how many tests passed and failed, over all stages.

  test_totals.py FOLDER STAGE=passed|partly|nothing|FAILED...

FOLDER has a JUnit file for each stage that consists of tests: STAGE.xml, or STAGE-SOMETHING.xml. A stage without one (a build, a format check) counts
as one test; so does a failure of which no test knows. A stage that was reached `partly` counts what it ran. What was skipped has not passed, and is said.
"""
import glob
import os
import sys
import xml.etree.ElementTree as xml


def suites(path):
    root = xml.parse(path).getroot()
    return [root] if root.tag == "testsuite" else root.findall("testsuite")


def counts(paths):
    """Tests that have (passed, failed, been skipped)."""
    found = [suite for path in paths for suite in suites(path)]
    total, failures, errors, skipped, disabled = (sum(int(suite.get(name) or 0) for suite in found)
                                                  for name in ("tests", "failures", "errors", "skipped", "disabled"))
    failed, skipped = failures + errors, skipped + disabled
    return total - failed - skipped, failed, skipped


def of_stage(folder, stage, verdict):
    paths = [path for pattern in (f"{stage}.xml", f"{stage}-*.xml") for path in glob.glob(os.path.join(glob.escape(folder), pattern))]
    passed, failed, skipped = counts(paths)
    if verdict == "FAILED" and failed == 0:
        failed = 1
    elif verdict == "passed" and passed == 0:
        passed = 1
    return passed, failed, skipped


def main():
    folder, *stages = sys.argv[1:]
    rows = [of_stage(folder, *stage.split("=", 1)) for stage in stages]
    passed, failed, skipped = (sum(row[place] for row in rows) for place in range(3))
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))


if __name__ == "__main__":
    main()
