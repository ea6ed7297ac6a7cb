// Packets with a wrong key that a node's NIC has dropped: the agent of the port counts them and tells the manager.
#include <boost/test/unit_test.hpp>

#include "emulator/fabric/qos.h"
#include "emulator/host/node/managed_port.h"
#include "tests/host/fabric_process/plugged_in.h"
#include "tests/host/fabric_process/umad_program.h"
#include "tests/support/waiting.h"
#include "wire/notice.h"

using namespace verbena;
using namespace verbena::host;
using namespace verbena::host::test;
using verbena::waiting::wait_until;

namespace {

fabric::Topology managed_star() {
  fabric::Topology topology = fabric::star(2, {});
  topology.medium = wire::Medium::infiniband;
  topology.qos = fabric::infiniband_qos();
  topology.is_managed = true;
  BOOST_REQUIRE(fabric::check(topology).ok());
  return topology;
}

/// Node 1 has the manager, which knows all ports; node 2 has a process.
struct World {
  World() {
    BOOST_REQUIRE(manager.register_agent(0, wire::kClassSubnetDirected) == 0);
    BOOST_REQUIRE(traps.register_agent(0, wire::kClassSubnetLid, 1, 1u << wire::kMethodTrap) == 0);
    bring_up({}, 1, 1);
    bring_up({1}, 1, 0);
    bring_up({1}, 2, 0);
    bring_up({1, 2}, 1, 2);
    std::array<std::byte, wire::kSmpDataBytes> table{};
    table[1] = std::byte{1};
    table[2] = std::byte{2};
    BOOST_REQUIRE(manager.ask({1}, wire::kMethodSet, wire::kAttributeLinearForwarding, 0, table).has_value());
    BOOST_REQUIRE(
        manager
            .ask({1}, wire::kMethodSet, wire::kAttributeSwitchInfo, 0, wire::SwitchInfoLayout::emit({.linear_top = 2}))
            .has_value());
    // Then its way to the fabric process is open.
    BOOST_REQUIRE(wait_until([&] {
      two.link->service();
      return two.link->take_notice() == Notice::subnet_changed;
    }));
  }
  void bring_up(const std::vector<std::uint8_t>& path, std::uint32_t port, std::uint16_t lid) {
    for (const wire::PortState state : {wire::PortState::armed, wire::PortState::active})
      manager.set_port(path, port, [&](wire::PortInfo& info) {
        info.state = state;
        if (lid == 0) return;
        info.base_lid = wire::Lid(lid);
        info.master_sm_lid = wire::Lid(1);
      });
  }
  ManagedPort port() const {
    const auto port = read_managed_port(fabric.name, node_address(2));
    BOOST_REQUIRE(port.has_value());
    return *port;
  }
  void report(const KeyReport& report) { dynamic_cast<LastWordsCarrier&>(*two.link).report(report); }
  /// The next one that the manager gets.
  wire::Notice notice(wire::BadKeyDetails& details) {
    const std::vector<std::byte> message = traps.receive(5000);
    BOOST_REQUIRE(!message.empty());
    const std::vector<std::byte> mad(message.begin() + sizeof(ib_user_mad_hdr), message.end());
    const subnet::Smp smp(mad);
    details = wire::BadKeyDetailsLayout::parse(
        smp.data().subspan<wire::NoticeLayout::bytes, wire::BadKeyDetailsLayout::bytes>());
    return smp.read_data<wire::NoticeLayout>();
  }

  const Served fabric{managed_star()};
  Uplink two{fabric, 2};
  UmadProgram manager{fabric.name, 0};
  UmadProgram traps{fabric.name, 0};
};

constexpr wire::BadKeyDetails kPacket{.source = wire::Lid(1),
                                      .destination = wire::Lid(2),
                                      .key = 0x1234,
                                      .service_level = 3,
                                      .source_qp = wire::Qpn(0x11),
                                      .destination_qp = wire::Qpn(0x22)};

}  // namespace

BOOST_AUTO_TEST_CASE(wrong_keys_are_counted_and_told) {
  for (const std::uint16_t trap : {wire::kTrapBadPkey, wire::kTrapBadQkey}) {
    World world;
    world.report({.trap = trap, .packets = 3, .details = kPacket});
    wire::BadKeyDetails details;
    const wire::Notice notice = world.notice(details);
    BOOST_TEST((notice.trap == trap && notice.type == wire::NoticeType::security));
    BOOST_TEST((notice.issuer == wire::Lid(2) && notice.producer == 1u));
    BOOST_CHECK(details == kPacket);
    BOOST_TEST(wait_until([&] {
      const ManagedPort port = world.port();
      return port.pkey_violations == (trap == wire::kTrapBadPkey ? 3 : 0) &&
             port.qkey_violations == (trap == wire::kTrapBadQkey ? 3 : 0);
    }));
  }
}

BOOST_AUTO_TEST_CASE(more_than_a_counter_holds_stops_at_its_end) {
  World world;
  world.report({.trap = wire::kTrapBadQkey, .packets = 70000, .details = kPacket});
  BOOST_TEST(wait_until([&] { return world.port().qkey_violations == UINT16_MAX; }));
}
