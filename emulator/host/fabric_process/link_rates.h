// LinkRates: links that get another rate (the fault link-rate), as ports show it.
//
// Solely responsible for which ports that are and what they show: the nodes' processes read it in a file
// (node/port_rate.h), and in a managed fabric the agents at both ends tell it. A link's rate is that of its slower
// direction; one that has no limit shows what a port does of which nothing was said. The link stays up meanwhile.
// Tested by: tests/host/fabric_process/link_rates_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "emulator/fabric/network.h"
#include "emulator/host/fabric_process/subnet_service.h"
#include "emulator/host/node/port_rate_file.h"

namespace verbena::host {

class LinkRates {
 public:
  /// `managed`: nothing of a fabric without a manager. Both outlive it.
  LinkRates(const fabric::Network& network, SubnetService* managed) : network_(network), managed_(managed) {}

  /// Before the first rate changes. Not empty: why ports cannot show it, one line.
  std::string prepare(const std::string& fabric);
  /// These have other rates now. It is prepared.
  void tell(Time now, std::span<const fabric::LinkId> links);

 private:
  /// UINT64_MAX: no limit.
  std::uint64_t rate_of_cable(Time now, std::uint32_t cable) const;
  std::uint64_t rate_of_host(Time now, std::uint32_t host) const;

  const fabric::Network& network_;
  SubnetService* managed_;
  std::optional<PortRateFile> file_;
};

}  // namespace verbena::host
