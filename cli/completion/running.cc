#include "cli/completion/running.h"

#include <fmt/format.h>
#include <net/if.h>

#include <algorithm>
#include <utility>

#include "emulator/host/fabric_client/fabric_client.h"
#include "emulator/host/fabric_client/render/fabric_text.h"
#include "emulator/host/node/node_directory.h"

namespace verbena::cli::completion {
namespace {

/// Empty: nobody serves it.
host::FabricSnapshot state_of(const std::string& fabric) {
  if (!host::is_fabric_name(fabric)) return {};
  auto seen = host::look_at_fabric(fabric);
  return seen ? std::move(*seen) : host::FabricSnapshot{};
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
  const host::FabricSnapshot state = state_of(fabric);
  const std::size_t found = state.nodes.size() / state.rails;
  Candidates all;
  for (std::size_t i = 1; i <= (found == 0 ? kOffered : found); ++i)
    all.push_back({std::to_string(i), host::address_text(host::node_address(static_cast<std::uint8_t>(i)))});
  return all;
}

Candidates nodes(const std::string& fabric) {
  const host::FabricSnapshot state = state_of(fabric);
  Candidates all;
  for (std::uint32_t host = 0; host < state.nodes.size(); ++host) {
    const std::string& name = state.names[host];
    if (state.rails > 1 && host % state.rails == 0)
      all.push_back({name.substr(0, name.rfind('.')), "all of its rails"});
    all.push_back({name, host::port_address(state, host)});
  }
  return all;
}

/// In the order in which cables leave them.
Candidates switches(const std::string& fabric) {
  const host::FabricSnapshot state = state_of(fabric);
  Candidates all;
  for (const host::FabricSnapshot::Cable& cable : state.cables)
    for (const std::uint32_t vertex : {cable.a, cable.b})
      if (vertex >= state.nodes.size() && std::ranges::find(all, state.names[vertex], &Candidate::text) == all.end())
        all.push_back({state.names[vertex], "switch"});
  return all;
}

Candidates links(const std::string& fabric) {
  const host::FabricSnapshot state = state_of(fabric);
  Candidates all;
  Candidates one_way;
  for (std::size_t link = 0; link < state.links.size(); ++link) {
    const std::string note = state.links[link].is_up ? "up" : "down";
    one_way.push_back({host::link_name(state, link), note + ", one direction"});
    const host::FabricSnapshot::Cable& cable = state.cables[link / 2];
    const std::string reversed = state.names[cable.b] + "-" + state.names[cable.a];
    if (link % 2 == 0 && std::ranges::find(all, reversed, &Candidate::text) == all.end())
      all.push_back({state.names[cable.a] + "-" + state.names[cable.b], note});
  }
  if (!all.empty()) {
    all.push_back({"all", "every link"});
    all.push_back({"hosts", "the links of nodes"});
    all.push_back({"trunks", "the links between switches"});
  }
  all.insert(all.end(), one_way.begin(), one_way.end());
  for (const Candidates& ends : {nodes(fabric), switches(fabric)}) all.insert(all.end(), ends.begin(), ends.end());
  return all;
}

Candidates faults(const std::string& fabric) {
  Candidates all;
  for (const host::FabricSnapshot::Fault& fault : state_of(fabric).faults)
    all.push_back({fmt::format("{}", fault.number), fmt::format("{} {}", fault.where, fault.rule)});
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
