#!/usr/bin/env python3
"""Tests of count.py: the model of two caches, what it takes from lackey's trace, and what becomes of a case's counts."""
import os
import stat
import tempfile
import unittest

import count

SHARED = 0x7f00000000  # where side a maps the memory ...
AGAIN = 0x7f80000000   # ... and side b the same
PAGE = 0x7e00000000
MARKERS = {"nobody": 0x1000, "a": 0x1008, "b": 0x1010, "begin": 0x1018, "end": 0x1020}


def a_memory():
    memory = count.SharedMemory()
    for begin in (SHARED, AGAIN):
        assert memory.learn(f"memory {begin} {begin + 0x4000} 0 7 verbena-channel")
    assert memory.learn(f"memory {PAGE} {PAGE + 0x1000} 0 8 verbena-page")
    for name, address in MARKERS.items():
        assert memory.learn(f"marker {address} {name}")
    assert memory.learn("index_bytes 4096")
    return memory


def counted(*steps):
    """The counts of one case: a step is a marker's name, or (load, store or modify; address; size)."""
    counter = count.Counter(a_memory())
    lines = ["I  00400000,4"]
    for step in ("begin", *steps, "end"):
        lines.append(f" S {MARKERS[step]:08x},8" if isinstance(step, str) else f" {step[0]} {step[1]:08x},{step[2]}")
    counter.feed("\n".join(lines).encode())
    return counter.cases[0]


def ring(octet):
    return SHARED + 4096 + octet


class TwoCaches(unittest.TestCase):
    def test_a_line_that_the_other_has_written_is_fetched_once(self):
        counts = counted("a", ("S", ring(0), 8), ("S", ring(8), 8), "b", ("L", ring(0), 4), ("L", ring(60), 4))
        self.assertEqual((counts.fetched, counts.taken, counts.in_vain), ({("b", "ring"): 1}, {}, {}))

    def test_one_s_own_line_and_one_that_nobody_wrote_cost_nothing(self):
        counts = counted("a", ("S", ring(0), 8), ("L", ring(0), 8), ("L", ring(64), 8), "b", ("L", ring(64), 8), ("S", ring(128), 8))
        self.assertEqual((counts.fetched, counts.taken), ({}, {}))

    def test_a_line_that_the_other_looks_at_is_taken_from_it_and_was_fetched_in_vain(self):
        counts = counted("a", ("S", ring(0), 8), "b", ("L", ring(0), 8), "a", ("S", ring(0), 8), "b", ("L", ring(0), 8))
        self.assertEqual((counts.fetched, counts.taken, counts.in_vain),
                         ({("b", "ring"): 2}, {("a", "ring"): 1}, {("b", "ring"): 1}))

    def test_a_line_that_only_the_other_has_is_taken_by_a_store(self):
        counts = counted("a", ("S", ring(0), 8), "b", ("S", ring(0), 8), "b", ("S", ring(0), 8))
        self.assertEqual((counts.fetched, counts.taken, counts.in_vain), ({}, {("b", "ring"): 1}, {}))

    def test_a_read_and_write_in_one_is_both(self):
        counts = counted("a", ("S", ring(0), 8), "b", ("M", ring(0), 8))
        self.assertEqual((counts.fetched, counts.taken), ({("b", "ring"): 1}, {("b", "ring"): 1}))

    def test_an_access_across_lines_touches_all_of_them(self):
        counts = counted("a", ("S", ring(60), 8), "b", ("L", ring(0), 128))
        self.assertEqual(counts.fetched, {("b", "ring"): 2})


class Memory(unittest.TestCase):
    def test_both_mappings_are_the_same_lines(self):
        counts = counted("a", ("S", ring(0), 8), "b", ("L", AGAIN + 4096, 8))
        self.assertEqual(counts.fetched, {("b", "ring"): 1})

    def test_index_and_process_page_are_told_from_the_ring(self):
        counts = counted("a", ("S", SHARED + 64, 8), ("S", PAGE, 4), ("S", ring(0), 8), "b", ("L", SHARED + 64, 8), ("L", PAGE, 4))
        self.assertEqual(counts.fetched, {("b", "index"): 1, ("b", "page"): 1})

    def test_memory_of_one_s_own_and_what_is_nobody_s_turn_do_not_count(self):
        counts = counted("a", ("S", 0x5000, 8), ("S", ring(0), 8), "b", ("L", 0x5000, 8), "nobody", ("L", ring(0), 8))
        self.assertEqual(counts.fetched, {})

    def test_what_comes_before_and_after_a_case_does_not_count_but_is_known(self):
        counter = count.Counter(a_memory())
        store, load = f" S {ring(0):08x},8", f" L {ring(0):08x},8"
        mark = {name: f" S {address:08x},8" for name, address in MARKERS.items()}
        counter.feed("\n".join([mark["a"], store, mark["begin"], mark["b"], load, mark["end"], mark["a"], store, mark["b"],
                                load]).encode())
        self.assertEqual([case.fetched for case in counter.cases], [{("b", "ring"): 1}])


class Cases(unittest.TestCase):
    COUNTS = count.Counts({("b", "ring"): 30, ("a", "ring"): 20, ("a", "index"): 2}, {("a", "ring"): 10, ("b", "page"): 1},
                          {("b", "ring"): 10})

    def test_one_way_tells_there_from_back(self):
        case = count.result("case 10 10 5 0 WRITE 8 B, one by one", self.COUNTS)
        self.assertEqual(case["name"], "WRITE 8 B, one by one")
        figures = [case[key] for key in ("frames_there", "frames_back", "there", "back", "polled", "index", "page", "lines")]
        self.assertEqual(figures, [1, 0.5, 2, 2, 2, 0.2, 0.1, 6.3])

    def test_a_ping_pong_has_one_direction(self):
        case = count.result("case 10 10 10 1 ping-pong", self.COUNTS)
        self.assertEqual([case[key] for key in ("frames_there", "frames_back", "there", "back")], [2, 0, 4, 0])

    def test_the_table_has_a_line_a_case(self):
        lines = count.describe([count.result("case 10 10 5 0 WRITE 8 B, one by one", self.COUNTS)])
        self.assertEqual(lines[2].split()[-3:], ["0.10", "6.30", "4.20"])


class Running(unittest.TestCase):
    def run_script(self, text):
        """Counts a program that stands for valgrind and exchange: a script whose trace goes to descriptor $1."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "script")
            with open(path, "w", encoding="ascii") as file:
                file.write("#!/bin/sh\n" + text)
            os.chmod(path, stat.S_IRWXU)
            count.argv_of, kept = (lambda program, log: [program, str(log)]), count.argv_of
            try:
                return count.run(path)
            finally:
                count.argv_of = kept

    SAYS = "".join(f"echo marker {address} {name}\n" for name, address in MARKERS.items()) + \
        f"echo memory {SHARED} {SHARED + 8192} 0 7 verbena-channel\necho index_bytes 4096\n"

    def trace(self, *lines):
        return "".join(f"echo ' {line}' >&$1\n" for line in lines)

    def test_counts_what_follows_once_the_program_has_been_told_to_go_on(self):
        cases = self.run_script(self.SAYS + "read go\n" + self.trace(
            f"S {MARKERS['begin']:x},8", f"S {MARKERS['a']:x},8", f"S {ring(0):x},8", f"S {MARKERS['b']:x},8", f"L {ring(0):x},8",
            f"S {MARKERS['end']:x},8") + "echo case 1 1 0 0 one message\n")
        self.assertEqual([(case["name"], case["lines"]) for case in cases], [("one message", 1)])

    def test_a_program_that_fails_or_says_nothing_is_an_error(self):
        for text in (self.SAYS + "exit 3\n", self.SAYS + "read go\n", self.SAYS + "read go\necho case 1 1 0 0 uncounted\n"):
            with self.subTest(text), self.assertRaises(count.CountFailed):
                self.run_script(text)


if __name__ == "__main__":
    unittest.main()
