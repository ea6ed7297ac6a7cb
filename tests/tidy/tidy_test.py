#!/usr/bin/env python3
"""Each rule of tidy.py must be able to fail, and must let a clean file pass."""
import unittest

import coverage
import tidy

CLEAN = "// Says what it is.\n#pragma once\n"


class Rules(unittest.TestCase):
    def test_clean_file_passes(self):
        self.assertEqual(tidy.check_text("wire/a.h", CLEAN), [])

    def test_include_to_the_right_is_an_offence(self):
        self.assertTrue(tidy.check_text("wire/a.h", CLEAN + '#include "emulator/nic/nic.h"\n'))
        self.assertTrue(tidy.check_text("emulator/sim/a.h", CLEAN + '#include "emulator/host/link/link.h"\n'))
        self.assertTrue(tidy.check_text("emulator/nic/a.h", CLEAN + '#include "emulator/fabric/fault_plan.h"\n'))

    def test_folders_of_the_host_point_one_way(self):
        link = CLEAN + '#include "emulator/host/link/link.h"\n'
        shm = CLEAN + '#include "emulator/host/link/shm/shm_link.h"\n'
        self.assertTrue(tidy.check_text("emulator/host/os/a.h", link))
        self.assertTrue(tidy.check_text("emulator/host/link/a.h", shm))
        self.assertTrue(tidy.check_text("emulator/host/link/udp/a.h", shm))
        self.assertTrue(tidy.check_text("emulator/host/engine/a.h", shm))
        self.assertEqual(tidy.check_text("emulator/host/link/shm/a.h", link), [])
        self.assertEqual(tidy.check_text("emulator/host/link/link_factory.cc", shm), [])

    def test_lines_have_a_limit(self):
        self.assertEqual(tidy.check_text("wire/a.h", CLEAN + "// " + "x" * 117 + "\n"), [])
        self.assertTrue(tidy.check_text("wire/a.h", CLEAN + "// " + "x" * 118 + "\n"))

    def test_folders_of_the_scenarios_point_one_way(self):
        run = CLEAN + '#include "scenarios/virtual/run_virtual.h"\n'
        outcome = CLEAN + '#include "scenarios/outcome/outcome.h"\n'
        self.assertTrue(tidy.check_text("scenarios/real/a.h", run))
        self.assertTrue(tidy.check_text("scenarios/workload/a.h", run))
        self.assertTrue(tidy.check_text("scenarios/language/a.h", outcome))
        self.assertTrue(tidy.check_text("scenarios/virtual/a.h", CLEAN + '#include "scenarios/search/sweep.h"\n'))
        self.assertEqual(tidy.check_text("scenarios/search/a.h", run), [])
        self.assertEqual(tidy.check_text("scenarios/real/a.h", outcome), [])

    def test_every_folder_with_source_has_a_rule(self):
        self.assertTrue(tidy.check_text("emulator/host/stray.h", CLEAN))
        self.assertTrue(tidy.check_text("scenarios/run/stray.h", CLEAN))

    def test_include_to_the_left_is_none(self):
        self.assertEqual(tidy.check_text("cli/a.h", CLEAN + '#include "emulator/host/link/link.h"\n'), [])

    def test_system_header_in_a_pure_folder_is_an_offence(self):
        self.assertTrue(tidy.check_text("emulator/nic/a.h", CLEAN + "#include <sys/socket.h>\n"))
        self.assertEqual(tidy.check_text("emulator/host/os/a.h", CLEAN + "#include <sys/socket.h>\n"), [])

    def test_clock_in_a_pure_folder_is_an_offence(self):
        self.assertTrue(tidy.check_text("emulator/nic/a.h", CLEAN + "auto t = std::chrono::steady_clock::now();\n"))

    def test_missing_comment_and_guard_are_offences(self):
        self.assertEqual(len(tidy.check_text("wire/a.h", "int a;\n")), 2)

    def test_source_may_leave_the_comment_to_its_header(self):
        self.assertEqual(tidy.check_text("wire/a.cc", '#include "wire/a.h"\n'), [])
        self.assertTrue(tidy.check_text("wire/a.cc", '#include "wire/b.h"\n'))

    def test_marker_and_web_address_are_offences(self):
        self.assertTrue(tidy.check_text("wire/a.cc", CLEAN + "// TO" + "DO later\n"))
        self.assertTrue(tidy.check_text("docs/a.md", "see http" + "://example.org\n"))

    def test_sleeping_test_is_an_offence(self):
        for line in ("std::this_thread::sleep_for(time);", "usleep(1000);", "::sleep(seconds);", "sleep(1);", "nanosleep(&time, nullptr);"):
            self.assertTrue(tidy.check_text("tests/nic/a_test.cc", CLEAN + line + "\n"), line)
        self.assertTrue(tidy.check_text("python/tests/test_a.py", "time.sleep(1)\n"))
        self.assertEqual(tidy.check_text("tests/nic/a_test.cc", CLEAN + 'pair.sleep();\nrun("sleep 60");\n'), [])
        self.assertEqual(tidy.check_text("tests/programs/waiting.py", "time.sleep(1)\n"), [])
        self.assertEqual(tidy.check_text("emulator/host/os/a.cc", CLEAN + "nanosleep(&time, nullptr);\n"), [])

    def test_header_of_one_encapsulation_is_an_offence(self):
        for line in ("packet.ip().source();", "view->ethernet().source;", "wire::Ipv4Layout::parse(octets);", "if (type == wire::kEtherTypeIpv6) return;"):
            self.assertTrue(tidy.check_text("emulator/nic/a.cc", CLEAN + line + "\n"), line)
            for path in ("wire/a.cc", "captures/peel/a.cc", "tests/nic/a_test.cc", "emulator/host/link/udp/a.cc"):
                self.assertEqual(tidy.check_text(path, CLEAN + line + "\n"), [], path)
        self.assertEqual(tidy.check_text("emulator/nic/a.cc", CLEAN + "packet.source();\nwire::EthernetLayout::bytes;\n"), [])

    def test_long_name_of_a_test_is_an_offence(self):
        for case in ("BOOST_AUTO_TEST_CASE({})", "BOOST_FIXTURE_TEST_CASE({}, World)", "BOOST_DATA_TEST_CASE({}, data)"):
            name = "a" * tidy.TEST_NAME_MAX
            self.assertEqual(tidy.check_text("tests/nic/a_test.cc", CLEAN + case.format(name) + " {}\n"), [])
            self.assertTrue(tidy.check_text("tests/nic/a_test.cc", CLEAN + case.format(name + "b") + " {}\n"))
        self.assertTrue(tidy.check_text("python/tests/test_a.py", f"def test_{'a' * tidy.TEST_NAME_MAX}():\n"))

    def test_script_that_cannot_be_run_is_an_offence(self):
        self.assertTrue(tidy.check_mode(False, "#!/bin/sh\n"))
        self.assertTrue(tidy.check_mode(True, "text\n"))
        self.assertEqual(tidy.check_mode(True, "#!/bin/sh\n") + tidy.check_mode(False, "text\n"), [])

    def test_long_file_is_an_offence(self):
        self.assertTrue(tidy.check_text("wire/a.cc", CLEAN + "\n" * tidy.LINES_HARD_MAX))

    def test_long_function_is_an_offence(self):
        body = "  act();\n" * (tidy.FUNCTION_LINES_MAX + 1)
        self.assertTrue(tidy.check_text("wire/a.h", CLEAN + "void act() {\n" + body + "}\n"))
        self.assertTrue(tidy.check_text("wire/a.h", CLEAN + "class A {\n  void act() const {\n" + body + "  }\n};\n"))
        self.assertEqual(tidy.check_text("wire/a.h", CLEAN + "void act() {\n" + body[:-9] + "}\n"), [])

    def test_class_with_many_methods_is_an_offence(self):
        def methods(count):
            return "".join(f"  int method_{number}(int) const;\n" for number in range(count))
        begin = CLEAN + "class A {\n public:\n"
        self.assertTrue(tidy.check_text("wire/a.h", begin + methods(tidy.METHODS_MAX + 1) + "};\n"))
        self.assertTrue(tidy.check_text("wire/a.h", CLEAN + "struct A {\n" + methods(tidy.METHODS_MAX + 1) + "};\n"))
        public = methods(tidy.PUBLIC_METHODS_MAX)
        private = "".join(f"  void private_{number}();\n" for number in range(tidy.METHODS_MAX - tidy.PUBLIC_METHODS_MAX))
        self.assertEqual(tidy.check_text("wire/a.h", begin + public + " private:\n" + private + "};\n"), [])
        self.assertTrue(tidy.check_text("wire/a.h", begin + public + "  int one_more();\n" + " private:\n" + private[:-20] + "};\n"))
        self.assertTrue(tidy.check_text("wire/a.h", begin + public + " private:\n" + private + "  int one_more();\n};\n"))
        # What a class leaves to one within it does not count as its own.
        within = CLEAN + "struct Nic::State {\n" + methods(tidy.METHODS_MAX + 1) + "};\n"
        self.assertTrue(tidy.check_text("wire/a.h", within))

    def test_class_with_a_number_of_its_own_keeps_it(self):
        def nic(count):
            return tidy.check_text("emulator/nic/nic.h", CLEAN + "class Nic {\n public:\n" + "".join(f"  int m_{n}();\n" for n in range(count)) + "};\n")
        own = tidy.METHODS_OF["emulator/nic/nic.h:Nic"]
        self.assertEqual(nic(own), [])
        self.assertTrue(nic(own + 1))
        self.assertTrue(nic(own - 1))

    def test_class_of_python_with_many_methods_is_an_offence(self):
        def text(count):
            return "class A:\n" + "".join(f"    def _m{number}(self):\n        pass\n" for number in range(count))
        self.assertEqual(tidy.check_text("python/verbena/fault.py", text(tidy.METHODS_MAX)), [])
        self.assertTrue(tidy.check_text("python/verbena/fault.py", text(tidy.METHODS_MAX + 1)))

    def test_modules_of_python_point_one_way(self):
        self.assertEqual(tidy.check_text("python/verbena/fabric.py", "from . import processes\nfrom .node import Node\n"), [])
        self.assertTrue(tidy.check_text("python/verbena/program.py", "from .node import Node\n"))
        self.assertTrue(tidy.check_text("python/verbena/node.py", "if TYPE_CHECKING:\n    from .fabric import Fabric\n"))
        self.assertTrue(tidy.check_text("python/verbena/times.py", "from . import processes\n"))
        self.assertTrue(tidy.check_text("python/verbena/stray.py", "import os\n"))

    def test_circle_of_folders_is_an_offence(self):
        self.assertEqual(tidy.circles(tidy.STANDS_ON), [])
        self.assertEqual(tidy.circles({"a": ["b"], "b": ["c"], "c": ["a"], "d": ["a"]}), ["a", "a", "b", "b", "c", "c"])
        # Through a file with a rule of its own.
        self.assertEqual(tidy.circles({"a": [], "a/x.cc": ["a", "b/y.h"], "b": ["a"], "b/y.h": []}), ["a", "b"])
        self.assertEqual(tidy.circles({"a": [], "a/x.cc": ["a/within"], "a/within": ["a"]}), [])


class Coverage(unittest.TestCase):
    """Each file names its test, and none is dead."""
    LISTS = {
        "CMakeLists.txt": "add_subdirectory(wire)\n",
        "wire/CMakeLists.txt": "file(GLOB sources CONFIGURE_DEPENDS *.cc)\n",
        "emulator/CMakeLists.txt": "foreach(folder fabric)\n  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cc)\nendforeach()\n"
                                   "file(GLOB folders LIST_DIRECTORIES true ${CMAKE_CURRENT_SOURCE_DIR}/link/*)\n",
        "tests/CMakeLists.txt": "file(GLOB sources ${folder}/*_test.cc)\nverbena_tests_of(wire verbena::wire)\nlist(APPEND subfolders cli)\n",
        "tests/cli/CMakeLists.txt": "verbena_test(cli_a SOURCES a_test.cc)\nforeach(thing b c)\n  verbena_test(x SOURCES ${thing}_test.cc)\n"
                                    "add_test(NAME x COMMAND d_test.py)\n",
    }

    def of(self, files):
        return coverage.check({**self.LISTS, **files})

    def test_mirrored_test_is_enough(self):
        self.assertEqual(self.of({"wire/a.cc": CLEAN, "tests/wire/a_test.cc": CLEAN}), [])
        self.assertEqual(coverage.mirrors_of("emulator/nic/objects/a"), ["tests/nic/objects/a_test.cc", "tests/nic/a_test.cc"])
        self.assertEqual(coverage.mirrors_of("verbs-shim/verbs/a"), ["tests/shim/verbs/a_test.cc", "tests/shim/a_test.cc"])
        self.assertEqual(coverage.mirrors_of("python/verbena/a"), ["python/tests/test_a.py"])

    def test_file_without_a_test_is_an_offence(self):
        self.assertEqual(len(self.of({"wire/a.cc": CLEAN})), 1)
        python = {"python/verbena/a.py": '"""Says."""\n', "python/verbena/b.py": '"""Says.\n\nTested by: python/tests/test_b.py\n"""\nfrom .a import x\n',
                  "python/tests/test_b.py": "import b\n"}
        self.assertEqual(len(self.of(python)), 1)

    def test_header_and_source_are_one(self):
        user = {"tests/wire/b_test.cc": CLEAN + '#include "wire/a.h"\n', "wire/b.cc": CLEAN}
        header = "// Says.\n// Tested by: tests/wire/b_test.cc\n#pragma once\n"
        self.assertEqual(self.of({"wire/a.h": header, "wire/a.cc": '#include "wire/a.h"\n', **user}), [])

    def test_named_test_has_to_exist(self):
        named = "// Says.\n// Tested by: tests/wire/b_test.cc, tests/wire/c_test.cc\nint a;\n"
        self.assertEqual(len(self.of({"wire/a.cc": named, "tests/wire/b_test.cc": CLEAN, "wire/b.cc": CLEAN})), 1)
        self.assertEqual(len(self.of({"wire/a.cc": named.replace("tests/wire/c_test.cc", "wire/a.cc"), "tests/wire/b_test.cc": CLEAN, "wire/b.cc": CLEAN})), 1)

    def test_name_below_the_first_line_of_code_does_not_count(self):
        self.assertEqual(len(self.of({"wire/a.cc": '// Says.\n#include <cstdio>\n// Tested by: tests/wire/b_test.cc\n', "tests/wire/b_test.cc": CLEAN,
                                      "wire/b.cc": CLEAN})), 1)

    def test_header_that_nobody_includes_is_dead(self):
        alone = {"wire/a.h": CLEAN, "tests/wire/a_test.cc": CLEAN}
        self.assertEqual(len(self.of(alone)), 1)
        self.assertEqual(self.of({**alone, "tests/wire/a_test.cc": CLEAN + '#include "wire/a.h"\n'}), [])

    def test_source_that_no_list_builds_is_dead(self):
        named = "// Says.\n// Tested by: tests/wire/a_test.cc\nint a;\n"
        tested = {"tests/wire/a_test.cc": CLEAN, "wire/a.cc": CLEAN}
        self.assertEqual(self.of({"emulator/fabric/a.cc": named, "emulator/link/udp/a.cc": named, **tested}), [])
        self.assertEqual(len(self.of({"emulator/cm/a.cc": named, **tested})), 1)

    def test_test_that_no_list_builds_is_dead(self):
        self.assertEqual(self.of({"tests/cli/a_test.cc": CLEAN, "tests/cli/c_test.cc": CLEAN, "tests/cli/d_test.py": ""}), [])
        self.assertEqual(len(self.of({"tests/cli/e_test.cc": CLEAN})), 1)
        self.assertEqual(len(self.of({"tests/cli/e_test.py": ""})), 1)
        self.assertEqual(len(self.of({"tests/nic/a_test.cc": CLEAN})), 1)


if __name__ == "__main__":
    unittest.main()
