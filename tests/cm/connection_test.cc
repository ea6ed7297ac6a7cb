// The communication manager: two of them in virtual time, with every pattern of lost, doubled and late messages, and
// its octets against those of the Linux kernel.
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
  BOOST_TEST(active->receive_psn.value() == passive->send_psn.value());
  BOOST_TEST(active->send_psn.value() == passive->receive_psn.value());
  BOOST_TEST(active->responder_resources == 4u);
  BOOST_TEST(active->initiator_depth == 2u);
  BOOST_TEST(active->rnr_retry_count == 5u);
  BOOST_TEST(passive->rnr_retry_count == 6u);
  BOOST_TEST(passive->path.mtu == 3u);
  BOOST_TEST(Pair::count(pair.passive_events, EventType::ready) == 1u);
}

BOOST_AUTO_TEST_CASE(every_pattern_of_loss_ends_in_one_connection_and_no_trace_of_it_afterwards) {
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
  pair.passive.stop_listening(kService);
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
  const auto request = pair.passive.poll_event();
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
  pair.active.transmit(pair.now, port, 1);
  constexpr std::size_t kMadAt = 14 + 20 + 8 + 12 + 8;
  for (std::size_t at = kMadAt; at < kMadAt + 24; ++at) {
    auto frame = port.frames.front();
    frame[at] ^= std::byte{0xff};
    const auto packet = wire::parse_frame(frame);
    BOOST_REQUIRE(packet.ok());
    pair.passive.receive(pair.now, *packet);
  }
  while (const auto event = pair.passive.poll_event()) BOOST_CHECK(event->type == EventType::request);
}

BOOST_AUTO_TEST_CASE(the_messages_are_the_kernels_field_for_field) {
  // The REQ, REP, RTU, DREQ and DREP of rping between two kernels.
  const wire::test::Bytes file = wire::test::read_file("06-rping_cm.pcap");
  auto reader = wire::CaptureReader::open(file);
  BOOST_REQUIRE(reader.ok());
  std::vector<std::pair<wire::MadHeader, wire::test::Bytes>> kernel;
  for (auto record = reader->next(); record.ok() && *record; record = reader->next()) {
    const auto packet = wire::parse_captured(**record);
    if (!packet.ok() || packet->bth().dest_qp != wire::kGsiQpn) continue;
    BOOST_REQUIRE(packet->payload().size() == wire::kMadBytes);
    BOOST_TEST(packet->deth().qkey == wire::kGsiQkey);
    kernel.emplace_back(wire::MadHeaderLayout::parse(packet->payload().first<wire::MadHeaderLayout::bytes>()),
                        wire::test::Bytes(packet->payload().begin(), packet->payload().end()));
  }
  BOOST_REQUIRE(kernel.size() == 5u);
  constexpr std::size_t kBody = wire::MadHeaderLayout::bytes;
  const std::span<const std::byte> request_octets(kernel[0].second);
  const std::span<const std::byte> reply_octets(kernel[1].second);
  const auto request = wire::CmRequestLayout::parse(request_octets.subspan<kBody, wire::CmRequestLayout::bytes>());
  const auto reply = wire::CmReplyLayout::parse(reply_octets.subspan<kBody, wire::CmReplyLayout::bytes>());

  Config active_config = config_of(3);
  active_config.slot = slot_of_id(request.local_id);
  active_config.first_id = request.local_id;
  active_config.ca_guid = request.local_ca_guid;
  Config passive_config = config_of(2);
  passive_config.slot = slot_of_id(reply.local_id);
  passive_config.first_id = reply.local_id;
  passive_config.ca_guid = reply.local_ca_guid;
  ConnectionManager active(active_config);
  ConnectionManager passive(passive_config);
  passive.listen(request.service_id, kListener);
  Pair values;
  RequestInit init = values.request_init();
  init.service_id = request.service_id;
  init.path.address = request.primary_remote_gid;
  init.path.flow_label = request.primary_flow_label;
  init.path.packet_rate = request.primary_packet_rate;
  init.path.packet_lifetime = 18;
  init.offer = {.qpn = request.local_qpn,
                .starting_psn = request.starting_psn,
                .responder_resources = 1,
                .initiator_depth = 1,
                .retry_count = 7,
                .rnr_retry_count = 7};
  wire::IpAddressingHeader addresses;
  addresses.source_port = 0xb540;
  const auto put = [](wire::Gid& gid, std::uint32_t ipv4) {
    gid = wire::Gid::from_ipv4(ipv4);
    gid.octets[10] = gid.octets[11] = 0;
  };
  put(addresses.source, 0x0a4d0003);
  put(addresses.destination, 0x0a4d0002);
  init.private_data = PrivateData::of(wire::IpAddressingHeaderLayout::emit(addresses));
  const auto exchange = [&](ConnectionManager& from, ConnectionManager& to, std::size_t index) {
    Port port;
    BOOST_REQUIRE(from.transmit({}, port, 10) == 1u);
    const auto packet = wire::parse_frame(port.frames.front());
    BOOST_REQUIRE(packet.ok());
    wire::test::Bytes ours(packet->payload().begin(), packet->payload().end());
    if (index == 0) {
      // Reserved bits between flow label and rate, where the kernel leaves something.
      const std::size_t rate_at = kBody + 88;
      std::copy_n(kernel[0].second.begin() + rate_at, 4, ours.begin() + rate_at);
    }
    BOOST_TEST_CONTEXT("message " << index)
    BOOST_CHECK_EQUAL_COLLECTIONS(reinterpret_cast<const std::uint8_t*>(ours.data()),
                                  reinterpret_cast<const std::uint8_t*>(ours.data()) + 256,
                                  reinterpret_cast<const std::uint8_t*>(kernel[index].second.data()),
                                  reinterpret_cast<const std::uint8_t*>(kernel[index].second.data()) + 256);
    to.receive({}, *packet);
  };
  const ConnectionId id = active.request({}, init);
  BOOST_TEST(id == request.local_id);
  exchange(active, passive, 0);
  const auto asked = passive.poll_event();
  BOOST_REQUIRE(asked.has_value());
  passive.reply({}, asked->connection,
                {.qpn = reply.local_qpn,
                 .starting_psn = reply.starting_psn,
                 .responder_resources = 1,
                 .initiator_depth = 1,
                 .rnr_retry_count = 7},
                {});
  exchange(passive, active, 1);
  active.ready({}, id, {});
  exchange(active, passive, 2);
  active.disconnect({}, id);
  exchange(active, passive, 3);
  passive.disconnect({}, asked->connection);
  exchange(passive, active, 4);
}
