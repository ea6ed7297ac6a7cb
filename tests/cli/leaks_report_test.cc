// What `verbena exec --leaks` makes of the reports of its programs.
#include "cli/exec/leaks_report.h"

#include <boost/test/unit_test.hpp>
#include <fstream>

using namespace verbena;

BOOST_AUTO_TEST_CASE(nobody_judged_is_not_clean) {
  cli::LeaksReport report;
  BOOST_REQUIRE(report.open());
  BOOST_TEST(!report.judge().is_clean);
  BOOST_TEST(report.judge().text.find("were not judged") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(one_process_of_several_that_has_left_something_is_enough) {
  cli::LeaksReport report;
  BOOST_REQUIRE(report.open());
  std::ofstream(report.path(), std::ios::app) << "verbena-leaks 71 0 5\n";
  BOOST_TEST(report.judge().is_clean);
  BOOST_TEST(report.judge().text == "verbena: process 71 has destroyed all that it made (5 objects)\n");
  std::ofstream(report.path(), std::ios::app) << "verbena-leaks 72 1 3\n  QP, made by\n    main at prog+0x12\n";
  std::ofstream(report.path(), std::ios::app) << "verbena-leaks 73 0 1\n";
  BOOST_TEST(!report.judge().is_clean);
  BOOST_TEST(
      report.judge().text.ends_with("verbena: process 72 has left 1 of 3 objects\n  QP, made by\n"
                                    "    main at prog+0x12\nverbena: process 73 has destroyed all that it made (1 "
                                    "object)\n"));
}
