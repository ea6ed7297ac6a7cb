// Random scenarios are good ones, and spoiled ones are refused at a place.
#include "scenarios/language/random_scenario.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cctype>

#include "emulator/fabric/chance.h"
#include "scenarios/language/keys.h"
#include "tests/scenarios/language/reading.h"

using namespace verbena;
using namespace verbena::scenarios;
using fabric::Dice;

namespace {

constexpr std::uint64_t kScenarios = 1000;
constexpr std::uint64_t kExpectedHash = 7'173'491'668'820'110'427u;

/// Every key that can be spoiled: those followed by a colon, by the place behind their first letter.
std::vector<std::size_t> keys_in(const std::string& text) {
  std::vector<std::size_t> places;
  for (std::size_t at = text.find(": "); at != text.npos; at = text.find(": ", at + 1)) {
    std::size_t begin = at;
    while (begin > 0 && (std::isalpha(static_cast<unsigned char>(text[begin - 1])) != 0 || text[begin - 1] == '-'))
      --begin;
    if (begin < at && text[begin] != '-') places.push_back(begin);
  }
  return places;
}

/// The first digits of numbers that stand as a value of their own.
std::vector<std::size_t> numbers_in(const std::string& text) {
  std::vector<std::size_t> places;
  for (std::size_t at = text.find(": "); at != text.npos; at = text.find(": ", at + 1))
    if (at + 2 < text.size() && std::isdigit(static_cast<unsigned char>(text[at + 2])) != 0) places.push_back(at + 2);
  return places;
}

}  // namespace

BOOST_AUTO_TEST_CASE(thousand_random_scenarios_are_read_and_differ) {
  std::size_t faults = 0;
  std::size_t workloads = 0;
  std::size_t flows = 0;
  std::size_t distributions = 0;
  std::size_t with_lost_answers = 0;
  for (std::uint64_t seed = 1; seed <= kScenarios; ++seed) {
    const std::string text = random_scenario(seed);
    BOOST_REQUIRE(text == random_scenario(seed));
    const Scenario scenario = test::good(text);
    faults += scenario.faults.size();
    workloads += scenario.workloads.size();
    for (const Workload& workload : scenario.workloads) flows += workload.load_ppb != 0 ? 1 : 0;
    distributions += text.find("{cdf: ") != text.npos ? 1 : 0;
    if (text.find("survivors: ") != text.npos)
      ++with_lost_answers;
    else
      BOOST_TEST_REQUIRE(scenario.expectations.size() == 2u);
  }
  BOOST_TEST(faults > kScenarios);
  BOOST_TEST(workloads > kScenarios * 3 / 2);
  BOOST_TEST(flows > kScenarios / 5);
  BOOST_TEST(distributions > kScenarios / 20);
  BOOST_TEST(with_lost_answers > 0u);
  BOOST_TEST(with_lost_answers < kScenarios / 10);
  BOOST_TEST(random_scenario(1) != random_scenario(2));
}

BOOST_AUTO_TEST_CASE(seed_gives_the_same_text_with_every_machine_and_compiler) {
  std::uint64_t hash = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed)
    hash = fabric::mix_all({hash, fabric::hash_text(random_scenario(seed))});
  BOOST_TEST(hash == kExpectedHash);
}

BOOST_AUTO_TEST_CASE(a_misspelled_key_is_refused_at_its_place) {
  for (std::uint64_t seed = 1; seed <= kScenarios; ++seed) {
    std::string text = random_scenario(seed);
    const auto keys = keys_in(text);
    Dice dice(seed);
    const std::size_t at = keys[dice.below(keys.size())];
    text.insert(at + 1, 1, 'q');
    const auto read = read_scenario(text, "random.yaml");
    BOOST_TEST_REQUIRE(!read.ok(), text);
    BOOST_TEST_REQUIRE(read.error().place.line > 0u, read.error().line() << "\n" << text);
    BOOST_TEST_REQUIRE(read.error().place.column > 0u);
  }
}

BOOST_AUTO_TEST_CASE(a_negative_value_is_refused_at_its_place) {
  for (std::uint64_t seed = 1; seed <= kScenarios; ++seed) {
    std::string text = random_scenario(seed);
    const auto numbers = numbers_in(text);
    Dice dice(seed);
    const std::size_t at = numbers[dice.below(numbers.size())];
    text.insert(at, 1, '-');
    const auto read = read_scenario(text, "random.yaml");
    BOOST_TEST_REQUIRE(!read.ok(), text);
    const auto line =
        static_cast<std::uint32_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n')) + 1;
    BOOST_TEST_REQUIRE(read.error().place.line == line, read.error().line() << "\n" << text);
  }
}

BOOST_AUTO_TEST_CASE(text_with_changed_octets_is_read_or_refused_cleanly) {
  std::size_t refused = 0;
  for (std::uint64_t seed = 1; seed <= kScenarios; ++seed) {
    std::string text = random_scenario(seed % 50);
    Dice dice(seed);
    for (std::uint64_t changes = 1 + dice.below(4); changes > 0; --changes) {
      const std::size_t at = dice.below(text.size());
      constexpr std::string_view kOctets = "0 \n-:[]{}#&*!|>'\"%@`,?az\x01\x7f\xff";
      if (dice.below(3) == 0)
        text.erase(at, 1 + dice.below(5));
      else
        text[at] = kOctets[dice.below(kOctets.size())];
    }
    const auto read = read_scenario(text, "random.yaml");
    if (read.ok()) continue;
    ++refused;
    BOOST_TEST_REQUIRE(!read.error().text.empty());
    BOOST_TEST_REQUIRE(read.error().line().find('\n') == std::string::npos);
  }
  BOOST_TEST(refused > kScenarios / 2);
}
