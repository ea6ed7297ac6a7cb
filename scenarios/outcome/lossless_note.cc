#include "scenarios/outcome/lossless_note.h"

#include <fmt/format.h>

#include <bit>

namespace verbena::scenarios {

std::optional<std::string> lossless_note(const Scenario& scenario) {
  if (!scenario.topology.qos || scenario.clock == Clock::real_time) return std::nullopt;
  const fabric::Qos& qos = *scenario.topology.qos;
  if (qos.flow_control == fabric::FlowControl::credits) return std::nullopt;  // every lane is lossless
  // A packet without a VLAN tag has priority 0, and NICs here send none with one.
  const auto class_of = [&qos](std::uint8_t dscp) {
    return qos.trust == fabric::Trust::pcp ? fabric::TrafficClass{0} : qos.class_of_dscp[dscp];
  };
  fabric::ClassMask used = 0;
  const auto use = [&](std::uint8_t dscp) {
    used = static_cast<fabric::ClassMask>(used | fabric::bit_of(class_of(dscp)));
  };
  for (const NicSettings& nic : scenario.nics) {
    for (const Workload& workload : scenario.workloads) use(workload.dscp != 0 ? workload.dscp : nic.dscp);
    if (nic.cnp_interval.ns != 0 && nic.cnp_dscp != 0) use(nic.cnp_dscp);
  }
  if (qos.flow_control == fabric::FlowControl::global_pause) return std::nullopt;
  const auto unused = static_cast<fabric::ClassMask>(qos.lossless & ~used);
  if (unused == 0) return std::nullopt;
  const int first = std::countr_zero(static_cast<unsigned>(unused));
  std::string note = fmt::format("class {} is lossless, and nothing is sent in it", first);
  const std::uint64_t dscps = qos.dscps_of(fabric::bit_of(static_cast<fabric::TrafficClass>(first)));
  if (qos.trust == fabric::Trust::dscp && dscps != 0)
    note += fmt::format(": dscp: {} of a workload or a NIC would be", std::countr_zero(dscps));
  return note;
}

}  // namespace verbena::scenarios
