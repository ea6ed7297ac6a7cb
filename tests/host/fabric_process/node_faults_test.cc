// Faults of verbs that are said of nodes: their programs are told, and the command waits until they have heard.
#include "emulator/host/fabric_process/node_faults.h"

#include <boost/test/unit_test.hpp>

#include "emulator/fabric/rails.h"
#include "tests/host/fabric_process/plugged_in.h"

using namespace verbena;
using namespace verbena::host;
using namespace verbena::host::test;

namespace {

const FabricWords kFails{"n1", "fail", "verb=reg_mr"};

bool is_told(Uplink& uplink) {
  return until(
      [&] {
        for (auto notice = uplink.link->take_notice(); notice; notice = uplink.link->take_notice())
          if (*notice == Notice::faults_changed) return true;
        return false;
      },
      [&] { uplink.pass(uplink); });
}
void say_heard(Uplink& uplink, std::uint32_t sequence) {
  dynamic_cast<LastWordsCarrier&>(*uplink.link).heard(sequence);
}
std::uint32_t unheard(const Served& fabric) {
  const FabricSnapshot seen = fabric.look();
  BOOST_REQUIRE(seen.faults.size() == 1u);
  return seen.faults[0].unheard;
}

}  // namespace

BOOST_AUTO_TEST_CASE(who_has_not_heard_is_waited_for_and_counted) {
  const Served fabric(fabric::star(2, kFast));
  Uplink first(fabric, 1);
  Uplink second(fabric, 1);
  Uplink elsewhere(fabric, 2);
  BOOST_REQUIRE(first.send(elsewhere, 1, 1, 1));
  BOOST_REQUIRE(second.send(elsewhere, 1, 1, 2));
  const Time before = clock_now();
  BOOST_TEST(fabric.ask(kFails) == "1");
  BOOST_TEST((clock_now() - before).ns >= milliseconds(900).ns);  // nobody has said anything
  BOOST_TEST(unheard(fabric) == 2u);
  BOOST_TEST(is_told(first));
  VerbFaultReader reader(fabric.name, 1);
  const auto seen = reader.look();
  BOOST_REQUIRE(seen.faults.size() == 1u);
  BOOST_TEST(seen.faults[0].text == "fail verb=reg_mr");
  BOOST_TEST(VerbFaultReader(fabric.name, 2).look().faults.empty());
  say_heard(first, seen.sequence);
  BOOST_TEST(until([&] { return unheard(fabric) == 1u; }, [] {}));
  say_heard(second, seen.sequence - 2);  // of the list before
  say_heard(second, seen.sequence);
  BOOST_TEST(until([&] { return unheard(fabric) == 0u; }, [] {}));
  reader.add_hit(1, seen.faults[0].place);
  BOOST_TEST(fabric.ask({"list"}) == "1  n1  fail verb=reg_mr  (1 hits)\n");
}

BOOST_AUTO_TEST_CASE(a_fault_is_of_nodes_with_all_their_rails) {
  const Served fabric(*fabric::with_rails(fabric::star(3, kFast), {.rails = 2}));
  BOOST_TEST(fabric.ask({"n1,n3", "fail", "verb=reg_mr"}) == "1");
  BOOST_TEST(fabric.ask({"add", "all", "delay", "verb=reg_mr", "by=1ms"}) == "2");
  BOOST_TEST(VerbFaultReader(fabric.name, 2).look().faults.size() == 1u);
  BOOST_TEST(VerbFaultReader(fabric.name, 3).look().faults.size() == 2u);
  BOOST_TEST(fabric.ask({"n1.2", "fail", "verb=reg_mr"}) ==
             "refused: a fault of verbs is of a node: write n1, and device=1 for this rail alone");
  BOOST_TEST(fabric.ask({"remove", "1"}) == "0");
  BOOST_TEST(VerbFaultReader(fabric.name, 3).look().faults.size() == 1u);
  BOOST_TEST(fabric.ask({"clear"}) == "");
  BOOST_TEST(VerbFaultReader(fabric.name, 3).look().faults.empty());
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused) {
  const Served fabric(fabric::star(2, kFast));
  for (std::size_t i = 0; i < VerbFaultList::kEntries / 2; ++i)
    BOOST_REQUIRE(fabric.ask({"all", "fail", "verb=reg_mr"}) == std::to_string(i + 1));
  BOOST_TEST(fabric.ask(kFails).starts_with("refused: there are 256 faults of verbs already"));
  fabric.ask({"clear"});
  BOOST_TEST(fabric.ask(kFails) == std::to_string(VerbFaultList::kEntries / 2 + 1));
}

BOOST_AUTO_TEST_CASE(the_list_goes_with_the_fabric) {
  std::string name;
  {
    const Served fabric(fabric::star(2, kFast));
    name = fabric.name;
    BOOST_TEST(VerbFaultReader(name, 1).look().sequence == 0u);  // there was no fault yet
    fabric.ask(kFails);
    BOOST_TEST(VerbFaultReader(name, 1).look().sequence != 0u);
  }
  BOOST_TEST(VerbFaultReader(name, 1).look().sequence == 0u);
}
