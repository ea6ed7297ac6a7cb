// TransmitPort: where the NIC's frames go. The NIC asks for room and builds the frame there, in place.
//
// Implemented by links (emulator/host), by the fault decorator, and by tests. The NIC pulls its own work when its owner
// calls Nic::transmit(); a port never calls back into the NIC.
// Tested by: tests/nic/back_pressure_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/packet_builder.h"
#include "wire/types.h"

namespace verbena::nic {

/// Where a frame is going. `route_hint` belongs to the port: 0 at first, then whatever it stored there last time for
/// the same flow; a hint may be stale and must be checked against address and qpn.
struct Destination {
  const wire::Gid& address;
  wire::Qpn qpn;
  std::uint32_t& route_hint;
  /// For a port with a queue for each traffic class. Null: not known, as of class 0.
  const wire::FrameTemplate* headers = nullptr;
};

class TransmitPort {
 public:
  /// `icrc_wanted`: deferred, if all that happens to the frames before their ICRC is computed is that they lie in
  /// memory of processes that trust each other; else present.
  explicit TransmitPort(wire::IcrcState icrc_wanted = wire::IcrcState::present) : icrc_wanted_(icrc_wanted) {}
  virtual ~TransmitPort() = default;
  wire::IcrcState icrc_wanted() const { return icrc_wanted_; }
  /// Room for one frame of at most `bytes` octets, or an empty span: back pressure, ask again later. A destination that
  /// cannot be reached is not back pressure: the port hands out room and the frame vanishes, as on a wire.
  virtual std::span<std::byte> reserve(const Destination& destination, std::size_t bytes) = 0;
  /// The frame in the last reserved room is complete and `bytes` octets long. Every reserve that gave room is followed
  /// by exactly one commit or cancel. `icrc` may be deferred only where that is wanted.
  virtual void commit(std::size_t bytes, wire::IcrcState icrc) = 0;
  virtual void cancel() = 0;

 private:
  const wire::IcrcState icrc_wanted_;
};

}  // namespace verbena::nic
