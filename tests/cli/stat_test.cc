// `verbena stat` of nodes on direct cables: their processes are found, added up and gone again.
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "emulator/host/node/node_directory.h"
#include "emulator/host/node/stats_file.h"
#include "emulator/host/node/stats_search.h"
#include "tests/cli/run_command.h"
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

test::Finished ask(std::vector<std::string> words = {}) {
  words.insert(words.begin(), {VERBENA_COMMAND, "stat", "--fabric", kFabric});
  return test::run_command(words);
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
