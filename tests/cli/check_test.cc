// The command itself: what it prints and how it ends, on good captures, broken ones and wrong command lines.
#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "captures/checkers/checker.h"
#include "tests/cli/run_command.h"
#include "tests/support/frames.h"
#include "tests/support/places.h"
#include "wire/pcap_file.h"

using namespace verbena;
using namespace verbena::test;

namespace {

Finished check(std::vector<std::string> words) {
  words.insert(words.begin(), {VERBENA_COMMAND, "check"});
  return run_command(words);
}
std::string data(const std::string& name) {
  return test::data_file(name + std::string(".pcap"));
}
bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// A pcapng of requests that node 1 has sent.
std::string make_capture(const std::string& name, const std::vector<std::uint32_t>& psns, std::string_view comment) {
  const std::string path = (std::filesystem::temp_directory_path() / (name + std::to_string(getpid()))).string();
  std::vector<std::byte> file(1 << 16);
  std::size_t size = wire::encode_pcapng_section(file, "test");
  size += wire::encode_pcapng_interface(std::span(file).subspan(size), {.name = "node 1"});
  for (const std::uint32_t psn : psns) {
    const auto frame = make_frame(1, 2, {.psn = psn});
    size += wire::encode_pcapng_packet(
        std::span(file).subspan(size),
        {.time = Time{1000 + psn}, .bytes = frame, .direction = wire::Direction::outbound, .comment = comment});
  }
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(file.data()), static_cast<long>(size));
  return path;
}

}  // namespace

BOOST_AUTO_TEST_CASE(good_captures_end_well_and_say_what_was_judged) {
  const Finished finished = check({data("07-loss2_write_bw"), data("03-read_bw")});
  BOOST_TEST(finished.status == 0);
  BOOST_TEST(finished.err == "");
  BOOST_TEST(contains(finished.out, "778 RoCE v2 packets: 0 seen as sent, 0 as delivered, 778 on the way"));
  BOOST_TEST(contains(finished.out, "what their ends did cannot be judged"));
  BOOST_TEST(contains(finished.out, "No violations."));
  const Finished at = check({"--at", "10.77.0.2", data("07-loss2_write_bw")});
  BOOST_TEST(at.status == 0);
  BOOST_TEST(contains(at.out, "26 seen as sent, 752 as delivered"));
}

BOOST_AUTO_TEST_CASE(a_claim_about_where_it_was_captured_that_is_wrong_shows) {
  // The packets that are missing were lost before the capture, which was not made at their sender.
  const Finished finished = check({"--at", "10.77.0.3", "--show", "2", data("07-loss2_write_bw")});
  BOOST_TEST(finished.status == 1);
  BOOST_TEST(
      contains(finished.out, "#70 1.024672 psn-order (IBTA 9.7.1): 10.77.0.3 -> 10.77.0.2: RC RDMA WRITE Middle"));
  BOOST_TEST(contains(finished.out, "... and 15 more"));
  BOOST_TEST(contains(finished.out, "17 violations."));
}

BOOST_AUTO_TEST_CASE(the_direction_of_a_pcapng_tells_who_has_sent_a_packet) {
  const std::string broken = make_capture("verbena-check-broken", {1, 2, 4}, "");
  Finished finished = check({broken});
  BOOST_TEST(finished.status == 1);
  BOOST_TEST(contains(finished.out, "psn 3 was to come"));
  const std::string lost = make_capture("verbena-check-lost", {1, 2, 3}, "verbena: dropped by fault 'x'");
  BOOST_TEST(check({lost}).status == 0);
  // Held by a fault behind the node: the order is not the node's.
  const std::string held = make_capture("verbena-check-held", {1, 2, 4, 3}, "verbena: reordered by fault 'x'");
  finished = check({held});
  BOOST_TEST(finished.status == 0, finished.out);
  BOOST_TEST(contains(finished.out, "faults copied or held packets"));
  finished = check({"--json", lost, broken});
  BOOST_TEST(finished.status == 1);
  const auto json = nlohmann::json::parse(finished.out);
  BOOST_TEST(json.size() == 2u);
  BOOST_TEST(json[0]["violations"] == 0);
  BOOST_TEST(json[1]["found"][0]["checker"] == "psn-order");
  BOOST_TEST(json[1]["found"][0]["packet"] == 3);
  for (const auto& path : {broken, lost, held}) std::remove(path.c_str());
}

BOOST_AUTO_TEST_CASE(the_list_names_every_checker_with_its_clause) {
  const Finished finished = check({"--list"});
  BOOST_TEST(finished.status == 0);
  for (const auto& row : checkers::all_checkers()) {
    BOOST_TEST(contains(finished.out, row.name));
    BOOST_TEST(contains(finished.out, row.clause));
  }
}

BOOST_AUTO_TEST_CASE(a_wrong_command_line_is_refused_in_one_line) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> all = {
      {{}, "FILE"},
      {{"/no/such/file"}, "/no/such/file"},
      {{VERBENA_COMMAND}, "neither pcap, pcapng nor ERF"},
      {{"--at", "here", data("03-read_bw")}, "--at here"},
      {{"--show", "many", data("03-read_bw")}, "--show many"},
      {{"--nothing"}, "--nothing"},
  };
  for (const auto& [words, named] : all) {
    const Finished finished = check(words);
    BOOST_TEST(finished.status == 2);
    BOOST_TEST(finished.out == "");
    BOOST_TEST(contains(finished.err, named), finished.err);
    BOOST_TEST(std::count(finished.err.begin(), finished.err.end(), '\n') == 1);
  }
}
