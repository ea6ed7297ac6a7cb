// Records of subnet administration: opensm's own octets, and what saquery says of the same records.
#include "wire/subnet_administration.h"

#include "tests/wire/wire_support.h"

using namespace verbena::wire;
using namespace verbena::wire::test;

namespace {

template <class HeaderLayout>
auto read(const Bytes& octets) {
  BOOST_REQUIRE(octets.size() == HeaderLayout::bytes);
  return HeaderLayout::parse(std::span(octets).template first<HeaderLayout::bytes>());
}
/// All bits of the octets come back.
template <class HeaderLayout>
bool round_trips() {
  Bytes octets(HeaderLayout::bytes);
  for (std::size_t i = 0; i < octets.size(); ++i) octets[i] = static_cast<std::byte>(i * 37 + 11);
  return std::ranges::equal(HeaderLayout::emit(read<HeaderLayout>(octets)), octets);
}
/// fe80::56:7fff:fe2f:5bNN
Gid port_gid(std::uint8_t last) {
  return {{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0x56, 0x7f, 0xff, 0xfe, 0x2f, 0x5b, last}};
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_bit_of_every_record_survives) {
  BOOST_TEST(round_trips<AdministrationHeaderLayout>());
  BOOST_TEST(round_trips<PathRecordLayout>());
  BOOST_TEST(round_trips<McMemberRecordLayout>());
}

// From opensm 3.3.23 (dfsssp); saquery of infiniband-diags 43 shows sl 0x7, mtu 0x85, rate 0x90, pkt_life 0x92,
// num_path_revers 0x80, pkey 0xffff.
BOOST_AUTO_TEST_CASE(a_path_is_what_saquery_says) {
  const auto path =
      read<PathRecordLayout>(bytes_of({0, 0,    0,    0,    0,    0,    0,    0,    0xfe, 0x80, 0, 0, 0, 0, 0, 0,
                                       0, 0x56, 0x7f, 0xff, 0xfe, 0x2f, 0x5b, 0x03, 0xfe, 0x80, 0, 0, 0, 0, 0, 0,
                                       0, 0x56, 0x7f, 0xff, 0xfe, 0x2f, 0x5b, 0x01, 0,    8,    0, 1, 0, 0, 0, 0,
                                       0, 0x80, 0xff, 0xff, 0,    0x07, 0x85, 0x90, 0x92, 0,    0, 0, 0, 0, 0, 0}));
  BOOST_TEST((path.destination == port_gid(3) && path.source == port_gid(1)));
  BOOST_TEST((path.destination_lid == Lid(8) && path.source_lid == Lid(1) && path.service_level == 7));
  BOOST_TEST((path.is_reversible && path.paths == 0 && path.pkey == 0xffff && path.qos_class == 0));
  BOOST_TEST((path.mtu_selector == kSelectorExactly && path.mtu == 5 && path.rate == 16 && path.lifetime == 18));
}

// The same of a group: qkey 0x1234567, mlid 0xc001, mtu 0x85, rate 0x90, pkt_life 0x80.
BOOST_AUTO_TEST_CASE(a_membership_is_what_saquery_says) {
  const auto member = read<McMemberRecordLayout>(bytes_of(
      {0xff, 0x12, 0x40, 0x01, 0xff, 0xff, 0,    0,    0,    0,    0,    0,    0x0f, 0x01, 0x02, 0x03, 0xfe, 0x80,
       0,    0,    0,    0,    0,    0,    0,    0x56, 0x7f, 0xff, 0xfe, 0x2f, 0x5b, 0x01, 0x01, 0x23, 0x45, 0x67,
       0xc0, 0x01, 0x85, 0,    0xff, 0xff, 0x90, 0x80, 0,    0,    0,    0,    0x01, 0,    0,    0}));
  BOOST_TEST((member.port == port_gid(1) && member.lid == Lid(0xc001) && member.qkey == 0x01234567));
  BOOST_TEST((member.mtu == 5 && member.rate == 16 && member.lifetime_selector == kSelectorExactly));
  BOOST_TEST((member.pkey == 0xffff && member.service_level == 0));
  BOOST_TEST((member.join_state == McMemberRecord::kFullMember && !member.proxy_join));
}
