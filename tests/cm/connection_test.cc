// The communication manager: two of them in virtual time, with every pattern of lost, doubled and late messages.
#include <boost/test/unit_test.hpp>

#include "tests/cm/manager_pair.h"
#include "tests/wire/wire_support.h"

using namespace verbena;
using namespace verbena::cm;
using namespace verbena::cm::test;

BOOST_AUTO_TEST_CASE(both_sides_learn_what_their_qps_need) {
  Pair pair;
  const ConnectionId id = pair.active.request(pair.now, pair.request_init());
  pair.run(pair.now + seconds(1));
  const Agreement* active = pair.active.agreement(id);
  const Agreement* passive = pair.passive.agreement(pair.accepted);
  BOOST_REQUIRE(active != nullptr);
  BOOST_REQUIRE(passive != nullptr);
  BOOST_TEST(active->remote_qpn.value() == 0x18u);
  BOOST_TEST(passive->remote_qpn.value() == 0x17u);
  // What a side says of PSNs is what it expects to receive (12.7.31).
  BOOST_TEST(active->receive_psn.value() == 0x123456u);
  BOOST_TEST(passive->send_psn.value() == 0x123456u);
  BOOST_TEST(passive->receive_psn.value() == 0x654321u);
  BOOST_TEST(active->send_psn.value() == 0x654321u);
  BOOST_TEST(active->responder_resources == 4u);
  BOOST_TEST(active->initiator_depth == 2u);
  BOOST_TEST(active->rnr_retry_count == 5u);
  BOOST_TEST(passive->rnr_retry_count == 6u);
  BOOST_TEST(passive->path.mtu == 3u);
  BOOST_TEST(Pair::count(pair.passive_events, EventType::ready) == 1u);
}

BOOST_AUTO_TEST_CASE(a_connection_stays_between_the_addresses_of_its_request) {
  Pair pair;
  const wire::Gid own{{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
  const wire::Gid to{{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}};
  RequestInit init = pair.request_init();
  init.path.address = to;
  init.path.source = own;
  const ConnectionId id = pair.active.request(pair.now, init);
  Port port;
  pair.active.outbox().transmit(port, 1);
  const auto request = wire::parse_frame(port.frames.at(0));
  BOOST_REQUIRE(request.ok());
  BOOST_TEST((request->source() == own && request->destination() == to));
  pair.passive.receive(pair.now, *request);
  pair.react();
  pair.passive.outbox().transmit(port, 1);
  const auto reply = wire::parse_frame(port.frames.at(1));
  BOOST_REQUIRE(reply.ok());
  BOOST_TEST((reply->source() == to && reply->destination() == own));
  pair.active.receive(pair.now, *reply);
  pair.run(pair.now + seconds(1));
  BOOST_REQUIRE(pair.passive.agreement(pair.accepted) != nullptr);
  BOOST_TEST((pair.passive.agreement(pair.accepted)->path.source == to));
  BOOST_TEST(Pair::count(pair.passive_events, EventType::ready) == 1u);
  pair.active.disconnect(pair.now, id);
  pair.run(pair.now + seconds(100));
  BOOST_TEST(pair.active.connections() + pair.passive.connections() == 0u);
}

BOOST_AUTO_TEST_CASE(every_loss_pattern_gives_one_connection_and_leaves_no_trace) {
  for (std::uint32_t mask = 0; mask < 1u << 9; ++mask) {
    Pair pair;
    pair.lost = mask;
    const ConnectionId id = pair.active.request(pair.now, pair.request_init());
    pair.run(pair.now + seconds(200));
    BOOST_TEST_CONTEXT("lost " << mask) {
      BOOST_TEST(pair.requests == 1u);
      BOOST_TEST(Pair::count(pair.active_events, EventType::reply) == 1u);
      BOOST_TEST(Pair::count(pair.passive_events, EventType::ready) == 1u);
    }
    pair.messages = 0;
    pair.active.disconnect(pair.now, id);
    pair.run(pair.now + seconds(400));
    BOOST_TEST_CONTEXT("lost " << mask) {
      BOOST_TEST(Pair::count(pair.active_events, EventType::disconnected) == 1u);
      BOOST_TEST(Pair::count(pair.passive_events, EventType::disconnected) == 1u);
      BOOST_TEST(pair.active.connections() == 0u);
      BOOST_TEST(pair.passive.connections() == 0u);
    }
  }
}

BOOST_AUTO_TEST_CASE(messages_that_come_twice_change_nothing) {
  for (std::uint32_t mask = 0; mask < 1u << 5; ++mask) {
    Pair pair;
    pair.doubled = mask;
    const ConnectionId id = pair.active.request(pair.now, pair.request_init());
    pair.run(pair.now + seconds(1));
    pair.active.disconnect(pair.now, id);
    pair.run(pair.now + seconds(100));
    BOOST_TEST(pair.requests == 1u);
    BOOST_TEST(Pair::count(pair.passive_events, EventType::ready) == 1u);
    BOOST_TEST(Pair::count(pair.passive_events, EventType::disconnected) == 1u);
    BOOST_TEST(pair.active.connections() + pair.passive.connections() == 0u);
  }
}

BOOST_AUTO_TEST_CASE(without_a_listener_the_request_is_refused) {
  Pair pair;
  pair.passive.listeners().remove(kService, kListener);
  pair.active.request(pair.now, pair.request_init());
  pair.run(pair.now + seconds(10));
  BOOST_REQUIRE(pair.active_events.size() >= 1u);
  BOOST_CHECK(pair.active_events[0].type == EventType::rejected);
  BOOST_TEST(pair.active_events[0].status == 8u);
  BOOST_TEST(pair.active.connections() == 0u);
}

BOOST_AUTO_TEST_CASE(nobody_answers_and_the_request_ends_after_its_retries) {
  Pair pair;
  pair.lost = UINT32_MAX;
  pair.active.request(pair.now, pair.request_init());
  pair.run(pair.now + seconds(200));
  BOOST_REQUIRE(pair.active_events.size() >= 1u);
  BOOST_CHECK(pair.active_events[0].type == EventType::unreachable);
  BOOST_TEST(pair.messages == 17u);  // the request, 15 repetitions, the REJ that takes it back
  BOOST_TEST(pair.active.connections() == 0u);
}

BOOST_AUTO_TEST_CASE(an_owner_that_leaves_at_any_point_leaves_nothing_behind) {
  for (int steps = 0; steps < 4; ++steps) {
    Pair pair;
    const ConnectionId id = pair.active.request(pair.now, pair.request_init());
    for (int step = 0; step < steps; ++step) {
      pair.carry(pair.active, pair.passive);
      pair.react();
      pair.carry(pair.passive, pair.active);
      pair.react();
    }
    pair.active.destroy(pair.now, id);
    pair.run(pair.now + seconds(400));
    BOOST_TEST(pair.active.connections() == 0u);
    pair.passive.destroy(pair.now, pair.accepted);
    pair.run(pair.now + seconds(400));
    BOOST_TEST(pair.passive.connections() == 0u);
  }
}

BOOST_AUTO_TEST_CASE(a_service_request_is_answered_with_the_qp_behind_the_service) {
  Pair pair;
  RequestInit init = pair.request_init();
  const ConnectionId id = pair.active.request_service(pair.now, init);
  pair.carry(pair.active, pair.passive);
  const auto request = pair.passive.events().poll();
  BOOST_REQUIRE(request.has_value());
  BOOST_CHECK(request->type == EventType::service_request);
  BOOST_TEST(pair.passive.reply_service(pair.now, request->connection, {.qpn = wire::Qpn(9), .qkey = 0x01234567}, {}));
  pair.run(pair.now + seconds(100));
  BOOST_REQUIRE(pair.active_events.size() == 1u);
  BOOST_CHECK(pair.active_events[0].type == EventType::service_reply);
  BOOST_TEST(pair.active_events[0].connection == id);
  BOOST_TEST(pair.active_events[0].offer.qpn.value() == 9u);
  BOOST_TEST(pair.active_events[0].qkey == 0x01234567u);
  BOOST_TEST(pair.active.connections() + pair.passive.connections() == 0u);
}

BOOST_AUTO_TEST_CASE(malformed_datagrams_are_ignored) {
  Pair pair;
  pair.active.request(pair.now, pair.request_init());
  Port port;
  pair.active.outbox().transmit(port, 1);
  constexpr std::size_t kMadAt = 14 + 20 + 8 + 12 + 8;
  for (std::size_t at = kMadAt; at < kMadAt + 24; ++at) {
    auto frame = port.frames.front();
    frame[at] ^= std::byte{0xff};
    const auto packet = wire::parse_frame(frame);
    BOOST_REQUIRE(packet.ok());
    pair.passive.receive(pair.now, *packet);
  }
  while (const auto event = pair.passive.events().poll()) BOOST_CHECK(event->type == EventType::request);
}

BOOST_AUTO_TEST_CASE(passive_side_waits_and_asks_as_the_request_says) {
  // 12.7.20, 12.7.24: the REQ's timeout and retries are those of both sides. Nobody answers the REP.
  Pair pair;
  pair.active.request(pair.now, pair.request_init());
  Port port;
  pair.active.outbox().transmit(port, 1);
  constexpr std::size_t kRequest = 14 + 20 + 8 + 12 + 8 + wire::MadHeaderLayout::bytes;
  auto& frame = port.frames.front();
  frame[kRequest + 47] = std::byte{10 << 3 | 7};  // local CM response timeout 10, retry count 7
  frame[kRequest + 51] = std::byte{3 << 4};       // three CM retries
  pair.passive.receive(pair.now, *wire::parse_frame(frame));
  pair.react();
  const Agreement* agreed = pair.passive.agreement(pair.accepted);
  BOOST_REQUIRE(agreed != nullptr);
  const Duration turn = exponential_time(10) + exponential_time(agreed->path.packet_lifetime) * 2;
  unsigned replies = 0;
  for (Time at{}; Pair::count(pair.passive_events, EventType::unreachable) == 0; at = pair.passive.next_deadline()) {
    pair.now = at;
    pair.passive.on_deadline(at);
    Port sent;
    pair.passive.outbox().transmit(sent, 10);
    replies += static_cast<unsigned>(sent.frames.size());
    pair.react();
    BOOST_REQUIRE(replies < 20u);
  }
  BOOST_TEST(replies == 1u + 3u + 1u);  // the last one takes it back
  BOOST_TEST((pair.now == Time{} + turn * 4));
}

BOOST_AUTO_TEST_CASE(the_ack_timeout_covers_both_ways_and_the_peers_delay) {
  // As the kernel's cm_ack_timeout rounds: 4.096 us * (2^(lifetime + 1) + 2^delay), to the next power from 1.5 on.
  BOOST_TEST(ack_timeout_for(18, 15) == 19u);
  BOOST_TEST(ack_timeout_for(16, 15) == 17u);
  BOOST_TEST(ack_timeout_for(15, 15) == 17u);
  BOOST_TEST(ack_timeout_for(14, 15) == 16u);
  BOOST_TEST(ack_timeout_for(13, 15) == 16u);
  BOOST_TEST(ack_timeout_for(11, 15) == 15u);
  BOOST_TEST(ack_timeout_for(30, 31) == 31u);
  Config slow = config_of(2);
  slow.ack_delay = 19;
  Pair pair(slow);
  const ConnectionId id = pair.active.request(pair.now, pair.request_init());
  BOOST_TEST(pair.active.agreement(id)->ack_timeout == 17u);
  pair.run(pair.now + seconds(1));
  BOOST_TEST(pair.active.agreement(id)->ack_timeout == 19u);              // the REP says how slow the peer is
  BOOST_TEST(pair.passive.agreement(pair.accepted)->ack_timeout == 17u);  // the REQ's, which knows its own delay
}

BOOST_AUTO_TEST_CASE(who_gives_up_says_which_ca_it_is) {
  // 12.6.7.2: REJ with reason timeout carries the CA's GUID; the peer may know nothing else of its sender.
  Config config = config_of(1);
  config.ca_guid = 0x0102030405060708;
  ConnectionManager manager(config);
  const Pair values;
  const ConnectionId id = manager.request({}, values.request_init());
  manager.destroy({}, id);
  Port port;
  manager.outbox().transmit(port, 10);
  BOOST_REQUIRE(port.frames.size() == 2u);
  const auto packet = wire::parse_frame(port.frames.back());
  BOOST_REQUIRE(packet.ok());
  const auto body = packet->payload().subspan(wire::MadHeaderLayout::bytes);
  const auto reject = wire::CmRejectLayout::parse(body.first<wire::CmRejectLayout::bytes>());
  BOOST_TEST(reject.reason == 4u);
  BOOST_TEST(reject.info_bytes == 8u);
  for (std::size_t i = 0; i < 8; ++i)
    BOOST_TEST(std::to_integer<unsigned>(body[wire::CmRejectLayout::bytes + i]) == i + 1);
}

BOOST_AUTO_TEST_CASE(an_xrc_target_is_named_where_the_context_number_stands) {
  Pair pair;
  RequestInit init = pair.request_init();
  init.transport = Transport::xrc;
  const ConnectionId id = pair.active.request(pair.now, init);
  Port port;
  pair.active.outbox().transmit(port, 1);
  auto packet = wire::parse_frame(port.frames.front());
  BOOST_REQUIRE(packet.ok());
  const auto request = wire::CmRequestLayout::parse(
      packet->payload().subspan<wire::MadHeaderLayout::bytes, wire::CmRequestLayout::bytes>());
  BOOST_TEST(request.responder_resources + request.retry_count + request.rnr_retry_count == 0);
  pair.passive.receive(pair.now, *packet);
  pair.react();
  Port back;
  pair.passive.outbox().transmit(back, 1);
  packet = wire::parse_frame(back.frames.front());
  BOOST_REQUIRE(packet.ok());
  const auto reply =
      wire::CmReplyLayout::parse(packet->payload().subspan<wire::MadHeaderLayout::bytes, wire::CmReplyLayout::bytes>());
  BOOST_TEST(reply.local_qpn.value() == 0u);
  BOOST_TEST(reply.local_eecn == 0x18u);
  BOOST_TEST(reply.srq);
  pair.active.receive(pair.now, *packet);
  BOOST_TEST(pair.active.agreement(id)->remote_qpn.value() == 0x18u);
}
