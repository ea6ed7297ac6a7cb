// Links are looked at as often as the scenario says, and a run that is looked at is the same run.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/scenarios/virtual/runs.h"

using namespace verbena;
using namespace verbena::scenarios;

namespace {

/// Four at 10 Gb/s into one port of 10 Gb/s: its queue fills by 30 Gb/s.
std::string incast(const std::string& rest) {
  return "name: t\ntimeout: 1s\npayload: false\n" + rest +
         "topology: {shape: star, hosts: 5, link: {rate: 10Gbps, delay: 1us, queue: 16MiB}}\n"
         "nic: {mtu: 1024}\n"
         "workloads:\n"
         "  - {name: w, verb: write, pattern: incast, from: [n1, n2, n3, n4], to: n5, size: 100KB, count: 1}\n";
}

/// A folder that is gone with this.
struct Folder {
  Folder() { BOOST_REQUIRE(mkdtemp(name.data()) != nullptr); }
  ~Folder() { std::filesystem::remove_all(name); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string name = (std::filesystem::temp_directory_path() / "verbena-samples-XXXXXX").string();
};

std::string content(const std::string& name) {
  std::ifstream file(name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_sampled_run_is_the_same_run) {
  const Outcome plain = test::run(incast(""));
  const Outcome sampled = test::run(incast("sample: 3us\n"));
  BOOST_TEST(plain.held(), test::story(plain));
  BOOST_TEST(sampled.trace_hash == plain.trace_hash);
  BOOST_TEST(sampled.elapsed.ns == plain.elapsed.ns);
}

BOOST_AUTO_TEST_CASE(percentiles_of_a_queue_are_those_of_the_time_asked_for) {
  // 4 x 98 frames of 1082 octets in some 85 us: the queue has 3/4 of them at its top, and is empty after 340 us.
  const Outcome outcome =
      test::run(incast("sample: 1us\n") +
                "expect:\n"
                "  - {queue: s1->n5, percentile: 100, min: 300KB, max: 325KB, name: top}\n"
                "  - {queue: s1->n5, percentile: 50, from: 40us, until: 42us, min: 130KB, max: 160KB}\n"
                "  - {queue: s1->n5, percentile: 50, max: 200KB, min: 100KB, name: middle}\n"
                "  - {queue: s1->n5, percentile: 50, max: 100KB}\n"
                "  - {queue: s1->n5, from: 500us, max: 1MB}\n"
                "  - {queue: n1, percentile: 100, max: 20KB}\n");
  BOOST_TEST(test::held(outcome, 0), test::story(outcome));
  BOOST_TEST(test::held(outcome, 1), test::story(outcome));
  BOOST_TEST(test::held(outcome, 2), test::story(outcome));
  BOOST_TEST(!test::held(outcome, 3), test::story(outcome));
  BOOST_TEST(!test::held(outcome, 4), "there is no sample after the end");
  BOOST_TEST(test::held(outcome, 5), test::story(outcome));
  BOOST_TEST(outcome.expectations[0].name == "top");
  BOOST_TEST(outcome.expectations[0].value.value_or(0) > outcome.expectations[2].value.value_or(0));
}

BOOST_AUTO_TEST_CASE(links_csv_has_every_octet_once) {
  const Folder folder;
  RunOptions options;
  options.out_directory = folder.name;
  const Outcome outcome = test::run(incast("sample: 10us\n"), 1, options);
  BOOST_TEST(outcome.held(), test::story(outcome));
  std::istringstream lines(content(folder.name + "/links.csv"));
  std::string line;
  std::getline(lines, line);
  BOOST_TEST(line == "time_ns,link,octets,queue_octets,paused_ns");
  std::uint64_t octets = 0;
  std::uint64_t rows = 0;
  while (std::getline(lines, line)) {
    std::uint64_t time = 0;
    std::istringstream fields(line);
    std::string link;
    std::string load;
    fields >> time;
    fields.ignore(1);
    std::getline(fields, link, ',');
    std::getline(fields, load, ',');
    BOOST_TEST(time % 10'000 == 0u);
    if (link != "s1->n5") continue;
    octets += std::stoull(load);
    ++rows;
  }
  // 98 frames of a message: 97 with 1024 octets, one with 672; the first has a RETH.
  BOOST_TEST(octets == 4u * (100'000u + 98u * 58u + 16u));
  BOOST_TEST(rows >= 30u);
  BOOST_TEST(rows <= 40u);
}
