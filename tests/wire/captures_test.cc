// Golden bytes: what the Linux kernel's rxe has sent.
#include <array>

#include "tests/wire/wire_support.h"
#include "wire/icrc.h"
#include "wire/packet_text.h"

namespace verbena::wire::test {
namespace {

struct Capture {
  const char* name;
  std::size_t records;
  std::size_t roce_packets;
};
constexpr std::array kCaptures{
    Capture{"01-rc_pingpong.pcap", 211, 200},    Capture{"02-write_bw.pcap", 367, 325},
    Capture{"03-read_bw.pcap", 364, 325},        Capture{"04-atomic_fadd.pcap", 49, 10},
    Capture{"05-ud_pingpong.pcap", 51, 40},      Capture{"06-rping_cm.pcap", 65, 65},
    Capture{"07-loss2_write_bw.pcap", 820, 778}, Capture{"08-uc_pingpong.pcap", 91, 80},
    Capture{"09-send_bw.pcap", 354, 325},
};

/// Calls visit(view, frame) for each RoCE packet; the others of these captures are TCP.
template <class Visit>
void for_each_packet(const Capture& capture, Visit visit) {
  const Bytes file = read_file(capture.name);
  auto reader = CaptureReader::open(file);
  BOOST_REQUIRE(reader.ok());
  std::size_t records = 0;
  std::size_t roce_packets = 0;
  for (;;) {
    const auto record = reader->next();
    if (!record) BOOST_FAIL(capture.name << ": " << record.error().what);
    if (!record->has_value()) break;
    ++records;
    const auto view = parse_frame((*record)->bytes);
    if (!view) {
      BOOST_REQUIRE_MESSAGE(view.error() == ParseError::not_udp, capture.name << ": " << to_string(view.error()));
      continue;
    }
    ++roce_packets;
    visit(*view, (*record)->bytes);
  }
  BOOST_TEST(records == capture.records, capture.name);
  BOOST_TEST(roce_packets == capture.roce_packets, capture.name);
}

template <class Visit>
void for_each_packet(Visit visit) {
  for (const Capture& capture : kCaptures) for_each_packet(capture, visit);
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_captured_packet_verifies_its_icrc) {
  for_each_packet([](const PacketView& view, std::span<const std::byte>) { BOOST_REQUIRE(view.icrc_is_valid()); });
}

BOOST_AUTO_TEST_CASE(every_captured_packet_rebuilds_byte_for_byte) {
  for_each_packet([](const PacketView& view, std::span<const std::byte> frame) {
    const Bytes built = rebuild(view);
    BOOST_REQUIRE_EQUAL(built.size(), view.frame().size());
    BOOST_REQUIRE_MESSAGE(std::memcmp(built.data(), frame.data(), built.size()) == 0, to_text(view));
  });
}

BOOST_AUTO_TEST_CASE(ipv4_identification_of_every_captured_packet_can_be_solved) {
  for_each_packet([](const PacketView& view, std::span<const std::byte> frame) {
    Bytes copy(frame.begin(), frame.end());
    set_ipv4_identification(copy, 0);  // what a UDP socket would make of it
    const auto solved = solve_ipv4_identification(copy);
    BOOST_REQUIRE(solved.has_value());
    BOOST_REQUIRE_EQUAL(*solved, view.ip().v4().identification);
    set_ipv4_identification(copy, *solved);
    BOOST_REQUIRE(std::memcmp(copy.data(), frame.data(), copy.size()) == 0);
  });
}

BOOST_AUTO_TEST_CASE(captured_packets_read_as_what_rxe_did) {
  // ib_write_bw: 5 x 64 KiB in packets of 1024, an acknowledgement a message.
  std::size_t first = 0;
  std::size_t middle = 0;
  std::size_t acknowledges = 0;
  for_each_packet(kCaptures[1], [&](const PacketView& view, std::span<const std::byte>) {
    if (view.opcode().name == "RC RDMA WRITE First") {
      ++first;
      BOOST_TEST(view.reth().length == 65536u);
      BOOST_TEST(view.payload().size() == 1024u);
    }
    if (view.opcode().name == "RC RDMA WRITE Middle") ++middle;
    if (view.opcode().name == "RC Acknowledge") ++acknowledges;
  });
  BOOST_TEST(first == 5u);
  BOOST_TEST(middle == 5u * 62);
  BOOST_TEST(acknowledges == 5u);
}

BOOST_AUTO_TEST_CASE(the_lossy_capture_has_its_sequence_errors_in_words) {
  std::size_t naks = 0;
  for_each_packet(kCaptures[6], [&](const PacketView& view, std::span<const std::byte>) {
    if (to_text(view).find("[NAK PSN sequence error]") != std::string::npos) ++naks;
  });
  BOOST_TEST(naks > 0u);
}

}  // namespace verbena::wire::test
