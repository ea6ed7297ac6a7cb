// docs/scenario.schema.json says what the reader reads: the same sections, the same keys, the same scenarios.
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <functional>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "scenarios/language/keys.h"
#include "scenarios/language/random_scenario.h"
#include "tests/scenarios/language/reading.h"
#include "tests/support/places.h"

using namespace verbena;
using namespace verbena::scenarios;

namespace {

// JSON is YAML.
const YAML::Node& schema() {
  static const YAML::Node kSchema = YAML::LoadFile(test::source_file("docs/scenario.schema.json"));
  return kSchema;
}

YAML::Node section_schema(std::string_view section) {
  return section == "scenario" ? schema() : schema()["$defs"][std::string(section)];
}

/// Checks a value against the part of JSON Schema that ours uses; the first thing that does not fit, or nothing.
class Structure {
 public:
  std::optional<std::string> check(const YAML::Node& value, const YAML::Node& rule) const {
    if (rule["$ref"]) {
      const std::string name = rule["$ref"].Scalar();
      return check(value, schema()["$defs"][name.substr(name.rfind('/') + 1)]);
    }
    if (rule["anyOf"]) return check_any(value, rule["anyOf"]);
    if (rule["enum"]) return check_enum(value, rule["enum"]);
    if (rule["type"] && !check_type(value, rule["type"])) return shown(value) + " is of another type";
    if (value.IsMap()) return check_map(value, rule);
    if (value.IsSequence()) return check_list(value, rule);
    return check_word(value, rule);
  }

 private:
  static std::string shown(const YAML::Node& value) { return value.IsScalar() ? value.Scalar() : "(structure)"; }

  static bool is_number(const YAML::Node& value) { return std::regex_match(value.Scalar(), std::regex("-?[0-9.]+")); }

  static bool check_type(const YAML::Node& value, const YAML::Node& type) {
    std::set<std::string> types;
    if (type.IsScalar()) types.insert(type.Scalar());
    for (const auto& one : type) types.insert(one.Scalar());
    if (value.IsMap()) return types.contains("object");
    if (value.IsSequence()) return types.contains("array");
    const bool number = value.IsScalar() && is_number(value);
    return types.contains("string") || (number && (types.contains("integer") || types.contains("number")));
  }

  std::optional<std::string> check_any(const YAML::Node& value, const YAML::Node& rules) const {
    std::string all;
    for (const auto& rule : rules) {
      const auto wrong = check(value, rule);
      if (!wrong) return std::nullopt;
      all += " | " + *wrong;
    }
    return "none fits:" + all;
  }

  static std::optional<std::string> check_enum(const YAML::Node& value, const YAML::Node& words) {
    for (const auto& word : words)
      if (value.IsScalar() && word.Scalar() == value.Scalar()) return std::nullopt;
    return shown(value) + " is not listed";
  }

  std::optional<std::string> check_map(const YAML::Node& value, const YAML::Node& rule) const {
    for (const auto& member : value) {
      const std::string key = member.first.Scalar();
      const YAML::Node named = rule["properties"] ? rule["properties"][key] : YAML::Node(YAML::NodeType::Undefined);
      const YAML::Node other = rule["additionalProperties"];
      if (!(named && named.IsDefined()) && !(other && other.IsMap())) return "unknown key " + key;
      if (const auto wrong = check(member.second, named && named.IsDefined() ? named : other))
        return key + ": " + *wrong;
    }
    if (rule["required"])
      for (const auto& key : rule["required"])
        if (!value[key.Scalar()]) return key.Scalar() + " is missing";
    return std::nullopt;
  }

  std::optional<std::string> check_list(const YAML::Node& value, const YAML::Node& rule) const {
    if (rule["minItems"] && value.size() < rule["minItems"].as<std::size_t>()) return "too few";
    if (rule["maxItems"] && value.size() > rule["maxItems"].as<std::size_t>()) return "too many";
    for (const auto& item : value)
      if (const auto wrong = check(item, rule["items"])) return wrong;
    return std::nullopt;
  }

  static std::optional<std::string> check_word(const YAML::Node& value, const YAML::Node& rule) {
    const std::string word = value.Scalar();
    if (rule["pattern"] && !std::regex_match(word, std::regex(rule["pattern"].Scalar())))
      return word + " has another pattern";
    if (rule["minimum"] && is_number(value) && value.as<double>() < rule["minimum"].as<double>())
      return word + " is too small";
    if (rule["maximum"] && is_number(value) && value.as<double>() > rule["maximum"].as<double>())
      return word + " is too large";
    return std::nullopt;
  }
};

std::string structure_error(const std::string& text) {
  return Structure().check(YAML::Load(text), schema()).value_or("");
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_section_has_the_same_keys_in_schema_and_reader) {
  for (const SectionKeys& section : all_sections()) {
    BOOST_TEST_CONTEXT(section.section) {
      const YAML::Node rule = section_schema(section.section);
      BOOST_TEST_REQUIRE(rule.IsDefined());
      BOOST_TEST(rule["additionalProperties"].as<bool>() == false);
      std::set<std::string> listed;
      for (const auto& property : rule["properties"]) listed.insert(property.first.Scalar());
      const std::set<std::string> known(section.keys.begin(), section.keys.end());
      BOOST_TEST(listed == known, boost::test_tools::per_element());
    }
  }
}

BOOST_AUTO_TEST_CASE(the_schema_has_no_section_that_the_reader_does_not_have) {
  std::set<std::string> sections;
  for (const SectionKeys& section : all_sections()) sections.insert(std::string(section.section));
  for (const auto& definition : schema()["$defs"])
    if (definition.second["properties"])
      BOOST_TEST(sections.contains(definition.first.Scalar()), definition.first.Scalar());
}

BOOST_AUTO_TEST_CASE(random_scenarios_fit_the_schema_and_spoiled_ones_do_not) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const std::string text = random_scenario(seed);
    BOOST_TEST(structure_error(text) == "", text);
  }
  BOOST_TEST(structure_error(test::with("sede: 1\n")) == "unknown key sede");
  BOOST_TEST(structure_error(test::with("seed: -1\n")) == "seed: -1 is too small");
  BOOST_TEST(structure_error(test::with("timeout: 5\n")) == "timeout: 5 has another pattern");
  BOOST_TEST(structure_error("topology: {shape: star}\n") == "workloads is missing");
  BOOST_TEST(structure_error(test::with("faults: [{link-flap: n1, down: 1ms}]\n")) != "");
}

BOOST_AUTO_TEST_CASE(library_scenarios_and_profiles_fit_the_schema_and_are_read) {
  namespace files = std::filesystem;
  std::size_t profiles = 0;
  for (const auto& entry : files::directory_iterator(test::source_file("scenarios/profiles"))) {
    const auto wrong = Structure().check(YAML::LoadFile(entry.path().string()), section_schema("profile"));
    BOOST_TEST(wrong.value_or("") == "", entry.path());
    const std::string text = test::with("nics: {n1: {profile: " + entry.path().stem().string() + "}}\n");
    BOOST_TEST(test::good(text).nics[0].profile == entry.path().stem().string());
    ++profiles;
  }
  BOOST_TEST(profiles >= 3u);
  for (const auto& entry : files::directory_iterator(test::source_file("scenarios"))) {
    if (entry.path().extension() != ".yaml") continue;
    BOOST_TEST(Structure().check(YAML::LoadFile(entry.path().string()), schema()).value_or("") == "", entry.path());
    const auto read = read_scenario_file(entry.path().string());
    BOOST_TEST(read.ok(), (read.ok() ? "" : read.error().line()));
  }
}

/// YAML 1.1 (PyYAML and many others) reads these words as booleans: such a key of ours would be another one there.
BOOST_AUTO_TEST_CASE(keys_are_no_yaml_1_1_booleans_but_for_the_unused_old_one) {
  const std::set<std::string_view> booleans{"y", "n", "yes", "no", "on", "off", "true", "false"};
  for (const SectionKeys& section : all_sections())
    for (const std::string_view key : section.keys)
      BOOST_TEST((key == "on" || !booleans.contains(key)), section.section << ": " << key);
  std::function<void(const YAML::Node&, const std::string&)> visit = [&](const YAML::Node& node,
                                                                         const std::string& file) {
    if (node.IsMap())
      for (const auto& member : node) {
        BOOST_TEST(!booleans.contains(member.first.Scalar()), file << ": " << member.first.Scalar());
        visit(member.second, file);
      }
    if (node.IsSequence())
      for (const auto& item : node) visit(item, file);
  };
  for (const auto& entry : std::filesystem::directory_iterator(test::source_file("scenarios")))
    if (entry.path().extension() == ".yaml") visit(YAML::LoadFile(entry.path().string()), entry.path().string());
  for (std::uint64_t seed = 1; seed <= 100; ++seed) visit(YAML::Load(random_scenario(seed)), "random");
}
