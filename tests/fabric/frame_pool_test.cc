// Where the frames of a network lie.
#include "emulator/fabric/frame_pool.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <set>

using namespace verbena::fabric;
using verbena::wire::kFrameBytesMax;

BOOST_AUTO_TEST_CASE(short_and_long_frames_each_have_so_many_places_and_no_more) {
  constexpr std::uint32_t kFrames = 300;  // no multiple of what it grows by
  FramePool pool(true, kFrames);
  std::set<const std::byte*> places;
  std::set<FrameNumber> numbers;
  for (std::uint32_t i = 0; i < kFrames; ++i) {
    for (const std::size_t bytes : {std::size_t{60}, kFrameBytesMax}) {
      const FrameNumber frame = pool.take(bytes);
      BOOST_REQUIRE(frame != kNoFrame);
      BOOST_REQUIRE(pool.octets(frame).size() >= bytes);
      std::ranges::fill(pool.octets(frame), std::byte{0xff});  // the sanitizers look
      pool.info(frame).bytes = static_cast<std::uint16_t>(bytes);
      numbers.insert(frame);
      places.insert(pool.octets(frame).data());
    }
  }
  BOOST_TEST(numbers.size() == 2 * kFrames);
  BOOST_TEST(places.size() == 2 * kFrames);
  BOOST_TEST(pool.take(60) == kNoFrame);
  BOOST_TEST(pool.take(kFrameBytesMax) == kNoFrame);
  const FrameNumber given_back = *numbers.rbegin();
  const std::size_t bytes = pool.info(given_back).bytes;
  pool.give_back(given_back);
  BOOST_TEST(pool.take(bytes) == given_back);
}

BOOST_AUTO_TEST_CASE(a_place_for_a_short_frame_does_not_suit_a_long_one) {
  FramePool pool(true, 16);
  const FrameNumber short_one = pool.take(60);
  const FrameNumber long_one = pool.take(kFrameBytesMax);
  BOOST_TEST(pool.suits(short_one, 60));
  BOOST_TEST(!pool.suits(short_one, kFrameBytesMax));
  BOOST_TEST(pool.suits(long_one, kFrameBytesMax));
  BOOST_TEST(pool.octets(short_one).size() < pool.octets(long_one).size());
}

BOOST_AUTO_TEST_CASE(without_payload_all_places_are_alike) {
  FramePool pool(false, 2);
  const FrameNumber first = pool.take(60);
  BOOST_TEST(pool.suits(first, kFrameBytesMax));
  BOOST_TEST(pool.octets(first).size() == kStoredBytes);
  BOOST_TEST(pool.take(kFrameBytesMax) != kNoFrame);
  BOOST_TEST(pool.take(60) == kNoFrame);
}
