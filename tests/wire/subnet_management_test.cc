// Attributes of management datagrams: each field lies where the specification and tshark have it.
#include "wire/subnet_management.h"

#include "tests/wire/wire_support.h"
#include "wire/notice.h"

using namespace verbena::wire;
using namespace verbena::wire::test;

namespace {

template <class HeaderLayout>
auto read(std::initializer_list<unsigned> octets) {
  const Bytes bytes = bytes_of(octets);
  BOOST_REQUIRE(bytes.size() == HeaderLayout::bytes);
  return HeaderLayout::parse(std::span(bytes).template first<HeaderLayout::bytes>());
}

/// All bits of the octets come back.
template <class HeaderLayout>
bool round_trips() {
  Bytes octets(HeaderLayout::bytes);
  for (std::size_t i = 0; i < octets.size(); ++i) octets[i] = static_cast<std::byte>(i * 37 + 11);
  const auto header = HeaderLayout::parse(std::span(octets).template first<HeaderLayout::bytes>());
  return std::ranges::equal(HeaderLayout::emit(header), octets);
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_bit_of_every_attribute_survives) {
  BOOST_TEST(round_trips<SmpAddressingLayout>());
  BOOST_TEST(round_trips<NodeInfoLayout>());
  BOOST_TEST(round_trips<SwitchInfoLayout>());
  BOOST_TEST(round_trips<PortInfoLayout>());
  BOOST_TEST(round_trips<SmInfoLayout>());
  BOOST_TEST(round_trips<ArbitrationEntryLayout>());
  BOOST_TEST(round_trips<NoticeLayout>());
  BOOST_TEST(round_trips<GidDetailsLayout>());
  BOOST_TEST(round_trips<LinkStateDetailsLayout>());
  BOOST_TEST(round_trips<CapabilityDetailsLayout>());
  BOOST_TEST(round_trips<LinkErrorDetailsLayout>());
  BOOST_TEST(round_trips<BadManagementKeyDetailsLayout>());
  BOOST_TEST(round_trips<BadKeyDetailsLayout>());
  BOOST_TEST(round_trips<BadPkeyAtSwitchDetailsLayout>());
  BOOST_TEST(round_trips<ClassPortInfoLayout>());
  BOOST_TEST(round_trips<PortCountersLayout>());
  BOOST_TEST(round_trips<PortCountersExtendedLayout>());
}

BOOST_AUTO_TEST_CASE(a_node_says_what_it_is) {
  const auto info =
      read<NodeInfoLayout>({1, 1, 2,    36, 0, 2, 0xc9, 3, 0, 0, 0,    1,    0, 2, 0xc9, 3,    0, 0, 0, 2,
                            0, 2, 0xc9, 3,  0, 0, 0,    3, 0, 8, 0xbd, 0x36, 0, 0, 0,    0xa1, 7, 0, 2, 0xc9});
  BOOST_TEST((info.type == NodeType::switch_));
  BOOST_TEST(info.ports == 36);
  BOOST_TEST(info.system_image_guid == 0x0002c90300000001u);
  BOOST_TEST(info.node_guid == 0x0002c90300000002u);
  BOOST_TEST(info.port_guid == 0x0002c90300000003u);
  BOOST_TEST(info.partitions == 8);
  BOOST_TEST(info.device == 0xbd36);
  BOOST_TEST(info.revision == 0xa1u);
  BOOST_TEST(info.local_port == 7);
  BOOST_TEST(info.vendor == 0x0002c9u);
}

BOOST_AUTO_TEST_CASE(a_port_has_its_state_beside_its_speed) {
  Bytes octets(PortInfoLayout::bytes);
  const auto put = [&](std::size_t at, std::initializer_list<unsigned> values) {
    for (const unsigned value : values) octets[at++] = static_cast<std::byte>(value);
  };
  put(16, {0, 5, 0, 1, 0x02, 0x51, 0x0a, 0x68});
  put(28, {3, 3, 3, 2, 0x74, 0x52, 0x41, 0x47, 0x40, 0x40});
  put(46 - 3, {0x40});
  put(51, {0x92});
  const auto port = PortInfoLayout::parse(std::span(octets).first<PortInfoLayout::bytes>());
  BOOST_TEST((port.base_lid == Lid(5) && port.master_sm_lid == Lid(1)));
  BOOST_TEST(port.capability_mask == 0x02510a68u);
  BOOST_TEST(port.local_port == 3);
  BOOST_TEST((port.width_enabled == 3 && port.width_supported == 3 && port.width_active == 2));
  BOOST_TEST(port.speed_supported == 7);
  BOOST_TEST((port.state == PortState::active));
  BOOST_TEST((port.physical_state == PortPhysicalState::link_up));
  BOOST_TEST(port.down_default_state == 2);
  BOOST_TEST((port.key_protect_bits == 1 && port.lmc == 1));
  BOOST_TEST((port.speed_active == 4 && port.speed_enabled == 7));
  BOOST_TEST((port.neighbor_mtu == 4 && port.vl_capacity == 4));
  BOOST_TEST(port.operational_vls == 4);
  BOOST_TEST((port.client_reregister && port.subnet_timeout == 18));
}

BOOST_AUTO_TEST_CASE(a_switch_says_that_a_port_has_changed) {
  const auto info = read<SwitchInfoLayout>({0xc0, 0, 0, 0, 4, 0, 0, 9, 1, 2, 3, 0x94, 0, 1, 0, 8, 0xf8, 0, 0xc0, 5});
  BOOST_TEST((info.linear_capacity == 0xc000 && info.multicast_capacity == 1024 && info.linear_top == 9));
  BOOST_TEST((info.life_time == 18 && info.port_state_change));
  BOOST_TEST(info.has_enhanced_port_0);
  BOOST_TEST(info.multicast_top == 0xc005);
}

BOOST_AUTO_TEST_CASE(counters_lie_where_perfquery_reads_them) {
  Bytes octets(PortCountersLayout::bytes);
  octets[1] = std::byte{7};
  octets[5] = std::byte{1};
  octets[19] = std::byte{0x21};
  octets[23] = std::byte{5};
  octets[27] = std::byte{9};
  const auto counters = PortCountersLayout::parse(std::span(octets).first<PortCountersLayout::bytes>());
  BOOST_TEST((counters.port == 7 && counters.symbol_errors == 1));
  BOOST_TEST((counters.local_link_integrity_errors == 2 && counters.excessive_buffer_overruns == 1));
  BOOST_TEST((counters.vl15_dropped == 5 && counters.transmit_words == 9u));
}
