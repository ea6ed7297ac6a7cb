// What the processes of a node are told about their own sockets, and when `verbena fault` answers.
#include "emulator/host/fabric_process/fabric_sockets.h"

#include <poll.h>
#include <sys/socket.h>

#include <future>

#include "emulator/fabric/rails.h"
#include "emulator/host/os/clock.h"
#include "tests/host/fabric_process/served.h"
#include "tests/support/waiting.h"

using namespace verbena;
using namespace verbena::host;
using namespace verbena::host::test;
using verbena::waiting::let_time_pass;

namespace {

constexpr int kHangMs = 60'000;

/// A process of a node, as the path shim makes one of every program.
struct Process {
  Process(const std::string& fabric, std::uint32_t node) : socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
    BOOST_REQUIRE(socket_paths_address(fabric.c_str()).connect(socket.get()));
    say(node);
  }
  void say(std::uint32_t word) const { BOOST_REQUIRE(send(socket.get(), &word, sizeof word, MSG_NOSIGNAL) == 4); }
  bool is_told(int within_ms) const {
    pollfd wait{socket.get(), POLLIN, 0};
    return poll(&wait, 1, within_ms) == 1;
  }
  SocketNews news() {
    SocketNews got;
    BOOST_REQUIRE(is_told(kHangMs));
    BOOST_REQUIRE(recv(socket.get(), &got, sizeof got, 0) == sizeof got);
    BOOST_TEST(got.generation > last);
    last = got.generation;
    return got;
  }
  SocketNews done() {
    const SocketNews got = news();
    say(got.generation);
    return got;
  }
  Descriptor socket;
  std::uint32_t last = 0;
};

NodeSet nodes(std::initializer_list<unsigned> numbers) {
  NodeSet set;
  for (const unsigned number : numbers) set.add(number);
  return set;
}

std::future<std::string> begin(const Served& fabric, const FabricRequest& request) {
  return std::async(std::launch::async, [&fabric, request] { return fabric.ask(request); });
}

bool is_answered(std::future<std::string>& answer, int within_ms) {
  return answer.wait_for(std::chrono::milliseconds(within_ms)) == std::future_status::ready;
}

}  // namespace

BOOST_AUTO_TEST_CASE(process_is_told_the_state_and_then_its_nodes_news) {
  const Served fabric(fabric::star(3, kFast));
  BOOST_TEST(fabric.ask({"partition", "n1", "n2", "one-way"}) == "");
  Process one(fabric.name, 1);
  Process two(fabric.name, 2);
  const SocketNews first = one.done();
  BOOST_TEST(first.deaf_to.empty());
  BOOST_TEST((first.unheard_by == nodes({2})));
  BOOST_TEST((two.done().deaf_to == nodes({1})));
  auto answer = begin(fabric, SayWords{{"link-down", "n3-s1"}});
  BOOST_TEST((one.done().deaf_to == nodes({3})));
  const SocketNews second = two.done();
  BOOST_TEST((second.deaf_to == nodes({1, 3})));
  BOOST_TEST((second.unheard_by == nodes({3})));
  BOOST_TEST(answer.get() == "");
  // Nothing changes for node 1.
  answer = begin(fabric, SayWords{{"partition", "n2", "n3", "one-way"}});
  BOOST_TEST(answer.get() == "");
  BOOST_TEST(!one.is_told(50));
  Process three(fabric.name, 3);
  BOOST_TEST((three.done().deaf_to == nodes({1, 2})));
}

BOOST_AUTO_TEST_CASE(nodes_hear_each_other_while_one_rail_is_whole) {
  const Served fabric(*fabric::with_rails(fabric::star(2, kFast), {.rails = 2}));
  Process one(fabric.name, 1);
  BOOST_TEST(one.done().deaf_to.empty());
  BOOST_TEST(fabric.ask({"link-down", "n2.1-s1"}) == "");
  BOOST_TEST(!one.is_told(50));
  auto answer = begin(fabric, SayWords{{"port-error", "n2"}});
  BOOST_TEST((one.done().deaf_to == nodes({2})));
  BOOST_TEST(answer.get() == "");
}

BOOST_AUTO_TEST_CASE(fault_is_answered_once_all_have_done_it_or_after_a_second) {
  const Served fabric(fabric::star(2, kFast));
  Process one(fabric.name, 1);
  one.done();
  BOOST_TEST(fabric.ask({"list"}) == "");  // the fabric process has heard that
  auto answer = begin(fabric, SayWords{{"link-down", "n2-s1"}});
  const SocketNews told = one.news();
  BOOST_TEST(!is_answered(answer, 200));
  one.say(told.generation);
  BOOST_TEST(is_answered(answer, kHangMs));
  // Who does not answer holds nobody up for long, and hears only the last of what it has missed.
  const Time before = clock_now();
  BOOST_TEST(fabric.ask({"link-up", "n2-s1"}) == "");
  BOOST_TEST((clock_now() - before >= milliseconds(900)));
  const Duration worked = fabric.cpu_time();
  let_time_pass(milliseconds(500));
  BOOST_TEST((fabric.cpu_time() - worked < milliseconds(100)));  // it does not wait by looking
  BOOST_TEST(fabric.ask({"partition", "n1", "n2"}) == "");
  BOOST_TEST(fabric.ask({"heal"}) == "");
  BOOST_TEST(fabric.ask({"switch-crash", "s1"}) == "");
  BOOST_TEST(one.done().deaf_to.empty());
  BOOST_TEST((one.done().deaf_to == nodes({2})));
  BOOST_TEST(!one.is_told(50));
  // One that has ended is waited for no more.
  answer = begin(fabric, SayWords{{"switch-restart", "s1"}});
  one.news();
  one.socket.reset();
  BOOST_TEST(is_answered(answer, 800));
}

BOOST_AUTO_TEST_CASE(a_node_without_power_is_heard_by_nobody) {
  const Served fabric(fabric::star(3, kFast));
  Process one(fabric.name, 1);
  one.done();
  auto answer = begin(fabric, SetNodePower{{0}, NodePower::crashing});
  const SocketNews crash = one.done();
  BOOST_TEST(crash.crashes == 1u);
  BOOST_TEST((crash.deaf_to == nodes({2, 3})));
  BOOST_TEST(answer.get() == "");
  Process two(fabric.name, 2);
  const SocketNews peer = two.done();
  BOOST_TEST(peer.crashes == 0u);
  BOOST_TEST((peer.deaf_to == nodes({1})));
  one.socket.reset();
  answer = begin(fabric, SetNodePower{{0}, NodePower::on});
  BOOST_TEST(two.done().deaf_to.empty());
  BOOST_TEST(answer.get() == "");
  BOOST_TEST(fabric.ask(SetNodePower{{3}, NodePower::on}).starts_with("refused: "));
}

BOOST_AUTO_TEST_CASE(who_talks_nonsense_is_let_go) {
  const Served fabric(fabric::star(2, kFast));
  for (const std::uint32_t node : {0u, 3u, 255u, UINT32_MAX}) {
    Process stranger(fabric.name, node);
    char end = 0;
    BOOST_REQUIRE(stranger.is_told(kHangMs));
    BOOST_TEST(recv(stranger.socket.get(), &end, 1, 0) == 0);
  }
  Process one(fabric.name, 1);
  one.news();
  one.say(12345);
  char end = 0;
  BOOST_REQUIRE(one.is_told(kHangMs));
  BOOST_TEST(recv(one.socket.get(), &end, 1, 0) == 0);
  BOOST_TEST(fabric.ask({"link-down", "all"}) == "");
}
