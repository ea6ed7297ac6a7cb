// The communication manager against the Linux kernel's: a capture of rping between two kernels, message for message,
// and what the messages mean for the data behind them.
#include <boost/test/unit_test.hpp>

#include "tests/cm/manager_pair.h"
#include "tests/wire/wire_support.h"

using namespace verbena;
using namespace verbena::cm;
using namespace verbena::cm::test;

namespace {

struct KernelCapture {
  KernelCapture() : file(wire::test::read_file("06-rping_cm.pcap")) {
    auto reader = wire::CaptureReader::open(file);
    BOOST_REQUIRE(reader.ok());
    for (auto record = reader->next(); record.ok() && *record; record = reader->next()) {
      const auto packet = wire::parse_captured(**record);
      if (packet.ok()) (packet->bth().dest_qp == wire::kGsiQpn ? messages : data).push_back(*packet);
    }
    BOOST_REQUIRE(messages.size() == 5u);  // REQ, REP, RTU, DREQ, DREP
    for (const auto& message : messages) {
      BOOST_REQUIRE(message.payload().size() == wire::kMadBytes);
      BOOST_TEST(message.deth().qkey == wire::kGsiQkey);
    }
    constexpr std::size_t kBody = wire::MadHeaderLayout::bytes;
    request = wire::CmRequestLayout::parse(messages[0].payload().subspan<kBody, wire::CmRequestLayout::bytes>());
    reply = wire::CmReplyLayout::parse(messages[1].payload().subspan<kBody, wire::CmReplyLayout::bytes>());
  }
  /// Of the first request that `source` sends.
  wire::Psn first_psn(const wire::Gid& source) const {
    for (const auto& packet : data)
      if (packet.source() == source && packet.opcode().is_request) return packet.bth().psn;
    BOOST_FAIL("it sends nothing");
    return {};
  }

  wire::test::Bytes file;
  std::vector<wire::PacketView> messages;
  std::vector<wire::PacketView> data;
  wire::CmRequest request;
  wire::CmReply reply;
};

const wire::Gid kServer = wire::Gid::from_ipv4(0x0a4d0002);
const wire::Gid kClient = wire::Gid::from_ipv4(0x0a4d0003);

/// One of ours, as the kernel numbers its connections.
Config config_like(std::uint8_t node, ConnectionId id, std::uint64_t ca_guid) {
  Config config = config_of(node);
  config.slot = slot_of_id(id);
  config.first_id = id;
  config.ca_guid = ca_guid;
  return config;
}

RequestInit init_like(const wire::CmRequest& request) {
  RequestInit init;
  init.context = 1;
  init.service_id = request.service_id;
  init.path.address = request.primary_remote_gid;
  init.path.mtu = request.path_mtu;
  init.path.flow_label = request.primary_flow_label;
  init.path.packet_rate = request.primary_packet_rate;
  init.path.packet_lifetime = 18;
  init.offer = {.qpn = request.local_qpn,
                .starting_psn = request.starting_psn,
                .responder_resources = 1,
                .initiator_depth = 1,
                .retry_count = 7,
                .rnr_retry_count = 7};
  return init;
}

Offer offer_like(const wire::CmReply& reply) {
  return {.qpn = reply.local_qpn,
          .starting_psn = reply.starting_psn,
          .responder_resources = 1,
          .initiator_depth = 1,
          .rnr_retry_count = 7};
}

}  // namespace

BOOST_AUTO_TEST_CASE(server_role_gives_the_psns_of_the_kernels_packets) {
  const KernelCapture kernel;
  ConnectionManager server(config_like(2, kernel.reply.local_id, 1));
  server.listeners().add(kernel.request.service_id, kListener);
  server.receive({}, kernel.messages[0]);
  const auto asked = server.events().poll();
  BOOST_REQUIRE(asked.has_value());
  // librdmacm brings the QP up to RTS before the REP leaves.
  BOOST_TEST(server.adopt(asked->connection, 2, kernel.reply.starting_psn));
  const Agreement* agreed = server.agreement(asked->connection);
  BOOST_REQUIRE(agreed != nullptr);
  BOOST_TEST(agreed->receive_psn.value() == kernel.first_psn(kClient).value());
  BOOST_TEST(agreed->send_psn.value() == kernel.first_psn(kServer).value());
  BOOST_TEST(server.reply({}, asked->connection, offer_like(kernel.reply), {}));
  BOOST_TEST(agreed->receive_psn.value() == kernel.first_psn(kClient).value());
  BOOST_TEST(agreed->send_psn.value() == kernel.first_psn(kServer).value());
}

BOOST_AUTO_TEST_CASE(client_role_gives_the_psns_of_the_kernels_packets) {
  const KernelCapture kernel;
  ConnectionManager client(config_like(3, kernel.request.local_id, 1));
  const ConnectionId id = client.request({}, init_like(kernel.request));
  client.receive({}, kernel.messages[1]);
  const auto answered = client.events().poll();
  BOOST_REQUIRE(answered.has_value());
  BOOST_CHECK(answered->type == EventType::reply);
  const Agreement* agreed = client.agreement(id);
  BOOST_REQUIRE(agreed != nullptr);
  BOOST_TEST(agreed->receive_psn.value() == kernel.first_psn(kServer).value());
  BOOST_TEST(agreed->send_psn.value() == kernel.first_psn(kClient).value());
}

BOOST_AUTO_TEST_CASE(the_messages_are_the_kernels_field_for_field) {
  const KernelCapture kernel;
  constexpr std::size_t kBody = wire::MadHeaderLayout::bytes;
  ConnectionManager active(config_like(3, kernel.request.local_id, kernel.request.local_ca_guid));
  ConnectionManager passive(config_like(2, kernel.reply.local_id, kernel.reply.local_ca_guid));
  passive.listeners().add(kernel.request.service_id, kListener);
  RequestInit init = init_like(kernel.request);
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
    BOOST_REQUIRE(from.outbox().transmit(port, 10) == 1u);
    const auto packet = wire::parse_frame(port.frames.front());
    BOOST_REQUIRE(packet.ok());
    wire::test::Bytes ours(packet->payload().begin(), packet->payload().end());
    const auto theirs = kernel.messages[index].payload();
    if (index == 0) {
      // Reserved bits between flow label and rate, where the kernel leaves something.
      const std::size_t rate_at = kBody + 88;
      std::copy_n(theirs.begin() + rate_at, 4, ours.begin() + rate_at);
    }
    BOOST_TEST_CONTEXT("message " << index)
    BOOST_CHECK_EQUAL_COLLECTIONS(reinterpret_cast<const std::uint8_t*>(ours.data()),
                                  reinterpret_cast<const std::uint8_t*>(ours.data()) + ours.size(),
                                  reinterpret_cast<const std::uint8_t*>(theirs.data()),
                                  reinterpret_cast<const std::uint8_t*>(theirs.data()) + theirs.size());
    to.receive({}, *packet);
  };
  const ConnectionId id = active.request({}, init);
  BOOST_TEST(id == kernel.request.local_id);
  exchange(active, passive, 0);
  const auto asked = passive.events().poll();
  BOOST_REQUIRE(asked.has_value());
  passive.reply({}, asked->connection, offer_like(kernel.reply), {});
  exchange(passive, active, 1);
  active.ready({}, id, {});
  exchange(active, passive, 2);
  active.disconnect({}, id);
  exchange(active, passive, 3);
  passive.disconnect({}, asked->connection);
  exchange(passive, active, 4);
}
