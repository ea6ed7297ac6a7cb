#!/usr/bin/env python3
"""The Debian package: made of the release build, free of what lintian warns of, and good for a pair of ib_write_bw in a rootless
container within 15 s of being unpacked."""
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
                   "packaging/debian/tests/pairs"]
MINUTE_S = 15  # what a newcomer waits for the first result
SHOW = "grep -E '^(Uid|CapEff|Seccomp):' /proc/self/status; df --output=size -k /dev/shm; ls /dev; ip -o link"


def run(argv, **options):
    return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False, **{"timeout": 150, "text": True, **options})


class Packed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        done = run([MAKE], timeout=240)
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        cls.packages = {os.path.basename(path).split("_")[0]: path for path in done.stdout.split() if path.endswith(".deb")}

    def field(self, name):
        return run(["dpkg-deb", "-f", self.packages["verbena"], name]).stdout.strip()

    def unpack(self):
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
        self.assertEqual(run(["dpkg-deb", "-x", self.packages["verbena"], place + "/root"]).returncode, 0)
        return place, started

    @staticmethod
    def in_container(place, *argv):
        return run([place + "/tests/package/container.sh", place + "/root/usr", place + "/device", *argv])

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
        self.assertNotIn("/work", listed)

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


if __name__ == "__main__":
    unittest.main(verbosity=2)
