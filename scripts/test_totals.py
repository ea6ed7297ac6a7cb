#!/usr/bin/env python3
"""The end of `make test`: what failed, with the words that it failed with, and how many tests passed and failed, over all stages.

  test_totals.py FOLDER STAGE=passed|partly|nothing|FAILED...

FOLDER has a JUnit file for each stage that consists of tests: STAGE.xml, or STAGE-SOMETHING.xml. A stage without one (a build, a format check) counts
as one test; so does a failure of which no test knows. A stage that was reached `partly` counts what it ran. What was skipped has not passed, and is said.
A failure may stand an hour above the end, and CI services keep only the end of a long text: so it is shown here once more.
"""
import glob
import os
import sys
import xml.etree.ElementTree as xml

LINES_SHOWN = 25  # at each end of a failure's text

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


def paths_of(folder, stage):
    return [path for pattern in (f"{stage}.xml", f"{stage}-*.xml") for path in glob.glob(os.path.join(glob.escape(folder), pattern))]


def shortened(text):
    """Its first and its last lines: what is wrong stands at an end of what a test prints."""
    lines = text.strip().splitlines()
    if len(lines) <= 2 * LINES_SHOWN:
        return lines
    return [*lines[:LINES_SHOWN], f"[{len(lines) - 2 * LINES_SHOWN} lines left out]", *lines[-LINES_SHOWN:]]


def failures(paths):
    """(Name, the words of the failure) of each test that failed. CTest tells in a test's output what others tell in its failure."""
    for path in paths:
        for case in (case for suite in suites(path) for case in suite.iter("testcase")):
            wrong = [element for kind in ("failure", "error") for element in case.findall(kind)]
            if wrong:
                texts = [wrong[0].text, case.findtext("system-out"), wrong[0].get("message")]
                yield case.get("name"), next((text for text in texts if text and text.strip()), "")


def of_stage(folder, stage, verdict):
    passed, failed, skipped = counts(paths_of(folder, stage))
    if verdict == "FAILED" and failed == 0:
        failed = 1
    elif verdict == "passed" and passed == 0:
        passed = 1
    return passed, failed, skipped


def main():
    folder, *stages = sys.argv[1:]
    for stage in (stage.split("=", 1)[0] for stage in stages):
        for name, text in failures(paths_of(folder, stage)):
            print(f"\n==== failed in {stage}: {name}", *shortened(text), sep="\n  ")
    rows = [of_stage(folder, *stage.split("=", 1)) for stage in stages]
    passed, failed, skipped = (sum(row[place] for row in rows) for place in range(3))
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))


if __name__ == "__main__":
    main()
