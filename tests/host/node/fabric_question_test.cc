// What the process that serves a fabric says of itself to those that join it.
#include "emulator/host/node/fabric_question.h"

#include <boost/test/unit_test.hpp>

using namespace verbena::host;

BOOST_AUTO_TEST_CASE(a_hello_is_read_as_it_was_written) {
  for (const FabricHello& said :
       {FabricHello{254, std::vector<std::uint64_t>(254, 100'000'000'000), "/dev/shm/a path with blanks"},
        FabricHello{2, {10'000'000'000, 0}, ""}}) {
    const FabricHello heard = parse_hello(to_text(said));
    BOOST_TEST(heard.nodes == said.nodes);
    BOOST_CHECK(heard.port_rates == said.port_rates);
    BOOST_TEST(heard.stats_path == said.stats_path);
  }
}

BOOST_AUTO_TEST_CASE(what_is_no_hello_has_no_nodes) {
  for (const char* text :
       {"", "4", "-1 /dev/shm/x", "4294967296 /dev/shm/x", "four /dev/shm/x", " 4 /dev/shm/x", "4x /dev/shm/x",
        "1 /dev/shm/x", "2 1 /dev/shm/x", "1 1,2 /dev/shm/x", "2 1,x /dev/shm/x", "2 1,-2 /dev/shm/x", "2 1,2"}) {
    BOOST_TEST_CONTEXT("'" << text << "'") {
      BOOST_TEST(parse_hello(text).nodes == 0u);
      BOOST_TEST(parse_hello(text).stats_path.empty());
    }
  }
}
