// How packets, syndromes and addresses read.
#include "wire/packet_text.h"

#include "tests/wire/wire_support.h"

namespace verbena::wire::test {
namespace {

std::string text_of(Opcode opcode, std::size_t payload = 64) {
  const Bytes frame = sample(ipv4_path(), opcode, payload);
  const auto view = parse_frame(frame);
  BOOST_REQUIRE(view.ok());
  return to_text(*view);
}

Gid gid_of(std::initializer_list<unsigned> groups) {
  Gid gid;
  std::size_t i = 0;
  for (const unsigned group : groups) {
    gid.octets[i++] = static_cast<std::uint8_t>(group >> 8);
    gid.octets[i++] = static_cast<std::uint8_t>(group);
  }
  return gid;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_packet_reads_in_the_specifications_words) {
  BOOST_TEST(
      text_of(kRcWriteOnly) ==
      "RC RDMA WRITE Only qp 0x01a2b3 psn 16777214 va 0x7f00deadbeef0123 rkey 0x00008001 length 70000 payload 64 "
      "ack-request");
  BOOST_TEST(text_of(make_opcode(Transport::rc, OperationCode::acknowledge)) ==
             "RC Acknowledge qp 0x01a2b3 psn 16777214 [ACK] msn 48879 ack-request");
  BOOST_TEST(
      text_of(make_opcode(Transport::ud, OperationCode::send_only_with_immediate), 5) ==
      "UD SEND Only with Immediate qp 0x01a2b3 psn 16777214 from qp 0xabcdef qkey 0x11111111 immediate 0xcafef00d "
      "payload 5 ack-request");
  BOOST_TEST(text_of(make_opcode(Transport::xrc, OperationCode::compare_swap)) ==
             "XRC CmpSwap qp 0x01a2b3 psn 16777214 srq 0x123456 va 0x7f00deadbeef0128 rkey 0x00008002 compare "
             "0xf1f2f3f4f5f6f7f8 swap 0x102030405060708 ack-request");
  BOOST_TEST(text_of(Opcode::cnp, 16) == "CNP qp 0x01a2b3 payload 16 ack-request");
}

BOOST_AUTO_TEST_CASE(an_aeth_reads_in_words) {
  BOOST_TEST(to_text(Syndrome::decode(ack_syndrome(10))) == "ACK, 32 credits");
  BOOST_TEST(to_text(Syndrome::decode(ack_syndrome(kUnlimitedCredits))) == "ACK");
  BOOST_TEST(to_text(Syndrome::decode(rnr_syndrome(12))) == "RNR NAK, retry after 0.64 ms");
  BOOST_TEST(to_text(Syndrome::decode(nak_syndrome(NakCode::psn_sequence_error))) == "NAK PSN sequence error");
  BOOST_TEST(to_text(Syndrome::decode(0x7f)) == "NAK reserved NAK code");
  BOOST_TEST(to_text(Syndrome::decode(0xff)) == "reserved syndrome");
}

BOOST_AUTO_TEST_CASE(congestion_shows) {
  FramePath path = ipv4_path();
  path.traffic_class = 0x6b;
  Bytes frame = sample(path, kRcWriteOnly, 4);
  frame[14 + 20 + 8 + 4] = std::byte{0xc0};
  const std::string text = to_text(*parse_frame(frame));
  BOOST_TEST(text.ends_with(" CE FECN BECN"));
}

BOOST_AUTO_TEST_CASE(every_opcode_has_a_line_and_no_accessor_asserts) {
  for (const Opcode opcode : defined_opcodes()) {
    const std::string text = text_of(opcode, 16);
    BOOST_TEST(text.starts_with(opcode_info(opcode).name));
    BOOST_TEST(text.find('\n') == std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(addresses_read_as_rfc_5952_has_them) {
  BOOST_TEST(to_text(Gid::from_ipv4(0x7f2f5b01)) == "127.47.91.1");
  BOOST_TEST(to_text(gid_of({0, 0, 0, 0, 0, 0, 0, 0})) == "::");
  BOOST_TEST(to_text(gid_of({0, 0, 0, 0, 0, 0, 0, 1})) == "::1");
  BOOST_TEST(to_text(gid_of({0xfe80, 0, 0, 0, 0x56, 0x7fff, 0xfe2f, 0x5b01})) == "fe80::56:7fff:fe2f:5b01");
  BOOST_TEST(to_text(gid_of({0x2001, 0xdb8, 0, 1, 1, 1, 1, 1})) == "2001:db8:0:1:1:1:1:1");
  BOOST_TEST(to_text(gid_of({0x2001, 0, 0, 1, 0, 0, 0, 1})) == "2001:0:0:1::1");
  BOOST_TEST(to_text(gid_of({0x2001, 0xdb8, 0, 0, 1, 0, 0, 1})) == "2001:db8::1:0:0:1");
  BOOST_TEST(to_text(gid_of({1, 2, 3, 4, 5, 6, 0, 0})) == "1:2:3:4:5:6::");
  BOOST_TEST(to_text(MacAddress{{0x02, 0x56, 0x7f, 0x2f, 0x5b, 0x01}}) == "02:56:7f:2f:5b:01");
}

BOOST_AUTO_TEST_CASE(pause_frames_say_which_class_stops_and_which_goes_on) {
  BOOST_TEST(to_text(PauseFrame{.source = {}, .classes = 0x18, .quanta = {0, 0, 0, 65535}}) ==
             "PFC class 3 stops for 65535 quanta, class 4 goes on");
  BOOST_TEST(to_text(PauseFrame{.source = {}, .is_by_class = false, .quanta = {100}}) == "PAUSE stops for 100 quanta");
}

}  // namespace verbena::wire::test
