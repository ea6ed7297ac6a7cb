// What processes of a served fabric hear of their node's port, and what becomes of their traffic meanwhile.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <vector>

#include "tests/host/engine/engine_node.h"
#include "tests/host/fabric_process/served.h"
#include "tests/support/waiting.h"

using namespace verbena;
using namespace verbena::host;
using namespace verbena::host::test;
using nic::AsyncEventType;
using nic::CompletionStatus;
using nic::Counter;
using nic::SendOpcode;
using verbena::waiting::wait_until;

namespace {

using Events = std::vector<AsyncEventType>;
constexpr AsyncEventType kDown = AsyncEventType::port_error;
constexpr AsyncEventType kUp = AsyncEventType::port_active;

EngineConfig plugged(std::uint8_t number, const Served& fabric, bool thread = true) {
  EngineConfig config = engine_config(number, fabric.name, thread);
  config.link = "fabric";
  return config;
}

bool hears(EngineNode& node, const Events& wanted) {
  return wait_until([&] { return node.events() == wanted; });
}
bool port_is_up(EngineNode& node) {
  return node.engine->run([](nic::Nic& nic, Time) { return nic.config().port(1).is_up; });
}
nic::QpState state_of(EngineNode& node) {
  return node.engine->run([&](nic::Nic& nic, Time) { return nic.query_qp(node.qp)->state; });
}
std::uint64_t count(const EngineNode& node, Counter counter) {
  return node.engine->counters().get(counter);
}

bool is_up(const Served& fabric, std::size_t node) {
  return fabric.stat().at("nodes").at(node - 1).at("up");
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_process_of_a_node_hears_its_port_go_down_and_up) {
  const Served fabric(fabric::star(2, kFast));
  const std::vector<std::pair<FabricWords, FabricWords>> faults = {
      {{"link-down", "n1-s1"}, {"link-up", "n1-s1"}},
      {{"port-error", "n1"}, {"port-active", "n1"}},
      {{"port-error", "n1"}, {"link-up", "n1-s1"}},
      {{"switch-crash", "s1"}, {"switch-restart", "s1"}},
  };
  for (const auto& [wound, mend] : faults) {
    BOOST_TEST_CONTEXT(wound[0] + " " + wound[1]) {
      EngineNode one(1, plugged(1, fabric));
      EngineNode sibling(1, plugged(1, fabric));
      EngineNode two(2, plugged(2, fabric));
      BOOST_TEST(fabric.ask(wound) == "");
      BOOST_TEST(!is_up(fabric, 1));
      BOOST_TEST((hears(one, {kDown}) && hears(sibling, {kDown})));
      BOOST_TEST((!port_is_up(one) && !port_is_up(sibling)));
      BOOST_TEST(fabric.ask(mend) == "");
      BOOST_TEST((hears(one, {kDown, kUp}) && hears(sibling, {kDown, kUp})));
      BOOST_TEST((port_is_up(one) && port_is_up(sibling)));
      BOOST_TEST(count(one, Counter::link_downed) == 1u);
      if (wound[0] == "switch-crash") BOOST_TEST(hears(two, {kDown, kUp}));
      BOOST_TEST((wound[0] == "switch-crash" || two.events().empty()));
    }
  }
}

BOOST_AUTO_TEST_CASE(one_dead_direction_is_noticed_by_nobody) {
  const Served fabric(fabric::star(2, kFast));
  EngineNode one(1, plugged(1, fabric));
  BOOST_TEST(fabric.ask({"link-down", "n1->s1"}) == "");
  BOOST_TEST(is_up(fabric, 1));
  BOOST_TEST(fabric.ask({"link-down", "s1->n1"}) == "");
  BOOST_TEST(fabric.ask({"link-up", "s1->n1"}) == "");
  BOOST_TEST(hears(one, {kDown, kUp}));
}

BOOST_AUTO_TEST_CASE(who_comes_while_it_is_down_knows_it_from_the_start) {
  const Served fabric(fabric::star(2, kFast));
  BOOST_TEST(fabric.ask({"port-error", "n1"}) == "");
  EngineNode one(1, plugged(1, fabric));
  EngineNode two(2, plugged(2, fabric));
  BOOST_TEST(!port_is_up(one));
  BOOST_TEST(port_is_up(two));
  BOOST_TEST(fabric.ask({"port-active", "n1"}) == "");
  BOOST_TEST(hears(one, {kUp}));
  BOOST_TEST(port_is_up(one));
  BOOST_TEST(count(one, Counter::link_downed) == 0u);  // none that it has seen
  BOOST_TEST(two.events().empty());
}

BOOST_AUTO_TEST_CASE(work_posted_while_the_port_is_down_arrives_if_it_is_back) {
  const Served fabric(fabric::star(2, kFast));
  EngineNode one(1, plugged(1, fabric));
  EngineNode two(2, plugged(2, fabric));
  connect(one, two, 17);  // 0.54 s, eight times
  BOOST_TEST(fabric.ask({"port-error", "n2"}) == "");
  BOOST_TEST(hears(two, {kDown}));
  one.buffer[0] = 42;
  BOOST_TEST(one.post(SendOpcode::rdma_write, 4096));
  BOOST_TEST(wait_until([&] { return count(one, Counter::local_ack_timeout_err) != 0; }));
  BOOST_TEST((state_of(one) == nic::QpState::rts && state_of(two) == nic::QpState::rts));
  BOOST_TEST(fabric.ask({"port-active", "n2"}) == "");
  const auto done = one.poll(1);
  BOOST_REQUIRE(done.size() == 1u);
  BOOST_TEST((done[0].status == CompletionStatus::success));
  BOOST_TEST(std::atomic_ref(two.buffer[0]).load() == 42u);
  BOOST_TEST(hears(two, {kDown, kUp}));
  BOOST_TEST(one.events().empty());
}

BOOST_AUTO_TEST_CASE(a_port_that_stays_down_costs_the_connection) {
  const Served fabric(fabric::star(2, kFast));
  EngineNode one(1, plugged(1, fabric));
  EngineNode two(2, plugged(2, fabric));
  connect(one, two, 8);  // 1 ms, eight times
  BOOST_TEST(fabric.ask({"port-error", "n1"}) == "");
  BOOST_TEST(hears(one, {kDown}));
  BOOST_TEST(one.post(SendOpcode::rdma_write, 4096));
  const auto failed = one.poll(1);
  BOOST_REQUIRE(failed.size() == 1u);
  BOOST_TEST((failed[0].status == CompletionStatus::retry_exceeded));
  BOOST_TEST(fabric.ask({"port-active", "n1"}) == "");
  BOOST_TEST(hears(one, {kDown, kUp}));
  BOOST_TEST((state_of(one) == nic::QpState::error));
  BOOST_TEST((state_of(two) == nic::QpState::rts));
}

BOOST_AUTO_TEST_CASE(flaps_are_told_one_by_one) {
  const Served fabric(fabric::star(2, kFast));
  EngineNode one(1, plugged(1, fabric));
  Events wanted;
  for (int i = 0; i < 50; ++i) {
    BOOST_TEST(fabric.ask({"link-down", "n1-s1"}) == "");
    BOOST_TEST(fabric.ask({"link-up", "n1-s1"}) == "");
    wanted.insert(wanted.end(), {kDown, kUp});
  }
  BOOST_TEST(hears(one, wanted));
  BOOST_TEST(count(one, Counter::link_downed) == 50u);
}

BOOST_AUTO_TEST_CASE(who_has_stood_still_for_very_many_flaps_knows_how_it_is_now) {
  const Served fabric(fabric::star(2, kFast));
  EngineNode one(1, plugged(1, fabric, false));
  one.engine->progress();
  // The first notices fill what holds them, and the last one that found room may be of either kind.
  for (const bool ends_up : {true, false, true}) {
    for (int i = 0; i < 400; ++i) {
      BOOST_REQUIRE_EQUAL(fabric.ask({ends_up ? "port-error" : "port-active", "n1"}), "");
      BOOST_REQUIRE_EQUAL(fabric.ask({ends_up ? "port-active" : "port-error", "n1"}), "");
    }
    for (int i = 0; i < 1000; ++i) one.engine->progress();
    BOOST_TEST(port_is_up(one) == ends_up);
    const Events heard = one.events();
    BOOST_TEST((std::adjacent_find(heard.begin(), heard.end()) == heard.end()));  // by turns
  }
}

BOOST_AUTO_TEST_CASE(ended_fabric_takes_the_signal_and_the_next_brings_it_back) {
  Served fabric(fabric::star(2, kFast));
  EngineNode one(1, plugged(1, fabric));
  EngineNode two(2, plugged(2, fabric));
  connect(one, two, 18);
  fabric.end();
  BOOST_TEST((hears(one, {kDown}) && hears(two, {kDown})));
  const Served next(fabric::star(2, kFast), milliseconds(1), fabric.name);
  for (EngineNode* node : {&one, &two}) BOOST_TEST(node->post(SendOpcode::rdma_write, 8));  // plugs it in
  BOOST_TEST((hears(one, {kDown, kUp}) && hears(two, {kDown, kUp})));
  for (EngineNode* node : {&one, &two}) {
    const auto done = node->poll(1);
    BOOST_REQUIRE(done.size() == 1u);
    BOOST_TEST((done[0].status == CompletionStatus::success));
  }
}

BOOST_AUTO_TEST_CASE(wrong_words_are_refused) {
  const Served fabric(fabric::star(2, kFast));
  const std::string no_node = "' is not a node of this fabric, nor several with commas";
  BOOST_TEST(fabric.ask({"port-error", "n1,s1"}) == "refused: 'n1,s1" + no_node);
  BOOST_TEST(fabric.ask({"port-active", "n3"}) == "refused: 'n3" + no_node + "; did you mean 'n1'?");
  BOOST_TEST(fabric.ask({"switch-crash", "s2"}).ends_with("; did you mean 's1'?"));
  BOOST_TEST(fabric.ask({"link-down", "n1-s9"}).ends_with("; did you mean 'n1-s1'?"));
  BOOST_TEST(fabric.ask({"add", "n2->s9", "drop", "1%"}).ends_with("; did you mean 'n2->s1'?"));
  BOOST_TEST(fabric.ask({"link-down", "n3"}).starts_with("refused: there is no node, switch or link 'n3': write n1, "));
  BOOST_TEST(fabric.ask({"link-up", "trunks"}) == "refused: this fabric has no trunks");
  BOOST_TEST(fabric.ask({"add", "all", "drop", "1%", "dir=rx"}).starts_with("refused: 'all': dir= has no meaning"));
  BOOST_TEST(fabric.ask({"port-error"}) == "refused: that is not how it goes: port-error NODE,...");
  BOOST_TEST(fabric.ask({"port-fire", "n1"}) ==
             "refused: unknown word 'port-fire': add, remove, list, clear, link-down, link-up, link-rate, link-delay, "
             "switch-crash, switch-restart, partition, heal, port-error, port-active, pause-storm, pause-calm and "
             "device-removal are right; did you mean 'port-error'?");
  BOOST_TEST((is_up(fabric, 1) && is_up(fabric, 2)));
}
