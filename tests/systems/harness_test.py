#!/usr/bin/env python3
"""What judges the runs of real systems can fail: each condition must be seen to have done something, known failures are neither hidden
nor kept when they are gone, and the catalogue, the scenarios and the packages agree.
"""
import copy
import dataclasses
import glob
import os
import re
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(1, os.path.join(HERE, "..", "programs"))

try:
    import yaml  # noqa: F401
except ImportError:
    sys.exit("python3-yaml is missing: scripts/setup.sh systems-short")

import catalogue  # noqa: E402
import conditions  # noqa: E402
import namespaces  # noqa: E402
import page  # noqa: E402
import ranks  # noqa: E402
import systems  # noqa: E402
from row import Deviation, End, Killed, System  # noqa: E402

ROW = System("one", "a program", ("nothing",), "something", killed=Killed({"client": End("gone", 3)}, 2, "its own"))
SCENARIO = {"name": "one", "clock": "real", "topology": {"shape": "star", "hosts": 2}, "expect": [{"program": "client", "output": "done"}],
            "workloads": [{"name": "server", "node": "n1", "exec": "serve"},
                          {"name": "client", "node": "n2", "after": "server", "exec": "ask ${n1}"}]}
GOOD = {"faults": [], "packets": {"vanished": 0}, "elapsed_ns": 5_000_000_000}


def ended(status, out="", packets=5):
    return types.SimpleNamespace(status=status, out=out, err="", counters=lambda: {"tx_packets": packets})


class Conditions(unittest.TestCase):
    def test_the_file_itself_is_left_alone(self):
        before = copy.deepcopy(SCENARIO)
        for condition in conditions.CONDITIONS:
            conditions.laid_over(SCENARIO, condition, ROW)
        self.assertEqual(SCENARIO, before)

    def test_node_crashes_with_a_request_of_its_peer_under_way(self):
        row = System("one", "a program", ("nothing",), "something", killed=Killed({"client": End("gone", 3)}, 2, "its own", cut="drop msg=7-9"))
        self.assertEqual(conditions.laid_over(SCENARIO, "killed", row)["faults"][-2:],
                         [{"packet": "drop msg=7-9", "link": "n2->s1"},
                          {"node-crash": "n1", "when": {"fault": "drop msg=7-9", "hits": 1}}])

    def test_killed_peer_changes_expectations_of_the_survivor_only(self):
        laid = conditions.laid_over(SCENARIO, "killed", ROW)
        self.assertEqual(laid["expect"], [{"program": "client", "status": 3, "output": "gone"}])
        self.assertEqual([workload.get("status") for workload in laid["workloads"]], [None, 3])
        self.assertEqual(laid["faults"][0]["node-crash"], "n1")

    def test_a_fault_that_did_nothing_is_seen(self):
        flap = {"text": "link-flap n1-s1", "time_ns": 1, "packets_hit": 0}
        for condition, summary, says in (
                ("lossy", GOOD | {"faults": [{"text": "drop 0.5%", "packets_hit": 0}]}, "no packet was dropped"),
                ("flapping", GOOD, "did not flap"),
                ("flapping", GOOD | {"faults": [flap]}, "no packet was on the cable"),
                ("killed", GOOD, "did not crash"),
                ("killed", GOOD | {"faults": [{"text": "node-crash n1", "time_ns": 1_000_000_000}]}, "4.0 s after the crash")):
            self.assertIn(says, conditions.fault_problem(condition, ROW, summary))

    def test_a_fault_that_did_something_is_none(self):
        crash = {"text": "node-crash n1", "time_ns": 3_500_000_000}
        for condition, summary in (("clean", GOOD), ("lossy", GOOD | {"faults": [{"text": "drop 0.5%", "packets_hit": 2}]}),
                                   ("killed", GOOD | {"faults": [crash]}),
                                   ("flapping", {**GOOD, "faults": [{"text": "link-flap n1-s1"}], "packets": {"vanished": 3}})):
            self.assertEqual(conditions.fault_problem(condition, ROW, summary), "")


class Namespaces(unittest.TestCase):
    def problems(self, client, scenario=None, server=None):
        return list(namespaces.problems(scenario or SCENARIO, {"server": server or ended(0), "client": client}, folder=""))

    def test_good_ends_are_good(self):
        self.assertEqual(self.problems(ended(0, "done")), [])

    def test_status_output_and_silence_are_judged(self):
        self.assertRegex(self.problems(ended(1, "done"))[0], "exit status 1 instead of 0")
        self.assertRegex(self.problems(ended(0, "nothing"))[0], "does not fit")
        self.assertRegex(self.problems(ended(0, "done"), server=ended(-9))[0], "server: exit status -9")
        self.assertEqual(self.problems(ended(0, "done", 0), server=ended(0, "", 0)), ["no packet was sent"])

    def test_bounds_are_judged_and_the_unknown_is_no_success(self):
        number = SCENARIO | {"expect": [{"program": "client", "output": "of ([0-9]+)", "min": 7}]}
        self.assertEqual(self.problems(ended(0, "of 7"), number), [])
        self.assertRegex(self.problems(ended(0, "of 6"), number)[0], "6 is not within")
        counter = SCENARIO | {"expect": [{"counter": "tx_packets", "of": "n2", "is": 6}]}
        self.assertRegex(self.problems(ended(0), counter)[0], "5 is not within")
        self.assertRegex(self.problems(ended(0), SCENARIO | {"expect": [{"silence": "n1-s1"}]})[0], "not judged")

    def test_commands_name_the_nodes_that_are_there(self):
        nodes = [namespaces.Node(place, None) for place in (1, 2)]
        self.assertEqual(namespaces.words_of("ask ${n1} 'two words'", nodes), ["ask", "10.47.0.1", "two words"])


class Ranks(unittest.TestCase):
    """A scenario whose one workload is an mpirun on two nodes."""

    MPI = {"workloads": [{"name": "ranks", "nodes": 2, "exec": "mpirun -n 2 true"}], "expect": [{"counter": "tx_bytes", "of": "n2", "min": 30}]}

    def problems(self, *counters):
        with tempfile.TemporaryDirectory() as folder:
            for number, (place, octets) in enumerate(counters):
                with open(os.path.join(folder, f"counters.{place}.{number}"), "w", encoding="utf-8") as file:
                    file.write(f"verbena: counters of node 10.47.0.{place + 1}, 1 process\n  tx_packets {octets // 5}\n  tx_bytes {octets}\n")
            return list(namespaces.problems(self.MPI, {"ranks": ended(0)}, folder))

    def test_counters_are_those_of_the_nodes_own_ranks(self):
        self.assertEqual(self.problems((0, 5), (1, 10), (1, 20)), [])
        self.assertRegex(self.problems((0, 50), (1, 10), (1, 15))[0], "25 is not within")
        self.assertIn("no packet was sent", self.problems())

    def test_the_program_is_what_stands_behind_the_options(self):
        words = ["env", "A=1", "mpirun.openmpi", "--mca", "pml", "ucx", "-n", "4", "sh", "-c", "true"]
        self.assertEqual(ranks.program_at(words), 8)
        with self.assertRaises(namespaces.harness.Failure):
            ranks.program_at(["mpirun", "-n", "2", "no-such-program"])


class Known(unittest.TestCase):
    ROW = System("two", "a program", ("nothing",), "something", without={"killed": "why"},
                 deviations=(Deviation("lossy", "exit status 7", "its own fault"),))

    def complaint(self, condition, problem):
        return systems.complaint(systems.Outcome(self.ROW, condition, problem, 1.0))

    def test_only_the_known_failure_is_none(self):
        self.assertEqual(self.complaint("lossy", "exit status 7\nmore"), "")
        self.assertIn("fails otherwise", self.complaint("lossy", "it hung"))
        self.assertEqual(self.complaint("clean", "exit status 7"), "exit status 7")

    def test_a_failure_that_is_gone_is_told(self):
        self.assertIn("works, and the catalogue", self.complaint("lossy", ""))

    def test_a_row_says_what_comes_of_a_kill(self):
        with self.assertRaises(ValueError):
            System("three", "a program", (), "something").conditions()


class Leavings(unittest.TestCase):
    def test_leavings_of_a_program_are_removed_after_a_failure_too(self):
        with tempfile.TemporaryDirectory() as folder:
            left = os.path.join(folder, "left")
            row = dataclasses.replace(ROW, name="libfabric-info", leaves=(left, os.path.join(folder, "never-there")))

            def fails(*_):
                with open(left, "w", encoding="utf-8"):
                    raise systems.harness.Failure("it failed")
            with unittest.mock.patch.object(systems, "run_scenario", fails):
                outcome = systems.run_one("verbena", row, "clean", folder)
            self.assertEqual(outcome.problem, "it failed")
            self.assertFalse(os.path.exists(left))


class Catalogue(unittest.TestCase):
    def scenarios(self):
        names = {row.name for row in catalogue.ROWS} | {row.killed.file for row in catalogue.ROWS if row.killed}
        return (names | {row.flapping for row in catalogue.ROWS}) - {""}

    def test_rows_and_scenarios_are_the_same(self):
        files = {os.path.basename(path)[:-5] for path in glob.glob(os.path.join(ROOT, systems.SCENARIOS, "*.yaml"))}
        self.assertEqual(files, self.scenarios())

    def test_names_are_there_once_and_files_carry_them(self):
        names = [row.name for row in catalogue.ROWS]
        self.assertEqual(len(names), len(set(names)))
        for row in catalogue.ROWS:
            self.assertEqual(systems.read(row)["name"], row.name)

    def test_every_row_has_its_packages_in_the_set_up(self):
        with open(os.path.join(ROOT, "scripts", "setup.sh"), encoding="utf-8") as file:
            text = file.read()
        short = re.search(r"systems-short\) echo \"([^\"]*)\"", text).group(1).split()
        long = short + re.search(r"systems\) +echo \"\$\(packages_of systems-short\)([^\"]*)\"", text).group(1).split()
        for row in catalogue.ROWS:
            for package in row.packages:
                self.assertIn(package, short if row.short else long, row.name)

    def test_rows_name_programs_and_conditions_that_exist(self):
        for row in catalogue.ROWS:
            self.assertLessEqual({*row.short, *row.without, *(one.condition for one in row.deviations)}, set(conditions.CONDITIONS))
            if row.killed:
                workloads = {one["name"]: one.get("node") for one in systems.read(row, "killed")["workloads"]}
                self.assertLessEqual(set(row.killed.ends), {name for name, node in workloads.items() if node != row.killed.node})
                self.assertTrue(row.killed.ends, row.name)


class Page(unittest.TestCase):
    def text(self, *outcomes):
        return page.text_of([ROW], outcomes, {"one": SCENARIO})

    def test_cells_tell_what_was_run(self):
        good = systems.Outcome(ROW, "clean", "", 1.0)
        text = self.text(good, good._replace(problem="no"), good._replace(condition="udp"))
        self.assertIn("| 1 of 2 | not run | not run | 1 of 1 | not run | not run | not run |", text)
        self.assertIn("2 of 3 runs worked", text)

    def test_commands_can_be_copied(self):
        self.assertIn("build/verbena exec --node 2 -- ask 127.47.91.1", self.text(systems.Outcome(ROW, "clean", "", 1.0)))
        self.assertEqual(subprocess.run(["sh", "-c", "printf %s " + page.quoted(["a b$c'd"])], capture_output=True, check=True).stdout, b"a b$c'd")

    def test_commands_over_rails_have_devices_and_addresses(self):
        over_rails = {"topology": {"rails": 2}, "workloads": [{"name": "client", "node": "n2", "exec": "ask ${n1} ${n1.2}"}]}
        self.assertIn("build/verbena exec --node 2 --devices 2 -- ask 127.47.91.1 127.47.92.1", page.commands(ROW, over_rails))

    def test_what_stands_outside_the_markers_is_kept(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "page.md")
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"before\n{page.BEGIN}\nold\n{page.END}\nafter\n")
            page.rewrite(path, [systems.Outcome(ROW, "clean", "", 1.0)], {"one": SCENARIO})
            with open(path, encoding="utf-8") as file:
                text = file.read()
        self.assertTrue(text.startswith("before\n") and text.endswith("\nafter\n") and "old" not in text, text)


if __name__ == "__main__":
    unittest.main()
