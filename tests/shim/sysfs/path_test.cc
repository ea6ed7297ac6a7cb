// The path shim under real programs: ls, cat, find, grep, sh and python3 see the emulated device and not the host's.
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "emulator/host/link/shm/shm_channel.h"
#include "emulator/host/node/node_directory.h"
#include "emulator/host/node/port_rate_file.h"
#include "emulator/host/node/port_signal.h"
#include "emulator/host/node/stats_file.h"
#include "tests/cli/run_command.h"

using verbena::test::Finished;
using verbena::test::run_command;

namespace {

using Words = std::vector<std::string>;
const std::string kDevice = "/sys/class/infiniband/mlx5_7";
const std::string kReal = "/sys/devices/pci5642:00/5642:00:00.0";

Finished preloaded(const Words& words) {
  return run_command(words, {{"LD_PRELOAD", VERBENA_PATH_LIBRARY},
                             {"VERBENA_NODE", "7"},
                             {"VERBENA_DEVICE_NAME", "mlx5_7"},
                             {"LC_ALL", "C"}});
}

Finished sh(const std::string& script) {
  return preloaded({"/bin/sh", "-c", script});
}

std::string output_of(const Words& words) {
  const Finished finished = preloaded(words);
  BOOST_TEST(finished.status == 0, words[0] << ": " << finished.err);
  BOOST_TEST(finished.err == "");
  return finished.out;
}

/// The distribution's, not one behind a wrapper script.
std::string python(const std::string& script) {
  return output_of({"/usr/bin/python3", "-c", script});
}

bool contains(const std::string& text, std::string_view what) {
  return text.find(what) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_CASE(cat_reads_what_the_verbs_would_say) {
  const std::pair<const char*, const char*> values[] = {
      {"/node_guid", "0056:7fff:fe2f:5b07\n"},
      {"/sys_image_guid", "0056:7fff:fe2f:5b07\n"},
      {"/node_type", "1: CA\n"},
      {"/ports/1/state", "4: ACTIVE\n"},
      {"/ports/1/phys_state", "5: LinkUp\n"},
      {"/ports/1/link_layer", "Ethernet\n"},
      {"/ports/1/rate", "100 Gb/sec (4X EDR)\n"},
      {"/ports/1/lid", "0x0\n"},
      {"/ports/1/gids/0", "0000:0000:0000:0000:0000:ffff:7f2f:5b07\n"},
      {"/ports/1/gids/1", "fe80:0000:0000:0000:0056:7fff:fe2f:5b07\n"},
      {"/ports/1/gid_attrs/types/1", "RoCE v2\n"},
      {"/ports/1/gid_attrs/types/0", "RoCE v2\n"},
      {"/ports/1/gid_attrs/ndevs/0", "verbena0\n"},
      {"/ports/1/pkeys/0", "0xffff\n"},
      {"/device/numa_node", "-1\n"},
  };
  for (const auto& [file, value] : values) BOOST_TEST(output_of({"cat", kDevice + file}) == value, file);
  // The GID table is as long as gid_tbl_len says: the link-local address is not on every link.
  BOOST_TEST(output_of({"ls", kDevice + "/ports/1/gids"}) == "0\n1\n");
  BOOST_TEST(output_of({"env", "VERBENA_LINK=udp", "ls", kDevice + "/ports/1/gids"}) == "0\n");
  BOOST_TEST(output_of({"env", "VERBENA_LINK=udp", "ls", kDevice + "/ports/1/gid_attrs/types"}) == "0\n");
  BOOST_TEST(output_of({"cat", "/sys/class/infiniband_verbs/uverbs0/ibdev"}) == "mlx5_7\n");
  BOOST_TEST(output_of({"cat", "/sys/class/infiniband_verbs/abi_version"}) == "6\n");
  BOOST_TEST(output_of({"cat", "/sys/class/infiniband_verbs/uverbs0/device/vendor"}) == "0xffff\n");
}

BOOST_AUTO_TEST_CASE(device_has_a_place_on_the_PCI_bus_and_a_network_interface) {
  BOOST_TEST(output_of({"realpath", kDevice + "/device"}) == kReal + "\n");
  BOOST_TEST(output_of({"realpath", "/sys/bus/pci/devices/5642:00:00.0"}) == kReal + "\n");
  BOOST_TEST(contains(output_of({"cat", kReal + "/uevent"}), "PCI_SLOT_NAME=5642:00:00.0\n"));
  BOOST_TEST(output_of({"realpath", "/sys/class/net/verbena0/device"}) == kReal + "\n");
  BOOST_TEST(output_of({"ls", kDevice + "/device/net"}) == "verbena0\n");
  BOOST_TEST(output_of({"cat", kDevice + "/device/net/verbena0/address"}) == "02:56:7f:2f:5b:07\n");
  BOOST_TEST(contains(output_of({"ls", "/sys/class/net"}), "verbena0\n"));
  // A node that is an interface's address has that one, by the machine's own files.
  const auto on_interface = [&](const Words& words) {
    Words all{"env", "VERBENA_NODE=127.0.0.1"};
    all.insert(all.end(), words.begin(), words.end());
    return output_of(all);
  };
  BOOST_TEST(on_interface({"cat", kDevice + "/ports/1/gid_attrs/ndevs/0"}) == "lo\n");
  BOOST_TEST(on_interface({"cat", kDevice + "/device/net/lo/address"}) == "00:00:00:00:00:00\n");
  BOOST_TEST(!contains(on_interface({"ls", "/sys/class/net"}), "verbena0"));
}

BOOST_AUTO_TEST_CASE(process_without_the_rank_for_its_node_has_no_device) {
  const auto ranked = [](const Words& words) {
    Words all{"env", "VERBENA_NODE=auto:4"};
    all.insert(all.end(), words.begin(), words.end());
    return preloaded(all);
  };
  BOOST_TEST(ranked({"PMI_RANK=2", "cat", kDevice + "/node_guid"}).out == "0056:7fff:fe2f:5b03\n");
  for (const std::string& path :
       {kDevice, kReal, std::string("/dev/infiniband/rdma_cm"), std::string("/dev/infiniband/uverbs0"),
        std::string("/sys/class/infiniband_verbs/uverbs0")}) {
    BOOST_TEST(ranked({"PMI_RANK=2", "test", "-e", path}).status == 0, path);
    BOOST_TEST(ranked({"test", "-e", path}).status == 1, path);
  }
  BOOST_TEST(ranked({"ls", "/sys/class/infiniband"}).out == "");
}

BOOST_AUTO_TEST_CASE(counters_are_the_sum_of_the_nodes_processes_at_that_moment) {
  using namespace verbena;
  const std::string fabric = "path." + std::to_string(getpid());
  const auto value = [&](const std::string& file) {
    return run_command({"cat", kDevice + "/ports/1/" + file}, {{"LD_PRELOAD", VERBENA_PATH_LIBRARY},
                                                               {"VERBENA_NODE", "7"},
                                                               {"VERBENA_FABRIC", fabric},
                                                               {"VERBENA_DEVICE_NAME", "mlx5_7"}})
        .out;
  };
  BOOST_TEST(value("hw_counters/tx_packets") == "0\n");
  // Two processes of the node, of which one shares a file with another node's, and one of another fabric.
  const host::Descriptor shared(host::make_stats_memory(fabric));
  const std::string path = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(shared.get());
  const auto alone = host::StatsBlock::open("", fabric, *host::parse_node("7"), 0);
  const auto sibling = host::StatsBlock::open(path, fabric, *host::parse_node("7"), 1);
  const auto other_node = host::StatsBlock::open(path, fabric, *host::parse_node("8"), 0);
  const auto other_fabric = host::StatsBlock::open("", fabric + "x", *host::parse_node("7"), 0);
  alone->counters().add(nic::Counter::tx_packets, 3);
  sibling->counters().add(nic::Counter::tx_packets, 40);
  other_node->counters().add(nic::Counter::tx_packets, 500);
  other_fabric->counters().add(nic::Counter::tx_packets, 6000);
  BOOST_TEST(value("hw_counters/tx_packets") == "43\n");
  BOOST_TEST(value("counters/port_xmit_packets") == "43\n");
  alone->counters().add(nic::Counter::tx_bytes, 4096);
  BOOST_TEST(value("counters/port_xmit_data") == "1024\n");  // in words of four octets
  alone->counters().add(nic::Counter::async_events, 1);      // the last one
  BOOST_TEST(value("hw_counters/async_events") == "1\n");
  BOOST_TEST(value("counters/port_xmit_wait") == "0\n");
}

BOOST_AUTO_TEST_CASE(each_port_of_a_device_has_counters_of_its_own) {
  using namespace verbena;
  const std::string fabric = "path-ports." + std::to_string(getpid());
  const wire::Gid node = host::node_address(7);
  const std::array<wire::Gid, 1> further{host::device_address(node, {0, 2})};
  const auto block = host::StatsBlock::open("", fabric, node, 0, further);
  block->counters(1).add(nic::Counter::rx_packets, 3);
  block->counters(2).add(nic::Counter::rx_packets, 40);
  const auto value = [&](const std::string& file) {
    return run_command({"cat", kDevice + "/ports/" + file}, {{"LD_PRELOAD", VERBENA_PATH_LIBRARY},
                                                             {"VERBENA_NODE", "7"},
                                                             {"VERBENA_PORTS", "2"},
                                                             {"VERBENA_FABRIC", fabric},
                                                             {"VERBENA_DEVICE_NAME", "mlx5_7"}})
        .out;
  };
  BOOST_TEST(value("1/hw_counters/rx_packets") == "3\n");
  BOOST_TEST(value("2/hw_counters/rx_packets") == "40\n");
  BOOST_TEST(value("1/counters/port_rcv_packets") == "3\n");
  BOOST_TEST(value("2/counters/port_rcv_packets") == "40\n");
}

BOOST_AUTO_TEST_CASE(port_goes_down_once_however_many_processes_see_it) {
  using namespace verbena;
  const std::string fabric = "path-down." + std::to_string(getpid());
  const auto one = host::StatsBlock::open("", fabric, *host::parse_node("7"), 0);
  const auto two = host::StatsBlock::open("", fabric, *host::parse_node("7"), 1);
  one->counters().add(nic::Counter::link_downed, 2);
  two->counters().add(nic::Counter::link_downed, 1);
  const Finished read =
      run_command({"cat", kDevice + "/ports/1/counters/link_downed"}, {{"LD_PRELOAD", VERBENA_PATH_LIBRARY},
                                                                       {"VERBENA_NODE", "7"},
                                                                       {"VERBENA_FABRIC", fabric},
                                                                       {"VERBENA_DEVICE_NAME", "mlx5_7"}});
  BOOST_TEST(read.out == "2\n");
}

BOOST_AUTO_TEST_CASE(the_ports_state_is_that_of_its_cable_in_a_served_fabric) {
  using namespace verbena;
  const std::string fabric = "path-port." + std::to_string(getpid());
  const auto state = [&](const std::string& link, const std::string& node) {
    return run_command({"cat", kDevice + "/ports/1/state", kDevice + "/ports/1/phys_state"},
                       {{"LD_PRELOAD", VERBENA_PATH_LIBRARY},
                        {"VERBENA_NODE", node},
                        {"VERBENA_FABRIC", fabric},
                        {"VERBENA_LINK", link},
                        {"VERBENA_DEVICE_NAME", "mlx5_7"}})
        .out;
  };
  const std::string up = "4: ACTIVE\n5: LinkUp\n";
  const std::string down = "1: DOWN\n2: Polling\n";
  BOOST_TEST(state("fabric", "7") == down);  // nobody serves it
  const host::HeldName serving = host::served_fabric_name(fabric.c_str()).hold();
  BOOST_TEST(state("fabric", "7") == up);
  host::HeldName dead = host::dead_port_name(fabric.c_str(), host::node_address(7).octets).hold();
  BOOST_TEST(dead.held());
  BOOST_TEST(state("fabric", "7") == down);
  BOOST_TEST(state("fabric", "127.47.91.7") == down);
  BOOST_TEST(state("fabric", "8") == up);
  BOOST_TEST(state("shm", "7") == up);
  dead.release();
  BOOST_TEST(state("fabric", "7") == up);
}

BOOST_AUTO_TEST_CASE(the_rate_is_the_one_that_a_fault_has_given_the_link) {
  using namespace verbena;
  const std::string fabric = "path-rate." + std::to_string(getpid());
  const auto said = [&] {
    return run_command({"cat", kDevice + "/ports/1/rate", "/sys/class/net/verbena0/speed"},
                       {{"LD_PRELOAD", VERBENA_PATH_LIBRARY},
                        {"VERBENA_NODE", "7"},
                        {"VERBENA_FABRIC", fabric},
                        {"VERBENA_LINK", "fabric"},
                        {"VERBENA_DEVICE_NAME", "mlx5_7"}})
        .out;
  };
  auto rates = host::PortRateFile::make(fabric, 7, 1);
  BOOST_REQUIRE(rates.ok());
  BOOST_TEST(said() == "100 Gb/sec (4X EDR)\n100000\n");
  rates->set(6, 25'000'000'000);
  BOOST_TEST(said() == "25 Gb/sec (1X EDR)\n25000\n");
}

BOOST_AUTO_TEST_CASE(the_network_interface_is_the_one_with_the_nodes_address) {
  BOOST_TEST(output_of({"ls", kDevice + "/device/net"}) == "verbena0\n");
  BOOST_TEST(output_of({"cat", kDevice + "/device/net/verbena0/ifindex"}) == "1447165952\n");
  BOOST_TEST(output_of({"readlink", "-f", kDevice + "/device/net/verbena0"}) ==
             "/sys/devices/pci5642:00/5642:00:00.0/net/verbena0\n");
  BOOST_TEST(preloaded({"cat", kDevice + "/device/net/eth9/ifindex"}).status == 1);
}

BOOST_AUTO_TEST_CASE(ls_lists_recursively_with_links_and_devices) {
  BOOST_TEST(output_of({"ls", "/sys/class/infiniband"}) == "mlx5_7\n");
  const std::string classes = output_of({"ls", "-lR", "/sys/class/infiniband/"});
  BOOST_TEST(contains(classes, "mlx5_7 -> ../../devices/pci5642:00/5642:00:00.0/infiniband/mlx5_7"));
  const std::string all = output_of({"ls", "-lR", kReal});
  BOOST_TEST(contains(all, kReal + "/infiniband/mlx5_7/ports/1/gid_attrs/types:"));
  const std::string devices = output_of({"ls", "-la", "/dev/infiniband"});
  BOOST_TEST(contains(devices, "crw-rw-rw- 1 root root 231, 192"));
  BOOST_TEST(contains(devices, " uverbs0"));
}

BOOST_AUTO_TEST_CASE(find_and_grep_walk_the_tree) {
  const std::string files = output_of({"find", kDevice + "/", "-type", "f", "-not", "-path", "*counters/*"});
  BOOST_TEST(contains(files, kDevice + "/ports/1/gids/0\n"));
  const auto count = std::count(files.begin(), files.end(), '\n');
  BOOST_TEST(count == 25);
  const std::string counters = output_of({"ls", kDevice + "/ports/1/hw_counters"});
  const auto counted = static_cast<std::size_t>(std::count(counters.begin(), counters.end(), '\n'));
  BOOST_TEST(counted == verbena::nic::kCounters + 1);  // and their lifespan
  BOOST_TEST(output_of({"find", kReal, "-name", "uverbs*"}) == kReal + "/infiniband_verbs/uverbs0\n");
  BOOST_TEST(output_of({"grep", "-r", "ACTIVE", kDevice + "/"}) == kDevice + "/ports/1/state:4: ACTIVE\n");
}

BOOST_AUTO_TEST_CASE(a_directory_opened_as_a_file_does_not_read_for_ever) {
  const Finished finished = preloaded({"cat", kDevice});
  BOOST_TEST(finished.status == 1);
  BOOST_TEST(finished.out == "");
}

BOOST_AUTO_TEST_CASE(the_shell_expands_patterns_and_tests_files) {
  const Finished finished =
      sh("echo /sys/class/infiniband/*/ports/*; [ -d /sys/class/infiniband ] && echo directory; "
         "[ -c /dev/infiniband/uverbs0 ] && [ -w /dev/infiniband/uverbs0 ] && echo device; "
         "[ -c /dev/infiniband/rdma_cm ] && echo cm; read type < " +
         kDevice + "/node_type; echo $type; (read x < " + kDevice + "/hca_type; echo $x)");
  BOOST_TEST(finished.out == "/sys/class/infiniband/mlx5_7/ports/1\ndirectory\ndevice\ncm\n1: CA\nverbena\n");
}

BOOST_AUTO_TEST_CASE(links_resolve) {
  BOOST_TEST(output_of({"readlink", kDevice}) == "../../devices/pci5642:00/5642:00:00.0/infiniband/mlx5_7\n");
  BOOST_TEST(output_of({"readlink", "-f", kDevice + "/device"}) == kReal + "\n");
  BOOST_TEST(output_of({"realpath", "/sys/class/infiniband_verbs/uverbs0/device/infiniband"}) ==
             kReal + "/infiniband\n");
  BOOST_TEST(output_of({"ls", kDevice + "/device/infiniband_verbs"}) == "uverbs0\n");
}

BOOST_AUTO_TEST_CASE(python_sees_the_same_by_every_call) {
  const std::string device = "'" + kDevice + "'";
  BOOST_TEST(python("import os; print(os.listdir('/sys/class/infiniband'))") == "['mlx5_7']\n");
  BOOST_TEST(python("import glob; print(glob.glob('/sys/class/infiniband/*/ports/*/pkeys/*'))") ==
             "['" + kDevice + "/ports/1/pkeys/0']\n");
  BOOST_TEST(
      python("import os; print([(e.name, e.is_symlink(), e.is_dir()) for e in os.scandir('/sys/class/infiniband')])") ==
      "[('mlx5_7', True, True)]\n");
  BOOST_TEST(python("import os; print(os.path.realpath(" + device + "))") == kReal + "/infiniband/mlx5_7\n");
  BOOST_TEST(
      python("import os; d = os.open(" + device +
             ", os.O_RDONLY | os.O_DIRECTORY); d = os.dup(d); print('ports' in os.listdir(d), "
             "os.stat('node_type', dir_fd=d).st_size, os.read(os.open('node_type', os.O_RDONLY, dir_fd=d), 9))") ==
      "True 4096 b'1: CA\\n'\n");
  BOOST_TEST(python("import ctypes; c = ctypes.CDLL(None)\n"
                    "n = ctypes.POINTER(ctypes.c_void_p)(); print(c.scandir(b'" +
                    kDevice +
                    "', ctypes.byref(n), None, None))\n"
                    "b = ctypes.create_string_buffer(4096); c.realpath(b'" +
                    kDevice + "/device', b); print(b.value.decode())") == "14\n" + kReal + "\n");
}

BOOST_AUTO_TEST_CASE(errors_are_those_of_sysfs) {
  const auto error_of = [](const std::string& path, const std::string& mode) {
    return python("import errno\ntry: open('" + path + "', '" + mode +
                  "')\nexcept OSError as e: print(errno.errorcode[e.errno])");
  };
  BOOST_TEST(error_of(kDevice + "/node_guid", "w") == "EACCES\n");
  BOOST_TEST(error_of(kDevice + "/nothing", "r") == "ENOENT\n");
  BOOST_TEST(error_of("/sys/class/infiniband/other", "r") == "ENOENT\n");
  BOOST_TEST(error_of("/sys/class/infiniband_mad/abi_version", "r") == "ENOENT\n");
  BOOST_TEST(error_of("/dev/infiniband/rdma_cm", "r") == "ENXIO\n");
  BOOST_TEST(error_of(kDevice + "/node_guid/x", "r") == "ENOTDIR\n");
  BOOST_TEST(python("import os\ntry: os.listdir('" + kDevice +
                    "/node_guid')\nexcept OSError as e: print(e.strerror)") == "Not a directory\n");
}

BOOST_AUTO_TEST_CASE(other_paths_are_untouched) {
  // The node's own interface beside the machine's.
  const std::string interfaces = run_command({"sh", "-c", "(ls /sys/class/net; echo verbena0) | sort"}).out;
  for (const char* path : {"/sys/class/net", "/sys/class/infiniband/../net"})
    BOOST_TEST(output_of({"sh", "-c", std::string("ls ") + path + " | sort"}) == interfaces, path);
  BOOST_TEST(output_of({"cat", "/proc/sys/kernel/ostype"}) == "Linux\n");
  const Finished missing = preloaded({"cat", "/sys/class/nothing"});
  BOOST_TEST(contains(missing.err, "No such file or directory"));
}

BOOST_AUTO_TEST_CASE(nothing_is_left_open_and_many_directories_can_be_open) {
  BOOST_TEST(python("import os\nbefore = len(os.listdir('/proc/self/fd'))\n"
                    "for i in range(1000):\n"
                    "  list(os.scandir('/sys/class/infiniband')); open('" +
                    kDevice +
                    "/fw_ver').close()\n"
                    "held = [os.scandir('" +
                    kDevice +
                    "') for i in range(40)]\n"
                    "print(sum(1 for h in held for e in h), len(os.listdir('/proc/self/fd')) - before)") == "480 0\n");
}

// -- Where a program's own datagrams come from -----------------------------------------------------------------------

namespace {

/// Sends to a socket on 127.47.91.9 by `statements`, which use the socket `s` and the name `to`; says where it came
/// from.
std::string source_seen(const std::string& statements) {
  return python(
      "import socket\n"
      "r = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); r.bind(('127.47.91.9', 0)); r.settimeout(30)\n"
      "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); to = r.getsockname()\n" +
      statements +
      "\nhost, port = r.recvfrom(9)[1]\n"
      "print(host, port == s.getsockname()[1], end='')\n");
}

}  // namespace

BOOST_AUTO_TEST_CASE(datagrams_to_a_node_come_from_the_own_node) {
  BOOST_TEST(source_seen("s.sendto(b'x', to)") == "127.47.91.7 True");
  BOOST_TEST(source_seen("s.sendmsg([b'x'], [], 0, to)") == "127.47.91.7 True");
  BOOST_TEST(source_seen("s.connect(to); s.send(b'x')") == "127.47.91.7 True");
  BOOST_TEST(source_seen("s.connect(to); s.send(b'x'); print(s.getsockname()[0], end=' ')") ==
             "127.47.91.7 127.47.91.7 True");
  BOOST_TEST(source_seen("s.bind(('', 0)); s.sendto(b'x', to)") == "127.47.91.7 True");
}

BOOST_AUTO_TEST_CASE(a_program_that_chooses_its_source_address_keeps_it) {
  BOOST_TEST(source_seen("s.bind(('127.0.0.1', 0)); s.sendto(b'x', to)") == "127.0.0.1 True");
  BOOST_TEST(source_seen("s.bind(('127.0.0.1', 0)); s.connect(to); s.send(b'x')") == "127.0.0.1 True");
  // Nor has any other destination to do with nodes.
  BOOST_TEST(python("import socket\n"
                    "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(('127.1.1.1', 9))\n"
                    "print(s.getsockname()[0], end='')") == "127.0.0.1");
}
