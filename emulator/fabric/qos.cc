#include "emulator/fabric/qos.h"

#include <algorithm>
#include <bit>

#include "emulator/fabric/flow_dissector.h"
#include "emulator/fabric/topology.h"
#include "wire/frame_places.h"
#include "wire/headers.h"
#include "wire/pause_frame.h"

namespace verbena::fabric {
namespace {

std::uint64_t largest_frame_bytes(const CableParameters& cable) {
  if (cable.mtu_bytes == 0) return wire::kFrameBytesMax;
  return std::min<std::uint64_t>(cable.mtu_bytes + wire::EthernetLayout::bytes, wire::kFrameBytesMax);
}

/// Octets sent in this time, rounded up.
std::uint64_t octets_in(Duration time, std::uint64_t bits_per_second) {
  constexpr std::uint64_t kBitNs = 8'000'000'000;
  const auto ns = static_cast<std::uint64_t>(time.ns);
  // In two parts, so that no product is too large.
  const std::uint64_t whole = ns / 1000 * (bits_per_second / 1000) / 8000;
  return whole + (ns % 1000 * bits_per_second + kBitNs - 1) / kBitNs + (ns < 1000 ? 0 : 1);
}

}  // namespace

std::uint32_t Qos::lossless_groups() const {
  if (flow_control == FlowControl::global_pause) return lossless != 0 ? 1 : 0;
  return static_cast<std::uint32_t>(std::popcount(lossless));
}

TrafficClass Qos::class_of(std::span<const std::byte> frame) const {
  if (trust == Trust::service_level) {
    const auto places = wire::find_places(frame, wire::Medium::infiniband);
    return places ? places->priority % kTrafficClasses : TrafficClass{0};
  }
  const FrameMarking marking = look_at_marking(frame);
  return trust == Trust::pcp ? marking.pcp : class_of_dscp[marking.dscp];
}

TrafficClass Qos::class_of_octet(std::uint8_t octet) const {
  constexpr unsigned kDscpShift = 2;
  const unsigned marking = octet >> kDscpShift;
  if (trust == Trust::service_level) return static_cast<TrafficClass>(marking % kTrafficClasses);
  return trust == Trust::dscp ? class_of_dscp[marking] : TrafficClass{0};
}

std::uint64_t Qos::dscps_of(ClassMask classes) const {
  constexpr unsigned kDscpShift = 2;
  std::uint64_t dscps = 0;
  for (unsigned dscp = 0; dscp < class_of_dscp.size(); ++dscp)
    if ((classes & bit_of(class_of_octet(static_cast<std::uint8_t>(dscp << kDscpShift)))) != 0)
      dscps |= std::uint64_t{1} << dscp;
  return dscps;
}

Qos infiniband_qos() {
  Qos qos;
  qos.trust = Trust::service_level;
  qos.flow_control = FlowControl::credits;
  qos.lossless = kEveryClass;
  return qos;
}

std::uint64_t headroom_needed(const Qos& qos, const CableParameters& cable) {
  return octets_in(cable.propagation * 2 + qos.reaction, cable.rate_bits_per_second) + 2 * largest_frame_bytes(cable) +
         wire::kPauseFrameBytes;
}

std::uint64_t headroom_of(const Qos& qos, const CableParameters& cable) {
  return qos.headroom_bytes != 0 ? qos.headroom_bytes : headroom_needed(qos, cable);
}

Duration pause_time(std::uint16_t quanta, std::uint64_t bits_per_second) {
  if (bits_per_second == 0) return {};
  constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
  return {static_cast<std::int64_t>(quanta * wire::kPauseQuantumBits * kNsPerSecond / bits_per_second)};
}

}  // namespace verbena::fabric
