// A link of InfiniBand: what its captures hold, octet by octet and as tshark reads them, and faults on its packets.
#include "wire/infiniband.h"

#include <unistd.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "emulator/host/fabric_process/fabric_capture.h"
#include "emulator/host/link/capture_file.h"
#include "emulator/host/link/capturing_link.h"
#include "emulator/host/link/faulty_link.h"
#include "emulator/host/os/clock.h"
#include "tests/support/frames.h"
#include "wire/packet_view.h"

using namespace verbena;
using namespace verbena::host;

namespace {

using Bytes = std::vector<std::byte>;

template <std::size_t N>
Bytes bytes_of(const std::uint8_t (&octets)[N]) {
  const auto bytes = std::as_bytes(std::span(octets));
  return {bytes.begin(), bytes.end()};
}

// The example of IBTA vol 1, 7.8.3, on lane 7 (tests/wire/infiniband_test.cc).
const Bytes kExample =
    bytes_of({0x70, 0x12, 0x37, 0x5c, 0x00, 0x0e, 0x17, 0xd2, 0x0a, 0x20, 0x24, 0x87, 0x00, 0x87, 0xb1,
              0xb3, 0x00, 0x0d, 0xec, 0x2a, 0x01, 0x71, 0x0a, 0x1c, 0x01, 0x5d, 0x40, 0x02, 0x38, 0xf2,
              0x7a, 0x05, 0x00, 0x00, 0x00, 0x0e, 0xbb, 0x88, 0x4d, 0x85, 0xfd, 0x5c, 0xfb, 0xa4, 0x72,
              0x8b, 0xc0, 0x69, 0x0e, 0xd4, 0x00, 0x00, 0x96, 0x25, 0xb7, 0x5a, 0x45, 0xfa});
constexpr std::size_t kCrcBytes = wire::kIcrcBytes + wire::kVcrcBytes;
constexpr std::size_t kErfHeaderBytes = 16;

/// As it lies in shared memory: its CRCs are still to be made.
Bytes deferred(Bytes packet) {
  std::fill(packet.end() - kCrcBytes, packet.end(), std::byte{0x5e});
  return packet;
}

Bytes packet_of(std::uint32_t psn) {
  wire::FramePath path;
  path.from = wire::PathAddress(wire::Lid(1), 0);
  path.to = wire::PathAddress(wire::Lid(2), 0);
  path.encapsulation = &wire::kInfiniBand;
  return test::make_frame(wire::FrameTemplate(path), {.opcode = test::rc(wire::OperationCode::send_only),
                                                      .psn = psn,
                                                      .dest_qp = wire::Qpn(0x22),
                                                      .payload = Bytes(40, std::byte{7})});
}

struct Folder {
  Folder() {
    char name[] = "/tmp/verbena-infiniband-XXXXXX";
    BOOST_REQUIRE(::mkdtemp(name) != nullptr);
    path = name;
    file = path + "/n1-n2.pcapng";
  }
  ~Folder() {
    ::unlink(file.c_str());
    ::rmdir(path.c_str());
  }
  std::string path;
  std::string file;
};

std::vector<char> content_of(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

struct Record {
  Bytes bytes;  // with the header of ERF
  std::string comment;
};

std::vector<Record> read_back(const std::string& path) {
  const std::vector<char> octets = content_of(path);
  auto reader = wire::CaptureReader::open(std::as_bytes(std::span(octets)));
  BOOST_REQUIRE(reader.ok());
  std::vector<Record> records;
  for (;;) {
    const auto packet = reader->next();
    BOOST_REQUIRE(packet.ok());
    if (!packet->has_value()) return records;
    BOOST_TEST(((*packet)->link_type == wire::LinkType::erf));
    records.push_back({{(*packet)->bytes.begin(), (*packet)->bytes.end()}, std::string((*packet)->comment)});
  }
}

/// "ERF types": type, flags, the record's length, no loss, the packet's length on the wire. Then the packet, padded.
void check_record(const Bytes& record, const Bytes& packet, std::size_t kept) {
  const std::size_t whole = (kErfHeaderBytes + kept + 7) / 8 * 8;
  BOOST_REQUIRE_EQUAL(record.size(), whole);
  const auto octet = [&](std::size_t at) { return std::to_integer<std::size_t>(record[at]); };
  BOOST_TEST(octet(8) == 21u);  // InfiniBand
  BOOST_TEST(octet(9) == 4u);   // of varying length
  BOOST_TEST((octet(10) << 8 | octet(11)) == whole);
  BOOST_TEST((octet(12) << 8 | octet(13)) == 0u);
  BOOST_TEST((octet(14) << 8 | octet(15)) == packet.size());
  for (std::size_t i = 0; i < kept; ++i) BOOST_TEST_REQUIRE((record[kErfHeaderBytes + i] == packet[i]), "octet " << i);
  for (std::size_t i = kErfHeaderBytes + kept; i < whole; ++i) BOOST_TEST((record[i] == std::byte{0}));
}

/// A port whose frames lie in `waiting`, and that keeps what it is given.
class FakePort final : public FramePort {
 public:
  std::span<std::byte> reserve(const nic::Destination&, std::size_t bytes) override {
    open.resize(bytes);
    return open;
  }
  void commit(std::size_t bytes, wire::IcrcState) override { sent.emplace_back(open.begin(), open.begin() + bytes); }
  void cancel() override {}
  void publish() override {}
  std::size_t receive(Time, FrameSink& sink, std::size_t) override {
    for (const Bytes& frame : waiting) sink.frame(frame, icrc);
    const std::size_t count = waiting.size();
    waiting.clear();
    return count;
  }
  std::optional<Time> next_deadline() const override { return std::nullopt; }
  bool holds_back() const override { return false; }

  wire::IcrcState icrc = wire::IcrcState::deferred;
  std::vector<std::byte> open;
  std::vector<Bytes> sent;
  std::vector<Bytes> waiting;
};

struct Arrived final : FrameSink {
  void frame(std::span<const std::byte> frame, wire::IcrcState icrc) override {
    frames.emplace_back(frame.begin(), frame.end());
    states.push_back(icrc);
  }
  std::vector<Bytes> frames;
  std::vector<wire::IcrcState> states;
};

bool send(FramePort& port, const Bytes& packet) {
  std::uint32_t hint = 0;
  const auto room = port.reserve({wire::gid_of(wire::Lid(2)), wire::Qpn(0x22), hint}, packet.size());
  if (room.size() < packet.size()) return false;
  std::ranges::copy(packet, room.begin());
  port.commit(packet.size(), wire::IcrcState::present);
  return true;
}

std::unique_ptr<FramePort> faulty(FramePort& inner, std::string_view fault) {
  const auto rule = fabric::parse_fault(std::string(fault));
  BOOST_REQUIRE(rule.ok());
  return make_faulty_link(inner, {*rule}, 5, "node1", nullptr, nullptr, wire::Medium::infiniband);
}

std::uint32_t psn_of(std::span<const std::byte> packet) {
  const auto view = wire::parse_on(wire::Medium::infiniband, packet);
  return view ? view->bth().psn.value() : UINT32_MAX;
}

using Psns = std::vector<std::uint32_t>;

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_capture_has_packets_of_infiniband_in_records_of_erf, Folder) {
  {
    auto capture = CaptureFile::open({.path = file, .medium = wire::Medium::infiniband});
    BOOST_REQUIRE(capture.ok());
    (*capture)->record(kNever, kExample, wire::Direction::outbound, "verbena: dropped by fault 'drop 1%'");
  }
  const auto records = read_back(file);
  BOOST_REQUIRE_EQUAL(records.size(), 1u);
  check_record(records[0].bytes, kExample, kExample.size());
  BOOST_TEST(records[0].comment == "verbena: dropped by fault 'drop 1%'");
}

BOOST_FIXTURE_TEST_CASE(a_cut_packet_tells_its_size, Folder) {
  constexpr std::uint32_t kSnapBytes = 30;
  BOOST_REQUIRE(create_capture_file(file, kSnapBytes, wire::Medium::infiniband).ok());
  {
    auto capture = CaptureFile::open({.path = file, .snap_bytes = kSnapBytes, .medium = wire::Medium::infiniband});
    BOOST_REQUIRE(capture.ok());
    (*capture)->record(kNever, kExample, wire::Direction::outbound, "");
  }
  const auto records = read_back(file);
  BOOST_REQUIRE_EQUAL(records.size(), 1u);
  check_record(records[0].bytes, kExample, kSnapBytes);
}

BOOST_FIXTURE_TEST_CASE(a_packet_whose_crcs_are_deferred_is_captured_with_both, Folder) {
  FakePort below;
  below.waiting = {deferred(kExample)};
  Arrived arrived;
  {
    auto capture = CaptureFile::open({.path = file, .medium = wire::Medium::infiniband});
    BOOST_REQUIRE(capture.ok());
    CapturingLink link(below, std::move(*capture));
    BOOST_TEST(link.receive(clock_now(), arrived, 8) == 1u);
    BOOST_REQUIRE(send(link, kExample));
  }
  BOOST_TEST((arrived.frames.at(0) == deferred(kExample)));  // the NIC needs none
  const auto records = read_back(file);
  BOOST_REQUIRE_EQUAL(records.size(), 2u);
  for (const Record& record : records) check_record(record.bytes, kExample, kExample.size());
}

BOOST_FIXTURE_TEST_CASE(the_captures_of_a_fabric_are_of_its_medium, Folder) {
  fabric::Topology topology = fabric::star(1, {});
  topology.medium = wire::Medium::infiniband;
  file = path + "/" + topology.cable_name(0) + ".pcapng";
  {
    auto capture = FabricCapture::open({.directory = path, .topology = topology});
    BOOST_REQUIRE(capture.ok());
    fabric::ObservedFrame observed{};
    observed.time = clock_now();
    observed.event = fabric::FrameEvent::sent;
    observed.frame = kExample;
    (*capture)->observe(observed);
  }
  const auto records = read_back(file);
  BOOST_REQUIRE_EQUAL(records.size(), 1u);
  check_record(records[0].bytes, kExample, kExample.size());
}

/// A reader that is not ours. Where it is not installed the octets above have to do.
BOOST_FIXTURE_TEST_CASE(tshark_reads_a_capture_of_infiniband, Folder) {
  if (std::system("command -v tshark > /dev/null 2>&1") != 0) {
    BOOST_TEST_MESSAGE("tshark is not installed");
    return;
  }
  {
    auto capture = CaptureFile::open({.path = file, .medium = wire::Medium::infiniband});
    BOOST_REQUIRE(capture.ok());
    (*capture)->record(kNever, kExample, wire::Direction::outbound, "");
    (*capture)->record(kNever, packet_of(77), wire::Direction::inbound, "");
  }
  const std::string command = "tshark -n -r " + file +
                              " -T fields -e infiniband.lrh.slid -e infiniband.lrh.dlid -e infiniband.bth.opcode"
                              " -e infiniband.bth.psn -e _ws.malformed 2>/dev/null";
  std::FILE* const tshark = ::popen(command.c_str(), "r");
  BOOST_REQUIRE(tshark != nullptr);
  std::string said;
  std::array<char, 512> part;
  while (std::fgets(part.data(), part.size(), tshark) != nullptr) said += part.data();
  BOOST_TEST(::pclose(tshark) == 0);
  BOOST_TEST(said == "6098\t14172\t10\t912426\t\n1\t2\t4\t77\t\n");
}

BOOST_AUTO_TEST_CASE(rules_find_packets_of_infiniband_by_their_numbers) {
  FakePort below;
  const auto link = faulty(below, "drop psn=1 opcode=send");
  for (const std::uint32_t psn : {10u, 11u, 12u}) BOOST_REQUIRE(send(*link, packet_of(psn)));
  Psns sent;
  for (const Bytes& packet : below.sent) sent.push_back(psn_of(packet));
  BOOST_TEST(sent == (Psns{10, 12}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_corruption_that_is_repaired_has_both_crcs_right) {
  for (const bool is_repaired : {true, false}) {
    FakePort below;
    const auto link = faulty(below, is_repaired ? "corrupt where=payload repair=yes" : "corrupt where=payload");
    BOOST_REQUIRE(send(*link, packet_of(3)));
    BOOST_REQUIRE_EQUAL(below.sent.size(), 1u);
    BOOST_TEST((below.sent[0] != packet_of(3)));
    const auto view = wire::parse_on(wire::Medium::infiniband, below.sent[0]);
    BOOST_REQUIRE(view.ok());
    BOOST_TEST(view->icrc_is_valid() == is_repaired);
    BOOST_TEST((wire::trailer_integrity(*view) == wire::Integrity::right) == is_repaired);
  }
}

BOOST_AUTO_TEST_CASE(what_comes_without_its_crcs_gets_them_before_a_fault) {
  FakePort below;
  below.waiting = {deferred(packet_of(8)), deferred(packet_of(9))};
  const auto link = faulty(below, "drop dir=rx psn=1");
  Arrived arrived;
  link->receive(clock_now(), arrived, 8);
  BOOST_REQUIRE_EQUAL(arrived.frames.size(), 1u);
  BOOST_TEST((arrived.frames[0] == packet_of(8)));
  BOOST_TEST((arrived.states[0] == wire::IcrcState::verified));
}
