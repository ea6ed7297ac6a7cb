#!/usr/bin/env python3
"""Tests of machine.py: what it takes from the kernel's words on each kind of processor, and what it makes of it."""
import os
import tempfile
import unittest

import machine

INTEL = """processor\t: 0
vendor_id\t: GenuineIntel
cpu family\t: 6
model\t\t: 207
model name\t: Intel(R) Xeon(R) Processor
stepping\t: 2
flags\t\t: fpu sse4_2 pclmulqdq avx2 erms fsrm hypervisor

processor\t: 1
model name\t: another
"""
ARM = """processor\t: 0
BogoMIPS\t: 243.75
Features\t: fp asimd aes pmull sha1 crc32
CPU implementer\t: 0x41
CPU variant\t: 0x3
CPU part\t: 0xd0c
"""
PROBE = """crc_kernel isa-l
crc_64_ns 8
crc_1024_ns 16
crc_4096_ns 64
copy_4096_ns 40.96
line_one_way_ns 60
line_from_other_core_ns 70
line_from_memory_ns 120
speed_beside 0.99
"""


def a_machine(**changed):
    found = {"cpu": "A (family 1 model 2 stepping 3)", "arch": "x86_64", "flags": ["avx2"], "flags_missing": ["avx512f"],
             "cores": 2, "kernel": "6.1", "hypervisor": "", "load": 0.25, "siblings": False, "shared_caches": ["L3"],
             "ring_gbytes": 12.5, **machine.probe_figures(PROBE)}
    return found | changed


class Processors(unittest.TestCase):
    def test_takes_model_and_flags_of_the_first_core(self):
        model, flags = machine.cpu_of(INTEL, "x86_64")
        self.assertEqual(model, "Intel(R) Xeon(R) Processor (family 6 model 207 stepping 2)")
        self.assertIn("pclmulqdq", flags)
        self.assertNotIn("avx512f", flags)

    def test_takes_what_arm64_says_instead(self):
        self.assertEqual(machine.cpu_of(ARM, "aarch64")[0], "implementer 0x41 part 0xd0c variant 0x3")
        self.assertTrue({"crc32", "pmull"} <= set(machine.cpu_of(ARM, "aarch64")[1]))

    def test_says_which_flags_are_lacking(self):
        found = machine.facts(PROBE, 12.5)
        self.assertEqual(sorted(found["flags"] + found["flags_missing"]), sorted(machine.FLAGS.get(found["arch"], ())))
        self.assertEqual(found["crc_kernel"], "isa-l")
        self.assertEqual(found["crc_4096_ns"], 64)


class Sysfs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, path, text):
        path = os.path.join(self.folder.name, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="ascii") as file:
            file.write(text + "\n")

    def test_lists_of_cores(self):
        self.assertEqual(machine.cores_of("0-2,8"), {0, 1, 2, 8})
        self.assertEqual(machine.cores_of("1"), {1})

    def test_threads_of_one_core(self):
        self.write("cpu0/topology/thread_siblings_list", "0-1")
        self.assertIs(machine.are_siblings(self.folder.name), True)
        self.write("cpu0/topology/thread_siblings_list", "0,2")
        self.assertIs(machine.are_siblings(self.folder.name), False)

    def test_caches_of_both_cores_but_not_those_of_instructions(self):
        for index, (level, kind, cores) in enumerate((("1", "Data", "0"), ("1", "Instruction", "0-1"), ("2", "Unified", "0-1"),
                                                      ("3", "Unified", "0-7"))):
            for name, value in (("level", level), ("type", kind), ("shared_cpu_list", cores)):
                self.write(f"cpu0/cache/index{index}/{name}", value)
        self.assertEqual(machine.shared_caches(self.folder.name), ["L2", "L3"])

    def test_a_kernel_that_says_nothing(self):
        self.assertIsNone(machine.are_siblings(self.folder.name))
        self.assertIsNone(machine.shared_caches(self.folder.name))
        machine.describe(a_machine(siblings=None, shared_caches=None))


class Header(unittest.TestCase):
    def test_says_what_was_measured(self):
        text = "\n".join(machine.describe(a_machine()))
        for words in ("A (family 1 model 2 stepping 3)", "avx2 (not: avx512f)", "hypervisor: none", "load 0.25", "are two cores",
                      "share a cache", "4 KiB 64.0 ns, 64.0 GB/s", "100.0 GB/s", "12.5 GB/s", "60 ns", "isa-l"):
            self.assertIn(words, text)

    def test_tells_threads_of_one_core_and_cores_without_a_common_cache(self):
        text = "\n".join(machine.describe(a_machine(speed_beside=0.55, line_from_other_core_ns=150)))
        self.assertIn("share a core", text)
        self.assertIn("share no cache", text)


class Differences(unittest.TestCase):
    def test_none_between_a_machine_and_itself(self):
        self.assertEqual(machine.differences(a_machine(), a_machine(load=1.2, kernel="6.2")), [])

    def test_each_that_moves_figures(self):
        for key, value in (("cpu", "B"), ("crc_kernel", "vpclmulqdq-avx2"), ("flags", []), ("siblings", True),
                           ("shared_caches", None), (machine.LINE, 91.0), ("load", 9)):
            with self.subTest(key):
                self.assertEqual(len(machine.differences(a_machine(**{key: value}), a_machine())), 1)

    def test_cores_that_moved_during_a_run(self):
        self.assertIsNone(machine.moved(60, 80))
        self.assertIn("60 ns", machine.moved(60, 91))
        self.assertIn("60 ns", machine.moved(60, 39))


if __name__ == "__main__":
    unittest.main()
