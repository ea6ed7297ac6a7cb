// How connections end when an end of them goes without waiting: a process that leaves, one that is killed.
#include <boost/test/unit_test.hpp>

#include "tests/cm/manager_pair.h"

using namespace verbena;
using namespace verbena::cm;
using namespace verbena::cm::test;

namespace {

constexpr std::uint16_t kConsumerDefined = static_cast<std::uint16_t>(RejectReason::consumer_defined);
PeerProcess peer_of(const Config& config) {
  return {config.address, config.slot};
}

/// What its kernel says of those of its connections that were made before this probe arrives.
std::size_t hear_last_words(ConnectionManager& manager, Time now, const PeerProcess& peer, std::uint32_t before) {
  const auto words = manager.last_words(peer, before);
  for (const LastWord& word : words) {
    const auto packet = wire::parse_frame(word);
    BOOST_REQUIRE(packet.ok());
    BOOST_TEST((packet->source() == peer.address));
    manager.receive(now, *packet);
  }
  return words.size();
}

/// All that the process has made until now ends with it.
void end_process(ConnectionManager& manager, Time now, const PeerProcess& peer) {
  hear_last_words(manager, now, peer, manager.peers().begin_probe().number);
}

/// The events of a connection that are left, of which it must have exactly one.
std::optional<Event> only_event(ConnectionManager& manager) {
  const auto event = manager.events().poll();
  BOOST_TEST(!manager.events().poll().has_value());
  return event;
}

}  // namespace

BOOST_AUTO_TEST_CASE(leaving_process_repeats_disconnect_for_at_most_a_second) {
  // Every pattern of loss of the first ten messages that leaves one of them.
  for (std::uint32_t lost = 0; lost < (1u << 10) - 1; ++lost) {
    Pair pair;
    const ConnectionId id = pair.active.request(pair.now, pair.request_init());
    pair.run(pair.now + seconds(1));
    pair.messages = 0;
    pair.lost = lost;
    pair.active.destroy(pair.now, id);
    pair.active.disconnect_all(pair.now);
    BOOST_TEST(pair.active.awaits_disconnects());
    pair.run(pair.now + seconds(1));
    BOOST_TEST_CONTEXT("lost " << lost) {
      BOOST_TEST(!pair.active.awaits_disconnects());
      BOOST_TEST(Pair::count(pair.passive_events, EventType::disconnected) == 1u);
    }
  }
}

BOOST_AUTO_TEST_CASE(leaving_process_does_not_wait_forever_for_a_silent_peer) {
  Pair pair;
  const ConnectionId id = pair.active.request(pair.now, pair.request_init());
  pair.run(pair.now + seconds(1));
  pair.messages = 0;
  pair.lost = UINT32_MAX;
  pair.active.disconnect(pair.now, id);
  pair.active.disconnect_all(pair.now);
  pair.run(pair.now + seconds(1));
  BOOST_TEST(!pair.active.awaits_disconnects());
  BOOST_TEST(pair.messages == 1u + Connection::kRetriesMax);
}

BOOST_AUTO_TEST_CASE(peer_processes_are_known_while_they_have_connections) {
  Pair pair;
  BOOST_TEST(!pair.active.peers().has_joined());
  const ConnectionId id = pair.active.request(pair.now, pair.request_init());
  BOOST_TEST(pair.active.peers().all().empty());  // nobody has answered yet
  pair.run(pair.now + seconds(1));
  BOOST_TEST(pair.active.peers().all().contains(peer_of(pair.passive_config)));
  BOOST_TEST(pair.passive.peers().all().contains(peer_of(pair.active_config)));
  BOOST_TEST(pair.active.peers().has_joined());
  BOOST_TEST(pair.active.peers().begin_probe().joined.contains(peer_of(pair.passive_config)));
  BOOST_TEST(!pair.active.peers().has_joined());
  pair.active.disconnect(pair.now, id);
  pair.run(pair.now + seconds(100));
  BOOST_TEST(pair.active.peers().all().empty());
  BOOST_TEST(pair.passive.peers().all().empty());
}

BOOST_AUTO_TEST_CASE(established_connection_is_disconnected_if_its_peer_is_killed) {
  Pair pair;
  pair.active.request(pair.now, pair.request_init());
  pair.run(pair.now + seconds(1));
  PeerProcess other = peer_of(pair.active_config);
  ++other.slot;
  end_process(pair.passive, pair.now, other);
  BOOST_TEST(pair.passive.events().empty());
  end_process(pair.passive, pair.now, peer_of(pair.active_config));
  const auto event = only_event(pair.passive);
  BOOST_REQUIRE(event.has_value());
  BOOST_CHECK(event->type == EventType::disconnected);
  BOOST_TEST(pair.passive.disconnect(pair.now, event->connection));  // as the program does then
  pair.run(pair.now + seconds(10));
  BOOST_TEST(pair.passive.connections() == 0u);
}

BOOST_AUTO_TEST_CASE(last_word_is_said_once_and_connections_that_miss_it_stand) {
  Pair pair;
  pair.active.request(pair.now, pair.request_init());
  pair.run(pair.now + seconds(1));
  pair.passive_events.clear();
  const PeerProcess killed = peer_of(pair.active_config);
  BOOST_TEST(pair.passive.last_words(killed, pair.passive.peers().begin_probe().number).size() == 1u);  // and lost
  BOOST_TEST(pair.passive.peers().all().empty());  // nobody looks after it any more
  BOOST_TEST(pair.passive.last_words(killed, pair.passive.peers().begin_probe().number).empty());
  BOOST_TEST(pair.passive.events().empty());
  BOOST_TEST(pair.passive.connections() == 1u);

  // Its successor uses the same QP number: both connections are stale (12.9.8.3.1), and the second attempt is taken.
  Config config = pair.active_config;
  config.first_id += 100;
  ConnectionManager successor(config);
  successor.request(pair.now, pair.request_init());
  Port port;
  successor.outbox().transmit(port, 1);
  pair.passive.receive(pair.now, *wire::parse_frame(port.frames.front()));
  const auto event = only_event(pair.passive);
  BOOST_REQUIRE(event.has_value());
  BOOST_CHECK(event->type == EventType::disconnected);
}

BOOST_AUTO_TEST_CASE(slots_second_process_keeps_its_connections_and_the_first_not) {
  Pair pair;
  pair.active.request(pair.now, pair.request_init());
  pair.run(pair.now + seconds(1));
  const std::uint32_t between = pair.passive.peers().begin_probe().number;
  RequestInit init = pair.request_init();
  init.offer.qpn = wire::Qpn(0x18);
  pair.active.request(pair.now, init);
  pair.run(pair.now + seconds(1));
  pair.passive_events.clear();
  const std::uint32_t later = pair.passive.peers().begin_probe().number;
  BOOST_TEST(later > between);
  BOOST_TEST(hear_last_words(pair.passive, pair.now, peer_of(pair.active_config), between) == 1u);
  BOOST_TEST(only_event(pair.passive).has_value());
  BOOST_TEST(hear_last_words(pair.passive, pair.now, peer_of(pair.active_config), later) == 1u);
  BOOST_TEST(only_event(pair.passive).has_value());
}

BOOST_AUTO_TEST_CASE(request_is_rejected_if_its_listener_is_killed_before_reply) {
  Pair pair;
  RequestInit init = pair.request_init();
  init.path.slot = pair.passive_config.slot;
  pair.active.request(pair.now, init);
  pair.carry(pair.active, pair.passive);
  end_process(pair.active, pair.now, peer_of(pair.passive_config));
  const auto event = only_event(pair.active);
  BOOST_REQUIRE(event.has_value());
  BOOST_CHECK(event->type == EventType::rejected);
  BOOST_TEST(event->status == kConsumerDefined);
}

BOOST_AUTO_TEST_CASE(both_waits_end_if_the_peer_is_killed_before_ready_to_use) {
  Pair pair;
  pair.active.request(pair.now, pair.request_init());
  pair.carry(pair.active, pair.passive);
  pair.react();  // REP is under way
  pair.carry(pair.passive, pair.active);
  end_process(pair.passive, pair.now, peer_of(pair.active_config));
  const auto on_passive = only_event(pair.passive);
  BOOST_REQUIRE(on_passive.has_value());
  BOOST_CHECK(on_passive->type == EventType::rejected);
  BOOST_TEST(on_passive->status == kConsumerDefined);
  BOOST_CHECK(pair.active.events().poll()->type == EventType::reply);
  end_process(pair.active, pair.now, peer_of(pair.passive_config));
  const auto on_active = only_event(pair.active);
  BOOST_REQUIRE(on_active.has_value());
  BOOST_CHECK(on_active->type == EventType::rejected);
}

BOOST_AUTO_TEST_CASE(accept_fails_silently_if_the_asker_was_killed_before) {
  Pair pair;
  pair.active.request(pair.now, pair.request_init());
  pair.carry(pair.active, pair.passive);
  const auto request = pair.passive.events().poll();
  BOOST_REQUIRE(request.has_value());
  end_process(pair.passive, pair.now, peer_of(pair.active_config));
  BOOST_TEST(pair.passive.events().empty());
  BOOST_TEST(pair.passive.adopt(request->connection, 2, wire::Psn(1)));
  BOOST_TEST(!pair.passive.reply(pair.now, request->connection, {.qpn = wire::Qpn(0x18)}, {}));
}

BOOST_AUTO_TEST_CASE(disconnect_and_service_request_end_if_the_peer_is_killed) {
  Pair pair;
  const ConnectionId id = pair.active.request(pair.now, pair.request_init());
  pair.run(pair.now + seconds(1));
  pair.lost = UINT32_MAX;
  pair.messages = 0;
  pair.active_events.clear();
  RequestInit init = pair.request_init();
  init.path.slot = pair.passive_config.slot;
  pair.active.request_service(pair.now, init);
  pair.active.disconnect(pair.now, id);
  pair.carry(pair.active, pair.passive);
  end_process(pair.active, pair.now, peer_of(pair.passive_config));
  pair.react();
  BOOST_TEST(Pair::count(pair.active_events, EventType::disconnected) == 1u);
  BOOST_TEST(Pair::count(pair.active_events, EventType::service_reply) == 1u);
  pair.run(pair.now + seconds(10));
  BOOST_TEST(pair.active.connections() == 0u);
}

BOOST_AUTO_TEST_CASE(a_disconnect_for_another_queue_pair_ends_nothing) {
  Pair pair;
  const ConnectionId id = pair.active.request(pair.now, pair.request_init());
  pair.run(pair.now + seconds(1));
  pair.active.disconnect(pair.now, id);
  Port port;
  pair.active.outbox().transmit(port, 1);
  constexpr std::size_t kMadAt = 14 + 20 + 8 + 12 + 8;
  constexpr std::size_t kRemoteQpnAt = kMadAt + wire::MadHeaderLayout::bytes + 8;
  auto frame = port.frames.front();
  frame[kRemoteQpnAt + 2] ^= std::byte{1};
  pair.passive.receive(pair.now, *wire::parse_frame(frame));
  BOOST_TEST(pair.passive.events().empty());
  pair.passive.receive(pair.now, *wire::parse_frame(port.frames.front()));
  BOOST_TEST(!pair.passive.events().empty());
}

BOOST_AUTO_TEST_CASE(with_the_device_go_all_connections_and_one_event_tells_it) {
  Pair pair;
  const ConnectionId id = pair.active.request(pair.now, pair.request_init());
  pair.run(pair.now + seconds(1));
  pair.active.request(pair.now, pair.request_init());
  pair.passive.device_removed();
  const auto event = only_event(pair.passive);
  BOOST_REQUIRE(event.has_value());
  BOOST_CHECK(event->type == EventType::device_removed);
  BOOST_TEST(pair.passive.connections() == 0u);
  BOOST_TEST(pair.passive.peers().all().empty());
  BOOST_TEST(!pair.passive.listeners().has(kService));
  BOOST_TEST(pair.passive.outbox().empty());
  BOOST_CHECK(pair.passive.next_deadline() == kNever);
  // Whoever tidies up finds nothing, and says nothing.
  pair.passive.destroy(pair.now, id);
  pair.passive.listeners().remove(kService, kListener);
  BOOST_TEST(pair.passive.outbox().empty());
}
