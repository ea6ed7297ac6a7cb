// What a subnet manager has set on a port, from the file that the fabric process writes.
#include <boost/test/unit_test.hpp>
#include <vector>

#include "emulator/host/node/managed_port_file.h"

using namespace verbena;
using namespace verbena::host;

namespace {

std::string own_fabric() {
  return "managed-" + std::to_string(getpid());
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_port_is_read_as_it_was_written) {
  const auto file = ManagedPortFile::make(own_fabric(), 4, 2);
  BOOST_REQUIRE(file.ok());
  ManagedPort port;
  port.base_lid = 7;
  port.pkeys[127] = 0x8001;
  BOOST_TEST((*file)->write(3, port, false));
  const auto read = read_managed_port(own_fabric(), device_address(node_address(2), {1}));
  BOOST_REQUIRE(read.has_value());
  BOOST_TEST((read->base_lid == 7 && read->pkeys[127] == 0x8001 && read->sequence % 2 == 0));
  BOOST_TEST(read_managed_port(own_fabric(), node_address(1))->base_lid == 0);
}

BOOST_AUTO_TEST_CASE(each_kind_of_change_is_counted_by_itself) {
  const auto file = ManagedPortFile::make(own_fabric(), 1, 1);
  BOOST_REQUIRE(file.ok());
  ManagedPort port;
  BOOST_TEST(!(*file)->write(0, port, false));
  BOOST_TEST((**file)[0].sequence == 0u);
  port.lmc = 1;
  BOOST_TEST((*file)->write(0, port, false));
  port.sm_lid = 1;
  port.state = 4;
  BOOST_TEST((*file)->write(0, port, false));
  BOOST_TEST((*file)->write(0, port, true));
  const ManagedPort& now = (**file)[0];
  BOOST_TEST((now.lid_changes == 1 && now.sm_changes == 1 && now.state_changes == 1 && now.reregisters == 1));
  BOOST_TEST((now.pkey_changes == 0 && now.gid_changes == 0));
}

BOOST_AUTO_TEST_CASE(a_gid_of_a_manager_is_that_of_its_port) {
  const auto file = ManagedPortFile::make(own_fabric(), 4, 2);
  BOOST_REQUIRE(file.ok());
  const wire::Gid address = device_address(node_address(2), {1});
  const wire::Gid own = *link_local_of(address);
  ManagedPort port;
  port.subnet_prefix = 0xfec0000000000001;
  port.alias_guids[2] = 0x1122334455667788;
  BOOST_TEST((*file)->write(3, port, false));
  BOOST_TEST((**file)[3].gid_changes == 1u);
  const wire::Gid alias{{0xfe, 0xc0, 0, 0, 0, 0, 0, 1, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88}};
  const auto is_of = [](const wire::Gid& gid, const wire::Gid& node) { return node_of_gid(own_fabric(), gid) == node; };
  BOOST_TEST(is_of(with_prefix(own, port.subnet_prefix), address));
  BOOST_TEST(is_of(alias, address));
  BOOST_TEST(is_of(own, address));
  const wire::Gid nobodys = with_prefix(alias, 1);
  BOOST_TEST(is_of(nobodys, nobodys));
  port.alias_guids[2] = 0;
  BOOST_TEST((*file)->write(3, port, false));
  BOOST_TEST((**file)[3].gid_changes == 2u);
  BOOST_TEST(is_of(alias, alias));
}

BOOST_AUTO_TEST_CASE(what_a_killed_process_has_left_says_nothing) {
  const std::string path = managed_ports_path(own_fabric()).c_str();
  const auto file = ManagedPortFile::make(own_fabric(), 1, 1);
  BOOST_REQUIRE(file.ok());
  BOOST_TEST(read_managed_port(own_fabric(), node_address(1)).has_value());
  // The same octets, without its maker.
  const int left = open((path + ".left").c_str(), O_RDWR | O_CREAT, 0600);
  const int whole = open(path.c_str(), O_RDONLY);
  std::vector<std::byte> octets(sizeof(HostFileHeader) + sizeof(ManagedPort));
  BOOST_REQUIRE(read(whole, octets.data(), octets.size()) == static_cast<ssize_t>(octets.size()));
  BOOST_REQUIRE(write(left, octets.data(), octets.size()) == static_cast<ssize_t>(octets.size()));
  close(left);
  close(whole);
  BOOST_TEST(!read_managed_port(own_fabric() + ".left", node_address(1)).has_value());
  // The next fabric removes it, and nothing that is in use.
  HostFile::remove_left();
  BOOST_TEST(access((path + ".left").c_str(), F_OK) != 0);
  BOOST_TEST(read_managed_port(own_fabric(), node_address(1)).has_value());
}

BOOST_AUTO_TEST_CASE(without_the_file_no_port_is_managed) {
  BOOST_TEST(!read_managed_port(own_fabric(), node_address(1)).has_value());
  {
    const auto file = ManagedPortFile::make(own_fabric(), 2, 1);
    BOOST_REQUIRE(file.ok());
    BOOST_TEST(read_managed_port(own_fabric(), node_address(2)).has_value());
    BOOST_TEST(!read_managed_port(own_fabric(), node_address(3)).has_value());
    BOOST_TEST(!read_managed_port(own_fabric(), device_address(node_address(1), {1})).has_value());
  }
  BOOST_TEST(!read_managed_port(own_fabric(), node_address(2)).has_value());
}
