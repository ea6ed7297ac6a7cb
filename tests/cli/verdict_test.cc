// What `check` and `explain` end with: green only where RoCE v2 packets were judged, or told, and nothing was wrong.
#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/run_command.h"
#include "tests/support/frames.h"
#include "tests/support/places.h"
#include "wire/pause_frame.h"
#include "wire/pcap_file.h"

using namespace verbena;
using namespace verbena::test;

namespace {

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// A pcapng in a file that ends with it.
class File {
 public:
  File() {
    static int count = 0;
    path_ = (std::filesystem::temp_directory_path() /
             ("verbena-verdict-" + std::to_string(getpid()) + "-" + std::to_string(++count)))
                .string();
    add([](std::span<std::byte> into) { return wire::encode_pcapng_section(into, "test"); });
    add([](std::span<std::byte> into) { return wire::encode_pcapng_interface(into, {.name = "node 1"}); });
  }
  ~File() { std::remove(path_.c_str()); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  File& frame(std::span<const std::byte> bytes, std::string_view comment = {}, std::size_t snap_bytes = 0,
              wire::Direction direction = wire::Direction::unknown) {
    time_ = time_ + microseconds(1);
    add([&](std::span<std::byte> into) {
      return wire::encode_pcapng_packet(
          into, {.time = time_, .bytes = bytes, .snap_bytes = snap_bytes, .direction = direction, .comment = comment});
    });
    return *this;
  }
  File& arp() {
    std::vector<std::byte> bytes(42);
    bytes[12] = std::byte{8};
    bytes[13] = std::byte{6};
    return frame(bytes);
  }
  File& pause() {
    std::vector<std::byte> bytes(wire::kPauseFrameBytes);
    wire::write_pause_frame({}, bytes);
    return frame(bytes);
  }
  File& request(std::uint32_t psn) { return frame(make_frame(1, 2, {.psn = psn})); }
  /// One bit of the payload is not as it was sent.
  File& damaged_request(std::uint32_t psn, std::string_view comment = {},
                        wire::Direction direction = wire::Direction::unknown) {
    auto bytes = make_frame(1, 2, {.psn = psn, .payload = std::vector<std::byte>(64)});
    bytes[bytes.size() - 8] ^= std::byte{1};
    return frame(bytes, comment, 0, direction);
  }
  /// More octets of padding than there are.
  File& malformed_request(std::uint32_t psn, std::string_view comment = {}) {
    auto bytes = make_frame(1, 2, {.psn = psn, .payload = {}});
    bytes[14 + 20 + 8 + 1] |= std::byte{0x30};
    return frame(bytes, comment);
  }

  const std::string& write(std::size_t cut_off = 0) {
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes_.data()), static_cast<long>(bytes_.size() - cut_off));
    return path_;
  }

 private:
  template <class Encode>
  void add(Encode encode) {
    const std::size_t begin = bytes_.size();
    bytes_.resize(begin + (1 << 14));
    bytes_.resize(begin + encode(std::span(bytes_).subspan(begin)));
  }

  std::string path_;
  std::vector<std::byte> bytes_;
  Time time_;
};

Finished command(const char* name, std::vector<std::string> words) {
  words.insert(words.begin(), {VERBENA_COMMAND, name});
  return run_command(words);
}
Finished check(std::vector<std::string> words) {
  return command("check", std::move(words));
}
Finished explain(std::vector<std::string> words) {
  return command("explain", std::move(words));
}
std::string verdict_of(const std::string& path) {
  return nlohmann::json::parse(check({"--json", path}).out)[0]["verdict"];
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_file_without_roce_packets_has_nothing_to_judge) {
  File file;
  const std::string path = file.arp().arp().write();
  const Finished checked = check({path});
  BOOST_TEST(checked.status == 3);
  BOOST_TEST(contains(checked.out, "Nothing to judge: none of the 2 packets can be read as RoCE or InfiniBand: 2 "),
             checked.out);
  BOOST_TEST(!contains(checked.out, "No violations"));
  BOOST_TEST(verdict_of(path) == "nothing-to-judge");
  const Finished told = explain({path});
  BOOST_TEST(told.status == 3);
  BOOST_TEST(contains(told.out, "Nothing to tell: none of the 2 packets can be read as RoCE"), told.out);
  for (const char* name : {"check", "explain"}) {
    const Finished quiet = command(name, {"--quiet", path});
    BOOST_TEST(quiet.status == 3);
    BOOST_TEST(quiet.out == "");
    BOOST_TEST(contains(quiet.err, path + ": Nothing to "), quiet.err);
    BOOST_TEST(std::count(quiet.err.begin(), quiet.err.end(), '\n') == 1);
  }
}

BOOST_AUTO_TEST_CASE(malformed_packets_alone_are_not_said_to_be_no_roce_v2) {
  File file;
  const std::string path = file.malformed_request(1).malformed_request(2).write();
  const Finished told = explain({path});
  BOOST_TEST(told.status == 3);
  BOOST_TEST(
      contains(told.out, "Nothing to tell: none of the 2 packets can be read as RoCE or InfiniBand: 2 malformed."),
      told.out);
}

BOOST_AUTO_TEST_CASE(pause_frames_alone_are_named) {
  File file;
  const std::string path = file.pause().write();
  for (const Finished& done : {check({path}), explain({path})}) {
    BOOST_TEST(done.status == 3);
    BOOST_TEST(contains(done.out, "the only packet cannot be read as RoCE or InfiniBand: 1 pause frame."), done.out);
  }
}

BOOST_AUTO_TEST_CASE(one_packet_is_not_told_as_several) {
  File file;
  const std::string path = file.request(1).arp().write();
  const Finished checked = check({path});
  BOOST_TEST(contains(checked.out, ": 1 RoCE v2 packet: "), checked.out);
  BOOST_TEST(contains(checked.out, "1 packet was seen on the way"), checked.out);
  BOOST_TEST(!contains(checked.out, "1 packets"), checked.out);
  File hit;
  const Finished damaged = check({hit.request(1).damaged_request(2, "verbena: corrupted by fault 'x'").write()});
  BOOST_TEST(contains(damaged.out, "1 packet was damaged or has no rules here"), damaged.out);
  File one;
  const Finished told = explain({one.request(1).write()});
  BOOST_TEST(contains(told.out, "1 packet in the file"), told.out);
}

BOOST_AUTO_TEST_CASE(the_columns_of_a_report_are_as_wide_as_what_is_in_them) {
  File file;
  const std::string path = file.request(1).request(2).write();
  std::istringstream lines(check({path}).out);
  std::size_t rows = 0;
  std::size_t width = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("checker ")) width = line.size();
    if (width == 0) continue;
    if (line.find("IBTA") == line.npos && !line.starts_with("checker ")) break;
    BOOST_TEST(line.size() == width, line);
    ++rows;
  }
  BOOST_TEST(rows > 3u);
}

BOOST_AUTO_TEST_CASE(a_file_without_packets_has_nothing_to_judge) {
  File file;
  BOOST_TEST(contains(check({file.write()}).out, "Nothing to judge: the file has no packets."));
}

BOOST_AUTO_TEST_CASE(packets_that_no_rule_can_judge_are_no_good_ones) {
  File file;
  const std::string path = file.frame(make_frame(1, 2, {.payload = std::vector<std::byte>(64)}), {}, 70).write();
  const Finished checked = check({path});
  BOOST_TEST(checked.status == 3, checked.out);
  BOOST_TEST(contains(checked.out, "Nothing to judge: 1 of 1 RoCE v2 packet is cut"), checked.out);
  BOOST_TEST(check({"--trust-cut", path}).status == 0);
}

BOOST_AUTO_TEST_CASE(malformed_packet_breaks_its_own_rule_unless_a_fault_made_it) {
  File malformed;
  const Finished checked = check({malformed.request(1).malformed_request(2).write()});
  BOOST_TEST(checked.status == 1);
  BOOST_TEST(contains(checked.out, "#2 0.000001 packet-form"), checked.out);
  BOOST_TEST(contains(checked.out, "1 violation."));
  File hit;
  const Finished good = check({hit.request(1).malformed_request(2, "verbena: corrupted by fault 'x'").write()});
  BOOST_TEST(good.status == 0, good.out);
  BOOST_TEST(contains(good.out, "1 packet is malformed by a fault"), good.out);
}

BOOST_AUTO_TEST_CASE(wrong_icrc_is_a_violation_unless_a_fault_made_it) {
  for (const auto direction : {wire::Direction::unknown, wire::Direction::inbound, wire::Direction::outbound}) {
    File file;
    const Finished checked = check({file.damaged_request(1, {}, direction).write()});
    BOOST_TEST(checked.status == 1, checked.out);
    BOOST_TEST(contains(checked.out, "icrc (IBTA 7.8.1)"), checked.out);
  }
  File hit;
  const Finished good = check({hit.request(1).damaged_request(2, "verbena: corrupted by fault 'x'").write()});
  BOOST_TEST(good.status == 0, good.out);
}

BOOST_AUTO_TEST_CASE(a_damaged_file_is_neither_good_nor_bad) {
  File file;
  file.request(1).request(2);
  const std::string path = file.write(10);
  const Finished checked = check({path});
  BOOST_TEST(checked.status == 4);
  BOOST_TEST(contains(checked.out, "Damaged: "), checked.out);
  BOOST_TEST(!contains(checked.out, "No violations"));
  BOOST_TEST(verdict_of(path) == "damaged");
  BOOST_TEST(contains(check({"--quiet", path}).err, ": Damaged: "));
  BOOST_TEST(explain({path}).status == 1);
  BOOST_TEST(contains(explain({"--quiet", path}).err, ": Damaged: "));
}

BOOST_AUTO_TEST_CASE(of_several_files_the_worst_counts) {
  File good;
  File nothing;
  File damaged;
  File broken;
  const std::string held = good.request(1).write();
  const std::string empty = nothing.arp().write();
  const std::string cut = damaged.request(1).request(2).write(10);
  const std::string wrong = broken.malformed_request(1).request(2).write(10);  // damaged as well, behind the violation
  BOOST_TEST(check({held}).status == 0);
  BOOST_TEST(check({empty, held}).status == 3);
  BOOST_TEST(check({held, cut, empty}).status == 4);
  BOOST_TEST(check({held, cut, empty, wrong, held}).status == 1);
}

BOOST_AUTO_TEST_CASE(a_queue_pair_that_is_not_there_is_nothing_told) {
  File file;
  const std::string path = file.request(1).write();
  BOOST_TEST(explain({path}).status == 0);
  const Finished told = explain({"--qp", "0xabcdef", path});
  BOOST_TEST(told.status == 3);
  BOOST_TEST(contains(told.out, "Nothing to tell: no packet is of this queue pair."), told.out);
}
