// SettingsState: what a Settings of the public interface has been told, behind its pointer.
//
// Private to this folder. Solely what was said and what it comes to for each NIC and for the network.
#pragma once

#include <verbena/settings.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/fabric/nic_settings.h"
#include "emulator/fabric/qos.h"
#include "emulator/fabric/rails.h"
#include "emulator/fabric/topology.h"
#include "emulator/nic/objects/nic_config.h"

namespace libverbena {

struct SettingsState {
  struct Word {
    std::string nic;  // empty: all
    std::string name;
    std::string value;
  };
  std::vector<Word> nics;  // each by itself is right
  std::optional<verbena::fabric::Qos> qos;
  verbena::fabric::RailOptions rails;
  bool says_planes = false;
  bool telemetry = false;

  Result<void> set_nic(std::string_view nic, std::string_view name, std::string_view value);
  /// How many hosts each name of WorldOptions is, and of which networks. The error is one line.
  Result<void> apply_rails(verbena::fabric::Topology& topology) const;
  /// Into a topology that has all but these. The error is one line.
  Result<void> apply(verbena::fabric::Topology& topology) const;
  /// Of each host; the first `nic_count` of the topology's have NICs.
  Result<std::vector<verbena::fabric::NicSettings>> of_hosts(const verbena::fabric::Topology& topology,
                                                             std::size_t nic_count) const;
};

/// The topology is slowed to its NICs.
std::vector<verbena::nic::NicConfig> configs_of(const verbena::fabric::Topology& topology,
                                                const std::vector<verbena::fabric::NicSettings>& of_hosts);

}  // namespace libverbena
