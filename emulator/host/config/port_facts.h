// PortFacts: what may differ between the ports and devices of a node, as VERBENA_NIC says it, or over a raw link the
// machine.
//
// Solely the speed of a port and the NUMA node of a device. libibverbs (environment.h) and the path shim both read them
// here, so that they agree. libc only, and nothing is allocated: the path shim includes it.
// Tested by: tests/host/config/own_devices_test.cc
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "emulator/fabric/scaled_number.h"
#include "emulator/host/config/device_words.h"
#include "emulator/host/config/own_devices.h"
#include "emulator/host/node/machine_interface.h"
#include "emulator/host/os/text_list.h"

namespace verbena::host {

struct PortFacts {
  std::optional<std::uint64_t> bits_per_second;
  std::optional<std::uint32_t> numa_node;
};

/// The port at `place` of the list. What is wrong in the text counts as not said; libibverbs tells the user of it
/// (nic_tuning.h). `links` is that of VERBENA_LINK.
inline PortFacts port_facts(const OwnDevices& devices, std::uint32_t place, std::string_view nic,
                            std::string_view links) {
  const auto said = [&](std::string_view name, bool by_port) -> std::string_view {
    const std::string_view values = nic_word(words_of_device(nic, devices.number(place).device), name);
    const auto at = devices.value_at(place, list_size(values), by_port);
    return at ? list_item(values, *at) : std::string_view{};
  };
  PortFacts facts;
  facts.bits_per_second = fabric::parse_rate(said("speed", true));
  if (const auto node = fabric::parse_number(said("numa", false))) facts.numa_node = static_cast<std::uint32_t>(*node);
  const PortLink link = link_of_port(links, place);
  if (link.interface.empty()) return facts;
  if (!facts.bits_per_second) facts.bits_per_second = speed_of_interface(link.interface);
  if (!facts.numa_node) {
    // The device is where its first port is.
    const PortLink first = link_of_port(links, devices.place({devices.number(place).device, 1}));
    facts.numa_node = numa_node_of_interface(first.interface);
  }
  return facts;
}

}  // namespace verbena::host
