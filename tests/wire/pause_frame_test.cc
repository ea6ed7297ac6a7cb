// Pause frames, octet for octet: as IEEE 802.1Q clause 36 and 802.3 annex 31B draw them.
#include "wire/pause_frame.h"

#include <boost/test/unit_test.hpp>
#include <string>
#include <string_view>
#include <vector>

using namespace verbena;
using namespace verbena::wire;

namespace {

/// Of hexadecimal digits, filled up with zeros to the length of a pause frame.
std::vector<std::byte> padded(std::string_view digits) {
  std::vector<std::byte> octets(kPauseFrameBytes);
  for (std::size_t i = 0; i < digits.size(); i += 2)
    octets[i / 2] = static_cast<std::byte>(std::stoul(std::string(digits.substr(i, 2)), nullptr, 16));
  return octets;
}

constexpr MacAddress kSource{{0x02, 0x56, 0xff, 0, 0, 1}};

std::vector<std::byte> written(const PauseFrame& frame) {
  std::vector<std::byte> octets(kPauseFrameBytes, std::byte{0xee});
  write_pause_frame(frame, octets);
  return octets;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_priority_pause_names_its_classes_and_a_time_for_each) {
  const PauseFrame frame{.source = kSource, .classes = 0x88, .quanta = {0, 0, 0, 0xffff, 0, 0, 0, 0x0102}};
  const auto octets = written(frame);
  // Destination, source, type 8808, opcode 0101, class vector, eight times, padding.
  BOOST_CHECK(octets == padded("0180c20000010256ff000001880801010088000000000000ffff0000000000000102"));
  BOOST_CHECK(parse_pause_frame(octets) == frame);
}

BOOST_AUTO_TEST_CASE(pause_of_the_whole_port_is_read_as_that_of_every_class) {
  const auto octets = written({.source = kSource, .is_by_class = false, .classes = 1, .quanta = {0x1234}});
  BOOST_CHECK(octets == padded("0180c20000010256ff000001880800011234"));
  const auto read = parse_pause_frame(octets);
  BOOST_TEST_REQUIRE(read.has_value());
  BOOST_TEST(!read->is_by_class);
  BOOST_TEST(read->classes == 0xff);
  for (const std::uint16_t quanta : read->quanta) BOOST_TEST(quanta == 0x1234);
}

BOOST_AUTO_TEST_CASE(what_is_cut_short_or_something_else_is_no_pause_frame) {
  const auto whole = written({.source = kSource, .classes = 1, .quanta = {5}});
  for (std::size_t bytes = 0; bytes < 34; ++bytes) BOOST_TEST(!parse_pause_frame(std::span(whole).first(bytes)));
  BOOST_TEST(parse_pause_frame(std::span(whole).first(34)).has_value());
  auto other = whole;
  other[12] = std::byte{0x08};
  other[13] = std::byte{0x00};
  BOOST_TEST(!parse_pause_frame(other));
  other = whole;
  other[15] = std::byte{0x02};  // no such opcode
  BOOST_TEST(!parse_pause_frame(other));
}
