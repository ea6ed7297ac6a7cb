// The words of traffic classes: each is taken, wrong ones say what would be right, and contradictions are found.
#include "emulator/fabric/qos_words.h"

#include <boost/test/unit_test.hpp>

using namespace verbena;
using namespace verbena::fabric;

namespace {

Qos good(std::string_view text) {
  const auto qos = parse_qos(text);
  BOOST_TEST_REQUIRE(qos.ok(), text << ": " << (qos ? "" : qos.error()));
  return *qos;
}
std::string wrong(std::string_view text) {
  const auto qos = parse_qos(text);
  return qos ? std::string("understood") : qos.error();
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_word_is_taken) {
  BOOST_CHECK(good("") == Qos());
  const Qos qos = good(
      "trust=pcp,dscp=26:3+48:6,strict=6+7,weights=0:2+3:5,lossless=3+4,pause=pfc,pause-quanta=100,reaction=3us,"
      "buffer=1MB,xoff=100KB,xon-offset=3KB,headroom=50KB,egress-alpha=1/2,watchdog=200ms,watchdog-restore=1ms,"
      "watchdog-action=forward");
  BOOST_CHECK(qos.trust == Trust::pcp);
  BOOST_TEST(int{qos.class_of_dscp[26]} == 3);
  BOOST_TEST(int{qos.class_of_dscp[27]} == 3);
  BOOST_TEST(int{qos.class_of_dscp[48]} == 6);
  BOOST_TEST(int{qos.strict} == 0xc0);
  BOOST_TEST(qos.weights[0] == 2u);
  BOOST_TEST(qos.weights[1] == 1u);
  BOOST_TEST(qos.weights[3] == 5u);
  BOOST_TEST(int{qos.lossless} == 0x18);
  BOOST_TEST(qos.pause_quanta == 100);
  BOOST_TEST(qos.reaction.ns == 3000);
  BOOST_TEST(qos.buffer_bytes == 1'000'000u);
  BOOST_TEST(qos.xoff.at(12345) == 100'000u);
  BOOST_TEST(qos.xon_offset_bytes == 3000u);
  BOOST_TEST(qos.headroom_bytes == 50'000u);
  BOOST_TEST(qos.egress.at(1000) == 500u);
  BOOST_TEST(qos.watchdog.detect.ns == 200'000'000);
  BOOST_TEST(qos.watchdog.restore.ns == 1'000'000);
  BOOST_TEST(!qos.watchdog.drops);
  BOOST_TEST(good("xoff-alpha=1/8").xoff.at(8000) == 1000u);
  BOOST_TEST(int{good("lossless=all,pause=global").lossless} == 0xff);
  BOOST_TEST(int{good("lossless=none").lossless} == 0);
  BOOST_TEST(parse_qos("cut-through=perhaps").error() == "'cut-through=perhaps': want true or false");
  BOOST_TEST(!good("cut-through=false").cuts_through);
}

BOOST_AUTO_TEST_CASE(what_is_wrong_is_said_with_what_would_be_right) {
  BOOST_TEST(wrong("lossles=3").starts_with("'lossles' is none of trust, dscp, "));
  BOOST_TEST(wrong("lossless").starts_with("'lossless': want classes from 0 to 7"));
  for (
      const char* text :
      {"lossless=8",        "lossless=",   "lossless=3+", "lossless=3;4",        "dscp=64:1",      "dscp=26:8",
       "dscp=26",           "weights=0:0", "trust=cos",   "pause=xoff",          "pause-quanta=0", "pause-quanta=65536",
       "reaction=2ms",      "buffer=1KB",  "xoff=0",      "xoff-alpha=0",        "xoff-alpha=1/0", "xoff-alpha=65",
       "xoff-alpha=1/2000", "headroom=0",  "watchdog=0",  "watchdog-action=stop"})
    BOOST_TEST(wrong(text).find(": want ") != std::string::npos, text << " " << wrong(text));
}

BOOST_AUTO_TEST_CASE(settings_that_contradict_each_other_are_refused) {
  BOOST_TEST(wrong("lossless=3,xoff=10KB,xon-offset=11KB").starts_with("xon would lie below nothing"));
  BOOST_TEST(wrong("buffer=100KB,xoff=200KB").ends_with("nobody would ever be paused"));
  BOOST_TEST(wrong("buffer=100KB,headroom=200KB") == "headroom 200000 is above buffer 100000");
  BOOST_TEST(wrong("pause=global,lossless=3").starts_with("pause: global stops all classes"));
  BOOST_TEST(wrong("watchdog-restore=1ms").ends_with("need watchdog: a time"));
  for (const char* text : {"cut-through=true", "lane-buffer=16KiB", "head-of-queue-life=1ms"})
    BOOST_TEST(wrong(text).starts_with("ports of InfiniBand alone"));
}

BOOST_AUTO_TEST_CASE(headroom_that_is_too_small_is_a_warning) {
  Topology topology = star(2, {});
  topology.qos = good("lossless=3");
  BOOST_TEST(qos_warnings(topology).empty());
  topology.qos = good("lossless=3,headroom=1KB");
  const auto warnings = qos_warnings(topology);
  BOOST_TEST_REQUIRE(warnings.size() == 1u);
  // 100 Gb/s, 500 ns each way: 12,500 octets, twice 4224, and the pause frame.
  BOOST_TEST(warnings[0].starts_with("headroom 1000 is too small: up to 21009 octets come on n1-s1"), warnings[0]);
}
