// Traps: what agents tell a manager unasked, how often, and what ends it.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <optional>
#include <vector>

#include "emulator/subnet/smp.h"
#include "emulator/subnet/subnet.h"
#include "tests/support/subnet_world.h"
#include "wire/notice.h"

using namespace verbena;
using namespace verbena::subnet;
using test::kA;
using test::kB;

namespace {

constexpr std::uint64_t kKey = 0x1234;

struct World : test::SubnetWorld {
  World() { bring_up(); }
  /// Those that have come to "a" since got was emptied.
  std::vector<Datagram> traps(std::uint16_t number) const {
    std::vector<Datagram> found;
    for (const Got& one : got) {
      const Smp smp(one.datagram.octets);
      if (one.at == kA && smp.header().method == wire::kMethodTrap &&
          smp.read_data<wire::NoticeLayout>().trap == number)
        found.push_back(one.datagram);
    }
    return found;
  }
  template <class DetailsLayout>
  auto details(const Datagram& trap) const {
    return DetailsLayout::parse(Smp(trap.octets).data().subspan<wire::NoticeLayout::bytes, DetailsLayout::bytes>());
  }
  /// Of port 1 of "b", which can be reached by this directed route.
  void protect(std::uint8_t bits, std::uint16_t lease_seconds) {
    wire::PortInfo info = port_info({1, 2}, 1);
    info.state = wire::PortState::no_change;
    info.physical_state = wire::PortPhysicalState::no_change;
    info.management_key = kKey;
    info.key_protect_bits = bits;
    info.key_lease_seconds = lease_seconds;
    BOOST_REQUIRE(set_port({1, 2}, 1, info) == 0);
  }
  std::optional<Datagram> look(std::uint64_t key) {
    return ask({1, 2}, wire::kMethodGet, wire::kAttributePortInfo, 1, {}, key);
  }
  void repress(Datagram trap, std::uint64_t key = kKey) {
    Smp smp(trap.octets);
    wire::AnyMadHeader header = smp.header();
    header.method = wire::kMethodTrapRepress;
    smp.set_header(header);
    wire::SmpAddressing addressing = smp.addressing();
    addressing.management_key = key;
    wire::SmpAddressingLayout::emit(
        addressing, std::span(trap.octets).subspan<wire::kSmpKeyAt, wire::SmpAddressingLayout::bytes>());
    std::swap(trap.source, trap.destination);
    subnet.send(kA, trap);
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_wrong_key_is_told_with_the_request) {
  World world;
  world.protect(2, 0);
  BOOST_TEST(!world.look(0x99).has_value());
  const auto traps = world.traps(wire::kTrapBadManagementKey);
  BOOST_REQUIRE(traps.size() == 1u);
  const auto notice = Smp(traps[0].octets).read_data<wire::NoticeLayout>();
  BOOST_TEST((notice.type == wire::NoticeType::security && notice.producer == 1u && notice.issuer == wire::Lid(3)));
  const auto told = world.details<wire::BadManagementKeyDetailsLayout>(traps[0]);
  BOOST_TEST((told.lid == wire::Lid(3) && told.key == 0x99u && told.method == wire::kMethodGet));
  BOOST_TEST((told.attribute == wire::kAttributePortInfo && told.attribute_modifier == 1u));
  BOOST_TEST((told.is_directed && told.hops == 2 && !told.is_path_cut));
  const auto path = Smp(traps[0].octets).data().subspan(wire::NoticeLayout::bytes + 24);
  BOOST_TEST((path[0] == std::byte{1} && path[1] == std::byte{1}));
}

BOOST_AUTO_TEST_CASE(one_that_may_look_breaks_nothing) {
  World world;
  world.protect(1, 0);
  BOOST_TEST(world.look(0x99).has_value());
  BOOST_TEST(world.traps(wire::kTrapBadManagementKey).empty());
}

BOOST_AUTO_TEST_CASE(a_flood_of_wrong_keys_is_one_trap_a_timeout) {
  World world;
  world.protect(2, 0);
  std::size_t told = 0;
  Time now{};
  for (int i = 0; i < 10; ++i) {
    world.look(0x99);
    for (const Datagram& trap : world.traps(wire::kTrapBadManagementKey)) {
      ++told;
      world.repress(trap);
    }
    world.subnet.advance(now = now + milliseconds(10));
  }
  BOOST_TEST(told == 1u);
  world.subnet.advance(now + seconds(2));
  world.look(0x99);
  BOOST_TEST(world.traps(wire::kTrapBadManagementKey).size() == 1u);
  BOOST_TEST(world.subnet.nodes()[2].ports[1].info.key_violations == 11);
}

BOOST_AUTO_TEST_CASE(protection_is_given_up_when_a_lease_runs_out) {
  World world;
  world.protect(2, 3);
  world.look(0x99);
  for (const Datagram& trap : world.traps(wire::kTrapBadManagementKey)) world.repress(trap);
  BOOST_TEST(!world.subnet.next_deadline().has_value());  // who represses it knows the key
  world.look(0x99);
  BOOST_TEST((world.subnet.next_deadline() == std::optional(Time{} + seconds(3))));
  world.subnet.advance(Time{} + milliseconds(2900));
  BOOST_TEST(!world.look(0x99).has_value());
  world.subnet.advance(Time{} + seconds(3));
  const auto answer = world.look(0x99);
  BOOST_REQUIRE(answer.has_value());
  const auto info = Smp(answer->octets).read_data<wire::PortInfoLayout>();
  BOOST_TEST((info.key_protect_bits == 0 && info.management_key == kKey));
}

BOOST_AUTO_TEST_CASE(who_knows_the_key_renews_the_lease) {
  World world;
  world.protect(2, 3);
  world.look(0x99);
  world.subnet.advance(Time{} + seconds(2));
  BOOST_TEST(world.look(kKey).has_value());
  world.subnet.advance(Time{} + seconds(4));
  BOOST_TEST(!world.look(0x99).has_value());
  world.subnet.advance(Time{} + seconds(6));
  BOOST_TEST(!world.look(0x99).has_value());
  world.subnet.advance(Time{} + seconds(7));
  BOOST_TEST(world.look(0x99).has_value());
}

BOOST_AUTO_TEST_CASE(an_adapter_tells_of_its_manager) {
  World world;
  world.subnet.set_subnet_manager(kB, true);
  BOOST_REQUIRE(world.traps(wire::kTrapCapabilityChanged).size() == 1u);
  const auto told = world.details<wire::CapabilityDetailsLayout>(world.traps(wire::kTrapCapabilityChanged)[0]);
  BOOST_TEST((told.port_lid == wire::Lid(3) && (told.capability_mask & wire::kCapabilityIsSm) != 0));
}

BOOST_AUTO_TEST_CASE(a_trap_is_sent_five_times_and_no_more) {
  World world;
  world.subnet.set_subnet_manager(kB, true);
  std::size_t told = world.traps(wire::kTrapCapabilityChanged).size();
  while (const auto due = world.subnet.next_deadline()) {
    world.got.clear();
    world.subnet.advance(*due);
    told += world.traps(wire::kTrapCapabilityChanged).size();
  }
  BOOST_TEST(told == 5u);
}

BOOST_AUTO_TEST_CASE(who_represses_without_the_key_is_told_of) {
  World world;
  world.protect(1, 0);
  world.subnet.set_subnet_manager(kB, true);
  const Datagram trap = world.traps(wire::kTrapCapabilityChanged)[0];
  world.got.clear();
  world.repress(trap, 0x99);
  BOOST_TEST(world.traps(wire::kTrapBadManagementKey).size() == 1u);
  BOOST_TEST(world.subnet.nodes()[2].ports[1].info.key_violations == 1);
  BOOST_TEST(world.subnet.next_deadline().has_value());  // it is sent again
  world.repress(trap);
  for (const Datagram& other : world.traps(wire::kTrapBadManagementKey)) world.repress(other);
  BOOST_TEST(!world.subnet.next_deadline().has_value());
}

BOOST_AUTO_TEST_CASE(a_switch_tells_of_a_packet_that_its_port_kept_back) {
  World world;
  world.subnet.refuse_key({1, 2}, wire::kTrapBadPkeyAtSwitch,
                          {.source = wire::Lid(1),
                           .destination = wire::Lid(3),
                           .key = 0x8005,
                           .service_level = 2,
                           .source_qp = wire::Qpn(0x11),
                           .destination_qp = wire::Qpn(0x22)},
                          1);
  BOOST_REQUIRE(world.traps(wire::kTrapBadPkeyAtSwitch).size() == 1u);
  const Datagram trap = world.traps(wire::kTrapBadPkeyAtSwitch)[0];
  BOOST_TEST((trap.source == wire::Lid(2) && Smp(trap.octets).read_data<wire::NoticeLayout>().producer == 2u));
  const auto told = world.details<wire::BadPkeyAtSwitchDetailsLayout>(trap);
  BOOST_TEST((told.valid == 0x3f && told.pkey == 0x8005 && told.service_level == 2));
  BOOST_TEST((told.switch_lid == wire::Lid(2) && told.port == 2));
}
