// Arrivals are exponential, at the load that was asked for, and the same everywhere.
#include "scenarios/workload/arrivals.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

using namespace verbena;
using namespace verbena::scenarios;

namespace {

constexpr double kUnit = 1 << 20;

Time last_of(std::uint64_t number, const Arrivals::Load& load, std::uint64_t seed) {
  Arrivals arrivals(load, seed, Time{0});
  for (std::uint64_t i = 1; i < number; ++i) arrivals.advance();
  return arrivals.next();
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_variate_is_the_negative_logarithm_of_its_draw) {
  for (std::uint64_t draw : {~std::uint64_t{0}, std::uint64_t{1} << 63, std::uint64_t{1} << 40, std::uint64_t{12345},
                             std::uint64_t{0x123456789abcdef0}, std::uint64_t{1}}) {
    const double exact = -std::log(static_cast<double>(draw) / std::pow(2.0, 64));
    BOOST_TEST(std::abs(static_cast<double>(exponential(draw)) / kUnit - exact) < 4e-6);
  }
  BOOST_TEST(exponential(0) == exponential(1));
}

BOOST_AUTO_TEST_CASE(variates_have_the_shares_of_an_exponential_distribution) {
  constexpr int kDraws = 200'000;
  fabric::Dice dice(7);
  double sum = 0;
  std::vector<int> above(4);
  for (int i = 0; i < kDraws; ++i) {
    const double value = static_cast<double>(exponential(dice.next())) / kUnit;
    sum += value;
    for (std::size_t bound = 0; bound < above.size(); ++bound)
      above[bound] += value > static_cast<double>(bound + 1) ? 1 : 0;
  }
  BOOST_TEST(std::abs(sum / kDraws - 1) < 0.01);
  for (std::size_t bound = 0; bound < above.size(); ++bound)
    BOOST_TEST(std::abs(above[bound] / static_cast<double>(kDraws) - std::exp(-static_cast<double>(bound + 1))) <
               0.003);
}

BOOST_AUTO_TEST_CASE(flows_come_as_often_as_the_load_says) {
  // 10,000 octets at 40 Gb/s take 2 us: at a load of 50 % one comes each 4 us.
  const Arrivals::Load load{40'000'000'000, 500'000'000, 10'000u << 8};
  const double mean = static_cast<double>(last_of(100'000, load, 3).ns) / 100'000;
  BOOST_TEST(std::abs(mean - 4000) < 40);
  // 8 octets at 400 Gb/s take 160 ps, which is less than the clock's unit.
  const Arrivals::Load small{400'000'000'000, 1'000'000'000, 8u << 8};
  BOOST_TEST(std::abs(static_cast<double>(last_of(1'000'000, small, 3).ns) / 1'000'000 - 0.16) < 0.001);
}

BOOST_AUTO_TEST_CASE(the_same_seed_gives_the_same_times) {
  const Arrivals::Load load{100'000'000'000, 700'000'000, 1'000'000u << 8};
  BOOST_TEST(last_of(1000, load, 1).ns == last_of(1000, load, 1).ns);
  BOOST_TEST(last_of(1000, load, 1).ns != last_of(1000, load, 2).ns);
  // With every compiler: what this one gave once.
  BOOST_TEST(last_of(1000, load, 1).ns == 115'487'869);
}

BOOST_AUTO_TEST_CASE(the_mean_of_sizes_is_that_of_what_is_drawn) {
  const std::vector<SizeChoice> sizes{{100, 100, 1}, {1000, 3000, 3}};
  BOOST_TEST(mean_size(sizes) == (100u + 3u * 2000u) * 64u);
  BOOST_TEST(mean_size({}) == 0u);
}
