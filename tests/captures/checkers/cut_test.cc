// A capture that a snap length has cut: nothing is judged that cannot be known. Of captures of the kernel's rxe and of
// our own NICs under corruption, cut at every length, none has a violation that the whole one does not have.
#include <sys/mman.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <set>

#include "captures/check/capture_check.h"
#include "tests/captures/checkers/checked_traffic.h"
#include "tests/support/places.h"

using namespace verbena;
using namespace verbena::test;

namespace {

constexpr std::size_t kShortest = 14;
constexpr std::size_t kLongest = 150;  // all headers, and the ICRC of what has no payload

struct Packet {
  Time time;
  std::vector<std::byte> octets;
  wire::Direction direction = wire::Direction::unknown;
};

captures::Capture capture_of(const std::vector<Packet>& packets, std::size_t snap_bytes) {
  std::vector<std::byte> file;
  const auto add = [&](std::size_t room, auto encode) {
    const std::size_t begin = file.size();
    file.resize(begin + room);
    file.resize(begin + encode(std::span(file).subspan(begin)));
  };
  add(1024, [](std::span<std::byte> into) { return wire::encode_pcapng_section(into, "test"); });
  add(1024, [](std::span<std::byte> into) { return wire::encode_pcapng_interface(into, {.name = "test"}); });
  for (const Packet& packet : packets)
    add(wire::encoded_packet_bytes_max(packet.octets.size(), 0), [&](std::span<std::byte> into) {
      return wire::encode_pcapng_packet(
          into, {.time = packet.time, .bytes = packet.octets, .snap_bytes = snap_bytes, .direction = packet.direction});
    });
  const int fd = memfd_create("capture", MFD_CLOEXEC);
  BOOST_REQUIRE(::write(fd, file.data(), file.size()) == static_cast<ssize_t>(file.size()));
  auto capture = captures::Capture::open("/proc/self/fd/" + std::to_string(fd));
  close(fd);
  BOOST_REQUIRE(capture.ok());
  return std::move(*capture);
}

/// What node 1 sends and what comes to it, some of it damaged, as a capture at node 1 has it.
std::vector<Packet> corrupted_traffic(std::uint64_t seed, wire::Direction in, wire::Direction out) {
  std::vector<Packet> packets;
  Pair pair({.min_rnr_timer = 8}, 1 << 16, {.seed = seed, .faults = {"corrupt 5%", "corrupt 5% where=psn"}});
  pair.world.filter = [&](const Traced& traced, std::vector<std::byte>& frame) {
    if (traced.from == 1) packets.push_back({traced.at, frame, out});
    return true;
  };
  pair.world.on_delivery = [&](unsigned to, std::span<const std::byte> frame, bool) {
    if (to == 1) packets.push_back({pair.world.now(), {frame.begin(), frame.end()}, in});
  };
  run_traffic(pair, seed, 60);
  return packets;
}

std::set<std::pair<std::uint64_t, std::string>> violations_of_cut(const std::vector<Packet>& packets,
                                                                  std::size_t snap_bytes,
                                                                  const captures::Vantage& vantage,
                                                                  std::uint64_t* judged = nullptr) {
  const auto verdict = captures::check_capture(capture_of(packets, snap_bytes), vantage);
  std::set<std::pair<std::uint64_t, std::string>> found;
  for (const auto& violation : verdict.violations) found.emplace(violation.number, violation.checker);
  if (judged != nullptr)
    for (const auto& totals : verdict.totals) *judged += totals.judged;
  return found;
}

void check_every_length(const std::vector<Packet>& packets, const captures::Vantage& vantage) {
  const auto whole = violations_of_cut(packets, 0, vantage);
  for (std::size_t bytes = kShortest; bytes <= kLongest; ++bytes)
    for (const auto& [number, checker] : violations_of_cut(packets, bytes, vantage))
      BOOST_TEST(whole.contains({number, checker}), "cut to " << bytes << ": #" << number << " " << checker);
}

}  // namespace

BOOST_AUTO_TEST_CASE(cut_captures_of_rxe_have_no_violations) {
  for (const char* name : {"01-rc_pingpong", "03-read_bw", "04-atomic_fadd", "05-ud_pingpong", "06-rping_cm",
                           "07-loss2_write_bw", "08-uc_pingpong"}) {
    const auto capture = captures::Capture::open(test::data_file(name + std::string(".pcap")));
    BOOST_REQUIRE(capture.ok());
    std::vector<Packet> packets;
    for (const captures::Packet& packet : capture->packets())
      packets.push_back({packet.time, {packet.captured.bytes.begin(), packet.captured.bytes.end()}});
    BOOST_TEST_CONTEXT(name) {
      check_every_length(packets, {});
      check_every_length(packets, {.host = wire::Gid::from_ipv4(0x0a4d0002)});
    }
  }
}

BOOST_AUTO_TEST_CASE(cut_damaged_captures_have_no_more_violations_than_whole_ones) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      const auto packets = corrupted_traffic(seed, wire::Direction::inbound, wire::Direction::outbound);
      for (const auto& [number, checker] : violations_of_cut(packets, 0, {}))
        BOOST_TEST(checker == "icrc", "#" << number << " " << checker);
      check_every_length(packets, {});
      // Without the guard there is something to see.
      BOOST_TEST(!violations_of_cut(packets, 80, {.trusts_cut_packets = true}).empty());
      check_every_length(corrupted_traffic(seed, wire::Direction::unknown, wire::Direction::unknown), {});
    }
  }
}

BOOST_AUTO_TEST_CASE(sent_packets_are_judged_however_little_of_them_was_kept) {
  const auto packets = corrupted_traffic(1, wire::Direction::inbound, wire::Direction::outbound);
  std::vector<Packet> sent;
  for (const Packet& packet : packets)
    if (packet.direction == wire::Direction::outbound) sent.push_back(packet);
  std::uint64_t judged = 0;
  violations_of_cut(sent, 90, {}, &judged);
  BOOST_TEST(judged > sent.size());
  std::uint64_t judged_on_the_way = 0;
  for (Packet& packet : sent) packet.direction = wire::Direction::unknown;
  std::uint64_t trusted = 0;
  violations_of_cut(sent, 90, {}, &judged_on_the_way);
  violations_of_cut(sent, 90, {.trusts_cut_packets = true}, &trusted);
  BOOST_TEST(judged_on_the_way < trusted);
}
