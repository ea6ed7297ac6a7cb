// A form with its octets is the view that it was made of: of every opcode on every path, cut anywhere, behind anything.
#include "wire/packet_form.h"

#include "tests/wire/wire_support.h"
#include "wire/packet_text.h"
#include "wire/pcap_file.h"

namespace verbena::wire::test {
namespace {

template <class HeaderLayout>
auto octets_of(const typename HeaderLayout::Header& header) {
  return HeaderLayout::emit(header);
}

void require_same(const PacketView& a, const PacketView& b) {
  BOOST_REQUIRE(octets_of<EthernetLayout>(a.ethernet()) == octets_of<EthernetLayout>(b.ethernet()));
  BOOST_REQUIRE_EQUAL(a.vlan().has_value(), b.vlan().has_value());
  BOOST_REQUIRE(a.source() == b.source());
  BOOST_REQUIRE(a.destination() == b.destination());
  BOOST_REQUIRE_EQUAL(a.ip().is_v4(), b.ip().is_v4());
  BOOST_REQUIRE_EQUAL(a.ip().hop_limit(), b.ip().hop_limit());
  BOOST_REQUIRE(octets_of<UdpLayout>(a.udp()) == octets_of<UdpLayout>(b.udp()));
  BOOST_REQUIRE(octets_of<BthLayout>(a.bth()) == octets_of<BthLayout>(b.bth()));
  BOOST_REQUIRE_EQUAL(&a.opcode(), &b.opcode());
  BOOST_REQUIRE_EQUAL(a.frame().data(), b.frame().data());
  BOOST_REQUIRE_EQUAL(a.frame().size(), b.frame().size());
  BOOST_REQUIRE_EQUAL(a.payload().data(), b.payload().data());
  BOOST_REQUIRE_EQUAL(a.payload().size(), b.payload().size());
  BOOST_REQUIRE_EQUAL(a.payload_bytes(), b.payload_bytes());
  BOOST_REQUIRE_EQUAL(a.network().places().network_at, b.network().places().network_at);
  BOOST_REQUIRE_EQUAL(a.is_whole(), b.is_whole());
  if (a.is_whole()) BOOST_REQUIRE_EQUAL(a.icrc(), b.icrc());
  BOOST_REQUIRE(a.integrity() == b.integrity());
  BOOST_REQUIRE_EQUAL(transport_bytes(a), transport_bytes(b));
  BOOST_REQUIRE_EQUAL(has_telemetry(a), has_telemetry(b));
  BOOST_REQUIRE_EQUAL(to_text(a), to_text(b));
}

void require_kept(const Result<PacketView, ParseError>& view, std::span<const std::byte> bytes) {
  if (view) require_same(PacketForm(*view, bytes).view_of(bytes), *view);
}

}  // namespace

BOOST_AUTO_TEST_CASE(form_is_the_view_of_every_opcode_on_every_path) {
  std::size_t parsed = 0;
  for (const FramePath& path : all_paths())
    for (const Opcode opcode : defined_opcodes())
      for (const std::size_t payload : std::initializer_list<std::size_t>{0, 1, 16, 1021}) {
        Bytes frame = sample(path, opcode, payload);
        frame.resize(frame.size() + 6);  // padding
        const auto view = parse_frame(frame);
        if (!view) continue;
        ++parsed;
        require_kept(view, frame);
      }
  BOOST_TEST(parsed > 100u);
}

BOOST_AUTO_TEST_CASE(form_is_the_view_of_packets_that_are_cut) {
  std::size_t parsed = 0;
  for (const FramePath& path : all_paths())
    for (const Opcode opcode : defined_opcodes()) {
      const Bytes frame = sample(path, opcode, 64);
      for (std::size_t size = 0; size <= frame.size(); ++size)
        for (const HeadersNeeded needed : {HeadersNeeded::all, HeadersNeeded::bth}) {
          const auto cut = first_of(frame, size);
          const auto view = parse_cut_frame(cut, needed);
          if (view) ++parsed;
          require_kept(view, cut);
        }
    }
  BOOST_TEST(parsed > 1000u);
}

BOOST_AUTO_TEST_CASE(form_knows_packets_without_ethernet_and_behind_other_octets) {
  for (const FramePath& path : {ipv4_path(), ipv6_path()}) {
    const Bytes frame = sample(path, kRcWriteOnly, 32);
    const auto packet = std::span(frame).subspan(EthernetLayout::bytes);
    require_kept(parse_cut_ip_packet(packet), packet);
    Bytes cooked(16);
    cooked[14] = frame[12];
    cooked[15] = frame[13];
    cooked.insert(cooked.end(), packet.begin(), packet.end());
    CapturedPacket captured;
    captured.bytes = cooked;
    captured.original_bytes = cooked.size();
    captured.link_type = LinkType::linux_sll;
    const auto view = parse_captured(captured);
    BOOST_REQUIRE(view.ok());
    require_kept(view, cooked);
  }
}

/// A file may change while it is read: which headers there are was decided by the parser.
BOOST_AUTO_TEST_CASE(form_keeps_the_opcode_that_was_parsed) {
  Bytes frame = sample(ipv4_path(), kRcWriteOnly, 32);
  const auto view = parse_frame(frame);
  BOOST_REQUIRE(view.ok());
  const PacketForm form(*view, frame);
  frame[42] = std::byte{0x11};  // an acknowledgement
  const PacketView later = form.view_of(frame);
  BOOST_TEST(later.opcode().has_reth);
  BOOST_TEST((later.bth().opcode == kRcWriteOnly));
  BOOST_TEST(!later.icrc_is_valid());
}

}  // namespace verbena::wire::test
