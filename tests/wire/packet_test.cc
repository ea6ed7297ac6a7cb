// Building and parsing: golden bytes, every opcode on every path, everything cut or bent.
#include "tests/wire/wire_support.h"
#include "wire/icrc.h"

namespace verbena::wire::test {
namespace {

ParseError error_of(const Bytes& frame) {
  const auto view = parse_frame(frame);
  BOOST_REQUIRE(!view.ok());
  return view.error();
}

/// A good IPv4 frame with one octet set.
Bytes with_octet(std::size_t offset, unsigned value, Opcode opcode = kRcWriteOnly) {
  Bytes frame = sample(ipv4_path(), opcode, 32);
  frame[offset] = static_cast<std::byte>(value);
  return frame;
}

constexpr std::size_t kIp = 14;
constexpr std::size_t kUdp = 34;
constexpr std::size_t kBth = 42;

}  // namespace

BOOST_AUTO_TEST_CASE(headers_lie_as_the_specification_draws_them) {
  Bth bth;
  bth.opcode = kRcWriteOnly;
  bth.solicited = true;
  bth.pad_bytes = 3;
  bth.pkey = 0x8001;
  bth.becn = true;
  bth.dest_qp = Qpn(0x123456);
  bth.ack_request = true;
  bth.psn = Psn(0xabcdef);
  const auto octets = BthLayout::emit(bth);
  BOOST_TEST(Bytes(octets.begin(), octets.end()) ==
                 bytes_of({0x0a, 0xb0, 0x80, 0x01, 0x40, 0x12, 0x34, 0x56, 0x80, 0xab, 0xcd, 0xef}),
             "BTH");
  const auto aeth = AethLayout::emit({.syndrome = 0x60, .msn = 0x010203});
  BOOST_TEST(Bytes(aeth.begin(), aeth.end()) == bytes_of({0x60, 0x01, 0x02, 0x03}), "AETH");
  const auto deth = DethLayout::emit({.qkey = 0x80010000, .reserved = 0, .source_qp = kGsiQpn});
  BOOST_TEST(Bytes(deth.begin(), deth.end()) == bytes_of({0x80, 0x01, 0, 0, 0, 0, 0, 1}), "DETH");
  const auto vlan = VlanLayout::emit({.priority = 3, .drop_eligible = true, .vlan_id = 0x123, .ether_type = 0x0800});
  BOOST_TEST(Bytes(vlan.begin(), vlan.end()) == bytes_of({0x71, 0x23, 0x08, 0x00}), "VLAN");
}

BOOST_AUTO_TEST_CASE(every_opcode_parses_as_it_was_built_on_every_path) {
  for (const FramePath& path : all_paths()) {
    for (const Opcode opcode : defined_opcodes()) {
      for (const std::size_t payload : std::initializer_list<std::size_t>{0, 1, 2, 3, 4, 16, 1021}) {
        const Bytes frame = sample(path, opcode, payload);
        const auto view = parse_frame(frame);
        if (!view) BOOST_FAIL(opcode_info(opcode).name << ": " << to_string(view.error()));
        const OpcodeInfo& info = view->opcode();
        BOOST_REQUIRE(view->icrc_is_valid());
        BOOST_REQUIRE(view->bth().opcode == opcode);
        BOOST_REQUIRE(view->source() == path.source);
        BOOST_REQUIRE(view->destination() == path.destination);
        BOOST_REQUIRE(view->ip().traffic_class() == path.traffic_class);
        BOOST_REQUIRE(view->vlan().has_value() == path.vlan.has_value());
        BOOST_REQUIRE(!info.has_xrceth || view->xrceth() == kXrceth);
        BOOST_REQUIRE(!info.has_deth || view->deth() == kDeth);
        BOOST_REQUIRE(!info.has_reth || view->reth() == kReth);
        BOOST_REQUIRE(!info.has_atomic_eth || view->atomic_eth() == kAtomicEth);
        BOOST_REQUIRE(!info.has_aeth || view->aeth() == kAeth);
        BOOST_REQUIRE(!info.has_atomic_ack_eth || view->atomic_ack_eth() == kAtomicAckEth);
        BOOST_REQUIRE(!info.has_immediate || view->immediate() == kImmDt);
        BOOST_REQUIRE(!info.has_invalidate || view->ieth() == kIeth);
        const Bytes expected = pattern(info.has_payload ? payload : 0);
        BOOST_REQUIRE(Bytes(view->payload().begin(), view->payload().end()) == expected);
        BOOST_REQUIRE(view->payload_bytes() == expected.size());
        BOOST_REQUIRE(rebuild(*view) == frame);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(the_ipv4_header_checksum_is_right_for_every_size) {
  for (std::size_t payload = 0; payload <= 4096; payload += 61) {
    const Bytes frame = sample(ipv4_path(), kRcWriteOnly, payload);
    std::uint32_t sum = 0;
    for (std::size_t i = kIp; i < kUdp; i += 2) {
      sum += std::to_integer<std::uint32_t>(frame[i]) << 8 | std::to_integer<std::uint32_t>(frame[i + 1]);
    }
    while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
    BOOST_REQUIRE_EQUAL(sum, 0xffffu);
  }
}

BOOST_AUTO_TEST_CASE(frame_cut_anywhere_is_truncated_and_not_read_beyond) {
  for (const FramePath& path : all_paths()) {
    for (const Opcode opcode : defined_opcodes()) {
      const Bytes frame = sample(path, opcode, 21);
      const WalledBytes walled(frame);
      for (std::size_t size = 0; size < frame.size(); ++size) {
        const std::span<std::byte> cut = walled.last(size);
        std::memcpy(cut.data(), frame.data(), size);
        const auto view = parse_frame(cut);
        BOOST_REQUIRE(!view.ok());
        BOOST_REQUIRE(view.error() == ParseError::truncated);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_frame_cut_by_a_capture_yields_its_headers_and_what_is_left) {
  for (const FramePath& path : all_paths()) {
    const Bytes frame = sample(path, kRcWriteOnly, 1001);
    const std::size_t header_bytes = FrameTemplate(path).header_bytes() + BthLayout::bytes + RethLayout::bytes;
    for (std::size_t size = 0; size < frame.size(); ++size) {
      const WalledBytes walled(first_of(frame, size));
      const auto view = parse_cut_frame(walled.get());
      BOOST_REQUIRE_EQUAL(view.ok(), size >= header_bytes);
      if (!view) continue;
      BOOST_REQUIRE(!view->is_whole());
      BOOST_REQUIRE(!view->icrc_is_valid());
      BOOST_REQUIRE_EQUAL(view->payload_bytes(), 1001u);
      BOOST_REQUIRE_EQUAL(view->payload().size(), std::min<std::size_t>(size - header_bytes, 1001));
      BOOST_REQUIRE(view->reth() == kReth);
    }
    BOOST_TEST(parse_cut_frame(frame)->is_whole());
    BOOST_TEST(parse_cut_frame(frame)->icrc_is_valid());
  }
}

BOOST_AUTO_TEST_CASE(a_frame_cut_behind_its_bth_yields_the_headers_that_are_whole) {
  for (const FramePath& path : all_paths()) {
    for (unsigned octet = 0; octet < 256; ++octet) {
      const auto opcode = static_cast<Opcode>(octet);
      const OpcodeInfo& info = opcode_info(opcode);
      if (!info.defined) continue;
      const Bytes frame = sample(path, opcode, 0);
      const std::size_t bth_end = FrameTemplate(path).header_bytes() + BthLayout::bytes;
      for (std::size_t size = bth_end - 1; size < frame.size(); ++size) {
        const WalledBytes walled(first_of(frame, size));
        const auto view = parse_cut_frame(walled.get(), HeadersNeeded::bth);
        BOOST_REQUIRE_EQUAL(view.ok(), size >= bth_end);
        if (!view) continue;
        BOOST_REQUIRE((view->bth().psn == parse_frame(frame)->bth().psn));
        BOOST_REQUIRE(!view->is_whole());
        BOOST_REQUIRE_EQUAL(view->payload_bytes(), parse_frame(frame)->payload_bytes());
        const std::size_t left = size - bth_end;
        const std::size_t first = info.has_xrceth ? 4 : 0;
        BOOST_REQUIRE_EQUAL(view->opcode().has_reth, info.has_reth && left >= first + 16);
        BOOST_REQUIRE_EQUAL(view->opcode().has_aeth, info.has_aeth && left >= 4);
        BOOST_REQUIRE_EQUAL(view->opcode().has_deth, info.has_deth && left >= 8);
        BOOST_REQUIRE_EQUAL(view->opcode().has_immediate, info.has_immediate && left >= info.extension_bytes);
        if (view->opcode().has_reth) BOOST_REQUIRE((view->reth() == parse_frame(frame)->reth()));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_packet_without_ethernet_parses_and_verifies) {
  for (const FramePath& path : all_paths()) {
    const Bytes frame = sample(path, kRcWriteOnly, 10);
    const auto view = parse_cut_ip_packet(std::span(frame).subspan(path.vlan ? 18 : 14));
    BOOST_REQUIRE(view.ok());
    BOOST_TEST(view->icrc_is_valid());
    BOOST_TEST((view->destination() == path.destination));
  }
  BOOST_TEST((parse_cut_ip_packet({}).error() == ParseError::truncated));
  BOOST_TEST((parse_cut_ip_packet(pattern(64)).error() == ParseError::not_ip));
}

BOOST_AUTO_TEST_CASE(ethernet_padding_is_left_off) {
  const Bytes frame = sample(ipv4_path(), make_opcode(Transport::rc, OperationCode::acknowledge), 0);
  Bytes padded = frame;
  padded.resize(frame.size() + 9, std::byte{0xee});
  const auto view = parse_frame(padded);
  BOOST_REQUIRE(view.ok());
  BOOST_TEST(view->frame().size() == frame.size());
  BOOST_TEST(view->icrc_is_valid());
}

BOOST_AUTO_TEST_CASE(what_is_wrong_with_a_frame_is_named) {
  BOOST_TEST((error_of(with_octet(12, 0x86)) == ParseError::not_ip));
  BOOST_TEST((error_of(with_octet(kIp, 0x46)) == ParseError::bad_ip_header));  // options
  BOOST_TEST((error_of(with_octet(kIp, 0x65)) == ParseError::bad_ip_header));
  BOOST_TEST((error_of(with_octet(kIp + 6, 0x20)) == ParseError::ip_fragment));  // more fragments
  BOOST_TEST((error_of(with_octet(kIp + 7, 0x01)) == ParseError::ip_fragment));  // an offset
  BOOST_TEST((error_of(with_octet(kIp + 9, 6)) == ParseError::not_udp));
  BOOST_TEST((error_of(with_octet(kUdp + 2, 0x13)) == ParseError::not_roce_port));
  BOOST_TEST((error_of(with_octet(kUdp + 5, 0x55)) == ParseError::bad_length));
  BOOST_TEST((error_of(with_octet(kBth + 1, 0x01)) == ParseError::bad_transport_version));
  BOOST_TEST((error_of(with_octet(kBth, 0x15)) == ParseError::unknown_opcode));
  BOOST_TEST((error_of(with_octet(kBth, 0x40)) == ParseError::unknown_opcode));  // RD
  // A WRITE Only octet string read as an acknowledge: its payload has no business there.
  BOOST_TEST((error_of(with_octet(kBth, 0x11)) == ParseError::bad_length));
  // Padding of an acknowledge, which has no payload.
  BOOST_TEST((error_of(with_octet(kBth + 1, 0x10, make_opcode(Transport::rc, OperationCode::acknowledge))) ==
              ParseError::bad_padding));
}

BOOST_AUTO_TEST_CASE(lengths_that_lie_are_errors) {
  // The IP length is what counts; UDP must agree with it.
  const auto with_lengths = [](unsigned ip_bytes, unsigned udp_bytes) {
    Bytes frame = sample(ipv4_path(), kRcWriteOnly, 64);
    frame[kIp + 2] = static_cast<std::byte>(ip_bytes >> 8);
    frame[kIp + 3] = static_cast<std::byte>(ip_bytes);
    frame[kUdp + 4] = static_cast<std::byte>(udp_bytes >> 8);
    frame[kUdp + 5] = static_cast<std::byte>(udp_bytes);
    return frame;
  };
  const unsigned whole = 20 + 8 + 12 + 16 + 64 + 4;
  BOOST_TEST(parse_frame(with_lengths(whole, whole - 20)).ok());
  BOOST_TEST((error_of(with_lengths(whole + 4, whole - 16)) == ParseError::truncated));
  BOOST_TEST((error_of(with_lengths(whole, whole - 24)) == ParseError::bad_length));
  BOOST_TEST((error_of(with_lengths(whole - 2, whole - 22)) == ParseError::bad_length));  // no whole words
  BOOST_TEST((error_of(with_lengths(19, 0)) == ParseError::bad_ip_header));
  for (unsigned bytes = 20; bytes < 20 + 8 + 12 + 16 + 4; ++bytes)
    BOOST_TEST(!parse_frame(with_lengths(bytes, bytes - 20)).ok());
  BOOST_TEST(parse_frame(with_lengths(whole - 64, whole - 84)).ok());
}

BOOST_AUTO_TEST_CASE(no_octet_string_makes_the_parser_read_too_far) {
  std::uint64_t state = 12345;
  const auto random = [&] { return state = state * 6364136223846793005u + 1442695040888963407u, state >> 33; };
  std::size_t parsed = 0;
  for (std::size_t round = 0; round < 3000; ++round) {
    const std::vector<FramePath> paths = all_paths();
    const std::vector<Opcode> opcodes = defined_opcodes();
    Bytes frame = sample(paths[random() % paths.size()], opcodes[random() % opcodes.size()], random() % 64);
    for (std::size_t change = random() % 4; change > 0; --change) {
      frame[random() % frame.size()] = static_cast<std::byte>(random());
    }
    frame.resize(frame.size() - random() % 2 * (random() % frame.size()));
    const WalledBytes walled(frame);
    const auto view = parse_frame(walled.get());
    if (!view) continue;
    ++parsed;
    BOOST_REQUIRE(view->frame().size() <= frame.size());
    BOOST_REQUIRE(view->payload().data() + view->payload().size() <= walled.get().data() + walled.get().size());
    (void)view->icrc_is_valid();
  }
  BOOST_TEST(parsed > 300u);
}

BOOST_AUTO_TEST_CASE(payload_in_pieces_is_the_payload_in_one) {
  const Bytes data = pattern(100);
  const FrameTemplate frame_template(ipv4_path());
  Bth bth;
  bth.opcode = make_opcode(Transport::rc, OperationCode::send_only);
  Bytes whole(frame_bytes(frame_template, bth.opcode, data.size()));
  PacketBuilder one(whole, frame_template, bth, data.size());
  one.append_payload(data);
  BOOST_TEST(one.finish() == whole.size());
  for (std::size_t cut = 0; cut <= data.size(); ++cut) {
    Bytes pieces(whole.size());
    PacketBuilder two(pieces, frame_template, bth, data.size());
    two.append_payload(std::span(data).first(cut));
    const std::span<std::byte> place = two.payload(data.size() - cut);
    if (!place.empty()) std::memcpy(place.data(), data.data() + cut, place.size());
    BOOST_TEST(two.finish() == whole.size());
    BOOST_REQUIRE(pieces == whole);
  }
}

BOOST_AUTO_TEST_CASE(payload_that_is_left_out_keeps_its_place_and_its_octets) {
  const FrameTemplate frame_template(ipv4_path());
  Bth bth;
  bth.opcode = make_opcode(Transport::rc, OperationCode::send_only);
  for (const std::size_t payload : {1, 2, 64, 4095}) {
    Bytes frame(frame_bytes(frame_template, bth.opcode, payload), std::byte{0x77});
    PacketBuilder builder(frame, frame_template, bth, payload);
    builder.leave_out_payload(payload);
    BOOST_REQUIRE_EQUAL(builder.finish(), frame.size());
    const auto view = parse_frame(frame);
    BOOST_REQUIRE(view.ok());
    BOOST_TEST(view->payload().size() == payload);
    for (const std::byte octet : view->payload()) BOOST_REQUIRE(octet == std::byte{0x77});
    BOOST_TEST(!view->icrc_is_valid());
  }
}

BOOST_AUTO_TEST_CASE(a_frame_fills_its_room_exactly) {
  for (const Opcode opcode : defined_opcodes()) {
    const FrameTemplate frame_template(ipv6_path());
    const std::size_t payload = opcode_info(opcode).has_payload ? 7 : 0;
    const std::size_t bytes = frame_bytes(frame_template, opcode, payload);
    BOOST_TEST(sample(ipv6_path(), opcode, payload).size() == bytes);
    BOOST_TEST(bytes <= kFrameBytesMax);
  }
}

BOOST_AUTO_TEST_CASE(psn_distance_wraps_at_24_bits) {
  BOOST_TEST(distance(Psn(0xffffff), Psn(0)) == 1);
  BOOST_TEST(distance(Psn(0), Psn(0xffffff)) == -1);
  BOOST_TEST(distance(Psn(0), Psn(0x7fffff)) == 0x7fffff);
  BOOST_TEST(distance(Psn(0), Psn(0x800000)) == -0x800000);
  BOOST_TEST((Psn(0xfffffe) + 3).value() == 1u);
  BOOST_TEST((Psn(1) - 3).value() == 0xfffffeu);
}

}  // namespace verbena::wire::test
