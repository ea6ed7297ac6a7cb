// explain on captures with a snap length: nothing is found in them that is not found in the same captures uncut.
#include "tests/captures/told_script.h"
#include "tests/support/places.h"

using namespace verbena;
using namespace verbena::test;

namespace {

/// What a frame is made into before it is cut.
enum class Form : std::uint8_t { as_it_is, tagged, ipv6 };

using Bytes = std::vector<std::byte>;
constexpr std::size_t kMacs = 12;
constexpr std::size_t kIp = 14;
constexpr std::size_t kIpv4 = 20;
constexpr std::size_t kIpv6AckBytes = 82;  // whole, its ICRC would be looked at

void append(Bytes& bytes, std::initializer_list<unsigned> octets) {
  for (const unsigned octet : octets) bytes.push_back(static_cast<std::byte>(octet));
}
void append(Bytes& bytes, std::span<const std::byte> octets) {
  bytes.insert(bytes.end(), octets.begin(), octets.end());
}

/// With a VLAN tag, or with IPv6 in the place of IPv4 (addresses mapped; the ICRC would be wrong, and is cut off).
Bytes made_into(Form form, std::span<const std::byte> frame) {
  if (form == Form::as_it_is) return {frame.begin(), frame.end()};
  Bytes made;
  append(made, frame.first(kMacs));
  if (form == Form::tagged) {
    append(made, {0x81, 0, 0x60, 1});
    append(made, frame.subspan(kMacs));
    return made;
  }
  append(made, {0x86, 0xdd, 0x60, 0, 0, 0});
  const std::size_t udp_bytes = frame.size() - kIp - kIpv4;
  append(made, {static_cast<unsigned>(udp_bytes >> 8), static_cast<unsigned>(udp_bytes & 0xff), 17, 64});
  for (const std::size_t address : {kIp + 12, kIp + 16}) {
    append(made, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff});
    append(made, frame.subspan(address, 4));
  }
  append(made, frame.subspan(kIp + kIpv4));
  return made;
}

struct Recording {
  struct Frame {
    Time time;
    Bytes bytes;
  };
  std::vector<Frame> frames;

  static Recording of_file(const std::string& name) {
    Recording recording;
    const auto capture = Capture::open(data_file(name));
    BOOST_REQUIRE(capture.ok());
    for (const Packet& packet : capture->packets())
      recording.frames.push_back({packet.time, {packet.captured.bytes.begin(), packet.captured.bytes.end()}});
    return recording;
  }
};

struct Told {
  std::map<std::uint32_t, std::vector<Finding>> findings;  // by packet
  std::uint64_t packets = 0;
  std::uint64_t lacking = 0;
};

Told tell(const Recording& recording, std::size_t snap_bytes, Form form) {
  Bytes file;
  const auto add = [&](std::size_t room, auto encode) {
    const std::size_t begin = file.size();
    file.resize(begin + room);
    file.resize(begin + encode(std::span(file).subspan(begin)));
  };
  add(1024, [](std::span<std::byte> into) { return wire::encode_pcapng_section(into, "test"); });
  add(1024, [](std::span<std::byte> into) { return wire::encode_pcapng_interface(into, {.name = "test"}); });
  for (const auto& frame : recording.frames) {
    const Bytes bytes = made_into(form, frame.bytes);
    add(wire::encoded_packet_bytes_max(bytes.size(), 0), [&](std::span<std::byte> into) {
      return wire::encode_pcapng_packet(into,
                                        {.time = frame.time, .bytes = bytes, .snap_bytes = snap_bytes, .comment = {}});
    });
  }
  const int fd = memfd_create("capture", MFD_CLOEXEC);
  BOOST_REQUIRE(::write(fd, file.data(), file.size()) == static_cast<ssize_t>(file.size()));
  const auto capture = Capture::open("/proc/self/fd/" + std::to_string(fd));
  close(fd);
  BOOST_REQUIRE(capture.ok());
  Told told;
  told.packets = capture->packets().size();
  told.lacking = capture->lacking_headers_count();
  for (const auto& conversation : find_conversations(*capture)) {
    FlowTracker tracker(*capture, conversation);
    for (const auto index : conversation.packets) {
      const Packet& packet = capture->packets()[index];
      told.findings[packet.number] = tracker.step(packet, packet.view()).findings;
    }
  }
  return told;
}

bool names_a_loss(const Finding& finding) {
  return finding.kind == FindingKind::gap || finding.kind == FindingKind::gap_in_run ||
         finding.kind == FindingKind::response_gap;
}

/// The finding itself; or, where the cut has left less to go by, that there is something about this packet.
bool is_called_for(const Finding& finding, const std::vector<Finding>& uncut) {
  if (finding.kind == FindingKind::unasked_answer) return !finding.is_sure;
  for (const Finding& known : uncut) {
    const bool is_same = known.kind == finding.kind && known.psn == finding.psn && known.count == finding.count;
    if (is_same || (!names_a_loss(finding) && known.kind != FindingKind::nak)) return true;
  }
  return false;
}

void compare(const Recording& recording, const std::string& name) {
  const Told uncut = tell(recording, 0, Form::as_it_is);
  for (const Form form : {Form::as_it_is, Form::tagged, Form::ipv6})
    for (std::size_t snap = 42; snap <= (form == Form::ipv6 ? kIpv6AckBytes - 2 : 100); snap += 2) {
      const Told cut = tell(recording, snap, form);
      const std::size_t bth_end = form == Form::as_it_is ? 54 : form == Form::tagged ? 58 : 74;
      BOOST_REQUIRE_EQUAL(cut.packets, snap >= bth_end ? recording.frames.size() : 0u);
      for (const auto& [number, findings] : cut.findings)
        for (const Finding& finding : findings)
          BOOST_TEST(is_called_for(finding, uncut.findings.at(number)), name << " form " << static_cast<int>(form)
                                                                             << " snap " << snap << " #" << number
                                                                             << ": " << words(finding, finding.psn));
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(cut_capture_has_no_finding_that_the_whole_one_lacks) {
  for (const char* name : {"01-rc_pingpong.pcap", "03-read_bw.pcap", "04-atomic_fadd.pcap", "05-ud_pingpong.pcap",
                           "07-loss2_write_bw.pcap", "08-uc_pingpong.pcap", "09-send_bw.pcap"})
    compare(Recording::of_file(name), name);
}

BOOST_AUTO_TEST_CASE(reads_without_reths_take_what_their_answers_show) {
  for (const bool is_asked_again : {false, true}) {
    Script script;
    read(script, 0, 100, 10);
    read(script, 1, 110, 1);
    if (!is_asked_again) responses(script, 20, 100, 110);
    if (is_asked_again) {
      response(script, 20, OperationCode::read_response_first, 100);
      for (const std::uint32_t psn : {101, 102, 103, 105})
        response(script, psn - 80, OperationCode::read_response_middle, psn);
      read(script, 40, 104, 6);
      read(script, 41, 110, 1);
      responses(script, 60, 104, 110);
    }
    response(script, 70, OperationCode::read_response_only, 110);
    script.write(80, 111);
    script.ack(90, 111);
    script.snap_bytes = 60;  // RETHs are cut, AETHs are not
    script.tell();
    BOOST_TEST(script.client.lacking_headers == (is_asked_again ? 5u : 3u));
    BOOST_TEST(script.client.gaps == 0u);
    BOOST_TEST(script.server.gaps == (is_asked_again ? 1u : 0u));
    BOOST_TEST(script.client.read_re_requests == (is_asked_again ? 1u : 0u));
    BOOST_TEST(!script.says("never sent"));
    BOOST_TEST(script.ladder.find("RETH cut off") != script.ladder.npos);
  }
}

BOOST_AUTO_TEST_CASE(cut_off_answers_explain_nothing_and_count_as_nothing) {
  Script script;
  writes(script, 0, {1, 2, 3, 4, 5, 6, 7});
  nak(script, 10, 2);
  writes(script, 20, {2, 3, 4, 5, 6, 7});
  script.ack(30, 7);
  script.snap_bytes = 54;
  script.tell();
  BOOST_TEST(script.client.go_backs == 1u);
  BOOST_TEST(script.client.unexplained_go_backs == 0u);
  BOOST_TEST(script.server.nak_sequence_errors == 0u);
  BOOST_TEST(script.says("what answers say is cut off"));
  BOOST_TEST(script.ladder.find("AETH cut off") != script.ladder.npos);
}

BOOST_AUTO_TEST_CASE(corrupted_packet_with_cut_icrc_is_not_followed) {
  for (const std::string_view note : {"verbena: corrupted by fault 'corrupt 1%'", "verbena: truncated by fault 'x'"}) {
    Script script;
    script.snap_bytes = 58;
    script.write(0, 1);
    script.write(1, 2'000'000, note);
    script.write(2, 2);
    script.ack(10, 2);
    script.tell();
    BOOST_TEST(script.client.bad_icrc == 1u);
    BOOST_TEST(script.client.gaps + script.client.holes == 0u);
    BOOST_TEST(!script.says("a new connection"));
  }
}

BOOST_AUTO_TEST_CASE(what_a_fault_has_changed_with_its_icrc_is_followed) {
  Script script;
  script.snap_bytes = 58;
  script.write(0, 1);
  script.write(1, 2, "verbena: corrupted by fault 'corrupt where=payload repair=yes'");
  script.ack(10, 2);
  script.tell();
  BOOST_TEST(script.client.bad_icrc == 0u);
  BOOST_TEST(script.client.gaps + script.client.holes == 0u);
}
