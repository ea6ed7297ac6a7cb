// A setting of a NIC is one row of a table: scenarios read one that they have not met before.
#include <boost/test/unit_test.hpp>
#include <vector>

#include "scenarios/language/keys.h"
#include "scenarios/language/parts.h"

using namespace verbena;
using namespace verbena::scenarios;

namespace {

/// `parse-delay`, kept where there is room.
std::vector<fabric::NicWord> words_and_one() {
  std::vector<fabric::NicWord> words(fabric::nic_words().begin(), fabric::nic_words().end());
  words.push_back({.name = "parse-delay",
                   .right = "want a time",
                   .value = fabric::NicValue::time,
                   .set = [](fabric::NicSettings& into,
                             std::uint64_t value) { into.nak_latency = nanoseconds(static_cast<std::int64_t>(value)); },
                   .get = [](const fabric::NicSettings&) { return std::optional<std::uint64_t>(); }});
  return words;
}

fabric::NicSettings read(const std::string& text, bool is_profile) {
  const auto words = words_and_one();
  const auto keys = nic_keys(words, is_profile);
  fabric::NicSettings settings;
  read_nic_words(Section(parse_text(text), "nic", keys), words, is_profile, settings);
  return settings;
}

std::string error_of(const std::string& text, bool is_profile) {
  try {
    read(text, is_profile);
  } catch (const ReadError& error) {
    return error.text;
  }
  return {};
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_row_more_is_a_key_of_nics_and_of_profiles) {
  for (const bool is_profile : {false, true}) {
    BOOST_TEST(read("parse-delay: 3us\ndscp: 7\n", is_profile).nak_latency.ns == 3'000);
    BOOST_TEST(error_of("parse-delay: 3\n", is_profile).find("write a time of at most") != std::string::npos);
    BOOST_TEST(error_of("parse-delai: 3\n", is_profile).find("did you mean 'parse-delay'?") != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(a_key_is_refused_where_its_row_does_not_belong) {
  BOOST_TEST(read("mtu: 512\n", false).mtu_bytes.value() == 512u);
  BOOST_TEST(error_of("mtu: 512\n", true).find("unknown key 'mtu'") != std::string::npos);
  BOOST_TEST(error_of("removed-after: 1s\n", false).find("unknown key 'removed-after'") != std::string::npos);
}
