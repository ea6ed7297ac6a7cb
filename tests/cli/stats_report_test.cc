// What `verbena exec --stats` prints of the counters of its processes.
#include "cli/exec/stats_report.h"

#include <boost/test/unit_test.hpp>
#include <string>

#include "emulator/host/node/stats_file.h"

using namespace verbena;

BOOST_AUTO_TEST_CASE(posts_that_were_refused_for_want_of_polling_are_explained) {
  cli::StatsReport report;
  BOOST_REQUIRE(report.open("stats-report-test"));
  const auto block = host::StatsBlock::open(report.path(), "stats-report-test", {}, 0);
  BOOST_REQUIRE(block->shared());
  constexpr std::string_view kHint = "completions, not polled, hold the queue's slots";
  BOOST_TEST(report.text("node 1").find(kHint) == std::string::npos);
  block->counters().add(nic::Counter::posts_refused_unpolled, 3);
  const std::string text = report.text("node 1");
  BOOST_TEST(text.find("posts_refused_unpolled") != std::string::npos);
  BOOST_TEST(text.find(kHint) != std::string::npos);
}
