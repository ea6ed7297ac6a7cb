#!/usr/bin/env python3
"""Tests of check.py: what it takes from a callgrind dump, and that a count which moves fails, up or down."""
import contextlib
import io
import unittest

import check

DUMP = """# callgrind format
version: 1
desc: Trigger: Client Request: write 64 single post
positions: line
events: Ir
summary: 999

ob=(1) /build/bench/packet_cost
fl=(1) post.cc
fn=(1) post_send
10 100
+2 20
cob=(2) /lib/libc.so.6
cfi=(2) memcpy.S
cfn=(2) memcpy
calls=5 30
11 500
* 7
fi=(3) inlined.h
5 3
fe=(1)
fn=(3) ring(unsigned long)::{lambda()#1}
12 8

ob=(2)
fl=(2)
fn=(2)
30 500

totals: 638
"""


def counts_of(figure):
    counts = check.Counts("/build/bench/packet_cost", "g++ 12.2.0", "-O2 -g1", 10)
    counts.cases["write 64 single"] = {"post": {("/build/bench/packet_cost", "post_send"): figure * 10,
                                                ("/lib/libc.so.6", "memcpy"): 12345}}
    return counts


def offences(figure, baseline):
    with contextlib.redirect_stdout(io.StringIO()):
        return check.compare(counts_of(figure), {"instructions_per_packet": baseline}, check.TOLERANCE)


class Parsing(unittest.TestCase):
    def test_takes_each_function_s_own_instructions_and_not_those_of_its_callees(self):
        label, costs = check.parse_dump(DUMP.splitlines(keepends=True))
        self.assertEqual(label, "write 64 single post")
        self.assertEqual(dict(costs), {("/build/bench/packet_cost", "post_send"): 130,
                                       ("/build/bench/packet_cost", "ring(unsigned long)::{lambda()#1}"): 8,
                                       ("/lib/libc.so.6", "memcpy"): 500})
        self.assertEqual(sum(costs.values()), 638)  # the dump's own total


class Comparing(unittest.TestCase):
    BASELINE = {"write 64 single": {"post": 200.0, "total": 200.0}}

    def test_the_same_count_passes_whatever_the_libraries_take(self):
        self.assertEqual(offences(200, self.BASELINE), [])
        self.assertEqual(offences(209, self.BASELINE), [])

    def test_a_loss_beyond_the_tolerance_fails(self):
        self.assertEqual(len(offences(211, self.BASELINE)), 2)

    def test_a_gain_beyond_the_tolerance_fails(self):
        self.assertEqual(len(offences(189, self.BASELINE)), 2)

    def test_a_short_phase_may_move_by_a_few_instructions(self):
        self.assertFalse(check.leaves_tolerance("post", 13, 10, check.TOLERANCE))
        self.assertTrue(check.leaves_tolerance("post", 15, 10, check.TOLERANCE))
        self.assertTrue(check.leaves_tolerance(check.TOTAL, 13, 10, check.TOLERANCE))

    def test_what_is_on_one_side_only_fails(self):
        self.assertEqual(len(offences(200, {})), 2)
        self.assertEqual(len(offences(200, {**self.BASELINE, "send 64 single": {"post": 1.0}})), 1)
        self.assertEqual(len(offences(200, {"write 64 single": {**self.BASELINE["write 64 single"], "transmit": 1.0}})), 1)


class Compilers(unittest.TestCase):
    def test_the_major_version_decides(self):
        self.assertTrue(check.same_compiler("g++ 12.2.0", "g++ 12.3.1"))
        self.assertFalse(check.same_compiler("g++ 13.1.0", "g++ 12.2.0"))
        self.assertFalse(check.same_compiler("clang Debian Clang 12.0.0", "g++ 12.2.0"))
        self.assertTrue(check.same_compiler("clang Debian Clang 19.1.4 (1)", "clang Debian Clang 19.1.7 (2)"))


if __name__ == "__main__":
    unittest.main()
