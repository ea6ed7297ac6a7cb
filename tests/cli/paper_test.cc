// verbena paper: what it lists, runs and refuses.
#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include "scenarios/papers/experiment.h"
#include "tests/cli/run_command.h"

using verbena::test::Finished;

namespace {

Finished paper(std::vector<std::string> words) {
  words.insert(words.begin(), {VERBENA_COMMAND, "paper"});
  return verbena::test::run_command(words);
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_list_has_every_experiment) {
  const Finished text = paper({"--list"});
  const Finished json = paper({"--list", "--json"});
  BOOST_TEST(text.status == 0);
  const auto all = nlohmann::json::parse(json.out);
  BOOST_TEST(all.size() == verbena::scenarios::all_experiments().size());
  for (const auto& one : all) BOOST_TEST(text.out.find(one.at("name").get<std::string>()) != std::string::npos);
}

BOOST_AUTO_TEST_CASE(an_experiment_is_a_table_with_sources) {
  const Finished text = paper({"dcqcn-thresholds"});
  BOOST_TEST(text.status == 0);
  for (const char* words : {"published", "ratio", "24.5 kB", "within", "[1] section 4"})
    BOOST_TEST(text.out.find(words) != std::string::npos, words);
  const auto json = nlohmann::json::parse(paper({"dcqcn-thresholds", "--json"}).out);
  BOOST_TEST(json.at(0).at("held").get<bool>());
  BOOST_TEST(json.at(0).at("rows").at(0).at("verdict") == "within");
  BOOST_TEST(json.at(0).at("rows").at(0).at("published").at("least") == 24470.0);
  const Finished quiet = paper({"dcqcn-thresholds", "--quiet"});
  BOOST_TEST(quiet.status == 0);
  BOOST_TEST(quiet.out.empty());
}

BOOST_AUTO_TEST_CASE(what_is_wrong_is_one_line) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{}, {"dcqcn-treshold"}, {"nothing-like-it"}, {"--loud"}}) {
    const Finished refused = paper(words);
    BOOST_TEST(refused.status == 2);
    BOOST_TEST(std::count(refused.err.begin(), refused.err.end(), '\n') == 1, refused.err);
    BOOST_TEST(refused.out.empty());
  }
  BOOST_TEST(paper({"dcqcn-treshold"}).err.find("did you mean dcqcn-thresholds?") != std::string::npos);
}
