// The path shim of a node with two devices, the second with two ports (two_devices.cc): each has its files and its
// netlink answers, and none those of another one.
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "emulator/host/node/identity.h"
#include "emulator/host/node/port_signal.h"
#include "tests/cli/run_command.h"

namespace {

using verbena::test::Finished;
using verbena::test::run_command;

const std::string kClass = "/sys/class/infiniband";
const std::string kBus = "/sys/devices/pci5642:00";

Finished preloaded(const std::vector<std::string>& words, const char* node = "7") {
  return run_command(words, {{"LD_PRELOAD", VERBENA_PATH_LIBRARY},
                             {"VERBENA_NODE", node},
                             {"VERBENA_FABRIC", "path-two-devices"},
                             {"VERBENA_DEVICE_NAME", "mlx5_7"},
                             {"LC_ALL", "C"}});
}

std::string output_of(const std::vector<std::string>& words) {
  const Finished finished = preloaded(words);
  BOOST_TEST(finished.status == 0, words[0] << ": " << finished.err);
  BOOST_TEST(finished.err == "");
  return finished.out;
}

bool contains(const std::string& text, std::string_view what) {
  return text.find(what) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_device_has_an_entry_wherever_devices_are_listed) {
  BOOST_TEST(output_of({"ls", kClass}) == "mlx5_7\nmlx5_8\n");
  BOOST_TEST(output_of({"ls", "/sys/class/infiniband_verbs"}) == "abi_version\nuverbs0\nuverbs1\n");
  BOOST_TEST(output_of({"ls", "/dev/infiniband"}) == "rdma_cm\nuverbs0\nuverbs1\n");
  BOOST_TEST(output_of({"ls", kBus}) == "5642:00:00.0\n5642:00:01.0\n");
  const std::string interfaces = output_of({"ls", "/sys/class/net"});
  for (const char* name : {"verbena0\n", "verbena1\n", "verbena1p2\n"}) BOOST_TEST(contains(interfaces, name));
}

BOOST_AUTO_TEST_CASE(what_lies_below_a_device_is_its_own) {
  const std::pair<const char*, const char*> values[] = {
      {"/mlx5_7/node_guid", "0056:7fff:fe2f:5b07\n"},
      {"/mlx5_8/node_guid", "0056:7fff:fe2f:5c07\n"},
      {"/mlx5_8/sys_image_guid", "0056:7fff:fe2f:5c07\n"},
      {"/mlx5_7/ports/1/gids/0", "0000:0000:0000:0000:0000:ffff:7f2f:5b07\n"},
      {"/mlx5_8/ports/1/gids/0", "0000:0000:0000:0000:0000:ffff:7f2f:5c07\n"},
      {"/mlx5_8/ports/2/gids/0", "0000:0000:0000:0000:0000:ffff:7f30:5c07\n"},
      {"/mlx5_8/ports/2/gids/1", "fe80:0000:0000:0000:0056:7fff:fe30:5c07\n"},
      {"/mlx5_7/ports/1/gid_attrs/ndevs/0", "verbena0\n"},
      {"/mlx5_8/ports/1/gid_attrs/ndevs/0", "verbena1\n"},
      {"/mlx5_8/ports/2/gid_attrs/ndevs/1", "verbena1p2\n"},
      {"/mlx5_8/ports/2/lid", "0x0\n"},
      {"/mlx5_8/ports/2/state", "4: ACTIVE\n"},
      {"/mlx5_8/uevent", "NAME=mlx5_8\n"},
      {"/mlx5_8/device/numa_node", "-1\n"},
      {"/mlx5_8/device/infiniband_verbs/uverbs1/dev", "231:193\n"},
      {"/mlx5_8/device/infiniband_verbs/uverbs1/ibdev", "mlx5_8\n"},
      {"/mlx5_8/device/infiniband_verbs/uverbs1/uevent",
       "MAJOR=231\nMINOR=193\nDEVNAME=infiniband/uverbs1\nDEVMODE=0666\n"},
      {"/mlx5_8/device/net/verbena1/address", "02:56:7f:2f:5c:07\n"},
      {"/mlx5_8/device/net/verbena1p2/address", "02:56:7f:30:5c:07\n"},
      {"/mlx5_8/device/net/verbena1p2/dev_port", "1\n"},
      {"_verbs/uverbs0/ibdev", "mlx5_7\n"},
      {"_verbs/uverbs1/ibdev", "mlx5_8\n"},
  };
  for (const auto& [file, value] : values) BOOST_TEST(output_of({"cat", kClass + file}) == value, file);
  BOOST_TEST(contains(output_of({"cat", kClass + "/mlx5_8/device/uevent"}), "PCI_SLOT_NAME=5642:00:01.0\n"));
  BOOST_TEST(output_of({"ls", kClass + "/mlx5_7/ports"}) == "1\n");
  BOOST_TEST(output_of({"ls", kClass + "/mlx5_8/ports"}) == "1\n2\n");
  BOOST_TEST(output_of({"ls", kClass + "/mlx5_8/device/net"}) == "verbena1\nverbena1p2\n");
  BOOST_TEST(output_of({"ls", kClass + "/mlx5_7/device/infiniband"}) == "mlx5_7\n");
  for (const char* absent : {"/mlx5_7/ports/2", "/mlx5_7/device/infiniband/mlx5_8", "/mlx5_8/device/net/verbena0"})
    BOOST_TEST(preloaded({"stat", kClass + absent}).status != 0, absent);
}

BOOST_AUTO_TEST_CASE(links_lead_to_the_device_that_they_belong_to) {
  const std::string second = kBus + "/5642:00:01.0";
  BOOST_TEST(output_of({"realpath", kClass + "/mlx5_7/device"}) == kBus + "/5642:00:00.0\n");
  BOOST_TEST(output_of({"realpath", kClass + "/mlx5_8/device"}) == second + "\n");
  BOOST_TEST(output_of({"realpath", "/sys/bus/pci/devices/5642:00:01.0"}) == second + "\n");
  BOOST_TEST(output_of({"realpath", "/sys/class/infiniband_verbs/uverbs1/device"}) == second + "\n");
  BOOST_TEST(output_of({"realpath", "/sys/class/net/verbena1p2"}) == second + "/net/verbena1p2\n");
  BOOST_TEST(output_of({"realpath", "/sys/class/net/verbena1p2/device"}) == second + "\n");
  // `..` leads back into the device's own directories.
  BOOST_TEST(output_of({"ls", kClass + "/mlx5_8/ports/2/../.."}) == output_of({"ls", kClass + "/mlx5_8"}));
  BOOST_TEST(output_of({"cat", kClass + "/mlx5_8/ports/2/../../node_guid"}) == "0056:7fff:fe2f:5c07\n");
}

BOOST_AUTO_TEST_CASE(entries_of_two_devices_are_two_files) {
  BOOST_TEST(output_of({"stat", "-c", "%t:%T", "/dev/infiniband/uverbs0", "/dev/infiniband/uverbs1"}) ==
             "e7:c0\ne7:c1\n");
  const std::string numbers = output_of({"find", kBus, "-printf", "%i\\n"});
  BOOST_TEST(output_of({"/bin/sh", "-c", "find " + kBus + " -printf '%i\\n' | sort -u"}).size() == numbers.size());
  // A descriptor of a directory, and the working directory, know of which device they are.
  BOOST_TEST(output_of({"/bin/sh", "-c", "cd " + kClass + "/mlx5_8/ports/2/gids && cat 0 && /bin/pwd"}) ==
             "0000:0000:0000:0000:0000:ffff:7f30:5c07\n" + kBus + "/5642:00:01.0/infiniband/mlx5_8/ports/2/gids\n");
}

BOOST_AUTO_TEST_CASE(netlink_tells_of_each_device_and_port) {
  const std::string devices = output_of({"rdma", "dev"});
  BOOST_TEST(devices.starts_with("0: mlx5_7: node_type ca fw verbena-"));
  BOOST_TEST(contains(devices, "\n1: mlx5_8: node_type ca fw verbena-"));
  BOOST_TEST(contains(devices, "node_guid 0056:7fff:fe2f:5b07 sys_image_guid 0056:7fff:fe2f:5b07"));
  BOOST_TEST(contains(devices, "node_guid 0056:7fff:fe2f:5c07 sys_image_guid 0056:7fff:fe2f:5c07"));
  BOOST_TEST(output_of({"rdma", "dev", "show", "mlx5_8"}).starts_with("1: mlx5_8: "));
  BOOST_TEST(output_of({"rdma", "link"}) ==
             "link mlx5_7/1 state ACTIVE physical_state LINK_UP netdev verbena0 \n"
             "link mlx5_8/1 state ACTIVE physical_state LINK_UP netdev verbena1 \n"
             "link mlx5_8/2 state ACTIVE physical_state LINK_UP netdev verbena1p2 \n");
  BOOST_TEST(output_of({"rdma", "link", "show", "mlx5_8/2"}) ==
             "link mlx5_8/2 state ACTIVE physical_state LINK_UP netdev verbena1p2 \n");
  BOOST_TEST(output_of({"rdma", "statistic", "show", "link", "mlx5_8/2"}).starts_with("link mlx5_8/2 tx_packets 0 "));
  BOOST_TEST(preloaded({"rdma", "link", "show", "mlx5_7/2"}).status != 0);
  BOOST_TEST(contains(output_of({"rdma", "resource"}), "1: mlx5_8: "));
}

BOOST_AUTO_TEST_CASE(ip_lists_the_interface_of_each_port) {
  const std::string links = output_of({"ip", "-br", "link"});
  const std::string addresses = output_of({"ip", "-br", "addr"});
  const std::string routes = output_of({"ip", "route"});
  const struct {
    std::string name, network, mac;
  } kInterfaces[] = {{"verbena0", "127.47.91.", "02:56:7f:2f:5b:07"},
                     {"verbena1", "127.47.92.", "02:56:7f:2f:5c:07"},
                     {"verbena1p2", "127.48.92.", "02:56:7f:30:5c:07"}};
  for (const auto& [name, network, mac] : kInterfaces) {
    const std::string row = "\n" + name + std::string(17 - name.size(), ' ') + "UP             ";
    BOOST_TEST(contains(links, row + mac + " <BROADCAST,MULTICAST,UP,LOWER_UP>"));
    BOOST_TEST(contains(addresses, row + network + "7/24"));
    BOOST_TEST(contains(routes, network + "0/24 dev " + name + " proto kernel scope link src " + network + "7"));
    BOOST_TEST(contains(output_of({"ip", "route", "get", network + "9"}), " dev " + name + " src " + network + "7"));
    BOOST_TEST(contains(output_of({"ip", "link", "show", name}), mac));
  }
}

BOOST_AUTO_TEST_CASE(each_port_has_the_state_of_its_own_cable) {
  using namespace verbena;
  const std::string fabric = "path-two-ports." + std::to_string(getpid());
  const auto said = [&](const std::vector<std::string>& words) {
    return run_command(words, {{"LD_PRELOAD", VERBENA_PATH_LIBRARY},
                               {"VERBENA_NODE", "7"},
                               {"VERBENA_FABRIC", fabric},
                               {"VERBENA_LINK", "fabric"},
                               {"VERBENA_DEVICE_NAME", "mlx5_7"},
                               {"LC_ALL", "C"}})
        .out;
  };
  const host::HeldName serving = host::served_fabric_name(fabric.c_str()).hold();
  const auto second = host::device_address(host::node_address(7), {1, 1});
  const host::HeldName dead = host::dead_port_name(fabric.c_str(), second.octets).hold();
  BOOST_TEST(said({"cat", kClass + "/mlx5_7/ports/1/state", kClass + "/mlx5_8/ports/1/state",
                   kClass + "/mlx5_8/ports/2/state"}) == "4: ACTIVE\n1: DOWN\n4: ACTIVE\n");
  BOOST_TEST(said({"cat", "/sys/class/net/verbena0/carrier", "/sys/class/net/verbena1/carrier",
                   "/sys/class/net/verbena1p2/carrier"}) == "1\n0\n1\n");
  BOOST_TEST(said({"rdma", "link"}) ==
             "link mlx5_7/1 state ACTIVE physical_state LINK_UP netdev verbena0 \n"
             "link mlx5_8/1 state DOWN physical_state POLLING netdev verbena1 \n"
             "link mlx5_8/2 state ACTIVE physical_state LINK_UP netdev verbena1p2 \n");
  BOOST_TEST(contains(said({"ip", "-br", "link", "show", "verbena1"}), " DOWN "));
  BOOST_TEST(contains(said({"ip", "-br", "link", "show", "verbena0"}), " UP "));
  BOOST_TEST(contains(said({"ip", "-br", "link", "show", "verbena1p2"}), " UP "));
}

BOOST_AUTO_TEST_CASE(without_a_node_there_is_none_of_them) {
  BOOST_TEST(preloaded({"ls", kClass}, "auto:3").out == "");
  BOOST_TEST(preloaded({"ls", "/dev/infiniband"}, "auto:3").out == "");
  BOOST_TEST(preloaded({"rdma", "dev"}, "auto:3").out == "");
}
