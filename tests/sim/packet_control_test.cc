// Packets that no NIC of a world has made, and decisions about single frames of a link.
#include "emulator/sim/packet_control.h"

#include <boost/test/unit_test.hpp>

#include "tests/support/frames.h"

using namespace verbena;
using sim::FrameEvent;

namespace {

struct Watched final : sim::Observer, sim::StandIn, fabric::Interceptor {
  Watched() : world(fabric::star(2, {}), std::vector<nic::NicConfig>(1), {}) {
    world.observe(this);
    control.replace_nic(1, this);
    control.intercept({0, false}, this);
  }
  ~Watched() override { world.observe(nullptr); }

  void observe(const sim::ObservedFrame& frame) override {
    events.push_back(frame.event);
    corrupted = corrupted || frame.corrupted;
    if (!frame.comment.empty()) comment = frame.comment;
  }
  void arrived(Time now, std::span<const std::byte> octets) override {
    arrivals.emplace_back(now, std::vector<std::byte>(octets.begin(), octets.end()));
  }
  Decision intercept(Time /*now*/, sim::LinkId link, std::span<std::byte> octets) override {
    BOOST_CHECK((link == sim::LinkId{0, false}));
    ++asked;
    if (decision.has_changed) octets.back() ^= std::byte{1};
    return decision;
  }
  /// One frame from host 0 to host 1.
  std::vector<std::byte> send() {
    const std::vector<std::byte> octets = test::make_frame(wire::FrameTemplate({.from = sim::host_mac(0),
                                                                                .to = sim::host_mac(1),
                                                                                .source = sim::host_address(0),
                                                                                .destination = sim::host_address(1)}),
                                                           {.payload = std::vector<std::byte>(100)});
    control.send(0, octets);
    world.run_until(world.now() + seconds(1));
    return octets;
  }

  sim::World world;
  sim::PacketControl control{world};
  Decision decision;
  int asked = 0;
  std::vector<FrameEvent> events;
  std::vector<std::pair<Time, std::vector<std::byte>>> arrivals;
  std::string comment;
  bool corrupted = false;
};

}  // namespace

BOOST_AUTO_TEST_CASE(what_is_sent_arrives_at_the_stand_in_as_it_was) {
  Watched watched;
  const auto sent = watched.send();
  BOOST_REQUIRE_EQUAL(watched.arrivals.size(), 1);
  BOOST_TEST((watched.arrivals.front().second == sent));
  BOOST_TEST((watched.events == std::vector{FrameEvent::entered, FrameEvent::sent, FrameEvent::delivered,
                                            FrameEvent::sent, FrameEvent::delivered}));
  BOOST_TEST(!watched.world.is_running(1));
  BOOST_TEST(watched.world.statistics().vanished == 0);
  BOOST_TEST(watched.asked == 1);  // of the one link only
}

BOOST_AUTO_TEST_CASE(what_an_interceptor_drops_is_lost_as_by_a_rule) {
  Watched watched;
  watched.decision = {.drop = true, .comment = "dropped, since it is Wednesday"};
  watched.send();
  BOOST_TEST(watched.arrivals.empty());
  BOOST_TEST((watched.events == std::vector{FrameEvent::entered, FrameEvent::lost}));
  BOOST_TEST(watched.world.statistics().lost == 1);
  BOOST_TEST(watched.comment == "dropped, since it is Wednesday");
}

BOOST_AUTO_TEST_CASE(an_interceptor_copies_delays_and_changes) {
  Watched watched;
  watched.send();
  const Duration flight = watched.arrivals.front().first - Time{0};
  const std::uint64_t clean = watched.world.network().trace_hash();
  watched.decision = {.duplicate = true, .delay = milliseconds(3), .has_changed = true};
  const Time begin = watched.world.now();
  auto sent = watched.send();
  BOOST_REQUIRE_EQUAL(watched.arrivals.size(), 3);
  BOOST_TEST((watched.arrivals[1].first - begin).ns >= (flight + milliseconds(3)).ns);
  sent.back() ^= std::byte{1};
  BOOST_TEST((watched.arrivals[1].second == sent && watched.arrivals[2].second == sent));
  BOOST_TEST(watched.corrupted);
  BOOST_TEST(watched.world.network().trace_hash() != clean);
}

BOOST_AUTO_TEST_CASE(rules_of_the_link_come_on_top_unless_it_is_dropped) {
  Watched watched;
  watched.world.add_rule(1, {{0, false}}, *fabric::parse_fault("duplicate"));
  watched.send();
  BOOST_TEST(watched.arrivals.size() == 2);
  watched.decision.drop = true;
  watched.send();
  BOOST_TEST(watched.arrivals.size() == 2);
  watched.control.intercept({0, false}, nullptr);
  watched.send();
  BOOST_TEST(watched.arrivals.size() == 4);
  BOOST_TEST(watched.asked == 2);
}
