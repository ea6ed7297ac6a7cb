#!/usr/bin/env python3
"""`make install`: what is installed works from where it lies, also when it was moved, looks at nothing of the source tree or the
build folder, and goes away without taking anybody else's files along."""
import os
import re
import shutil
import socket
import subprocess
import tempfile
import unittest

import pairs

INSTALL = os.path.join(pairs.ROOT, "scripts", "install.sh")
CHECK_PORTABLE = os.path.join(pairs.ROOT, "packaging", "tarball", "check.py")
PREFIX = "/opt/verbena-test"
PROFILED = """topology: {shape: star, hosts: 2}
nic: {profile: connectx}
workloads: [{verb: write, from: n1, to: n2, size: 4KiB, count: 10}]
expect: [data-intact]
"""


PROJECT = r"""cmake_minimum_required(VERSION 3.18)
project(user LANGUAGES NONE)
enable_testing()
find_package(Verbena 0.1 REQUIRED)
"""
PINGPONG = "ibv_rc_pingpong -g 0 -n 200 -c -p {port}"


def run(argv, **options):
    return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False, **options)


def files_below(folder):
    return sorted(os.path.relpath(os.path.join(at, name), folder) for at, _, names in os.walk(folder) for name in names)


class Installation(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.mkdtemp(prefix="verbena-install.")
        self.addCleanup(shutil.rmtree, self.place)
        self.root = self.place + PREFIX
        self.command = self.root + "/bin/verbena"
        self.install()

    def install(self):
        done = run([INSTALL, "install", PREFIX, self.place])
        self.assertEqual(done.returncode, 0, done.stderr)


class Installed(Installation):
    def test_the_list_names_every_file_and_no_other(self):
        with open(self.root + "/lib/verbena/installed-files", encoding="utf-8") as file:
            listed = sorted(file.read().split("\n")[:-1])
        self.assertEqual(listed, sorted(set(files_below(self.root)) - {"lib/verbena/installed-files"}))
        self.assertIn("bin/verbena", listed)
        self.assertNotIn("lib/libibverbs.so.1", listed)  # where a linker looks it would be everybody's

    def test_man_pages_and_completions_are_what_the_command_prints(self):
        expected = {"bash-completion/completions/verbena": ["completion", "bash"],
                    "zsh/vendor-completions/_verbena": ["completion", "zsh"],
                    "fish/vendor_completions.d/verbena.fish": ["completion", "fish"]}
        for page in run([self.command, "help", "--man"]).stdout.split():
            name, section = page.rsplit(".", 1)
            expected[f"man/man{section}/{page}"] = ["help", "--man", name]
        self.assertGreater(len(expected), 10)
        for path, words in expected.items():
            with open(f"{self.root}/share/{path}", encoding="utf-8") as file:
                self.assertEqual(file.read(), run([self.command, *words]).stdout, path)

    def test_pages_show_the_command_as_it_is_typed_here(self):
        texts = {}
        for path in files_below(self.root):
            if path.endswith(".md"):
                with open(f"{self.root}/{path}", encoding="utf-8") as file:
                    texts[path] = file.read()
        self.assertIn("$ verbena exec --node 1", texts["share/doc/verbena/README.md"])
        self.assertIn("share/doc/verbena/docs/reference/commands.md", texts)
        self.assertEqual([path for path, text in texts.items() if "build/verbena exec" in text or "build/verbena run" in text], [])

    def test_a_pair_runs_from_a_moved_tree(self):
        moved = self.place + "/somewhere else"
        os.rename(self.root, moved)
        self.assertGreater(pairs.write_bw(moved + "/bin/verbena"), 0)

    def test_scenarios_are_found_by_name_and_profiles_by_theirs(self):
        scenario = self.place + "/profiled.yaml"
        with open(scenario, "w", encoding="utf-8") as file:
            file.write(PROFILED)
        for name in ("topology-star-switch", "topology-star-switch.yaml", scenario):
            done = run([self.command, "run", "--quiet", name], cwd=self.place)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        wrong = run([self.command, "run", "no-such-scenario"], cwd=self.place)
        self.assertEqual((wrong.returncode, len(wrong.stderr.splitlines())), (2, 1), wrong.stderr)

    def test_installation_reads_nothing_of_the_source_or_build_tree(self):
        trace = self.place + "/trace"
        scenario = self.place + "/profiled.yaml"
        with open(scenario, "w", encoding="utf-8") as file:
            file.write(PROFILED)
        for arguments in (["exec", "--", "ibv_devinfo", "-v"], ["run", "--quiet", scenario], ["run", "--quiet", "topology-star-link"]):
            done = run(["strace", "-f", "-qq", "-e", "trace=%file", "-o", trace, self.command, *arguments], cwd=self.place)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            with open(trace, encoding="utf-8", errors="replace") as file:
                calls = file.read()
            self.assertIn(self.root, calls)  # the trace does see where files are looked for
            self.assertEqual(re.findall(rf".*{re.escape(pairs.ROOT)}.*", calls), [])

    def test_check_of_the_tarball_refuses_this_build_and_says_why(self):
        done = run([CHECK_PORTABLE, self.root])
        self.assertEqual(done.returncode, 1, done.stderr)
        for library in ("libfmt", "libstdc++", "libyaml-cpp", "libisal"):
            self.assertRegex(done.stdout, rf"/bin/verbena: needs {re.escape(library)}")
        self.assertRegex(done.stdout, r"needs GLIBC_2\.3[2-9]")
        self.assertRegex(done.stdout, r"needs GLIBCXX_")
        self.assertRegex(run([CHECK_PORTABLE, self.root + "/share"]).stdout, r"^0 binaries, not 4")

    def test_without_its_libraries_it_says_where_they_belong(self):
        os.remove(self.root + "/lib/verbena/libverbena-path.so")
        done = run([self.command, "exec", "--", "true"])
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (125, 1), done.stderr)
        self.assertIn(self.root + "/bin/../lib/verbena", done.stderr)

    def test_uninstall_leaves_what_others_have(self):
        for name in ("/bin/other", "/share/verbena/scenarios/mine.yaml"):
            with open(self.root + name, "w", encoding="utf-8") as file:
                file.write("mine\n")
        done = run([INSTALL, "uninstall", PREFIX, self.place])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(files_below(self.root), ["bin/other", "share/verbena/scenarios/mine.yaml"])
        again = run([INSTALL, "uninstall", PREFIX, self.place])
        self.assertEqual((again.returncode, len(again.stderr.splitlines())), (1, 1), again.stderr)

    def test_a_new_version_takes_files_of_the_old_one_away(self):
        with open(self.root + "/bin/verbena-of-old", "w", encoding="utf-8") as file:
            file.write("old\n")
        with open(self.root + "/lib/verbena/installed-files", "a", encoding="utf-8") as file:
            file.write("bin/verbena-of-old\n")
        before = files_below(self.root)
        self.install()
        self.assertEqual(files_below(self.root), sorted(set(before) - {"bin/verbena-of-old"}))

    def test_a_list_cannot_lead_out_of_the_prefix(self):
        outside = self.place + "/outside"
        with open(outside, "w", encoding="utf-8") as file:
            file.write("precious\n")
        with open(self.root + "/lib/verbena/installed-files", "a", encoding="utf-8") as file:
            file.write("../../outside\n")
        self.assertNotEqual(run([INSTALL, "uninstall", PREFIX, self.place]).returncode, 0)
        self.assertTrue(os.path.exists(outside))

    def test_wrong_arguments_are_told(self):
        for arguments in ([], ["install"], ["install", "relative", self.place], ["install", "/", self.place], ["remove", PREFIX]):
            done = run([INSTALL, *arguments])
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), f"{arguments}: {done.stderr}")


class FindPackage(Installation):
    """A project of a user, with CTest."""

    def configure(self, tests):
        project = self.place + "/a project"
        os.makedirs(project, exist_ok=True)
        with open(project + "/CMakeLists.txt", "w", encoding="utf-8") as file:
            file.write(PROJECT + tests)
        with open(project + "/mine.yaml", "w", encoding="utf-8") as file:
            file.write(PROFILED)
        return run(["cmake", "-S", project, "-B", project + "/build", f"-DCMAKE_PREFIX_PATH={self.root}"])

    def test_programs_on_nodes_are_tests_of_ctest(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        pingpong = PINGPONG.format(port=port)
        done = self.configure(f"""
verbena_add_test(NAME lossy FAULT "drop 2% opcode=send" COMMAND {pingpong} COMMAND {pingpong} @n1@)
verbena_add_test(NAME fails NODES 3 TOPOLOGY ring COMMAND false)
verbena_add_test(NAME quoted NODES 1 COMMAND sh -c [[test "$1" = 'a "\\ b' && test "$2" = 127.47.91.1]] sh [[a "\ b]] @n1@)
verbena_add_test(NAME ranks NODES 2 COMMAND sh -c "OMPI_COMM_WORLD_RANK=1 ibv_devinfo -v | grep -q 127.47.91.2")
verbena_add_test(NAME written SCENARIO mine.yaml SEED 7)
set_tests_properties(fails PROPERTIES WILL_FAIL ON)
""")
        self.assertEqual(done.returncode, 0, done.stderr)
        tested = run(["ctest", "--test-dir", self.place + "/a project/build", "--output-on-failure"])
        self.assertEqual(tested.returncode, 0, tested.stdout)
        self.assertIn("100% tests passed, 0 tests failed out of 5", tested.stdout)

    def test_what_is_wrong_is_said_when_it_is_configured(self):
        for tests, message in (("verbena_add_test(COMMAND true)", "NAME is missing"),
                               ("verbena_add_test(NAME t NODES 2)", "COMMAND is missing, or SCENARIO"),
                               ("verbena_add_test(NAME t NODES 1 COMMAND true COMMAND true)", "2 commands on 1 nodes"),
                               ("verbena_add_test(NAME t true)", "'true' belongs to no keyword"),
                               ("verbena_add_test(NAME t SCENARIO mine.yaml NODES 2)", "SCENARIO says everything")):
            done = self.configure(tests)
            self.assertEqual(done.returncode, 1)
            self.assertIn(message, " ".join(done.stderr.split()))
        os.remove(self.command)
        done = self.configure("")
        self.assertEqual(done.returncode, 1)
        self.assertIn("there is no command", " ".join(done.stderr.split()))


if __name__ == "__main__":
    unittest.main(verbosity=2)
