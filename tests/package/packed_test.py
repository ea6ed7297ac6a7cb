#!/usr/bin/env python3
"""The Debian packages: made of the release build, free of what lintian warns of, and good for a pair of ib_write_bw in a rootless
container within 15 s of being unpacked, for programs that embed the library, and for pytest."""
import os
import re
import shutil
import subprocess
import tempfile
import time
import unittest

import pairs

MAKE = os.path.join(pairs.ROOT, "scripts", "package.sh")
CONTAINER_FILES = ["tests/package/container.sh", "tests/package/seccomp_exec.py", "tests/package/pairs.py", "tests/programs/harness.py",
                   "tests/programs/waiting.py", "packaging/debian/tests/pairs"]
TRIPLET = "x86_64-linux-gnu"
MINUTE_S = 15  # what a newcomer waits for the first result
SHOW = "grep -E '^(Uid|CapEff|Seccomp):' /proc/self/status; df --output=size -k /dev/shm; ls /dev; ip -o link"


def run(argv, **options):
    return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False, **{"timeout": 150, "text": True, **options})


# In the container: the examples by CMake and by pkg-config, as a user of the packages compiles them.
EMBED = r"""set -eu
cmake -S /usr/share/doc/verbena/examples -B "$1/by-cmake" > "$1/log" || { cat "$1/log"; exit 1; }
cmake --build "$1/by-cmake" > "$1/log" || { cat "$1/log"; exit 1; }
ctest --test-dir "$1/by-cmake" --output-on-failure
g++ -std=c++20 /usr/share/doc/verbena/examples/go_back_n.cc -o "$1/program" $(pkg-config --cflags --libs libverbena)
"$1/program"
"""
SUITE = """def test_it_has_the_packages_command_and_plugin(verbena_fabric):
    import verbena
    assert verbena.find_command() == "/usr/bin/verbena"
    verbena_fabric.node(1).run(["ibv_devinfo"])
"""
PYTEST = ["/usr/bin/python3", "-B", "-m", "pytest", "-p", "no:cacheprovider", "-q"]


class Packages(unittest.TestCase):
    """What the tests below have in common: the packages, made once, and a place to unpack some of them in."""
    packages = {}

    @classmethod
    def setUpClass(cls):
        if Packages.packages:
            return
        done = run([MAKE], timeout=240)
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        Packages.packages = {os.path.basename(path).split("_")[0]: path for path in done.stdout.split() if path.endswith(".deb")}

    def field(self, name, package="verbena"):
        return run(["dpkg-deb", "-f", self.packages[package], name]).stdout.strip()

    def contents(self, package):
        """Paths of files and links, from /usr on."""
        lines = run(["dpkg-deb", "-c", self.packages[package]]).stdout.splitlines()
        return [line.split()[5][len("./usr/"):] for line in lines if not line.startswith("d")]

    def unpack(self, *packages):
        """In /tmp itself, for a user without privileges has to reach it, and with what the container needs beside it."""
        place = tempfile.mkdtemp(prefix="verbena-packed.", dir="/tmp")
        self.addCleanup(shutil.rmtree, place)
        os.chmod(place, 0o755)
        for name in CONTAINER_FILES:
            os.makedirs(os.path.dirname(os.path.join(place, name)), exist_ok=True)
            shutil.copy(os.path.join(pairs.ROOT, name), os.path.join(place, name))
        os.mkdir(place + "/device")
        os.chmod(place + "/device", 0o777)
        started = time.monotonic()
        for package in packages or ("verbena",):
            self.assertEqual(run(["dpkg-deb", "-x", self.packages[package], place + "/root"]).returncode, 0)
        return place, started

    @staticmethod
    def in_container(place, *argv):
        return run([place + "/tests/package/container.sh", place + "/root/usr", place + "/device", *argv],
                   env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"})


class Packed(Packages):
    def test_lintian_finds_no_error_and_no_warning(self):
        place = os.path.join(pairs.ROOT, "build", "package")
        changes = [os.path.join(place, name) for name in os.listdir(place) if name.endswith(".changes")]
        with tempfile.TemporaryDirectory() as own:  # lintian leaves files behind where it keeps its own
            done = run(["lintian", "--fail-on", "error,warning", "--allow-root", *changes], env={**os.environ, "TMPDIR": own})
        self.assertEqual(len(changes), 1)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_it_needs_nobody_elses_verbs_and_is_nobodys(self):
        depends = self.field("Depends")
        self.assertIn("libc6 (>= ", depends)
        self.assertNotIn("ibverbs", depends)
        control = run(["dpkg-deb", "--ctrl-tarfile", self.packages["verbena"]], text=False).stdout
        self.assertNotIn(b"shlibs", control)
        self.assertNotIn(b"ldconfig", control)

    def test_what_is_private_is_where_no_linker_looks(self):
        listed = run(["dpkg-deb", "-c", self.packages["verbena"]]).stdout
        libraries = [line.split()[5] for line in listed.splitlines() if ".so" in line.split()[5]]
        self.assertEqual(sorted(libraries), ["./usr/lib/verbena/libibverbs.so", "./usr/lib/verbena/libibverbs.so.1",
                                             "./usr/lib/verbena/libverbena-path.so"])
        self.assertNotIn(pairs.ROOT, listed)

    def test_symbols_for_a_debugger_are_in_a_package_of_their_own(self):
        listed = run(["dpkg-deb", "-c", self.packages["verbena-dbgsym"]]).stdout
        self.assertEqual(len(re.findall(r"/\.build-id/.*\.debug$", listed, re.M)), 4)

    def test_the_container_is_what_it_is_said_to_be(self):
        place, _ = self.unpack()
        done = self.in_container(place, "sh", "-c", SHOW)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"Uid:\s+1000\b")
        self.assertRegex(done.stdout, r"CapEff:\s+0{16}\n")
        self.assertRegex(done.stdout, r"Seccomp:\s+2\n")
        self.assertRegex(done.stdout, r"\n\s*65536\n")
        self.assertNotIn("infiniband", done.stdout)
        self.assertEqual(len(re.findall(r"^\d+: ", done.stdout, re.M)), 1)  # loopback

    def test_a_pair_passes_in_a_rootless_container_within_seconds(self):
        place, started = self.unpack()
        done = self.in_container(place, "/usr/bin/python3", "-B", place + "/tests/package/pairs.py", "/usr/bin/verbena")
        took = time.monotonic() - started
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertGreater(float(done.stdout), 0)
        self.assertLess(took, MINUTE_S)
        print(f"from the package to a pair's result: {took:.1f} s")

    def test_its_own_tests_pass_in_a_rootless_container(self):
        place, _ = self.unpack()
        done = self.in_container(place, place + "/packaging/debian/tests/pairs")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("all pairs passed\n", done.stdout)

    def test_without_the_package_there_is_no_pair(self):
        place, _ = self.unpack()
        shutil.rmtree(place + "/root/usr/lib")
        done = self.in_container(place, "/usr/bin/python3", "-B", place + "/tests/package/pairs.py", "/usr/bin/verbena")
        self.assertNotEqual(done.returncode, 0)


class PackedForProgrammers(Packages):
    """libverbena0, libverbena-dev and python3-verbena."""

    def place_with(self, *packages):
        place, _ = self.unpack(*packages)
        os.mkdir(place + "/mine")
        os.chmod(place + "/mine", 0o777)
        return place

    def test_each_package_has_its_files_and_no_other(self):
        self.assertEqual(sorted(path for path in self.contents("libverbena0") if not path.startswith("share/doc/")),
                         [f"lib/{TRIPLET}/libverbena.so.0", f"lib/{TRIPLET}/libverbena.so.0.1.0"])
        development = self.contents("libverbena-dev")
        for path in ("include/verbena/verbena.h", f"lib/{TRIPLET}/libverbena.so", f"lib/{TRIPLET}/pkgconfig/libverbena.pc",
                     "lib/cmake/Verbena/VerbenaLibrary.cmake", "share/doc/verbena/examples/go_back_n.cc"):
            self.assertIn(path, development)
        for path in self.contents("python3-verbena"):
            self.assertRegex(path, r"^(lib/python3/dist-packages/verbena(-0\.1\.0\.dist-info)?/[^/]+|share/doc/python3-verbena/[^/]+)$")
        everything = [path for package in ("verbena", "libverbena0", "libverbena-dev", "python3-verbena") for path in self.contents(package)]
        self.assertEqual(len(everything), len(set(everything)))

    def test_they_depend_on_one_another_as_debian_has_it(self):
        version = self.field("Version")
        self.assertIn(f"libverbena0 (= {version})", self.field("Depends", "libverbena-dev"))
        self.assertIn(f"verbena (= {version})", self.field("Depends", "libverbena-dev").replace("libverbena0 (", ""))
        self.assertNotIn("verbs", self.field("Depends", "libverbena0"))
        self.assertIn(f"verbena (>= {version})", self.field("Depends", "python3-verbena"))
        self.assertEqual(self.field("Recommends", "python3-verbena"), "python3-pytest")
        self.assertEqual(self.field("Architecture", "python3-verbena"), "all")
        self.assertIn(b"libverbena 0 libverbena0",
                      run(["dpkg-deb", "-I", self.packages["libverbena0"], "shlibs"], text=False).stdout)

    def test_examples_build_and_run_with_the_packages_alone(self):
        place = self.place_with("verbena", "libverbena0", "libverbena-dev")
        done = self.in_container(place, "sh", "-c", EMBED, "embed", place + "/mine")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("100% tests passed, 0 tests failed out of 4", done.stdout)
        self.assertIn("4096 octets, intact", done.stdout)

    def test_without_the_development_package_they_are_not(self):
        place = self.place_with("verbena", "libverbena0")
        shutil.copytree(os.path.join(pairs.ROOT, "examples"), place + "/root/usr/share/doc/verbena/examples")
        done = self.in_container(place, "sh", "-c", EMBED, "embed", place + "/mine")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("there is no component 'library' here", " ".join(done.stderr.split()))

    def test_python_finds_the_module_and_pytest_the_plugin(self):
        place = self.place_with("verbena", "python3-verbena")
        with open(place + "/mine/test_mine.py", "w", encoding="utf-8") as file:
            file.write(SUITE)
        done = self.in_container(place, *PYTEST, place + "/mine")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("1 passed", done.stdout)
        shutil.rmtree(place + "/root/usr/lib/python3/dist-packages/verbena-0.1.0.dist-info")
        done = self.in_container(place, *PYTEST, place + "/mine")  # by its metadata alone: this is what finds it
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("fixture 'verbena_fabric' not found", done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
