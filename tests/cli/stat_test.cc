// `verbena stat` of nodes on direct cables: their processes are found, added up and gone again. Of a fabric of
// InfiniBand: LIDs, states of ports, and the manager.
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "emulator/fabric/qos.h"
#include "emulator/host/node/identity.h"
#include "emulator/host/node/node_directory.h"
#include "emulator/host/node/stats_file.h"
#include "emulator/host/node/stats_search.h"
#include "tests/cli/run_command.h"
#include "tests/host/fabric_process/served.h"
#include "tests/support/waiting.h"

using namespace verbena;
using nic::Counter;
using Json = nlohmann::json;

namespace {

const std::string kFabric = "stat." + std::to_string(getpid());  // before any child is made

long lines_in(int file) {
  std::string text(1 << 16, '\0');
  const ssize_t bytes = pread(file, text.data(), text.size(), 0);
  return std::count(text.begin(), text.begin() + std::max<ssize_t>(bytes, 0), '\n');
}

/// Another process with counters of its own, until this object goes.
class CountingProcess {
 public:
  CountingProcess(const char* node, std::uint64_t packets) {
    int ready[2];
    BOOST_REQUIRE(pipe(ready) == 0);
    process_ = fork();
    if (process_ == 0) {
      const auto block = host::StatsBlock::open("", kFabric, *host::parse_node(node), 0);
      block->counters().add(Counter::tx_packets, packets);
      (void)!write(ready[1], "r", 1);
      for (;;) pause();
    }
    char answer = 0;
    BOOST_REQUIRE(read(ready[0], &answer, 1) == 1);
    close(ready[0]);
    close(ready[1]);
  }
  ~CountingProcess() { end(); }
  void end() {
    if (process_ <= 0) return;
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    process_ = -1;
  }

 private:
  pid_t process_;
};

test::Finished ask(std::vector<std::string> words = {}, const std::string& fabric = kFabric) {
  words.insert(words.begin(), {VERBENA_COMMAND, "stat", "--fabric", fabric});
  return test::run_command(words);
}

fabric::Topology infiniband_star(bool is_managed) {
  fabric::Topology topology = fabric::star(2, {});
  topology.medium = wire::Medium::infiniband;
  topology.qos = fabric::infiniband_qos();
  topology.is_managed = is_managed;
  BOOST_REQUIRE(fabric::check(topology).ok());
  return topology;
}

/// The last words of the line that begins with the name, single blanks between them.
std::string end_of_line(const std::string& text, const std::string& name, std::size_t words) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name + " ")) continue;
    std::istringstream stream(line);
    const std::vector<std::string> all{std::istream_iterator<std::string>(stream), {}};
    std::string end;
    for (std::size_t i = all.size() - words; i < all.size(); ++i) end += (end.empty() ? "" : " ") + all[i];
    return end;
  }
  return "no line";
}

}  // namespace

BOOST_AUTO_TEST_CASE(stat_without_a_fabric_process_adds_up_each_nodes_processes) {
  const CountingProcess one("3", 5);
  CountingProcess two("3", 7);
  const CountingProcess other("9", 11);
  const test::Finished answer = ask({"--json"});
  BOOST_REQUIRE_MESSAGE(answer.status == 0, answer.err);
  const Json found = Json::parse(answer.out);
  BOOST_TEST(found.at("served") == false);
  BOOST_REQUIRE_EQUAL(found.at("nodes").size(), 2u);
  const Json& third = found.at("nodes")[0];
  BOOST_TEST(third.at("address") == "127.47.91.3");
  BOOST_TEST(third.at("processes") == 2);
  BOOST_TEST(third.at("process_ids").size() == 2u);
  BOOST_TEST(third.at("counters").at("tx_packets") == 12);
  BOOST_TEST(found.at("nodes")[1].at("counters").at("tx_packets") == 11);
  const test::Finished shown = ask();
  BOOST_TEST(shown.status == 0);
  BOOST_TEST(shown.out.find("node 127.47.91.9, process ") != std::string::npos, shown.out);
  two.end();
  BOOST_TEST(Json::parse(ask({"--json"}).out).at("nodes")[0].at("counters").at("tx_packets") == 5);
}

BOOST_AUTO_TEST_CASE(nodes_on_direct_cables_of_infiniband_have_lids) {
  const auto block = host::StatsBlock::open("", kFabric, host::node_address(6), 0);
  block->tell_lid(1, wire::Lid(6));
  const Json found = Json::parse(ask({"--json"}).out);
  BOOST_REQUIRE_EQUAL(found.at("nodes").size(), 1u);
  BOOST_TEST(found.at("nodes")[0].at("lid") == 6);
  const test::Finished shown = ask();
  BOOST_TEST(shown.out.find("node 127.47.91.6, LID 6, process ") != std::string::npos, shown.out);
}

BOOST_AUTO_TEST_CASE(stat_tells_of_each_port_of_a_device) {
  const wire::Gid node = host::node_address(4);
  const std::array<wire::Gid, 1> further{host::device_address(node, {0, 2})};
  const auto block = host::StatsBlock::open("", kFabric, node, 0, further);
  block->counters(2).add(Counter::tx_packets, 21);
  const Json found = Json::parse(ask({"--json"}).out);
  BOOST_REQUIRE_EQUAL(found.at("nodes").size(), 2u);
  BOOST_TEST(!found.at("nodes")[0].at("counters").contains("tx_packets"));
  const Json& second = found.at("nodes")[1];
  BOOST_TEST(second.at("address") == "127.48.91.4");
  BOOST_TEST(second.at("device") == "127.47.91.4");
  BOOST_TEST(second.at("port") == 2);
  BOOST_TEST(second.at("counters").at("tx_packets") == 21);
  BOOST_TEST(!second.contains("lid"));
  const test::Finished shown = ask();
  BOOST_TEST(shown.out.find("node 127.48.91.4, port 2 of 127.47.91.4, process ") != std::string::npos, shown.out);
}

BOOST_AUTO_TEST_CASE(nobody_is_an_error_that_says_what_was_looked_for) {
  const test::Finished nobody = ask();
  BOOST_TEST(nobody.status == 2);
  BOOST_TEST(nobody.out == "");
  BOOST_TEST(nobody.err.starts_with("verbena stat: no fabric '" + kFabric +
                                    "' is running, and no process of yours has a device open on it: start one (verbena "
                                    "fabric --fabric " +
                                    kFabric + " --topology star)"));
  BOOST_TEST(std::count(nobody.err.begin(), nobody.err.end(), '\n') == 1);
}

BOOST_AUTO_TEST_CASE(watching_ends_with_the_last_process) {
  CountingProcess one("3", 5);
  const int seen = memfd_create("seen", 0);
  BOOST_REQUIRE(seen >= 0);
  const pid_t ender = fork();
  if (ender == 0) {  // once it was seen twice
    verbena::waiting::wait_until([&] { return lines_in(seen) >= 2; }, seconds(20), milliseconds(10));
    one.end();
    _exit(0);
  }
  const std::string into = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(seen);
  const test::Finished watched = test::run_command(
      {"sh", "-c", R"(exec "$0" stat --fabric "$1" --watch 0.1 --json >"$2")", VERBENA_COMMAND, kFabric, into}, {});
  waitpid(ender, nullptr, 0);
  BOOST_TEST(watched.status == 0, watched.err);
  BOOST_TEST(lines_in(seen) >= 2);
  close(seen);
}

BOOST_AUTO_TEST_CASE(infiniband_without_a_manager_has_lids_of_addresses) {
  const host::test::Served fabric(infiniband_star(false));
  const auto lid = host::static_lid(host::node_address(2)).value();
  BOOST_TEST(fabric.ask({"link-down", "n1-s1"}) == "");
  const Json found = Json::parse(ask({"--json"}, fabric.name).out);
  BOOST_TEST(found.at("managed") == false);
  const Json& second = found.at("nodes").at(1);
  BOOST_TEST((second.at("lid") == lid && second.at("lmc") == 0 && second.at("state") == "ACTIVE"));
  BOOST_TEST(!second.contains("sm_lid"));
  BOOST_TEST(found.at("nodes").at(0).at("state") == "DOWN");
  const std::string shown = ask({}, fabric.name).out;
  BOOST_TEST(shown.find("\nInfiniBand, not managed: LIDs follow from addresses\n") != std::string::npos, shown);
  BOOST_TEST(end_of_line(shown, "node", 3) == "pauses lid state");
  BOOST_TEST(end_of_line(shown, "n2", 2) == std::to_string(lid) + " ACTIVE");
  BOOST_TEST(end_of_line(shown, "n1", 1) == "DOWN");
}

BOOST_AUTO_TEST_CASE(managed_ports_that_wait_have_no_lid) {
  const host::test::Served fabric(infiniband_star(true));
  const Json found = Json::parse(ask({"--json"}, fabric.name).out);
  BOOST_TEST(found.at("managed") == true);
  const Json& second = found.at("nodes").at(1);
  BOOST_TEST((second.at("lid") == 0 && second.at("sm_lid") == 0 && second.at("state") == "INIT"));
  const std::string shown = ask({}, fabric.name).out;
  BOOST_TEST(shown.find("\nInfiniBand, managed: no port knows a subnet manager yet\n") != std::string::npos, shown);
  BOOST_TEST(end_of_line(shown, "node", 4) == "lid state sm lid");
  BOOST_TEST(end_of_line(shown, "n2", 3) == "0 INIT 0");
  BOOST_TEST(end_of_line(shown, "switch", 3) == "lid sm lid");
  BOOST_TEST(end_of_line(shown, "s1", 2) == "0 0");
}

BOOST_AUTO_TEST_CASE(ethernet_has_no_lids) {
  const host::test::Served fabric(fabric::star(2, {}));
  const Json found = Json::parse(ask({"--json"}, fabric.name).out);
  BOOST_TEST((!found.contains("managed") && !found.at("nodes").at(0).contains("lid")));
  const std::string shown = ask({}, fabric.name).out;
  BOOST_TEST((shown.find("InfiniBand") == std::string::npos && end_of_line(shown, "node", 1) == "pauses"), shown);
}
