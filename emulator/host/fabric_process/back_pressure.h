// BackPressure: which nodes of a fabric are to hand nothing over just now, or nothing of some traffic classes.
//
// Solely responsible for this and for its end. A NIC takes what comes as fast as the cable brings it; a process may not
// be run. So a node whose frames wait in the ring of such a process hands nothing over until they have been taken, as
// with global pause (IEEE 802.3 annex 31B): a network without faults loses nothing. A node is told to hand nothing over
// of a traffic class that is paused at its port: its other classes do not wait behind it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "emulator/fabric/network.h"
#include "emulator/host/fabric_process/fabric_nodes.h"
#include "emulator/host/fabric_process/shm_ports.h"

namespace verbena::host {

class BackPressure {
 public:
  static constexpr Duration kLook = microseconds(100);  // how often is_paused() is to be asked
  // Nodes pause while the way to a process has less room than this, which is for what is on its way by then: a pass's
  // frames at least. They go on once there is much, while the process still has enough to take until the next look.
  static constexpr std::size_t kPauseRoom = 5 * kRingBytes / 16;
  static constexpr std::size_t kGoOnRoom = 3 * kRingBytes / 4;
  static_assert(kPauseRoom < ShmPorts::kRewindRoom);

  BackPressure(ShmPorts& shm, fabric::Network& network, FabricNodes& nodes);

  // -- Behind a process --
  /// Room was reserved just now for a frame to this process. If it is behind with taking its frames, the sender of this
  /// one pauses.
  void look_after(Time now, const FabricSeat& receiver, std::span<const std::byte> frame) {
    if (shm_.is_behind(kPauseRoom)) pause_sender(now, receiver, frame);
  }
  bool is_paused(Time now, std::uint32_t host) {
    std::optional<Pause>& pause = senders_[host].pause;
    return pause && is_still_paused(now, pause);
  }

  // -- Traffic classes at the node's port --
  fabric::ClassMask held(std::uint32_t host) const { return senders_[host].held; }
  void hold(std::uint32_t host, fabric::ClassMask classes);
  bool holds_any() const { return nodes_held_ != 0; }
  /// They may hand over nothing, so that it is not for their frames that one would look.
  void look_at_held(Time now);

 private:
  // Then a turn's worth goes on, however slowly the process takes it: less than kRelayPatience, for to its processes a
  // fabric process that takes nothing for that long is dead.
  static constexpr Duration kPauseMax{kRelayPatience.ns / 4};

  struct Pause {
    FabricSeat behind;  // has not taken its frames
    Time until;
  };
  struct Sender {
    std::optional<Pause> pause;
    fabric::ClassMask held = 0;
  };

  [[gnu::noinline]] void pause_sender(Time now, const FabricSeat& behind, std::span<const std::byte> frame);
  [[gnu::noinline]] bool is_still_paused(Time now, std::optional<Pause>& pause);

  ShmPorts& shm_;
  fabric::Network& network_;
  FabricNodes& nodes_;
  std::vector<Sender> senders_;   // by host
  std::uint32_t nodes_held_ = 0;  // that hold back some of their classes
};

}  // namespace verbena::host
