#!/usr/bin/env python3
"""What abi.py generates and refuses: each rule of the comparison must be able to fail."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "verbs-shim", "abi"))
import abi  # noqa: E402


def symbol(name, version, binding="default"):
    return abi.Symbol(name, version, binding, "function", 0)


SYMBOLS = [symbol("ibv_a", "IBVERBS_1.1"), symbol("ibv_a", "IBVERBS_1.0", "compat"), symbol("ibv_b", "IBVERBS_1.10"),
           symbol("ibv_cmd_c", "IBVERBS_PRIVATE_34")]


class Generated(unittest.TestCase):
    def test_versions_follow_one_another_in_number_order(self):
        script = abi.version_script(SYMBOLS)
        self.assertLess(script.index("IBVERBS_1.1 {"), script.index("IBVERBS_1.10 {"))
        self.assertIn("} IBVERBS_1.1;", script)

    def test_only_stubs_are_left_out_of_the_script(self):
        script = abi.version_script(SYMBOLS)
        self.assertEqual(script.count("ibv_a;"), 1)
        self.assertNotIn("ibv_cmd_c", script)

    def test_a_private_stub_exists_at_every_private_node(self):
        text = abi.stubs(SYMBOLS)
        for node in ["IBVERBS_PRIVATE_34"] + abi.OTHER_PRIVATE_NODES:
            self.assertRegex(text, f"ibv_cmd_c@+{node}\"")

    def test_stubs_refuse_in_the_manner_of_their_type(self):
        self.assertIn("EOPNOTSUPP", abi.stub_body("ibv_cmd_reg_mr")[1])
        self.assertEqual(abi.stub_body("verbs_open_device")[0], "void *")
        self.assertEqual(abi.stub_body("verbs_register_driver_34")[0], "void")


class Compared(unittest.TestCase):
    def compare(self, ours, listed, installed):
        libraries = {"ours": ours, "installed": installed}
        readers = abi.read_library, abi.read_list
        abi.read_library, abi.read_list = libraries.get, lambda path: listed
        try:
            return abi.compare("ours", "list", "installed")
        finally:
            abi.read_library, abi.read_list = readers

    def test_equal_libraries_agree(self):
        self.assertEqual(self.compare(SYMBOLS, SYMBOLS, SYMBOLS), [])

    def test_a_missing_name_is_a_fault(self):
        self.assertTrue(self.compare(SYMBOLS[1:], SYMBOLS, SYMBOLS))

    def test_a_name_at_another_version_is_a_fault(self):
        self.assertTrue(self.compare([symbol("ibv_a", "IBVERBS_1.5")] + SYMBOLS[1:], SYMBOLS, SYMBOLS))

    def test_a_default_name_that_became_compatible_only_is_a_fault(self):
        self.assertTrue(self.compare([symbol("ibv_a", "IBVERBS_1.1", "compat")] + SYMBOLS[1:], SYMBOLS, SYMBOLS))

    def test_an_extra_or_unversioned_name_is_a_fault(self):
        self.assertTrue(self.compare(SYMBOLS + [symbol("ibv_new", "IBVERBS_1.1")], SYMBOLS, SYMBOLS))
        self.assertTrue(self.compare(SYMBOLS + [symbol("helper", "-")], SYMBOLS, SYMBOLS))

    def test_a_name_that_only_the_installed_library_has_is_a_fault(self):
        self.assertTrue(self.compare(SYMBOLS, SYMBOLS, SYMBOLS + [symbol("ibv_newer", "IBVERBS_1.15")]))

    def test_nothing_to_compare_with_is_a_fault(self):
        self.assertTrue(self.compare(SYMBOLS, SYMBOLS, []))


if __name__ == "__main__":
    unittest.main()
