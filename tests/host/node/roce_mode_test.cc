// What an administrator sets of connections on a port: kept, judged, forgotten when it is the default again.
#include "emulator/host/node/roce_mode.h"

#include <boost/test/unit_test.hpp>
#include <string>

using namespace verbena;
using namespace verbena::host;
using enum wire::RoceVersion;

namespace {

DeviceIdentity device(std::string_view wire, std::uint32_t number = 0) {
  return device_of(node_address(7), {number, 1}, {.wire = *wire::find_wire_kind(wire)});
}

/// A fabric of this test's own; nothing of it is left.
struct Fabric {
  ~Fabric() {
    for (const std::uint32_t number : {0u, 1u})
      for (const PortDefault what : {PortDefault::roce_mode, PortDefault::roce_tos, PortDefault::folder})
        ::unlink(path(what, number).c_str());
  }
  std::string path(PortDefault what, std::uint32_t number = 0) const {
    return std::string(detail::default_path(name, device("roce", number), what).view());
  }
  bool has(PortDefault what) const { return ::access(path(what).c_str(), F_OK) == 0; }
  std::string name = "roce-mode-test-" + std::to_string(getpid());
};

}  // namespace

BOOST_AUTO_TEST_CASE(mode_is_v2_where_the_port_has_it) {
  const Fabric fabric;
  BOOST_TEST((default_roce_mode(fabric.name, device("roce")) == v2));
  BOOST_TEST((default_roce_mode(fabric.name, device("roce-v2")) == v2));
  BOOST_TEST((default_roce_mode(fabric.name, device("roce-v1")) == v1));
}

BOOST_AUTO_TEST_CASE(mode_is_kept_for_its_port_until_it_is_set_back) {
  const Fabric fabric;
  BOOST_TEST(set_default_roce_mode(fabric.name, device("roce"), "IB/RoCE v1\n") == 0);
  BOOST_TEST((default_roce_mode(fabric.name, device("roce")) == v1));
  BOOST_TEST((default_roce_mode(fabric.name, device("roce", 1)) == v2));
  BOOST_TEST((default_roce_mode(fabric.name, device("roce-v2")) == v2));  // it has no such GID any more
  BOOST_TEST(fabric.has(PortDefault::roce_mode));
  BOOST_TEST(set_default_roce_mode(fabric.name, device("roce"), "RoCE v2") == 0);
  BOOST_TEST((default_roce_mode(fabric.name, device("roce")) == v2));
  BOOST_TEST(!fabric.has(PortDefault::roce_mode));
}

BOOST_AUTO_TEST_CASE(mode_that_the_port_has_not_is_refused) {
  const Fabric fabric;
  for (const std::string_view word : {"RoCE v3", "", "\n", "v1", "IB/RoCE v1 "})
    BOOST_TEST(set_default_roce_mode(fabric.name, device("roce"), word) == EINVAL, word);
  BOOST_TEST(set_default_roce_mode(fabric.name, device("roce-v2"), "IB/RoCE v1") == EINVAL);
  BOOST_TEST(set_default_roce_mode(fabric.name, device("roce-v1"), "RoCE v2") == EINVAL);
  BOOST_TEST(!fabric.has(PortDefault::roce_mode));
}

BOOST_AUTO_TEST_CASE(tos_is_a_number_of_one_octet) {
  const Fabric fabric;
  const DeviceIdentity port = device("roce");
  const auto set = [&](std::string_view word) { return set_default_roce_tos(fabric.name, port, word); };
  BOOST_TEST(default_roce_tos(fabric.name, port) == 0);
  BOOST_TEST(set("104\n") == 0);
  BOOST_TEST(default_roce_tos(fabric.name, port) == 104);
  BOOST_TEST(set("0x1F") == 0);
  BOOST_TEST(default_roce_tos(fabric.name, port) == 31);
  BOOST_TEST(set("017") == 0);
  BOOST_TEST(default_roce_tos(fabric.name, port) == 15);
  BOOST_TEST(set("256") == ERANGE);
  for (const std::string_view word : {"", "-1", "08", "1 2", "tos", "0x"}) BOOST_TEST(set(word) == EINVAL, word);
  BOOST_TEST(default_roce_tos(fabric.name, port) == 15);
  BOOST_TEST(set("0") == 0);
  BOOST_TEST(!fabric.has(PortDefault::roce_tos));
}

BOOST_AUTO_TEST_CASE(folder_is_there_once_it_was_made) {
  const Fabric fabric;
  const DeviceIdentity port = device("roce");
  BOOST_TEST(remove_config_folder(fabric.name, port) == ENOENT);
  BOOST_TEST(make_config_folder(fabric.name, port) == 0);
  BOOST_TEST(make_config_folder(fabric.name, port) == EEXIST);
  BOOST_TEST(has_config_folder(fabric.name, port));
  BOOST_TEST(!has_config_folder(fabric.name, device("roce", 1)));
  BOOST_TEST(remove_config_folder(fabric.name, port) == 0);
  BOOST_TEST(!has_config_folder(fabric.name, port));
}

BOOST_AUTO_TEST_CASE(link_or_pipe_in_the_place_of_the_file_is_not_followed) {
  const Fabric fabric;
  const DeviceIdentity port = device("roce");
  BOOST_REQUIRE(::symlink("/etc/passwd", fabric.path(PortDefault::roce_mode).c_str()) == 0);
  BOOST_TEST((default_roce_mode(fabric.name, port) == v2));
  BOOST_TEST(set_default_roce_mode(fabric.name, port, "IB/RoCE v1") != 0);
  ::unlink(fabric.path(PortDefault::roce_mode).c_str());
  BOOST_REQUIRE(::mkfifo(fabric.path(PortDefault::roce_mode).c_str(), 0600) == 0);
  BOOST_TEST((default_roce_mode(fabric.name, port) == v2));
}
