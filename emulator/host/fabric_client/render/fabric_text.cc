#include "emulator/host/fabric_client/render/fabric_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "emulator/host/node/node_directory.h"
#include "emulator/host/node/port_speed.h"
#include "wire/counted.h"

namespace verbena::host {

std::string port_address(const FabricSnapshot& snapshot, std::size_t port) {
  const auto number = static_cast<std::uint32_t>(port);
  return address_text(device_address(node_address(number / snapshot.rails + 1), {number % snapshot.rails}));
}

std::string_view port_state_name(std::uint8_t state) {
  const std::string_view text = port_state_text(state);  // "4: ACTIVE"
  return text.substr(text.find(' ') + 1);
}

std::string lids_text(const FabricSubnet::Port& port) {
  std::string text = std::to_string(port.base_lid);
  if (port.lmc != 0) text += "-" + std::to_string(port.base_lid + (1u << port.lmc) - 1);
  return text;
}

std::string subnet_text(const FabricSubnet& subnet) {
  if (!subnet.is_managed) return "InfiniBand, not managed: LIDs follow from addresses";
  std::set<std::uint16_t> managers;
  for (const FabricSubnet::Port& port : subnet.ports) managers.insert(port.sm_lid);
  managers.erase(0);
  if (managers.empty()) return "InfiniBand, managed: no port knows a subnet manager yet";
  const auto knows = std::ranges::count_if(subnet.ports, [](const auto& port) { return port.sm_lid != 0; });
  return fmt::format("InfiniBand, managed: {} of {} ports know a subnet manager, at LID {}", knows, subnet.ports.size(),
                     fmt::join(managers, ", "));
}

std::string link_name(const FabricSnapshot& snapshot, std::size_t link) {
  const FabricSnapshot::Cable& cable = snapshot.cables[link / 2];
  const bool is_backward = link % 2 != 0;
  return snapshot.names[is_backward ? cable.b : cable.a] + "->" + snapshot.names[is_backward ? cable.a : cable.b];
}

std::string pair_name(const FabricSnapshot& snapshot, std::size_t pair) {
  const auto& [from, to] = snapshot.cut_off[pair];
  return snapshot.names[from] + "->" + snapshot.names[to];
}

std::string deadlock_text(const FabricSnapshot& snapshot) {
  const fabric::PauseDeadlock& deadlock = *snapshot.deadlock;
  const auto name = [&](fabric::LinkId link) { return link_name(snapshot, 2 * link.cable + (link.backward ? 1 : 0)); };
  std::string text = fmt::format("{} {}: ", snapshot.subnet ? "lane" : "class", deadlock.traffic_class);
  for (const fabric::LinkId link : deadlock.links) text += name(link) + " waits for ";
  return text + name(deadlock.links.front());
}

std::string loop_text(const FabricSnapshot& snapshot, const fabric::ForwardingLoop& loop) {
  std::string text = fmt::format("LID {}", loop.lid);
  if (loop.lids > 1) text += fmt::format(" and {} more", loop.lids - 1);
  text += loop.lids > 1 ? " go round:" : " goes round:";
  for (const fabric::LinkId link : loop.links)
    text += " " + link_name(snapshot, 2 * link.cable + (link.backward ? 1 : 0));
  return text;
}

std::string unheard_text(const FabricSnapshot::Fault& fault) {
  return wire::counted(fault.unheard, "process has", "processes have") + " not heard of it yet";
}

std::string faults_text(const FabricSnapshot& snapshot) {
  std::string text;
  for (const FabricSnapshot::Fault& fault : snapshot.faults)
    text += fmt::format("{}  {}  {}  ({} hits{})\n", fault.number, fault.where, fault.rule, fault.hits,
                        fault.unheard == 0 ? "" : ", " + unheard_text(fault));
  for (std::size_t link = 0; link < snapshot.links.size(); ++link)
    if (!snapshot.links[link].is_up) text += fmt::format("-  {}  down\n", link_name(snapshot, link));
  for (const std::uint32_t vertex : snapshot.crashed) text += fmt::format("-  {}  crashed\n", snapshot.names[vertex]);
  for (std::size_t pair = 0; pair < snapshot.cut_off.size(); ++pair)
    text += fmt::format("-  {}  cut off\n", pair_name(snapshot, pair));
  return text;
}

}  // namespace verbena::host
