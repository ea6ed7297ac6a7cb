#include "cli/completion/running.h"

#include <fmt/format.h>
#include <net/if.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "emulator/host/node/fabric_question.h"
#include "emulator/host/node/node_directory.h"

namespace verbena::cli::completion {
namespace {

using Json = nlohmann::json;

/// Null: nobody serves it.
Json state_of(const std::string& fabric) {
  if (!host::is_fabric_name(fabric)) return {};
  const auto answer = host::ask_fabric(fabric, {"stat"});
  return answer ? Json::parse(*answer, nullptr, false) : Json();
}

std::vector<Json> list_of(const Json& state, const char* key) {
  if (!state.is_object() || !state.contains(key)) return {};
  return state.at(key).get<std::vector<Json>>();
}

}  // namespace

Candidates matching(Candidates all, std::string_view prefix) {
  std::erase_if(all, [prefix](const Candidate& one) { return !one.text.starts_with(prefix); });
  return all;
}

Candidates behind(std::string_view before, Candidates all) {
  for (Candidate& one : all) one.text.insert(0, before);
  return all;
}

Candidates fabrics() {
  Candidates all;
  for (const std::string& name : host::fabrics_present()) all.push_back({name, "running"});
  return all;
}

Candidates node_numbers(const std::string& fabric) {
  constexpr std::size_t kOffered = 4;  // of a fabric that is not served, whose nodes nobody has counted
  const auto found = list_of(state_of(fabric), "nodes");
  Candidates all;
  for (std::size_t i = 1; i <= (found.empty() ? kOffered : found.size()); ++i)
    all.push_back({std::to_string(i), host::address_text(host::node_address(static_cast<std::uint8_t>(i)))});
  return all;
}

Candidates nodes(const std::string& fabric) {
  Candidates all;
  for (const Json& node : list_of(state_of(fabric), "nodes"))
    all.push_back({node.value("name", ""), node.value("address", "")});
  return all;
}

Candidates switches(const std::string& fabric) {
  const Json state = state_of(fabric);
  std::set<std::string> hosts;
  for (const Json& node : list_of(state, "nodes")) hosts.insert(node.value("name", ""));
  Candidates all;
  for (const Json& link : list_of(state, "links")) {
    const std::string name = link.value("name", "");
    const std::string from = name.substr(0, name.find("->"));
    const bool is_known = std::ranges::find(all, from, &Candidate::text) != all.end();
    if (!from.empty() && !hosts.contains(from) && !is_known) all.push_back({from, "switch"});
  }
  return all;
}

Candidates links(const std::string& fabric) {
  Candidates all;
  Candidates one_way;
  for (const Json& link : list_of(state_of(fabric), "links")) {
    const std::string name = link.value("name", "");
    const std::string note = link.value("up", true) ? "up" : "down";
    one_way.push_back({name, note + ", one direction"});
    const std::size_t arrow = name.find("->");
    if (arrow == name.npos) continue;
    const std::string other = name.substr(arrow + 2) + "-" + name.substr(0, arrow);
    if (std::ranges::find(all, other, &Candidate::text) == all.end())
      all.push_back({name.substr(0, arrow) + "-" + name.substr(arrow + 2), note});
  }
  if (!all.empty()) all.push_back({"all", "every link"});
  all.insert(all.end(), one_way.begin(), one_way.end());
  return all;
}

Candidates faults(const std::string& fabric) {
  Candidates all;
  for (const Json& fault : list_of(state_of(fabric), "faults"))
    all.push_back({fmt::format("{}", fault.value("number", 0)),
                   fmt::format("{} {}", fault.value("link", ""), fault.value("rule", ""))});
  return all;
}

std::vector<std::string> interfaces() {
  std::vector<std::string> names;
  struct if_nameindex* const all = if_nameindex();
  for (const struct if_nameindex* one = all; one != nullptr && one->if_index != 0; ++one)
    names.emplace_back(one->if_name);
  if (all != nullptr) if_freenameindex(all);
  return names;
}

}  // namespace verbena::cli::completion
