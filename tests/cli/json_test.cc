// What the commands print for programs: packets with all their fields, counters, faults. The Python module (python/) is
// made of nothing else.
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "captures/render/words/total_rows.h"
#include "emulator/nic/objects/counters.h"
#include "tests/cli/run_command.h"
#include "tests/support/places.h"

using namespace verbena;
using Json = nlohmann::json;

namespace {

test::Finished verbena_command(std::vector<std::string> words) {
  words.insert(words.begin(), VERBENA_COMMAND);
  return test::run_command(words);
}

std::vector<Json> lines_of(const std::string& text) {
  std::vector<Json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(Json::parse(line));
  return lines;
}

std::vector<Json> explained(const std::string& name, std::vector<std::string> options = {}) {
  options.insert(options.begin(), {"explain", "--json", test::data_file(name)});
  const test::Finished done = verbena_command(options);
  BOOST_REQUIRE_MESSAGE(done.status == 0, done.err);
  return lines_of(done.out);
}

std::size_t count_of(const std::vector<Json>& lines, const char* kind) {
  return static_cast<std::size_t>(
      std::count_if(lines.begin(), lines.end(), [&](const Json& line) { return line.at("kind") == kind; }));
}

/// A path that is free, and is again.
class FreePath {
 public:
  FreePath()
      : path_((std::filesystem::temp_directory_path() / ("verbena-json." + std::to_string(getpid()))).string()) {}
  ~FreePath() { std::filesystem::remove(path_); }
  const std::string& text() const { return path_; }

 private:
  std::string path_;
};

/// What `commands` print while a fabric is served; it ends by the end of the pipe that they write to.
test::Finished beside_fabric(const std::string& commands) {
  const std::string fabric = "json." + std::to_string(getpid());
  const std::string command = VERBENA_COMMAND;
  const std::string script = "V() { word=$1; shift; " + command + " $word --fabric " + fabric +
                             " \"$@\"; }\n"
                             "wait_for() { n=0; until V stat >/dev/null 2>&1; do n=$((n+1)); [ $n -lt 400 ] || exit 1; "
                             "sleep 0.02; done; }\n"
                             "{ wait_for; { " +
                             commands + "; } >&2; } | V fabric --topology star --until-eof";
  return test::run_command({"sh", "-c", script});
}

}  // namespace

BOOST_AUTO_TEST_CASE(packet_is_a_line_with_all_headers_in_file_order) {
  const auto lines = explained("07-loss2_write_bw.pcap");
  BOOST_TEST(count_of(lines, "packet") == 778u);
  const Json& first = lines.front();
  BOOST_TEST(first.at("number") == 20);
  BOOST_TEST(first.at("opcode") == "RC RDMA WRITE First");
  BOOST_TEST(first.at("icrc") == "right");
  const Json& headers = first.at("headers");
  BOOST_TEST(headers.size() == 5u);  // ethernet, ipv4, udp, bth, reth
  BOOST_TEST(headers.at("ethernet").at("source") == "52:54:00:77:01:01");
  BOOST_TEST(headers.at("ipv4").at("destination") == "10.77.0.2");
  BOOST_TEST(headers.at("bth").at("psn") == 16191901);
  BOOST_TEST(headers.at("bth").at("ack_request") == false);
  BOOST_TEST(headers.at("reth").at("rkey") == 0xb8b);
  for (std::size_t i = 1; i < 778; ++i) BOOST_TEST(lines[i - 1].at("number") < lines[i].at("number"));
}

BOOST_AUTO_TEST_CASE(behind_the_packets_stand_the_conversations_and_the_file) {
  const auto lines = explained("07-loss2_write_bw.pcap");
  BOOST_REQUIRE(count_of(lines, "conversation") == 1u);
  const Json& sent = lines[778].at("ends").at(0).at("sent");
  BOOST_TEST(sent.size() == captures::total_rows().size());
  BOOST_TEST(sent.at("retransmitted_packets") == 440);
  BOOST_TEST(sent.at("timeouts") == 1);
  BOOST_TEST(lines.back().at("kind") == "file");
  BOOST_TEST(lines.back().at("packets") == 778);
  BOOST_TEST(lines.back().at("damage") == "");
}

BOOST_AUTO_TEST_CASE(what_is_left_out_of_the_story_is_left_out_of_the_lines) {
  const auto problems = explained("07-loss2_write_bw.pcap", {"--only-problems"});
  BOOST_TEST(count_of(problems, "packet") > 10u);
  BOOST_TEST(count_of(problems, "packet") < 100u);
  for (std::size_t i = 0; i < count_of(problems, "packet"); ++i) BOOST_TEST(!problems[i].at("problems").empty());
  BOOST_TEST(explained("07-loss2_write_bw.pcap", {"--summary"}).size() == 2u);
  const test::Finished nobodys =
      verbena_command({"explain", "--json", "--qp", "27", test::data_file("07-loss2_write_bw.pcap")});
  BOOST_TEST(nobodys.status == 3);
  BOOST_TEST(lines_of(nobodys.out).size() == 1u);
  BOOST_TEST(count_of(explained("06-rping_cm.pcap", {"--qp", "1"}), "conversation") == 1u);
}

BOOST_AUTO_TEST_CASE(options_of_the_drawing_are_refused_with_json) {
  for (const std::vector<std::string>& drawing : {std::vector<std::string>{"--all"}, {"--width", "100"}}) {
    std::vector<std::string> words = {"explain", "--json", test::data_file("02-write_bw.pcap")};
    words.insert(words.end(), drawing.begin(), drawing.end());
    const test::Finished refused = verbena_command(words);
    BOOST_TEST(refused.status == 2);
    BOOST_TEST(refused.out == "");
    BOOST_TEST(refused.err.starts_with("verbena explain: --json has a line for each packet"));
  }
}

BOOST_AUTO_TEST_CASE(fabric_tells_faults_as_they_change_and_ends_with_its_pipe) {
  const test::Finished done = beside_fabric(
      "V fault --json add n1-s1 drop 1%; V fault --json link-down n2-s1; V fault --json partition n1 n2 one-way; "
      "V fault --json switch-crash s1; V fault --json list; V fault --json remove 1; V fault --json switch-restart s1; "
      "V fault --json link-delay all 5us 1us; V stat --json; V fault --json list now");
  BOOST_TEST(done.status == 0);
  std::istringstream stream(done.err);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  BOOST_REQUIRE_EQUAL(lines.size(), 10u);
  BOOST_TEST(Json::parse(lines[0]) == Json({{"fault", 1}}));
  for (const std::size_t silent : {1, 2, 3, 6, 7}) BOOST_TEST(lines[silent] == "{}");
  const Json list = Json::parse(lines[4]);
  BOOST_TEST(list.at("faults").at(0).at("rule") == "drop 1%");
  BOOST_TEST(list.at("down") == Json({"n2->s1", "s1->n2"}));
  BOOST_TEST(list.at("crashed") == Json({"s1"}));
  BOOST_TEST(list.at("cut_off") == Json({"n1->n2"}));
  BOOST_TEST(Json::parse(lines[5]) == Json({{"hits", 0}}));
  const Json stat = Json::parse(lines[8]);
  BOOST_TEST(stat.at("links").at(0).at("delay_ns") == 5000);
  BOOST_TEST(stat.at("links").at(0).at("jitter_ns") == 1000);
  BOOST_TEST(stat.at("links").at(0).at("rate_bits_per_second") == 100'000'000'000);
  BOOST_TEST(stat.at("counter_names").size() == nic::kCounters);
  BOOST_TEST(stat.at("counters_complete") == true);
  BOOST_TEST(lines[9] == "verbena fault: that is not how it goes: list");
}

BOOST_AUTO_TEST_CASE(a_fabric_that_goes_with_a_pipe_needs_one) {
  const test::Finished refused =
      verbena_command({"fabric", "--fabric", "json.none", "--topology", "star", "--until-eof"});
  BOOST_TEST(refused.status == 2);
  BOOST_TEST(refused.err.starts_with("verbena fabric: --until-eof: standard input is no pipe"));
}

#ifdef VERBENA_HAS_LIBRARIES
BOOST_AUTO_TEST_CASE(counters_file_of_a_program_has_zero_counters_too) {
  const FreePath path;
  const test::Finished done = verbena_command({"exec", "--fabric", "json." + std::to_string(getpid()), "--link", "shm",
                                               "--stats-json", path.text(), "--", "sh", "-c", "exit 5"});
  BOOST_TEST(done.status == 5);
  BOOST_TEST(done.err == "");  // that is --stats'
  std::ifstream file(path.text());
  const Json written = Json::parse(file);
  BOOST_TEST(written.at("processes") == 0);
  BOOST_TEST(written.at("counters").size() == nic::kCounters);
  BOOST_TEST(written.at("counters").at("tx_packets") == 0);
}

BOOST_AUTO_TEST_CASE(counters_file_that_cannot_be_made_is_told_before_the_program) {
  const test::Finished refused = verbena_command({"exec", "--stats-json", "/nonexistent/file", "echo", "ran"});
  BOOST_TEST(refused.status == 2);
  BOOST_TEST(refused.out == "");
  BOOST_TEST(refused.err.starts_with("verbena exec: --stats-json /nonexistent/file"));
}
#endif

BOOST_AUTO_TEST_CASE(help_fault_gives_every_word_with_what_undoes_it) {
  const test::Finished done = verbena_command({"help", "fault", "--json"});
  BOOST_REQUIRE(done.status == 0);
  const Json words = Json::parse(done.out);
  const auto undo = [&](const std::string& name) {
    for (const Json& word : words.at("fabric"))
      if (word.at("word") == name) return word.at("undo").dump();
    return std::string("no such word");
  };
  BOOST_TEST(undo("add") == R"({"word":"remove"})");
  BOOST_TEST(undo("link-down") == R"({"word":"link-up"})");
  BOOST_TEST(undo("link-up") == "null");
  BOOST_TEST(undo("link-rate") == R"({"values":[{"key":"rate_bits_per_second","unit":"bps"}],"word":"link-rate"})");
  BOOST_TEST(words.at("packets").at(0).at("word") == "drop");
  BOOST_TEST(!words.at("conditions").empty());
}
