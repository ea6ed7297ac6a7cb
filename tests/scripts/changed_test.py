#!/usr/bin/env python3
"""The stage `changed`: what counts as changed, which tests depend on it, and that nothing is no success."""
import os
import select
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts"))

import changed  # noqa: E402
import dependents  # noqa: E402
import small_tree  # noqa: E402

FILES = {
    "wire/a.h": "#pragma once\n",
    "wire/a.cc": '#include "wire/a.h"\n',
    "emulator/fabric/b.h": '// Tested by: tests/nic/far_test.cc, tests/programs/served.py\n#include "wire/a.h"\n',
    "emulator/fabric/b.cc": '#include "emulator/fabric/b.h"\n',
    "tests/wire/a_test.cc": '#include "wire/a.h"\n',
    "tests/fabric/b_test.cc": '#include "emulator/fabric/b.h"\nread("tests/data/one.pcap");\n',
    "tests/nic/far_test.cc": "int far;\n",
    "tests/data/one.pcap": "octets",
    "tests/programs/run.py": "import harness\nimport served\n",
    "tests/programs/served.py": "import harness\n",
    "tests/programs/harness.py": "",
    "tests/programs/matrix.py": "",
}


class Tree(small_tree.SmallTree):
    """A repository with two libraries and three tests, as CMake and CTest would tell of it."""
    files = FILES

    def setUp(self):
        super().setUp()
        self.git("init", "--quiet", "--initial-branch", "main")
        self.git("add", ".")
        self.git("commit", "--quiet", "--message", "first")

        def at(*paths):
            return [os.path.join(self.root, path) for path in paths]

        def target(name, source, dependencies):
            return dependents.Target(name, os.path.join(self.root, "tests"), at(source), at(f"build/tests/{name}"), dependencies)
        self.targets = {"wire": dependents.Target("wire", *at("wire"), at("wire/a.cc"), [], []),
                        "fabric": dependents.Target("fabric", *at("emulator/fabric"), at("emulator/fabric/b.cc"), [], ["wire"]),
                        "test_wire_a": target("test_wire_a", "tests/wire/a_test.cc", ["wire"]),
                        "test_fabric_b": target("test_fabric_b", "tests/fabric/b_test.cc", ["fabric"]),
                        "test_nic_far": target("test_nic_far", "tests/nic/far_test.cc", ["fabric"])}
        self.tests = [dependents.Test(name, ["core"], [], {f"test_{name}"}) for name in ("wire_a", "fabric_b", "nic_far")]
        run = os.path.join(self.root, "tests/programs/run.py")
        self.tests += [dependents.Test(f"programs_{family}", ["programs"], ["python3", run, "--family", family]) for family in ("send", "fabric")]

    def git(self, *words):
        names = ["-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", "-C", self.root, *names, *words], check=True)

    def plan(self, *paths):
        sources = dependents.Sources(self.root, changed.all_files(self.root))
        return changed.make_plan(self.root, paths, sources, self.targets, self.tests, {})

    def test_commits_edits_and_new_files_are_changes(self):
        self.git("checkout", "--quiet", "-b", "work")
        self.write("wire/a.h", "#pragma once  // 1\n")
        self.git("commit", "--quiet", "--all", "--message", "second")
        self.write("wire/a.cc", "// 2\n")
        self.write("wire/new.cc", "// 3\n")
        os.remove(os.path.join(self.root, "tests/data/one.pcap"))
        base, words = changed.base_of(self.root, None)
        self.assertEqual(words, "the merge base with main")
        self.assertEqual(changed.changed_files(self.root, base), ["tests/data/one.pcap", "wire/a.cc", "wire/a.h", "wire/new.cc"])

    def test_base_named_by_the_user_is_taken(self):
        self.write("wire/a.cc", "// 1\n")
        self.git("commit", "--quiet", "--all", "--message", "second")
        base, _ = changed.base_of(self.root, "HEAD~1")
        self.assertEqual(changed.changed_files(self.root, base), ["wire/a.cc"])
        self.assertEqual(changed.changed_files(self.root, changed.base_of(self.root, None)[0]), [])
        with self.assertRaises(SystemExit):
            changed.base_of(self.root, "no-such-commit")

    def test_test_of_the_folder_is_near_and_those_above_are_far(self):
        plan = self.plan("wire/a.cc")
        self.assertEqual((plan.near, plan.far), (["wire_a"], ["fabric_b", "nic_far"]))
        self.assertEqual((plan.format, plan.tidy), (["wire/a.cc"], ["wire/a.cc"]))

    def test_header_counts_for_all_that_include_it(self):
        self.targets["fabric"].dependencies = []  # the include alone
        self.assertEqual(self.plan("wire/a.h").far, ["fabric_b", "nic_far"])
        self.assertEqual(self.plan("emulator/fabric/b.h").near, ["fabric_b", "nic_far"])

    def test_test_named_by_the_file_or_its_header_is_near(self):
        plan = self.plan("emulator/fabric/b.cc")
        self.assertEqual((plan.near, plan.programs), (["fabric_b", "nic_far"], ["programs_fabric"]))

    def test_changed_test_needs_itself_alone(self):
        plan = self.plan("tests/nic/far_test.cc")
        self.assertEqual((plan.near, plan.far, plan.tidy), (["nic_far"], [], []))

    def test_data_count_for_those_that_name_them(self):
        self.assertEqual(self.plan("tests/data/one.pcap").near + self.plan("tests/data/one.pcap").far, ["fabric_b"])

    def test_build_file_counts_for_its_folder(self):
        self.assertEqual(self.plan("emulator/fabric/CMakeLists.txt").far + self.plan("emulator/fabric/CMakeLists.txt").near, ["nic_far", "fabric_b"])
        self.assertEqual(len(self.plan("cmake/options.cmake").far), 3)

    def test_families_of_programs_have_files_of_their_own(self):
        self.assertEqual(self.plan("tests/programs/served.py").programs, ["programs_fabric"])
        self.assertEqual(self.plan("tests/programs/matrix.py").programs, ["programs_send"])
        self.assertEqual(self.plan("wire/a.cc").programs, [])

    def test_page_needs_style_alone(self):
        self.assertTrue(self.plan("docs/a.md").is_empty())


class Verdicts(unittest.TestCase):
    def run_of(self, seconds):
        return changed.Run(os.getcwd(), "build", "build", seconds)

    def test_no_change_is_not_a_success(self):
        with tempfile.TemporaryDirectory() as root:
            for words in (["init", "--quiet", "--initial-branch", "main"],
                          ["-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "--quiet", "--allow-empty", "--message", "first"]):
                subprocess.run(["git", "-C", root, *words], check=True)
            unnamed = {name: value for name, value in os.environ.items() if name != "BASE"}  # that of the run that this test is part of
            done = subprocess.run([sys.executable, "-B", changed.__file__], cwd=root, stdout=subprocess.PIPE, text=True, env=unnamed)
        self.assertEqual(done.returncode, changed.NOTHING)
        self.assertRegex(done.stdout, r"^changed: 0 files differ from \w+, the merge base with main\n.*nothing")

    def test_failure_and_lack_of_time_have_statuses_of_their_own(self):
        plan = changed.Plan([], [], [], False, [], [])
        run = self.run_of(0)
        self.assertEqual(changed.verdict(plan, run), changed.PASSED)
        run.skipped.append("nic_far")
        self.assertEqual(changed.verdict(plan, run), changed.PARTLY)
        self.assertFalse(run.step("fails", ["false"]))
        self.assertEqual(changed.verdict(plan, run), changed.FAILED)

    def test_step_beyond_its_time_is_ended_with_its_children(self):
        run = self.run_of(0)
        with tempfile.TemporaryDirectory() as folder:
            fifo = os.path.join(folder, "open")  # as long as one of them lives
            os.mkfifo(fifo)
            read = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
            self.assertIsNone(run.step("hangs", ["sh", "-c", f"exec 3>{fifo}; tail -f /dev/null & wait"], 0.5))
            ready, _, _ = select.select([read], [], [], 10)
            self.assertTrue(ready and os.read(read, 1) == b"")
            os.close(read)
        self.assertEqual(run.failed, [])

    def test_tests_beyond_the_time_are_named_as_skipped(self):
        run = self.run_of(1e-9)
        run.tests("far", ["a", "b"], {"a": {"x"}, "b": {"y"}}, limited=True)
        self.assertEqual(run.skipped, ["a", "b"])


if __name__ == "__main__":
    unittest.main()
