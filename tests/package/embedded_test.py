#!/usr/bin/env python3
"""`make install`, for programs that use Verbena: the examples are built with CMake and with pkg-config from where it lies, also when it
was moved, and Python finds the module and pytest its plugin."""
import os
import shutil
import subprocess
import tempfile
import unittest

import pairs

INSTALL = os.path.join(pairs.ROOT, "scripts", "install.sh")
PYTHON = "/usr/bin/python3"
PROJECT = """cmake_minimum_required(VERSION 3.18)
project(user LANGUAGES CXX)
find_package(Verbena 0.1 REQUIRED{components})
message(STATUS "library: ${{Verbena_library_FOUND}}")
enable_testing()
verbena_add_test(NAME one NODES 1 COMMAND true)
"""
SUITE = """import verbena
def test_the_command_is_the_one_beside_the_module(verbena_fabric):
    assert verbena.find_command() == {command!r}
    assert verbena_fabric.node(1).run(["ibv_devinfo"]).returncode == 0
"""


def run(argv, **options):
    return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=150, check=False, **options)


def with_variables(**variables):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VERBENA", "PKG_CONFIG"))}
    return {**kept, "PATH": "/usr/bin:/bin", **variables}


class Embedded(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.mkdtemp(prefix="verbena-embedded.")
        self.addCleanup(shutil.rmtree, self.place)
        done = run([INSTALL, "install", "/opt/verbena-test", self.place])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.root = self.place + "/moved somewhere else"
        os.rename(self.place + "/opt/verbena-test", self.root)

    def configure(self, components):
        project = self.place + "/project"
        os.makedirs(project, exist_ok=True)
        with open(project + "/CMakeLists.txt", "w", encoding="utf-8") as file:
            file.write(PROJECT.format(components=components))
        return run(["cmake", "-S", project, "-B", project + "/build", f"-DCMAKE_PREFIX_PATH={self.root}"], env=with_variables())

    def test_the_examples_are_built_by_find_package(self):
        build = self.place + "/build"
        for argv in (["cmake", "-S", self.root + "/share/doc/verbena/examples", "-B", build, f"-DCMAKE_PREFIX_PATH={self.root}"],
                     ["cmake", "--build", build]):
            done = run(argv, env=with_variables())
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        done = run(["ctest", "--test-dir", build, "--output-on-failure"], env=with_variables())
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("100% tests passed, 0 tests failed out of 4", done.stdout)
        needed = run(["ldd", build + "/example_go_back_n"], env=with_variables()).stdout
        self.assertIn(self.root + "/lib/libverbena.so.0", needed)

    def test_an_example_is_built_by_pkg_config(self):
        variables = with_variables(PKG_CONFIG_PATH=self.root + "/lib/pkgconfig", LD_LIBRARY_PATH=self.root + "/lib")
        program = self.place + "/program"
        # A path with blanks comes out of pkg-config quoted, for a shell.
        done = run(["sh", "-c", 'eval g++ -std=c++20 "$1" -o "$2" $(pkg-config --cflags --libs libverbena)', "sh",
                    f"'{self.root}/share/doc/verbena/examples/go_back_n.cc'", program], env=variables)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = run([program], env=variables)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("4096 octets, intact", done.stdout)
        capture = self.place + "/trunk.pcapng"
        done = run(["sh", "-c", 'eval g++ -std=c++20 "$1" -o "$2" $(pkg-config --cflags --libs libverbena) && "$2" "$3"', "sh",
                    f"'{self.root}/share/doc/verbena/examples/lossy_network.cc'", program, capture], env=variables)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        explained = run([self.root + "/bin/verbena", "explain", "--only-problems", capture], env=with_variables())
        self.assertEqual(explained.returncode, 0, explained.stderr)
        self.assertIn("dropped by fault 'drop 2%'", explained.stdout)

    def test_ctest_tests_are_there_without_the_library(self):
        done = self.configure("")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("library: TRUE", done.stdout)
        os.remove(self.root + "/lib/cmake/Verbena/VerbenaLibrary.cmake")
        shutil.rmtree(self.place + "/project")
        done = self.configure("")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("library: FALSE", done.stdout)
        tested = run(["ctest", "--test-dir", self.place + "/project/build"], env=with_variables())
        self.assertEqual(tested.returncode, 0, tested.stdout)
        done = self.configure(" COMPONENTS library")
        self.assertEqual(done.returncode, 1)
        self.assertIn("there is no component 'library' here", " ".join(done.stderr.split()))

    def test_python_finds_the_module_and_pytest_the_plugin(self):
        modules = self.root + "/lib/python3/dist-packages"
        suite = self.place + "/test_mine.py"
        with open(suite, "w", encoding="utf-8") as file:
            file.write(SUITE.format(command=self.root + "/bin/verbena"))
        argv = [PYTHON, "-B", "-m", "pytest", "-p", "no:cacheprovider", "-q", suite]
        done = run(argv, env=with_variables(PYTHONPATH=modules), cwd=self.place)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("1 passed", done.stdout)
        done = run(argv, env=with_variables(), cwd=self.place)
        self.assertNotEqual(done.returncode, 0)

    def test_what_python_has_compiled_goes_with_the_module(self):
        done = run([PYTHON, "-c", "import verbena"], env=with_variables(PYTHONPATH=self.root + "/lib/python3/dist-packages"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(os.path.isdir(self.root + "/lib/python3/dist-packages/verbena/__pycache__"))
        done = run([INSTALL, "uninstall", self.root])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([name for _, _, names in os.walk(self.root) for name in names], [])
        self.assertEqual(os.listdir(self.root + "/lib/python3/dist-packages"), [])
        self.assertNotIn("verbena", os.listdir(self.root + "/include"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
