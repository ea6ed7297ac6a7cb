// The factory: every kind of link by its name, and one clear line for what is not one.
#include "emulator/host/link/link_factory.h"

#include <boost/test/unit_test.hpp>
#include <string>

#include "tests/host/link/link_frames.h"

using namespace verbena;
using namespace verbena::host;
using namespace verbena::host::test;

namespace {

EngineConfig config_of(const std::string& link) {
  EngineConfig config;
  config.fabric = "link-factory-test";
  config.address = node(221);
  config.link = link;
  return config;
}

std::string error_of(const std::string& link) {
  const auto opened = open_link(config_of(link));
  return opened.ok() ? std::string("it opened") : opened.error();
}

}  // namespace

BOOST_AUTO_TEST_CASE(shm_and_udp_open_by_name_and_carry_a_frame_to_themselves) {
  for (const char* const kind : {"shm", "udp"}) {
    BOOST_TEST_CONTEXT(kind) {
      auto opened = open_link(config_of(kind));
      BOOST_REQUIRE_MESSAGE(opened.ok(), (opened.ok() ? "" : opened.error()));
      Link& link = *opened->link;
      const FrameRequest request{.source = node(221),
                                 .destination = node(221),
                                 .qpn = wire::Qpn(qpn_base_of(opened->slot).value() + 0x11),
                                 .psn = 9,
                                 .payload_bytes = 500};
      BOOST_REQUIRE(commit(link, request));
      link.publish();
      link.flush();
      Collector collector;
      BOOST_REQUIRE(until([&] { return !collector.frames.empty(); }, [&] { pump(link, collector); }));
      BOOST_TEST(collector.frames[0] == build(request));
    }
  }
}

BOOST_AUTO_TEST_CASE(unknown_kinds_are_refused_in_one_line) {
  const std::string rule = "want shm, fabric, udp or raw:INTERFACE";
  BOOST_TEST(error_of("") == "unknown link '': " + rule);
  BOOST_TEST(error_of("infiniband") == "unknown link 'infiniband': " + rule);
  BOOST_TEST(error_of("smh") == "unknown link 'smh': " + rule + "; did you mean 'shm'?");
  BOOST_TEST(error_of("udp:eth0") == "unknown link 'udp:eth0': " + rule + "; did you mean 'udp'?");
  for (const std::string half : {"raw", "raw:"})
    BOOST_TEST(error_of(half.c_str()) == "unknown link '" + half + "': " + rule + "; did you mean 'raw:INTERFACE'?");
  BOOST_TEST(error_of("raw:nosuch0") == "there is no interface nosuch0");
}
