// Numbers that a stranger is not to guess, and the same ones again under a seed.
#include "emulator/host/os/drawn_numbers.h"

#include <boost/test/unit_test.hpp>
#include <set>

#include "tests/host/engine/engine_node.h"

using namespace verbena;
using namespace verbena::host;
using namespace verbena::host::test;

namespace {
struct Numbers {
  std::uint32_t qpn;
  std::uint32_t key_octet;
  bool operator==(const Numbers&) const = default;
};

Numbers first_numbers(std::optional<std::uint64_t> seed) {
  EngineConfig config = engine_config(1, "drawn." + std::to_string(getpid()), false);
  config.seed = seed;
  EngineNode node(1, config);
  return {node.contact().qpn, node.mr.rkey & 0xff};
}
}  // namespace

BOOST_AUTO_TEST_CASE(a_seed_gives_the_same_numbers_again_and_another_one_others) {
  DrawnNumbers once(7), again(7), other(8);
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t number = once();
    BOOST_TEST(number == again());
    BOOST_TEST(number != other());
  }
}

BOOST_AUTO_TEST_CASE(without_a_seed_no_two_are_the_same) {
  DrawnNumbers one(std::nullopt), two(std::nullopt);
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 100; ++i) {
    BOOST_TEST(seen.insert(one()).second);
    BOOST_TEST(seen.insert(two()).second);
  }
}

BOOST_AUTO_TEST_CASE(first_qpn_and_key_are_chance_unless_a_seed_is_given) {
  BOOST_TEST((first_numbers(5) == first_numbers(5)));
  std::set<std::uint32_t> qpns;
  std::set<std::uint32_t> key_octets;
  for (int i = 0; i < 16; ++i) {
    const Numbers numbers = first_numbers(std::nullopt);
    qpns.insert(numbers.qpn);
    key_octets.insert(numbers.key_octet);
  }
  // Of 65,536 and of 256: that half of sixteen draws are repeats happens in none of a billion runs.
  BOOST_TEST(qpns.size() > 8U);
  BOOST_TEST(key_octets.size() > 8U);
}
