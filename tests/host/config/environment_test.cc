// Reading the environment, names of nodes and fabrics, and the file of counters.
#include "emulator/host/config/environment.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <cstdlib>

#include "emulator/host/node/node_directory.h"
#include "emulator/host/node/stats_file.h"

namespace {
using namespace verbena;
using namespace verbena::host;

constexpr std::array kVariables{kFabricVariable,   kNodeVariable,   kLinkVariable, kPcapVariable,
                                kPcapSnapVariable, kFaultsVariable, kSeedVariable, kDeviceNameVariable,
                                kStatsVariable,    kNicVariable,    kIcrcVariable};
struct CleanEnvironment {
  CleanEnvironment() {
    for (const char* name : kVariables) unsetenv(name);
  }
  ~CleanEnvironment() {
    for (const char* name : kVariables) unsetenv(name);
  }
};
}  // namespace

BOOST_FIXTURE_TEST_SUITE(environment, CleanEnvironment)

BOOST_AUTO_TEST_CASE(empty_environment_is_node_1_of_the_default_fabric_over_shm) {
  const auto config = config_from_environment();
  BOOST_REQUIRE(config.ok());
  BOOST_TEST(config->fabric == "default");
  BOOST_TEST(address_text(config->address) == "127.47.91.1");
  BOOST_TEST(config->link == "shm");
  BOOST_TEST(config->device_name == "verbena0");
  BOOST_TEST(config->faults.empty());
  BOOST_TEST(!config->seed.has_value());
}

BOOST_AUTO_TEST_CASE(every_variable_is_taken) {
  setenv(kFabricVariable, "lab-1", 1);
  setenv(kNodeVariable, "7", 1);
  setenv(kLinkVariable, "raw:veth0", 1);
  setenv(kPcapVariable, "out.pcapng", 1);
  setenv(kPcapSnapVariable, "128", 1);
  setenv(kFaultsVariable, "drop 1%\n\nduplicate 0.5%\n", 1);
  setenv(kSeedVariable, "18446744073709551615", 1);
  setenv(kDeviceNameVariable, "mlx5_0", 1);
  setenv(kStatsVariable, "/proc/1/fd/3", 1);
  setenv(kNicVariable, "mtu=1024", 1);
  setenv(kIcrcVariable, "always", 1);
  const auto config = config_from_environment();
  BOOST_REQUIRE(config.ok());
  BOOST_TEST(config->fabric == "lab-1");
  BOOST_TEST(address_text(config->address) == "127.47.91.7");
  BOOST_TEST(config->link == "raw:veth0");
  BOOST_TEST(config->capture_path == "out.pcapng");
  BOOST_TEST(config->capture_snap_bytes == 128U);
  BOOST_REQUIRE(config->faults.size() == 2U);
  BOOST_TEST(config->faults[0].text == "drop 1%");
  BOOST_TEST(config->faults[1].text == "duplicate 0.5%");
  BOOST_TEST((config->seed == ~std::uint64_t{0}));
  BOOST_TEST(config->device_name == "mlx5_0");
  BOOST_TEST(config->stats_path == "/proc/1/fd/3");
  BOOST_TEST(config->nic.mtu_bytes.value_or(0) == 1024u);
}

BOOST_AUTO_TEST_CASE(process_without_a_node_by_rank_is_told_the_variables) {
  setenv(kNodeVariable, "auto:3", 1);
  setenv("PMI_RANK", "4", 1);
  BOOST_REQUIRE(config_from_environment().ok());
  BOOST_TEST(address_text(config_from_environment()->address) == "127.47.91.2");
  setenv("PMIX_RANK", "1", 1);
  const auto differ = config_from_environment();
  BOOST_REQUIRE(!differ.ok());
  BOOST_TEST(differ.error() ==
             "VERBENA_NODE='auto:3': launchers differ in the process's rank: PMIX_RANK=1, PMI_RANK=4");
  unsetenv("PMIX_RANK");
  unsetenv("PMI_RANK");
  const auto none = config_from_environment();
  BOOST_REQUIRE(!none.ok());
  BOOST_TEST(none.error() ==
             "VERBENA_NODE='auto:3': the process has no rank, by which its node is found: its launcher (mpirun, srun) "
             "sets none of OMPI_COMM_WORLD_RANK, PMIX_RANK, PMI_RANK, SLURM_PROCID");
}

BOOST_AUTO_TEST_CASE(a_wrong_value_is_one_line_that_names_its_variable) {
  const std::array<std::pair<const char*, const char*>, 19> wrong{
      {{kFabricVariable, "a/b"},
       {kFabricVariable, "12345678901234567890123456789012345678901"},
       {kNodeVariable, "0"},
       {kNodeVariable, "255"},
       {kNodeVariable, "-1"},
       {kNodeVariable, "224.0.0.1"},
       {kLinkVariable, "tcp"},
       {kLinkVariable, "raw:"},
       {kLinkVariable, "raw"},
       {kLinkVariable, "udp:eth0"},
       {kLinkVariable, "shm:"},
       {kLinkVariable, "raw:an-interface-name"},
       {kSeedVariable, "0x10"},
       {kSeedVariable, "18446744073709551616"},
       {kPcapSnapVariable, "all"},
       {kFaultsVariable, "drop 1%\nfrobnicate"},
       {kDeviceNameVariable, "../x"},
       {kNicVariable, "mtu=1500"},
       {kIcrcVariable, "never"}}};
  for (const auto& [name, value] : wrong) {
    setenv(name, value, 1);
    const auto config = config_from_environment();
    BOOST_TEST_CONTEXT(name << "=" << value) {
      BOOST_REQUIRE(!config.ok());
      BOOST_TEST(config.error().find(name) == 0U);
      BOOST_TEST(config.error().find_first_of("\n") == std::string::npos);
    }
    unsetenv(name);
  }
}

BOOST_AUTO_TEST_CASE(a_name_too_long_for_the_last_device_is_told) {
  const std::string name(63, 'a');
  setenv(kDeviceNameVariable, name.c_str(), 1);
  BOOST_TEST(devices_from_environment().ok());
  setenv(kDevicesVariable, "2", 1);
  const auto two = devices_from_environment();
  BOOST_REQUIRE(!two.ok());
  BOOST_TEST(two.error() ==
             "VERBENA_DEVICE_NAME='" + name +
                 "': the name of device 1 would be longer than 63 letters, or there is none: give a shorter one, or %d "
                 "for the device's number, or by commas one of each");
  unsetenv(kDevicesVariable);
  unsetenv(kDeviceNameVariable);
}

BOOST_AUTO_TEST_CASE(a_node_is_a_number_or_an_address) {
  BOOST_TEST(address_text(*parse_node("254")) == "127.47.91.254");
  BOOST_TEST(address_text(*parse_node("10.1.2.3")) == "10.1.2.3");
  BOOST_TEST(address_text(*parse_node("fd00::5")) == "fd00::5");
  BOOST_TEST(parse_node("10.1.2.3")->is_ipv4());
  for (const char* text : {"", "0", "255", "1000", "1.2.3", "1.2.3.4.5", "0.0.0.0", "::", "ff02::1", "node1", "1 "})
    BOOST_TEST(!parse_node(text).has_value(), text);
  BOOST_TEST((node_mac(*parse_node("1")).octets == std::array<std::uint8_t, 6>{0x02, 0x56, 0x7f, 0x2f, 0x5b, 0x01}));
}

BOOST_AUTO_TEST_CASE(a_link_local_address_leads_to_its_node) {
  const wire::Gid node = *parse_node("7");
  const auto link_local = link_local_of(node);
  BOOST_REQUIRE(link_local.has_value());
  BOOST_TEST(address_text(*link_local) == "fe80::56:7fff:fe2f:5b07");
  BOOST_TEST((node_of(*link_local) == node));
  BOOST_TEST((node_mac(*link_local) == node_mac(node)));
  BOOST_TEST((node_of(node) == node));
  const wire::Gid foreign = *parse_node("fe80::5054:ff:fe2f:5b07");  // of another maker's MAC
  BOOST_TEST((node_of(foreign) == foreign));
  BOOST_TEST(!link_local_of(*parse_node("fd00::7")).has_value());
}

BOOST_AUTO_TEST_CASE(slots_are_the_upper_bits_of_a_qpn) {
  BOOST_TEST(slot_of(wire::Qpn(0x120034)) == 0x12);
  BOOST_TEST((qpn_base_of(0x12) == wire::Qpn(0x120000)));
}

BOOST_AUTO_TEST_CASE(counters_of_several_processes_share_a_file_and_outlive_them) {
  const int file = memfd_create("stats", MFD_CLOEXEC);
  BOOST_REQUIRE(make_stats_file(file));
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  for (int i = 1; i <= 3; ++i) {
    const pid_t child = fork();
    BOOST_REQUIRE(child >= 0);
    if (child == 0) {
      const auto block = StatsBlock::open(path, "test", *parse_node("5"), static_cast<std::uint8_t>(i));
      block->counters().add(nic::Counter::tx_packets, static_cast<std::uint64_t>(i) * 10);
      _exit(block->shared() ? 0 : 1);
    }
    int status = -1;
    BOOST_TEST(waitpid(child, &status, 0) == child);
    BOOST_TEST(status == 0);
  }
  void* base = mmap(nullptr, kStatsFileBytes, PROT_READ, MAP_SHARED, file, 0);
  BOOST_REQUIRE(base != MAP_FAILED);
  const auto* stats = static_cast<const StatsFile*>(base);
  BOOST_TEST(stats->used() == 3U);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < stats->used(); ++i) {
    sum += stats->blocks[i].counters.get(nic::Counter::tx_packets);
    BOOST_TEST(stats->blocks[i].slot.load() == i + 1);
    BOOST_TEST(stats->blocks[i].process_id.load() != 0U);
    BOOST_TEST(stats->blocks[i].address[15].load() == 5);
  }
  BOOST_TEST(sum == 60U);
  munmap(base, kStatsFileBytes);
  close(file);
}

BOOST_AUTO_TEST_CASE(a_full_or_foreign_file_yields_private_counters) {
  const int file = memfd_create("stats", MFD_CLOEXEC);
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  BOOST_TEST(!StatsBlock::open(path, "test", wire::Gid{}, 0)->shared());  // empty
  BOOST_REQUIRE(ftruncate(file, kStatsFileBytes) == 0);
  BOOST_TEST(!StatsBlock::open(path, "test", wire::Gid{}, 0)->shared());  // all zero
  BOOST_REQUIRE(make_stats_file(file));
  void* const mapping = mmap(nullptr, kStatsFileBytes, PROT_READ, MAP_SHARED, file, 0);
  const auto* const map = static_cast<const StatsFile*>(mapping);
  for (std::size_t i = 0; i < StatsFile::kBlocks; ++i)
    BOOST_TEST(StatsBlock::open(path, "test", wire::Gid{}, 0)->shared());
  const auto late = StatsBlock::open(path, "test", wire::Gid{}, 0);
  BOOST_TEST(!late->shared());
  BOOST_TEST(map->claimed.load() > StatsFile::kBlocks);  // so that it can be told that somebody was left out
  late->counters().add(nic::Counter::rx_packets);
  BOOST_TEST(late->counters().get(nic::Counter::rx_packets) == 1U);
  BOOST_TEST(!StatsBlock::open("/nowhere/at/all", "test", wire::Gid{}, 0)->shared());
  munmap(mapping, kStatsFileBytes);
  close(file);
}

BOOST_AUTO_TEST_CASE(after_fork_the_child_counts_for_itself) {
  const int file = memfd_create("stats", MFD_CLOEXEC);
  BOOST_REQUIRE(make_stats_file(file));
  const auto block = StatsBlock::open("/proc/self/fd/" + std::to_string(file), "test", wire::Gid{}, 0);
  BOOST_REQUIRE(block->shared());
  block->counters().add(nic::Counter::tx_packets, 5);
  const pid_t child = fork();
  BOOST_REQUIRE(child >= 0);
  if (child == 0) {
    block->make_private();
    block->counters().add(nic::Counter::tx_packets, 100);
    _exit(block->counters().get(nic::Counter::tx_packets) == 105 ? 0 : 1);
  }
  int status = -1;
  BOOST_TEST(waitpid(child, &status, 0) == child);
  BOOST_TEST(status == 0);
  BOOST_TEST(block->counters().get(nic::Counter::tx_packets) == 5U);
  close(file);
}

BOOST_AUTO_TEST_SUITE_END()
