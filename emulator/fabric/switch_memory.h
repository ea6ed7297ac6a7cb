// SwitchMemory: the packet memory of one switch: which frame still has room, and which ports must be told to pause.
//
// Solely the accounting. A lossless class is counted at the port where its frames come in: up to the threshold xoff in
// the memory that all share, above it in the headroom that is the port's own. Other classes are counted where they go
// out, in the shared memory only. It knows neither queues nor frames, and no time.
#pragma once

#include <array>
#include <cstdint>

#include "emulator/fabric/qos.h"

namespace verbena::fabric {

/// What one pause group holds of a switch's memory, at the port where its frames came in.
struct IngressGroup {
  std::uint64_t shared_bytes = 0;
  std::uint64_t headroom_bytes = 0;
  bool is_paused = false;  // the other end has been asked to pause
};
/// One port of a switch, as frames come in.
struct IngressPort {
  std::array<IngressGroup, kTrafficClasses> groups{};
  std::uint64_t headroom_max_bytes = 0;  // for each group
};

class SwitchMemory {
 public:
  /// Without ports the whole memory is shared.
  explicit SwitchMemory(const Qos& qos) : qos_(&qos), shared_max_bytes_(qos.buffer_bytes) {}
  /// Its headroom is no longer shared. The switch's memory suffices (check()).
  void add_port(IngressPort& port, std::uint64_t headroom_bytes);

  /// A frame of a lossless class. False: there is no headroom left for it.
  bool admit(IngressPort& port, TrafficClass group, std::uint32_t bytes);
  /// A frame of another class, behind `queue_bytes` of its own at the egress port.
  bool admit_lossy(std::uint64_t queue_bytes, std::uint32_t bytes);
  void release(IngressPort& port, TrafficClass group, std::uint32_t bytes);
  void release_lossy(std::uint32_t bytes) { shared_bytes_ -= bytes; }

  bool has_to_pause(const IngressPort& port, TrafficClass group) const;
  bool may_go_on(const IngressPort& port, TrafficClass group) const;
  /// What a group that is paused may hold and still go on.
  std::uint64_t xon_bytes() const;

  std::uint64_t shared_bytes() const { return shared_bytes_; }
  std::uint64_t shared_max_bytes() const { return shared_max_bytes_; }

 private:
  std::uint64_t free_bytes() const { return shared_max_bytes_ > shared_bytes_ ? shared_max_bytes_ - shared_bytes_ : 0; }
  std::uint64_t xoff_bytes() const { return qos_->xoff.at(free_bytes()); }

  const Qos* qos_;
  std::uint64_t shared_max_bytes_;
  std::uint64_t shared_bytes_ = 0;
};

}  // namespace verbena::fabric
