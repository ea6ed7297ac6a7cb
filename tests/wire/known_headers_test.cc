// Headers that are known from earlier frames change nothing of what a parse finds, whatever becomes of the frame.
#include "wire/known_headers.h"

#include <random>

#include "tests/wire/wire_support.h"
#include "wire/frame_parser.h"

namespace verbena::wire::test {
namespace {

/// Everything that a view tells, or why there is none.
void check_same(const Result<PacketView, ParseError>& with, const Result<PacketView, ParseError>& without) {
  BOOST_REQUIRE_EQUAL(with.ok(), without.ok());
  if (!with) {
    BOOST_REQUIRE(with.error() == without.error());
    return;
  }
  BOOST_REQUIRE(with->ethernet() == without->ethernet());
  BOOST_REQUIRE(with->vlan().has_value() == without->vlan().has_value());
  BOOST_REQUIRE_EQUAL(with->ip().is_v4(), without->ip().is_v4());
  if (with->ip().is_v4()) BOOST_REQUIRE(with->ip().v4() == without->ip().v4());
  BOOST_REQUIRE(with->udp() == without->udp());
  BOOST_REQUIRE(with->bth() == without->bth());
  if (with->opcode().has_reth) BOOST_REQUIRE(with->reth() == without->reth());
  BOOST_REQUIRE(with->payload().data() == without->payload().data());
  BOOST_REQUIRE_EQUAL(with->payload().size(), without->payload().size());
  BOOST_REQUIRE_EQUAL(with->frame().size(), without->frame().size());
  BOOST_REQUIRE_EQUAL(with->network().places().network_at, without->network().places().network_at);
  BOOST_REQUIRE_EQUAL(with->icrc(), without->icrc());
  BOOST_REQUIRE_EQUAL(with->icrc_is_valid(), without->icrc_is_valid());
}

Result<PacketView, ParseError> parse_knowing(KnownHeaders& known, const Bytes& frame) {
  return FrameParser::parse(frame, {.known = &known});
}

Bytes write_of(const FramePath& path, std::size_t payload_bytes) {
  return sample(path, kRcWriteOnly, payload_bytes);
}

FramePath other_path() {
  FramePath path = ipv4_path();
  path.udp_source_port = 0xd00d;
  return path;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(known_headers)

BOOST_AUTO_TEST_CASE(what_comes_often_is_known_soon_and_what_never_came_is_not) {
  KnownHeaders known;
  const Bytes frame = write_of(ipv4_path(), 64);
  const Bytes of_another_flow = write_of(other_path(), 64);
  for (int i = 0; i < 8; ++i) BOOST_REQUIRE(parse_knowing(known, frame)->icrc_is_valid());
  BOOST_TEST(known.find(frame.data(), frame.size()) != nullptr);
  BOOST_TEST(known.find(of_another_flow.data(), of_another_flow.size()) == nullptr);
  const Bytes tagged = [] {
    FramePath path = ipv4_path();
    path.vlan = Vlan{};
    return write_of(path, 64);
  }();
  for (int i = 0; i < 100; ++i) {
    BOOST_REQUIRE(parse_knowing(known, tagged)->icrc_is_valid());
    BOOST_REQUIRE(parse_knowing(known, write_of(ipv6_path(), 64))->icrc_is_valid());
  }
  BOOST_TEST(known.find(tagged.data(), tagged.size()) == nullptr);
  BOOST_TEST(known.find(frame.data(), frame.size()) != nullptr);
}

BOOST_AUTO_TEST_CASE(frames_are_judged_as_without_it) {
  KnownHeaders known;
  std::mt19937 random(11);
  const auto below = [&](std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random);
  };
  const std::array paths{ipv4_path(), other_path(), ipv6_path()};
  const std::array<std::size_t, 7> sizes{0, 1, 3, 64, 192, 193, 4096};
  std::size_t valid = 0;
  std::size_t invalid = 0;
  for (int round = 0; round < 20000; ++round) {
    // Runs of the same frame, so that it is known when one of it is damaged.
    const Bytes frame = write_of(paths[below(paths.size())], sizes[below(sizes.size())]);
    for (std::size_t i = below(20); i-- > 0;) check_same(parse_knowing(known, frame), parse_frame(frame));
    Bytes damaged = frame;
    switch (below(4)) {
      case 0:  // anywhere, but mostly in the headers
        damaged[below(below(2) == 0 ? damaged.size() : 60)] ^= static_cast<std::byte>(1u << below(8));
        break;
      case 1:
        damaged.resize(below(damaged.size() + 1));
        break;
      case 2:
        damaged.resize(damaged.size() + below(60));  // Ethernet padding
        break;
      default:
        break;
    }
    const auto view = parse_knowing(known, damaged);
    check_same(view, parse_frame(damaged));
    ++(view.ok() && view->icrc_is_valid() ? valid : invalid);
  }
  BOOST_TEST(valid > 5000u);
  BOOST_TEST(invalid > 5000u);
}

BOOST_AUTO_TEST_CASE(a_template_serves_frames_of_every_size_in_any_order) {
  std::mt19937 random(12);
  for (const FramePath& path : {ipv4_path(), ipv6_path()}) {
    const FrameTemplate used(path);
    for (int round = 0; round < 2000; ++round) {
      const std::size_t payload = random() % 3 == 0 ? 64 : random() % (kPayloadBytesMax + 1);
      const auto build = [&](const FrameTemplate& frame_template) {
        Bth bth;
        bth.opcode = make_opcode(Transport::rc, OperationCode::send_only);
        Bytes frame(frame_bytes(frame_template, bth.opcode, payload));
        PacketBuilder builder(frame, frame_template, bth, payload);
        builder.append_payload(pattern(payload));
        BOOST_REQUIRE_EQUAL(builder.finish(), frame.size());
        return frame;
      };
      const Bytes frame = build(used);
      BOOST_REQUIRE(frame == build(FrameTemplate(path)));
      BOOST_REQUIRE(parse_frame(frame)->icrc_is_valid());
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace verbena::wire::test
