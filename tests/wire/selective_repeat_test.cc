// Selective repeat's own headers: where their octets lie (docs/selective-repeat.md), on which packets, and that the
// ICRC covers them.
#include "wire/selective_repeat.h"

#include "tests/support/frames.h"
#include "tests/wire/wire_support.h"
#include "wire/frame_parser.h"
#include "wire/known_headers.h"
#include "wire/packet_text.h"

namespace verbena::wire::test {
namespace {

using verbena::test::make_frame;
using verbena::test::PacketSpec;
using verbena::test::rc;

constexpr std::size_t kBth = 14 + 20 + 8;

std::vector<unsigned> octets(const std::vector<std::byte>& frame, std::size_t at, std::size_t count) {
  std::vector<unsigned> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(std::to_integer<unsigned>(frame.at(at + i)));
  return values;
}

const PacketSpec kMiddle{.opcode = rc(OperationCode::write_middle),
                         .psn = 0x010203,
                         .payload = std::vector<std::byte>(256, std::byte{7}),
                         .placement = PlacementEth{0x1122334455667788, 0x99aabbcc, 0x00010203}};
const PacketSpec kNak{.opcode = rc(OperationCode::acknowledge),
                      .psn = 5,
                      .aeth = {nak_syndrome(NakCode::psn_sequence_error), 1},
                      .sack = SackEth{.highest = Psn(0x0a0b0c), .below = 0x8000000000000001}};

}  // namespace

BOOST_AUTO_TEST_CASE(octets_lie_where_the_document_says) {
  const auto middle = make_frame(1, 2, kMiddle);
  BOOST_TEST((octets(middle, kBth + 8, 1) == std::vector<unsigned>{0x03}));
  BOOST_TEST((octets(middle, kBth + 12, 16) == std::vector<unsigned>{0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88,
                                                                     0x99, 0xaa, 0xbb, 0xcc, 0x00, 0x01, 0x02, 0x03}));
  BOOST_TEST((octets(middle, kBth + 28, 1) == std::vector<unsigned>{7}));
  const auto nak = make_frame(1, 2, kNak);
  BOOST_TEST((octets(nak, kBth + 12, 16) ==
              std::vector<unsigned>{0x60, 0, 0, 1, 0, 0x0a, 0x0b, 0x0c, 0x80, 0, 0, 0, 0, 0, 0, 1}));
}

BOOST_AUTO_TEST_CASE(frame_gives_back_its_content_and_its_icrc_covers_it) {
  for (const PacketSpec& spec : {kMiddle, kNak}) {
    auto frame = make_frame(1, 2, spec);
    const auto view = parse_frame(frame);
    BOOST_REQUIRE(view.ok());
    BOOST_TEST(view->icrc_is_valid());
    BOOST_TEST((placement_of(*view) == spec.placement));
    BOOST_TEST((sack_of(*view) == spec.sack));
    BOOST_TEST(view->payload().size() == spec.payload.size());
    frame[kBth + 27] ^= std::byte{1};
    BOOST_TEST(!parse_frame(frame)->icrc_is_valid());
    // Who knows frames by their first octets finds the same.
    KnownHeaders known;
    const auto whole = make_frame(1, 2, spec);
    for (int i = 0; i < 20; ++i) {
      const auto again = FrameParser::parse(whole, {.known = &known});
      BOOST_REQUIRE(again.ok());
      BOOST_TEST(again->icrc_is_valid());
      BOOST_TEST(again->payload().size() == spec.payload.size());
    }
  }
}

BOOST_AUTO_TEST_CASE(bits_without_a_place_for_a_header_mean_nothing) {
  for (const OperationCode code : {OperationCode::write_first, OperationCode::write_only, OperationCode::read_request,
                                   OperationCode::read_response_middle, OperationCode::atomic_acknowledge}) {
    PacketSpec spec{.opcode = rc(code)};
    spec.reserved7 = 0x7f;
    const auto view = parse_frame(make_frame(1, 2, spec));
    BOOST_REQUIRE(view.ok());
    BOOST_TEST(!placement_of(*view));
    BOOST_TEST(!sack_of(*view));
  }
  PacketSpec alone{.opcode = rc(OperationCode::write_middle), .payload = std::vector<std::byte>(64)};
  alone.reserved7 = kHasRecoveryHeader;  // without the other bit
  BOOST_TEST(parse_frame(make_frame(1, 2, alone))->payload().size() == 64u);
  alone.opcode = verbena::test::uc(OperationCode::write_middle);
  alone.reserved7 = 3;
  BOOST_TEST(parse_frame(make_frame(1, 2, alone))->payload().size() == 64u);
}

BOOST_AUTO_TEST_CASE(a_frame_too_short_for_its_header_is_none) {
  PacketSpec spec{.opcode = rc(OperationCode::write_middle), .payload = std::vector<std::byte>(8)};
  auto frame = make_frame(1, 2, spec);
  frame[kBth + 8] = std::byte{3};
  BOOST_TEST(!parse_frame(frame).ok());
}

BOOST_AUTO_TEST_CASE(texts_name_the_headers) {
  const auto middle = make_frame(1, 2, kMiddle);
  BOOST_TEST(to_text(*parse_frame(middle)) ==
             "RC RDMA WRITE Middle qp 0x000011 psn 66051 placed at va 0x1122334455667788 rkey 0x99aabbcc left 66051 "
             "payload 256");
  const auto nak = make_frame(1, 2, kNak);
  BOOST_TEST(to_text(*parse_frame(nak)) ==
             "RC Acknowledge qp 0x000011 psn 5 [NAK PSN sequence error] msn 1 sack 658188 below 0x8000000000000001");
}

}  // namespace verbena::wire::test
