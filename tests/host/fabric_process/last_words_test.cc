// What the kernel of a killed process says goes the way of frames: a dead cable, a partition and a rule keep it, and a
// node that has crashed says nothing.
#include <boost/test/unit_test.hpp>
#include <vector>

#include "tests/host/fabric_process/plugged_in.h"

using namespace verbena;
using namespace verbena::host;
using namespace verbena::host::test;

namespace {

/// Of node 2 to node 1, told by the latter.
void tell(Uplink& survivor, std::uint32_t psn, std::uint8_t slot = 0) {
  const FrameRequest word{
      .source = node(2), .destination = node(1), .qpn = wire::kGsiQpn, .psn = psn, .payload_bytes = 256};
  auto* const carrier = dynamic_cast<LastWordsCarrier*>(survivor.link.get());
  BOOST_REQUIRE(carrier != nullptr);
  carrier->carry(slot, build(word));
}
bool hears(Uplink& survivor, std::size_t wanted) {
  return until([&] { return survivor.collector.frames.size() >= wanted; }, [&] { survivor.pass(survivor); });
}
/// Whoever tells of another has spoken with it, so its own way to the fabric is open.
void speak(Uplink& survivor, Uplink& to) {
  BOOST_REQUIRE(survivor.send(to, 1, 1, 1));
}
/// A process stands on node 2 and is killed.
void live_and_die(const Served& fabric, Uplink& survivor, const std::optional<FabricRequest>& before_death = {}) {
  Uplink killed(fabric, 2);
  speak(survivor, killed);
  BOOST_REQUIRE(killed.send(survivor, 7, 7, survivor.collector.frames.size() + 1));
  if (before_death) BOOST_REQUIRE(fabric.ask(*before_death) == "");
}

}  // namespace

BOOST_AUTO_TEST_CASE(last_word_of_a_killed_process_arrives_behind_its_frames) {
  const Served fabric(fabric::star(2, kFast));
  Uplink survivor(fabric, 1);
  live_and_die(fabric, survivor);
  tell(survivor, 8);
  BOOST_REQUIRE(hears(survivor, 2));
  BOOST_TEST(psn_of(survivor.collector.frames[0]) == 7u);
  BOOST_TEST(psn_of(survivor.collector.frames[1]) == 8u);
  BOOST_TEST(fabric.frames_on("n2->s1") == 2u);
}

BOOST_AUTO_TEST_CASE(last_word_is_lost_at_dead_cables_partitions_and_rules) {
  const std::vector<std::pair<FabricWords, FabricWords>> faults = {
      {{"link-down", "n2-s1"}, {"link-up", "n2-s1"}},
      {{"link-down", "n1-s1"}, {"link-up", "n1-s1"}},
      {{"partition", "n1", "n2"}, {"heal", "n1", "n2"}},
      {{"add", "all", "drop"}, {"clear"}},
  };
  for (const auto& [wound, mend] : faults) {
    BOOST_TEST_CONTEXT(wound[0]) {
      const Served fabric(fabric::star(2, kFast));
      Uplink survivor(fabric, 1);
      live_and_die(fabric, survivor);
      const std::string done = fabric.ask(wound);
      BOOST_REQUIRE_MESSAGE(!done.starts_with("refused"), done);
      tell(survivor, 8);
      fabric.look();  // what was told before has been heard
      fabric.look();
      BOOST_REQUIRE(!fabric.ask(mend).starts_with("refused"));
      tell(survivor, 9);
      BOOST_REQUIRE(hears(survivor, 2));
      BOOST_TEST(psn_of(survivor.collector.frames[1]) == 9u);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_node_that_crashes_says_nothing_also_when_it_is_back) {
  const Served fabric(fabric::star(2, kFast));
  Uplink survivor(fabric, 1);
  live_and_die(fabric, survivor, SetNodePower{{1}, NodePower::crashing});
  BOOST_REQUIRE(fabric.ask(SetNodePower{{1}, NodePower::on}) == "");
  tell(survivor, 8);
  live_and_die(fabric, survivor);
  tell(survivor, 9);
  BOOST_REQUIRE(hears(survivor, 3));
  BOOST_TEST(psn_of(survivor.collector.frames[2]) == 9u);
}

BOOST_AUTO_TEST_CASE(nobody_is_told_last_words_in_the_name_of_another_node) {
  const Served fabric(fabric::star(3, kFast));
  Uplink survivor(fabric, 1);
  Uplink liar(fabric, 3);
  speak(survivor, liar);
  BOOST_REQUIRE(liar.send(survivor, 7, 7, 1));
  tell(liar, 8);  // it is for node 1
  fabric.look();
  fabric.look();
  tell(survivor, 9);
  BOOST_REQUIRE(hears(survivor, 2));
  BOOST_TEST(psn_of(survivor.collector.frames[1]) == 9u);
}
