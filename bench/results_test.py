#!/usr/bin/env python3
"""Tests of results.py and of what bench.py does with it: files that are none, and two runs side by side."""
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import bench
import results
import rows
from machine_test import a_machine

BENCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bench.py")


def a_row(name="latency", beside="ring", ours=1.0, compared=2.0, **more):
    return {"row": name, "beside": beside, "unit": "us", "ours": ours, "compared": compared, "difference": False} | more


def a_document(lines=(), machine=None, quick=False, cache_lines=()):
    return results.document(machine or a_machine(), list(lines), [], list(cache_lines), quick, "1234abc")


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "old.json")

    def assert_bad(self, text, words):
        if text is not None:
            with open(self.path, "w", encoding="utf-8") as file:
                file.write(text)
        with self.assertRaises(results.BadFile) as caught:
            results.load(self.path)
        message = str(caught.exception)
        self.assertIn(words, message)
        self.assertIn(self.path, message)
        self.assertNotIn("\n", message)

    def test_what_is_written_is_read(self):
        written = a_document([a_row(), a_row(beside="", ours=None, compared=None)], cache_lines=[{"name": "x", "lines": 2}])
        results.write(self.path, written)
        self.assertEqual(results.load(self.path), written)

    def test_a_missing_file(self):
        self.assert_bad(None, "No such file")

    def test_no_json(self):
        self.assert_bad("row ours\n", "no JSON")
        self.assert_bad("", "no JSON")

    def test_octets_that_are_no_text(self):
        with open(self.path, "wb") as file:
            file.write(b"\x7fELF\xff\xfe")
        self.assert_bad(None, "no JSON")

    def test_json_of_something_else(self):
        self.assert_bad("[1]", "not a result of the bench")
        self.assert_bad('{"rows": [], "rounds": []}', "not a result of the bench")  # as it was before

    def test_another_version(self):
        self.assert_bad(json.dumps(a_document() | {"version": 99}), "format 99")

    def test_a_part_that_is_missing_or_of_another_kind(self):
        for key in results.KEYS:
            with self.subTest(key):
                document = a_document()
                del document[key]
                self.assert_bad(json.dumps(document), f"'{key}'")
        self.assert_bad(json.dumps(a_document() | {"machine": {"cpu": "A"}}), "'machine'")
        self.assert_bad(json.dumps(a_document([{"row": "x"}])), "'rows'")
        self.assert_bad(json.dumps(a_document([a_row(ours="fast")])), "'rows'")
        self.assert_bad(json.dumps(a_document(cache_lines=[{"name": "x"}])), "'cache_lines'")

    def test_the_name_says_when_and_of_which_commit(self):
        path = results.default_path("build", a_document() | {"date": "2026-11-24T20:05:09Z"})
        self.assertEqual(path, os.path.join("build", "bench", "2026-11-24T200509-1234abc.json"))

    def run_bench(self, *arguments):
        return subprocess.run([sys.executable, "-B", BENCH, *arguments], capture_output=True, text=True, timeout=60, check=False)

    def test_bench_ends_with_2_and_one_line_before_it_measures_anything(self):
        for arguments in (["--compare", self.path], ["--compare", BENCH], ["--measured", self.path, "--compare", self.path]):
            with self.subTest(arguments):
                ended = self.run_bench(*arguments)
                self.assertEqual((ended.returncode, ended.stdout), (2, ""))
                self.assertEqual(ended.stderr.count("\n"), 1)

    def test_bench_ends_with_0_however_much_slower_it_became(self):
        results.write(self.path, a_document([a_row(ours=1.0)]))
        new = self.path + ".new"
        results.write(new, a_document([a_row(ours=900.0, compared=1800.0)]))
        ended = self.run_bench("--measured", new, "--compare", self.path)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        self.assertIn("900.00", ended.stdout)


class SideBySide(unittest.TestCase):
    def rows_of(self, new, old):
        return [line for line in results.compare(new, old) if not line.startswith(("warning", " ", "row"))]

    def test_a_row_shows_new_old_and_both_ratios(self):
        lines = self.rows_of(a_document([a_row(ours=3.0, compared=1.5)]), a_document([a_row(ours=2.0, compared=3.0)]))
        self.assertEqual(lines[0].split(), ["latency", "3.00", "2.00", "1.50", "us", "ring", "1.50", "3.00", "0.50"])

    def test_a_difference_has_no_ratio_of_its_own(self):
        row = a_row(compared=0.0, difference=True)
        self.assertEqual(self.rows_of(a_document([row]), a_document([row]))[0].split()[-2:], ["0.000", "0.000"])

    def test_rows_of_one_run_only_and_rows_that_failed_show_a_dash(self):
        lines = self.rows_of(a_document([a_row("new"), a_row("failed", ours=None, compared=None)]),
                             a_document([a_row("old"), a_row("failed")]))
        self.assertEqual([line.split()[:4] for line in lines], [["new", "1.00", "-", "-"], ["failed", "-", "1.00", "-"],
                                                                ["old", "-", "1.00", "-"]])

    def test_a_zero_before_gives_no_ratio(self):
        lines = self.rows_of(a_document([a_row(ours=1.0)]), a_document([a_row(ours=0.0)]))
        self.assertEqual(lines[0].split()[3], "-")

    def test_cache_lines_are_compared_as_well(self):
        lines = self.rows_of(a_document(cache_lines=[{"name": "WRITE 8 B", "lines": 3.0}]),
                             a_document(cache_lines=[{"name": "WRITE 8 B", "lines": 6.0}]))
        self.assertEqual(lines[0].split(), ["WRITE", "8", "B", "3.00", "6.00", "0.50", "lines"])

    def test_warns_of_other_machines_and_of_a_quick_run(self):
        def warnings(new, old):
            return [line for line in results.compare(new, old) if line.startswith("warning")]
        self.assertEqual(warnings(a_document(), a_document()), [])
        self.assertIn("other CPU model: B, then A", warnings(a_document(machine=a_machine(cpu="B")), a_document())[0])
        other_crc = a_document(machine=a_machine(crc_kernel="zlib"))
        self.assertIn("other CRC kernel: zlib, then isa-l", warnings(other_crc, a_document())[0])
        self.assertIn("quick", warnings(a_document(quick=True), a_document())[0])


class Choosing(unittest.TestCase):
    def test_quick_rows_are_rows(self):
        self.assertEqual({row.name for row in rows.chosen(None, quick=True)}, set(rows.QUICK))
        self.assertEqual([row.name for row in rows.chosen(["rate"], quick=True)], ["rate-shm-write", "rate-shm-send"])

    def test_every_value_of_a_row_is_of_a_measurement(self):
        self.assertEqual(set(rows.measurements_of(rows.ROWS)) - set(bench.MEASUREMENTS), set())

    def test_misuse_ends_with_2(self):
        for arguments in (["--row", "nothing"], ["--quick", "--row", "start-up"], ["--rounds", "0"], ["--measured", "x.json"]):
            with self.subTest(arguments), contextlib.redirect_stderr(io.StringIO()), self.assertRaises(SystemExit) as caught:
                bench.parse_arguments(arguments)
            self.assertEqual(caught.exception.code, 2)


class Rounds(unittest.TestCase):
    def measured(self, arguments, seconds):
        """How many rounds are made that take so long each."""
        clock = mock.Mock(side_effect=[seconds * half for number in range(20) for half in (number, number + 1)])
        with mock.patch("bench.time.monotonic", clock), mock.patch("bench.measure_round", return_value={}):
            return len(bench.measure_rounds(None, [], bench.parse_arguments(arguments), 0))

    def test_a_quick_run_begins_no_round_that_would_end_too_late(self):
        self.assertEqual(self.measured(["--quick"], 25), 3)
        self.assertEqual(self.measured(["--quick"], 40), 2)
        self.assertEqual(self.measured(["--quick"], 100), 1)

    def test_rounds_that_were_asked_for_are_made(self):
        self.assertEqual(self.measured(["--quick", "--rounds", "7"], 100), 7)
        with mock.patch.dict(os.environ, {"BENCH_ROUNDS": "4"}):
            self.assertEqual(self.measured([], 100), 4)


if __name__ == "__main__":
    unittest.main()
