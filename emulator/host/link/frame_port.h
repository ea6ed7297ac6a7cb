// FramePort: where whole RoCE v2 frames go in and come out. A link is one, and so is each decorator around it.
//
// Solely the way of frames; who carries them, and how a thread sleeps until some come, is the link's (link.h). A
// decorator (faulty_link.h, capturing_link.h) is a port in front of a port and knows nothing else of the link, so the
// engine holds two things: the outermost port for frames, and the link for all the rest. Every call is made under the
// engine's lock and never enters the kernel.
// Tested by: tests/host/link/faulty_link_test.cc
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "emulator/nic/objects/transmit_port.h"
#include "wire/time.h"

namespace verbena::host {

/// Takes the frames that a port hands up. The bytes are valid during the call only. Who keeps a frame whose ICRC is
/// deferred, or shows it to somebody, completes a copy (wire/icrc.h).
class FrameSink {
 public:
  virtual ~FrameSink() = default;
  virtual void frame(std::span<const std::byte> frame, wire::IcrcState icrc) = 0;
  /// By which port of the NIC the frames that follow arrive. Said only to one that has several.
  virtual void arrives_by(std::uint32_t) {}
};

class FramePort : public nic::TransmitPort {
 public:
  using TransmitPort::TransmitPort;
  /// Makes what was committed visible to the peers (shared memory: indices; UDP: seals the batch).
  virtual void publish() = 0;
  /// Hands up to `budget` waiting frames to the sink; returns how many.
  virtual std::size_t receive(Time now, FrameSink& sink, std::size_t budget) = 0;
  /// A frame arrives that no link has carried: receive() hands it up if the port's faults let it through. False: there
  /// is nothing that could keep it from the sink, so the caller may hand it up itself.
  virtual bool take_in(Time, std::span<const std::byte>) { return false; }
  /// When receive() or publish() wants to be called without new input (a delayed frame; a peer to be woken).
  virtual std::optional<Time> next_deadline() const = 0;
  /// The last receive() may have left frames although it handed up fewer than it was to. Whoever wants to sleep calls
  /// it once more instead.
  virtual bool holds_back() const = 0;
};

}  // namespace verbena::host
