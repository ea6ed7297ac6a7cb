// What a network reads out of a frame without parsing it.
#include "emulator/fabric/flow_dissector.h"

#include <boost/test/unit_test.hpp>

#include "emulator/fabric/alter_frame.h"
#include "tests/support/frames.h"
#include "wire/roce_v1.h"

using namespace verbena;
using namespace verbena::fabric;

namespace {

constexpr std::uint32_t kQpn = 0x123456;

std::vector<std::byte> frame(bool ipv6, bool vlan) {
  wire::FramePath path;
  path.source = test::node_gid(1);
  path.destination = test::node_gid(2);
  if (ipv6) path.source.octets[0] = path.destination.octets[0] = 0xfd;
  if (vlan) path.vlan = wire::Vlan{.vlan_id = 5};
  const test::PacketSpec spec{.opcode = test::rc(wire::OperationCode::acknowledge), .dest_qp = wire::Qpn(kQpn)};
  return test::make_frame(wire::FrameTemplate(path), spec);
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_destination_qp_is_found_behind_every_form_of_headers) {
  for (const bool ipv6 : {false, true})
    for (const bool vlan : {false, true}) {
      const auto found = wire::destination_qpn(frame(ipv6, vlan));
      BOOST_TEST_REQUIRE(found.has_value());
      BOOST_TEST(found->value() == kQpn);
    }
}

BOOST_AUTO_TEST_CASE(frame_without_bth_or_ip_has_no_destination_qp) {
  for (const bool ipv6 : {false, true})
    for (const bool vlan : {false, true}) {
      const auto whole = frame(ipv6, vlan);
      constexpr std::size_t kBehindBth = wire::AethLayout::bytes + wire::kIcrcBytes;
      for (std::size_t bytes = 0; bytes <= whole.size(); ++bytes)
        BOOST_TEST(wire::destination_qpn(std::span(whole).first(bytes)).has_value() ==
                   (bytes >= whole.size() - kBehindBth));
    }
  auto other = frame(false, false);
  other[12] = std::byte{0x12};  // EtherType
  BOOST_TEST(!wire::destination_qpn(other));
}

BOOST_AUTO_TEST_CASE(source_is_found_behind_every_form_of_headers_and_only_there) {
  for (const bool ipv6 : {false, true})
    for (const bool vlan : {false, true}) {
      const auto whole = frame(ipv6, vlan);
      wire::Gid source = test::node_gid(1);
      if (ipv6) source.octets[0] = 0xfd;
      BOOST_TEST((look_at_source(whole) == source));
      const std::size_t ip = wire::EthernetLayout::bytes + (vlan ? wire::VlanLayout::bytes : 0);
      const std::size_t header = ipv6 ? wire::Ipv6Layout::bytes : wire::Ipv4Layout::bytes;
      BOOST_TEST(look_at_source(std::span(whole).first(ip + header)).has_value());
      for (std::size_t bytes = 0; bytes < ip + header; ++bytes)
        BOOST_TEST(!look_at_source(std::span(whole).first(bytes)).has_value());
    }
}

BOOST_AUTO_TEST_CASE(without_a_digest_the_rest_of_a_look_is_the_same) {
  for (const bool ipv6 : {false, true}) {
    const auto whole = frame(ipv6, true);
    const FlowDissector with = look_at(whole, whole.size(), true);
    const FlowDissector without = look_at(whole, whole.size(), false);
    BOOST_TEST(with.digest != 0u);
    BOOST_TEST(without.digest == 0u);
    BOOST_TEST(with.is_known == without.is_known);
    BOOST_TEST(with.flow_hash == without.flow_hash);
    BOOST_TEST((with.destination == without.destination));
  }
}

BOOST_AUTO_TEST_CASE(frames_with_the_same_flow_key_look_the_same) {
  const auto whole = frame(false, false);
  const FlowKey key(whole);
  BOOST_TEST(key.is_known());
  const FlowDissector look = look_at(whole, whole.size(), false);
  std::size_t same = 0;
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    auto other = whole;
    other[bit / 8] ^= std::byte{1} << bit % 8;
    if (!(FlowKey(other) == key)) continue;
    ++same;
    const FlowDissector other_look = look_at(other, other.size(), false);
    BOOST_TEST(other_look.is_known);
    BOOST_TEST(other_look.ecn_capable == look.ecn_capable);
    BOOST_TEST(other_look.flow_hash == look.flow_hash);
    BOOST_TEST((other_look.destination == look.destination));
  }
  constexpr std::size_t kKeyOctets = 4 + 8 + 2;  // EtherType to TOS, addresses, UDP source port
  BOOST_TEST(same == 8 * (whole.size() - kKeyOctets));
}

BOOST_AUTO_TEST_CASE(what_is_no_untagged_ipv4_frame_or_too_short_has_no_flow_key) {
  BOOST_TEST(!FlowKey().is_known());
  BOOST_TEST(!FlowKey(frame(true, false)).is_known());
  BOOST_TEST(!FlowKey(frame(false, true)).is_known());
  const auto whole = frame(false, false);
  BOOST_TEST(!FlowKey(std::span(whole).first(41)).is_known());
  BOOST_TEST(FlowKey(std::span(whole).first(42)).is_known());
}

namespace {

std::vector<std::byte> v1_frame(unsigned from, unsigned to, std::uint32_t qpn, std::uint8_t traffic_class = 0x6a) {
  wire::FramePath path;
  path.from = test::node_mac(from);
  path.to = test::node_mac(to);
  path.source = test::node_gid(from);
  path.destination = test::node_gid(to);
  path.traffic_class = traffic_class;
  path.encapsulation = &wire::kRoceV1;
  return test::make_frame(wire::FrameTemplate(path),
                          {.opcode = test::rc(wire::OperationCode::acknowledge), .dest_qp = wire::Qpn(qpn)});
}

}  // namespace

BOOST_AUTO_TEST_CASE(switches_tell_flows_of_v1_apart_by_ethernet_alone) {
  const auto hash = [](const std::vector<std::byte>& frame) { return look_at(frame, frame.size(), false).flow_hash; };
  const auto one = v1_frame(1, 2, 5);
  BOOST_TEST(hash(one) == hash(v1_frame(1, 2, 6)));
  BOOST_TEST(hash(one) != hash(v1_frame(1, 3, 5)));
  BOOST_TEST(hash(one) != hash(v1_frame(3, 2, 5)));
  auto other_gid = one;
  other_gid[14 + 23] ^= std::byte{1};
  BOOST_TEST(hash(one) == hash(other_gid));
  const FlowDissector look = look_at(one, one.size(), false);
  BOOST_TEST(look.is_known);
  BOOST_TEST((look.destination == test::node_gid(2)));
}

BOOST_AUTO_TEST_CASE(no_class_and_no_mark_of_v1_is_seen_or_written) {
  auto frame = v1_frame(1, 2, 5);
  BOOST_TEST(!look_at(frame, frame.size(), false).ecn_capable);
  BOOST_TEST(!is_ecn_capable(frame));
  BOOST_TEST(look_at_marking(frame).dscp == 0);
  const auto before = frame;
  BOOST_TEST(!mark_congestion(frame));
  BOOST_TEST((frame == before));
}
