#include "emulator/host/fabric_process/link_rates.h"

#include <algorithm>
#include <utility>

#include "emulator/host/node/port_speed.h"

namespace verbena::host {
namespace {

constexpr std::uint64_t kUnlimited = UINT64_MAX;

std::uint64_t shown(std::uint64_t rate) {
  return rate == kUnlimited ? kPortRateDefault : rate;
}

}  // namespace

std::string LinkRates::prepare(const std::string& fabric) {
  if (file_) return {};
  const fabric::Topology& topology = network_.topology();
  auto file = PortRateFile::make(fabric, topology.hosts, topology.rails);
  if (!file) return file.error();
  file_ = std::move(*file);
  return {};
}

void LinkRates::tell(Time now, std::span<const fabric::LinkId> links) {
  const fabric::Topology& topology = network_.topology();
  for (const fabric::LinkId link : links) {
    const fabric::Cable& cable = topology.cables[link.cable];
    for (const std::uint32_t end : {cable.a, cable.b})
      if (topology.is_host(end)) file_->set(end, shown(rate_of_host(now, end)));
    if (managed_ != nullptr) managed_->set_link_rate(link.cable, shown(rate_of_cable(now, link.cable)));
  }
}

std::uint64_t LinkRates::rate_of_cable(Time now, std::uint32_t cable) const {
  std::uint64_t slower = kUnlimited;
  for (const bool backward : {false, true})
    if (const auto rate = network_.link_statistics(now, {cable, backward}).rate_bits_per_second; rate != 0)
      slower = std::min(slower, rate);
  return slower;
}

/// As Topology::port_rates() has it: of the fastest of its links.
std::uint64_t LinkRates::rate_of_host(Time now, std::uint32_t host) const {
  std::uint64_t fastest = 0;
  for (const std::uint32_t cable : network_.topology().cables_of(host))
    fastest = std::max(fastest, rate_of_cable(now, cable));
  return fastest;
}

}  // namespace verbena::host
