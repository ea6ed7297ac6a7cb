// The page on faults: docs/faults.md is what the tables give, each example of it is understood, and `verbena help`
// shows it.
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <fstream>
#include <set>
#include <sstream>

#include "cli/help/fault_page.h"
#include "emulator/fabric/fault_rule.h"
#include "emulator/fabric/fault_words.h"
#include "emulator/fabric/quantity.h"
#include "emulator/host/fabric_process/fabric_commands.h"
#include "scenarios/language/fault_words.h"
#include "scenarios/language/keys.h"
#include "tests/cli/run_command.h"
#include "tests/host/fabric_process/served.h"
#include "tests/scenarios/language/reading.h"
#include "tests/support/places.h"
#include "tests/support/toy_element_row.h"

using namespace verbena;

namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}

std::vector<fabric::FaultWord> all_fault_words() {
  std::vector<fabric::FaultWord> words = fabric::fault_condition_words();
  for (const fabric::FaultActionWords& action : fabric::fault_action_words()) {
    words.push_back(action.action);
    words.insert(words.end(), action.parameters.begin(), action.parameters.end());
  }
  return words;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

void check_explained(std::string_view name, std::string_view text) {
  BOOST_TEST(!text.empty(), name);
  BOOST_TEST(text.ends_with('.'), name);
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_page_in_docs_is_what_the_tables_give) {
  std::ifstream file(test::source_file("docs/faults.md"));
  std::ostringstream text;
  text << file.rdbuf();
  BOOST_TEST((text.str() == cli::help::fault_page().markdown()),
             "docs/faults.md is not up to date: build/verbena help fault --markdown > docs/faults.md");
}

BOOST_AUTO_TEST_CASE(every_packet_fault_word_has_an_example_that_parses) {
  for (const fabric::FaultWord& word : all_fault_words()) {
    const auto rule = fabric::parse_fault(word.example);
    BOOST_TEST(rule.ok(), (rule.ok() ? "" : rule.error()));
    BOOST_TEST((contains(word.example, word.name) || (word.name == "p" && contains(word.example, "%"))), word.example);
    check_explained(word.name, word.text);
  }
}

BOOST_AUTO_TEST_CASE(every_word_of_a_running_fabric_has_an_example_that_parses) {
  fabric::Topology topology = fabric::ring(3, {});
  topology.qos.emplace();  // there are words for traffic classes
  const host::test::Served fabric(topology);
  for (const host::FabricCommands::Explained& word : host::FabricCommands::explained()) {
    const std::vector<std::string> words = words_of(word.example);
    BOOST_TEST(words.front() == word.name);
    const std::string answer = fabric.ask(words);
    const bool needs_process = word.name == "device-removal";
    BOOST_TEST(
        (needs_process ? answer == "refused: no process that listens runs on n1" : !answer.starts_with("refused")),
        word.example << ": " << answer);
    check_explained(word.name, word.text);
  }
}

BOOST_AUTO_TEST_CASE(every_fault_of_a_scenario_has_an_example_that_is_understood) {
  const auto read = [](std::string_view example) {
    std::string text = test::with("faults: [{" + std::string(example) + "}]\n");
    const std::string_view end = "hosts: 3";
    text.insert(text.find(end) + end.size(), ", qos: {lossless: 3}");  // there are words for traffic classes
    return test::good(text).faults.size();
  };
  for (const fabric::ElementRow& row : fabric::element_rows()) {
    BOOST_TEST(read(row.in_scenario.example) >= 1u);
    BOOST_TEST(row.in_scenario.example.starts_with(std::string(row.word) + ":"));
    check_explained(row.word, row.in_scenario.text);
  }
  BOOST_TEST(read(scenarios::kPacketFaultExample) == 1u);
  BOOST_TEST(read(scenarios::kLuminaFaultExample) == 1u);
  BOOST_TEST(read(scenarios::kVerbFaultExample) == 1u);
}

BOOST_AUTO_TEST_CASE(every_key_of_a_fault_is_explained) {
  std::set<std::string_view> explained{"packet", "data-pkt-events", "verbs"};
  for (const scenarios::FaultKeyWord& word : scenarios::fault_key_words()) explained.insert(word.key);
  std::set<std::string_view> lumina;
  for (const scenarios::FaultKeyWord& word : scenarios::lumina_key_words()) lumina.insert(word.key);
  std::vector<std::string_view> sections{"packet", "data-pkt-events", "verbs"};
  for (const fabric::ElementRow& row : fabric::element_rows()) {
    explained.insert(row.word);
    sections.push_back(row.word);
  }
  for (const std::string_view section : sections)
    for (const std::string_view key : scenarios::keys_of(section)) BOOST_TEST(explained.contains(key), key);
  for (const std::string_view key : scenarios::keys_of("data-pkt-event")) BOOST_TEST(lumina.contains(key), key);
}

BOOST_AUTO_TEST_CASE(a_row_more_in_each_table_is_on_the_page) {
  std::vector<fabric::FaultActionRow> actions(fabric::fault_table().actions.begin(),
                                              fabric::fault_table().actions.end());
  actions.push_back(actions.front());
  actions.back().name = "vanish";
  const fabric::FaultTable packets{actions, fabric::fault_table().words};
  const std::vector<fabric::ElementRow> elements = test::rows_and_link_dim();
  const cli::help::FaultTables tables{packets, elements};
  const std::string page = cli::help::fault_page(tables).markdown();
  for (const char* word : {"vanish", "`link-dim LINK RATE`: The cable is dim.", "`link-dim`: The cables are dim."})
    BOOST_TEST(contains(page, word), word);
  const std::string json = cli::help::fault_words(tables).dump();
  BOOST_TEST(contains(json, "vanish"));
  BOOST_TEST(contains(json, R"("usage":"link-dim LINK RATE")"));
}

BOOST_AUTO_TEST_CASE(every_quantity_has_examples_that_are_understood) {
  for (const fabric::QuantityForm& form : fabric::quantity_forms())
    for (const std::string_view example : form.examples) {
      const bool fits = form.name == "TIME"   ? fabric::parse_duration(example, fabric::kFaultTimeMax).has_value()
                        : form.name == "RATE" ? fabric::parse_rate(example).has_value()
                        : form.name == "SIZE" ? fabric::parse_octets(example).has_value()
                        : form.name == "PROBABILITY" ? fabric::parse_probability(example).has_value()
                                                     : fabric::parse_fault("drop msg=" + std::string(example)).ok();
      BOOST_TEST(fits, form.name << " " << example);
    }
}

BOOST_AUTO_TEST_CASE(help_shows_the_page_and_each_commands_help) {
  const auto help = [](std::vector<std::string> words) {
    words.insert(words.begin(), {VERBENA_COMMAND, "help"});
    return test::run_command(words);
  };
  BOOST_TEST(help({"fault"}).out == cli::help::fault_page().terminal());
  BOOST_TEST(help({"fault", "--markdown"}).out == cli::help::fault_page().markdown());
  for (const char* command : {"check", "exec", "explain", "run", "fabric", "stat"}) {
    const test::Finished shown = help({command});
    BOOST_TEST(shown.status == 0);
    BOOST_TEST(shown.out == test::run_command({VERBENA_COMMAND, command, "--help"}).out);
  }
  BOOST_TEST(help({}).out == test::run_command({VERBENA_COMMAND, "--help"}).out);
  for (const std::vector<std::string>& wrong :
       {std::vector<std::string>{"dance"}, {"fault", "exec"}, {"run", "--markdown"}}) {
    const test::Finished refused = help(wrong);
    BOOST_TEST(refused.status == 2);
    BOOST_TEST(std::count(refused.err.begin(), refused.err.end(), '\n') == 1);
  }
}
