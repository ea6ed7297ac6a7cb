// What a subnet manager sets on a port, as events of the NIC.
#include "emulator/host/engine/subnet_port.h"

#include <boost/test/unit_test.hpp>
#include <vector>

#include "emulator/host/node/managed_port_file.h"
#include "emulator/nic/memory/memory.h"

using namespace verbena;
using namespace verbena::host;
using enum nic::AsyncEventType;

namespace {

struct Managed {
  Managed() : file(std::move(ManagedPortFile::make(fabric, 1, 1).value())) {}
  void set(std::uint16_t lid, std::uint8_t state, bool reregisters = false) {
    ManagedPort wanted = (*file)[0];
    wanted.base_lid = lid;
    wanted.sm_lid = 1;
    wanted.state = state;
    file->write(0, wanted, reregisters);
  }
  static nic::NicConfig config() {
    nic::NicConfig made;
    made.ports[0].medium = wire::Medium::infiniband;
    made.ports[0].is_up = false;
    return made;
  }
  std::vector<nic::AsyncEventType> events() {
    std::vector<nic::AsyncEventType> all;
    while (const auto event = nic.poll_event()) all.push_back(event->type);
    return all;
  }

  const std::string fabric = "subnet-port-" + std::to_string(getpid());
  std::unique_ptr<ManagedPortFile> file;
  nic::PlainMemory memory;
  nic::Counters counters;
  nic::Nic nic{config(), memory, counters};
  SubnetPort port{fabric, device_of(node_address(1), {}, {.wire = *wire::find_wire_kind("infiniband")}), nic};
};

}  // namespace

BOOST_AUTO_TEST_CASE(active_mtu_is_what_qps_may_have) {
  constexpr std::uint8_t k2048 = 4;
  Managed managed;
  BOOST_TEST(managed.nic.config().port_mtu_bytes == 4096u);
  ManagedPort wanted = (*managed.file)[0];
  wanted.mtu = k2048;
  managed.file->write(0, wanted, false);
  managed.port.look(managed.nic, true);
  BOOST_TEST(managed.nic.config().port_mtu_bytes == 2048u);
  wanted.mtu = 5;
  managed.file->write(0, wanted, false);
  managed.port.look(managed.nic, true);
  BOOST_TEST(managed.nic.config().port_mtu_bytes == 4096u);
}

BOOST_AUTO_TEST_CASE(a_sweep_gives_the_port_its_lid_and_then_life) {
  Managed managed;
  managed.set(9, 2);
  managed.port.look(managed.nic, true);
  BOOST_TEST((managed.events() == std::vector{lid_change, sm_change}));
  BOOST_TEST(managed.nic.config().port(1).lid.value() == 9);
  BOOST_TEST(!managed.nic.config().port(1).is_up);
  managed.set(9, kPortStateActive, true);
  managed.port.look(managed.nic, true);
  BOOST_TEST((managed.events() == std::vector{port_active, client_reregister}));
  managed.port.look(managed.nic, true);
  BOOST_TEST(managed.events().empty());
}

BOOST_AUTO_TEST_CASE(a_port_that_is_active_no_longer_is_an_error) {
  Managed managed;
  managed.set(9, kPortStateActive);
  managed.port.look(managed.nic, true);
  managed.events();
  managed.set(9, 2);
  managed.port.look(managed.nic, true);
  BOOST_TEST((managed.events() == std::vector{port_error}));
  managed.set(9, kPortStateActive);
  managed.port.look(managed.nic, false);  // the manager has not heard yet that the cable is dead
  BOOST_TEST(managed.events().empty());
}

BOOST_AUTO_TEST_CASE(p_keys_of_the_port_are_told_once_they_change) {
  Managed managed;
  ManagedPort wanted = (*managed.file)[0];
  wanted.pkeys = {0xffff, 0x8001};
  managed.file->write(0, wanted, false);
  managed.port.look(managed.nic, true);
  BOOST_TEST((managed.events() == std::vector{pkey_change}));
}

// As mlx5 reports MLX5_PORT_CHANGE_SUBTYPE_GUID, and mlx4 another prefix in PortInfo.
BOOST_AUTO_TEST_CASE(gids_of_the_port_are_told_once_they_change) {
  Managed managed;
  const auto gids = [&] { return managed.nic.config().gids_of(1); };
  const wire::Gid at_first = gids()[0].gid;
  BOOST_TEST(at_first.is_link_local());
  BOOST_TEST(gids().size() == ManagedPort::kGids);
  ManagedPort wanted = (*managed.file)[0];
  wanted.subnet_prefix = 0xfec0000000000001;
  managed.file->write(0, wanted, false);
  managed.port.look(managed.nic, true);
  BOOST_TEST((managed.events() == std::vector{gid_change}));
  BOOST_TEST((gids()[0].gid == with_prefix(at_first, 0xfec0000000000001)));
  wanted.alias_guids[1] = 0x1122334455667788;
  managed.file->write(0, wanted, false);
  managed.port.look(managed.nic, true);
  BOOST_TEST((managed.events() == std::vector{gid_change}));
  const wire::Gid alias{{0xfe, 0xc0, 0, 0, 0, 0, 0, 1, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88}};
  BOOST_TEST((gids()[2].gid == alias && gids()[1].gid == wire::Gid{}));
  managed.port.look(managed.nic, true);
  BOOST_TEST(managed.events().empty());
}
