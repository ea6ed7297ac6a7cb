// The table of a NIC's settings: its rows are complete, and another row is all that a setting needs here.
#include "emulator/fabric/nic_words.h"

#include <boost/test/unit_test.hpp>
#include <set>
#include <string>
#include <vector>

using namespace verbena;
using namespace verbena::fabric;

BOOST_AUTO_TEST_CASE(each_row_has_a_name_of_its_own_and_can_be_set_and_read) {
  std::set<std::string_view> names;
  for (const std::string_view name : policy_word_names()) BOOST_TEST(names.insert(name).second, name);
  for (const NicWord& word : nic_words()) {
    BOOST_TEST(names.insert(word.name).second, word.name);
    BOOST_TEST(word.right.starts_with("want "), word.name);
    BOOST_TEST((word.choices.empty() == (word.value != NicValue::choice)), word.name);
    NicSettings settings;
    BOOST_TEST(!word.get(settings).has_value(), word.name);
    word.set(settings, 1);
    BOOST_TEST(word.get(settings).value() == 1u, word.name);
  }
}

BOOST_AUTO_TEST_CASE(a_limits_text_names_what_it_may_be_at_most) {
  std::size_t limits = 0;
  for (const NicWord& word : nic_words()) {
    if (word.of != NicWord::Of::program || word.value != NicValue::number || word.most == 0) continue;
    BOOST_TEST(word.right.find(std::to_string(word.most)) != std::string_view::npos, word.name);
    ++limits;
  }
  BOOST_TEST(limits == 12U);
}

BOOST_AUTO_TEST_CASE(a_row_more_is_written_and_applied_with_the_others) {
  std::vector<NicWord> words(nic_words().begin(), nic_words().end());
  words.push_back({.name = "inline",
                   .right = "want 1 to 1024",
                   .least = 1,
                   .most = 1024,
                   .set = [](NicSettings& into,
                             std::uint64_t value) { into.acknowledge_every = static_cast<std::uint32_t>(value); },
                   .get = [](const NicSettings& of) { return std::optional<std::uint64_t>(of.acknowledge_every); },
                   .apply = [](const NicSettings& of,
                               nic::NicConfig& into) { into.limits.max_inline_bytes = of.acknowledge_every; }});
  NicSettings settings;
  BOOST_TEST(!take(words.back(), "2000", settings));
  BOOST_TEST(take(words.back(), "100", settings));
  BOOST_TEST(take(words.front(), "1024", settings));
  BOOST_TEST(text_of(settings, words) == "mtu=1024 acknowledge-every=100 inline=100");
  nic::NicConfig config;
  apply(settings, config, words);
  BOOST_TEST(config.limits.max_inline_bytes == 100u);
  BOOST_TEST(config.port_mtu_bytes == 1024u);
}

BOOST_AUTO_TEST_CASE(a_timeout_is_rounded_up_after_it_was_replaced) {
  NicSettings settings;
  settings.timeout = 1;
  settings.timeout_min = milliseconds(200);
  nic::QpAttributes attributes{.timeout = 20, .retry_count = 3};
  apply(settings, attributes);
  BOOST_TEST(attributes.timeout == 16);
  BOOST_TEST(attributes.retry_count == 3);
}
