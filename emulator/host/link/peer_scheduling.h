// PeerScheduling: what a process and its peers on the same machine tell each other about processor cores.
//
// An optional part of a link: only shared memory can see when a peer polls, and where it runs. Who opens a link says
// with it whether it has this part (LinkParts::scheduling); it is asked for once, never per call. Solely the
// interface: under the engine's lock, never entering the kernel.
// Tested by: tests/host/engine/poll_yield_test.cc
#pragma once

#include <cstdint>

namespace verbena::host {

class PeerScheduling {
 public:
  virtual ~PeerScheduling() = default;

  // -- What peers are told --
  /// The application stops polling for a while, whenever it has what it polled for: arm() may come at any moment.
  virtual void stops_polling() = 0;
  /// The thread that serves the link when nobody polls is about to sleep on the core that it runs on.
  virtual void sleeps_on_cpu() = 0;
  /// The application calls, although it does not poll just now: it will, so peers are patient for a little longer.
  virtual void note_activity() = 0;

  // -- What they have told --
  /// A peer that has not taken our frames yet was last seen on the caller's core: as long as the caller spins there,
  /// the peer cannot run and cannot answer. The caller is to sleep.
  virtual bool blocks_peer_cpu() = 0;
  /// Any peer was last seen there.
  virtual bool shares_core() = 0;
  /// Those who were last seen there and poll, or have something to do.
  enum class Neighbour : std::uint8_t {
    nobody,
    rests,           // it polls in vain itself, and has left the core to the caller (CoreRest)
    awake,           // it may be about to send something
    has_our_frames,  // which it has not taken yet: as long as the caller runs it cannot answer
  };
  virtual Neighbour neighbour() = 0;
  /// Of the neighbours that rest, the next one in turn rests no longer: it looks for what it polls for.
  virtual void wake_neighbour() = 0;
  /// Frames wait, and whatever is sent before they are taken costs somebody between the two ends a turn on a core: one
  /// acknowledgement for all is better than two.
  virtual bool wants_one_answer_for_all() const = 0;
};

/// A directed yield: an application that polls in vain leaves its core to the process between it and its peers, if that
/// one is short of a core. Optional as well (LinkParts::directed_yield).
class DirectedYield {
 public:
  virtual ~DirectedYield() = default;
  /// A poll has found nothing, and somebody whom this application needs is kept from the core that it polls on. True:
  /// yield_core() is to be called, outside of the engine's lock, after flush().
  virtual bool wants_to_yield() = 0;
  /// Sleeps until the core is given back: when there are frames, or nothing to do for whoever has it.
  virtual void yield_core() = 0;
};

}  // namespace verbena::host
