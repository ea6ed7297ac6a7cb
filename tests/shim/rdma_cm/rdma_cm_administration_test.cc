// What an ID asks the subnet administrator: records and component masks as the kernel's cma has them.
#include <rdma/rdma_user_cm.h>

#include <boost/test/unit_test.hpp>

#include "verbs-shim/rdma_cm/administration.h"

using namespace verbena;
using namespace verbena::shim::rdma_cm;

namespace {

constexpr std::uint16_t kDefaultPkey = 0xffff;

wire::Gid gid(std::initializer_list<unsigned> octets) {
  wire::Gid made;
  std::ranges::copy(octets, made.octets.begin());
  return made;
}
Address ipv4(std::uint32_t address) {
  return {.family = AF_INET, .gid = wire::Gid::from_ipv4(address)};
}
Id id_of(std::uint16_t port_space, sa_family_t family) {
  Id id;
  id.port_space = port_space;
  id.destination.family = family;
  id.destination.port = 0x1234;
  return id;
}

const Asker kAsker{gid({0xfe, 0x80, 0, 0, 0, 0, 0, 0, 1}), 0x8001};
const wire::Gid kPeer = gid({0xfe, 0x80, 0, 0, 0, 0, 0, 0, 2});

}  // namespace

BOOST_AUTO_TEST_CASE(a_path_is_asked_for_by_its_gids_and_service) {
  const auto request = path_request(kAsker, kPeer, id_of(RDMA_PS_TCP, AF_INET), 2000);
  // Service ID, DGID, SGID, reversible, one path, P_Key, QoS class.
  BOOST_TEST(request.component_mask == 0x780fu);
  BOOST_TEST((request.operation == host::SaOperation::get_path && request.timeout_ms == 2000));
  const auto record = wire::PathRecordLayout::parse(request.record);
  BOOST_TEST(record.service_id == 0x01061234u);
  BOOST_TEST((record.source == kAsker.gid && record.destination == kPeer && record.pkey == 0x8001));
  BOOST_TEST((record.is_reversible && record.paths == 1));
}

BOOST_AUTO_TEST_CASE(type_of_service_is_a_qos_class_or_a_traffic_class) {
  Id id = id_of(RDMA_PS_TCP, AF_INET);
  id.traffic_class = 0x20;
  BOOST_TEST(wire::PathRecordLayout::parse(path_request(kAsker, kPeer, id, 1).record).qos_class == 0x20);
  id.destination.family = AF_INET6;
  const auto request = path_request(kAsker, kPeer, id, 1);
  BOOST_TEST(request.component_mask == 0x3c0fu);
  BOOST_TEST(wire::PathRecordLayout::parse(request.record).traffic_class == 0x20);
}

BOOST_AUTO_TEST_CASE(an_answer_is_the_path) {
  wire::PathRecord record;
  record.destination = kPeer;
  record.destination_lid = wire::Lid(8);
  record.source_lid = wire::Lid(3);
  record.service_level = 7;
  record.mtu = 4;
  record.rate = 16;
  record.lifetime = 18;
  record.flow_label = 0x12345;
  cm::Path path;
  path.mtu = 5;
  take_path(wire::PathRecordLayout::emit(record), path);
  BOOST_TEST((path.next_hop == wire::PathAddress(wire::Lid(8), 7) && path.source_lid == wire::Lid(3)));
  BOOST_TEST((path.mtu == 4 && path.packet_rate == 16 && path.packet_lifetime == 18));
  BOOST_TEST((path.flow_label == 0x12345u && path.hop_limit == 0 && path.address == kPeer));
}

BOOST_AUTO_TEST_CASE(a_membership_is_asked_for_with_what_makes_the_group) {
  const wire::Gid group = gid({0xff, 0x12});
  const auto request = join_request(kAsker, group, id_of(RDMA_PS_UDP, AF_INET), wire::McMemberRecord::kFullMember);
  // MGID, port's GID, Q_Key, traffic class, P_Key, SL, flow label, join state.
  BOOST_TEST(request.component_mask == 0x130c7u);
  const auto record =
      wire::McMemberRecordLayout::parse(std::span(request.record).first<wire::McMemberRecordLayout::bytes>());
  BOOST_TEST((record.group == group && record.port == kAsker.gid && record.pkey == 0x8001));
  BOOST_TEST((record.qkey == 0x01234567u && record.join_state == 1));
}

// RFC 4391, clause 4; the fourth octet is rdma_cm's where its port space is UDP (cma_set_mgid).
BOOST_AUTO_TEST_CASE(a_group_has_the_gid_of_ipoib) {
  const auto expected = gid({0xff, 0x12, 0x40, 0x01, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0x0f, 1, 2, 3});
  BOOST_TEST((infiniband_group(ipv4(0xef010203), RDMA_PS_UDP, kDefaultPkey) == expected));
  const auto of_ipoib = gid({0xff, 0x12, 0x40, 0x1b, 0x80, 0x05, 0, 0, 0, 0, 0, 0, 0x0f, 1, 2, 3});
  BOOST_TEST((infiniband_group(ipv4(0xef010203), RDMA_PS_IPOIB, 5) == of_ipoib));
  Address ipv6{.family = AF_INET6, .gid = gid({0xff, 0x0e, 0, 0, 0, 0, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})};
  const auto mapped = gid({0xff, 0x12, 0x60, 0x01, 0xff, 0xff, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16});
  BOOST_TEST((infiniband_group(ipv6, RDMA_PS_UDP, kDefaultPkey) == mapped));
  ipv6.gid = gid({0xff, 0x15, 0xa0, 0x1b, 0xff, 0xff, 1});
  BOOST_TEST((infiniband_group(ipv6, RDMA_PS_UDP, kDefaultPkey) == ipv6.gid));
}
