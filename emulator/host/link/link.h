// Link: the one interface behind which shared memory, UDP, raw sockets and the in-process cable stand.
//
// A link carries whole RoCE v2 frames for one process of one node. Adding a kind of link touches one new file and the
// factory in link_factory.cc. Faults and captures are decorators (faulty_link.h, capturing_link.h), not part of a link.
//
// Calls come in two classes. Under the engine's lock, never entering the kernel: reserve, commit, cancel, publish,
// receive, arm. Outside of it, free to enter the kernel and safe from several threads: fetch, flush, resolve, service.
// One pass of the engine: fetch; lock; receive -> Nic::receive; Nic::transmit -> reserve/commit; publish; unlock;
// flush. A thread may be preempted at any of these: fetch_all, holds_back and has_sent tell the engine what is still
// on its way within the process, so that no timer runs out over it (fair_timers.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "emulator/nic/transmit_port.h"
#include "wire/result.h"
#include "wire/time.h"
#include "wire/types.h"

namespace verbena::host {

/// Takes the frames that a link hands up. The bytes are valid during the call only.
class FrameSink {
 public:
  virtual ~FrameSink() = default;
  virtual void frame(std::span<const std::byte> frame, bool icrc_trusted) = 0;
};

/// What a fabric tells a process of its node's NIC, beside frames.
enum class Notice : std::uint8_t {
  device_removed = 1,
  port_down = 2,
  port_up = 3,
  // Not told, but found by the process itself: it is plugged into another fabric process, or into none.
  replugged = 4,
};

class Link : public nic::TransmitPort {
 public:
  /// Makes what was committed visible to the peers (shared memory: indices; UDP: seals the batch).
  virtual void publish() = 0;
  /// Hands up to `budget` waiting frames to the sink; returns how many.
  virtual std::size_t receive(Time now, FrameSink& sink, std::size_t budget) = 0;
  /// When receive() or publish() wants to be called without new input (a delayed frame; a peer to be woken).
  virtual std::optional<Time> next_deadline() const { return std::nullopt; }

  /// Takes frames from the kernel into the link's buffers, without blocking. Returns whether receive() has something.
  /// `most`: the kernel is not asked for more datagrams than that at once. Its vain look for another one is a tenth of
  /// a turn of a ping-pong; who stops looking afterwards asks for all (kAll).
  virtual bool fetch(std::size_t most) = 0;
  static constexpr std::size_t kAll = SIZE_MAX;
  /// Takes everything that had arrived when the call began, wherever it is; waits a moment, in the kernel, for a thread
  /// that has some of it in hand. False: there may be more.
  virtual bool fetch_all() = 0;
  /// Whether frames come out of the kernel at all: false when fetch() has nothing to do (shared memory).
  virtual bool fetches() const { return true; }
  /// Gives the kernel what publish() sealed: datagrams, wake-ups of sleeping peers. Does what arm() and disarm() want
  /// of it.
  /// Returns whether a frame for which reserve() had no room may find some now: the way to a peer to whom nothing was
  /// sent before has been made.
  virtual bool flush() = 0;
  /// Under the engine's lock: the last receive() may have left frames although it handed up fewer than it was to.
  virtual bool holds_back() const { return false; }
  /// Under the engine's lock, after publish(): grows with the frames that leave through others' hands, and whether all
  /// that were published at such a count have left. A link that hands frames to nobody between the ends has sent them.
  virtual std::uint64_t published() { return 0; }
  virtual bool has_sent(std::uint64_t) { return true; }
  /// Published frames have not reached the kernel: another thread has them in hand, or the kernel takes no more. They
  /// are lost if the process ends now. Called on the innermost link, outside of the engine's lock.
  virtual bool has_unsent() const { return false; }
  /// Accepts and tears down connections; called when `control` of wait_descriptors() is readable.
  virtual void service() = 0;
  /// Called when `frames` is: it stays so only for frames that wait.
  virtual void acknowledge_doorbell() {}
  /// What service() has heard, oldest first. Outside of the engine's lock.
  virtual std::optional<Notice> take_notice() { return std::nullopt; }
  /// Whether the cable at the node's port has a signal now. Each change gives a notice; of very many, some may be lost.
  virtual bool has_signal() { return true; }

  /// What a thread that wants to sleep waits for (POLLIN). `frames` become readable when frames arrive after arm()
  /// said yes and flush() returned; `control` wants service(). A negative descriptor is unused.
  struct WaitDescriptors {
    int frames = -1;
    int control = -1;
  };
  virtual WaitDescriptors wait_descriptors() const = 0;
  /// Asks to be woken by the next frame. False: frames are waiting already, do not sleep.
  virtual bool arm() = 0;
  /// The application is polling: frames need not wake anybody. Cheap; called on every empty poll.
  virtual void disarm() = 0;
  /// The application stops polling for a while, whenever it has what it polled for: arm() may come at any moment.
  virtual void stops_polling() {}
  /// The thread that serves the link when nobody polls is about to sleep on the core that it runs on.
  virtual void sleeps_on_cpu() {}
  /// The application calls, although it does not poll just now: it will, so peers are patient for a little longer.
  virtual void note_activity() {}
  /// A peer that has frames of ours to take was last seen on the core that the caller runs on: whoever looks for its
  /// answer there only keeps it from giving one.
  virtual bool blocks_peer_cpu() { return false; }
  /// Any peer was last seen there.
  virtual bool shares_core() { return false; }
  /// A poll has found nothing, and somebody whom this application needs is kept from the core that it polls on. True:
  /// lend_core() is to be called, outside of the engine's lock.
  virtual bool offers_core() { return false; }
  /// Sleeps until the core is given back: when there are frames, or nothing to do for whoever has borrowed it.
  virtual void lend_core() {}
  /// Frames wait, and whatever is sent before they are taken costs somebody between the two ends a turn on a core: one
  /// acknowledgement for all is better than two. Called on the innermost link, under the engine's lock.
  virtual bool wants_one_answer_for_all() const { return false; }

  /// The Ethernet address behind a GID, asked at modify_qp to RTR and create_ah. May block briefly (neighbour
  /// discovery). Nothing: unreachable (the caller reports ETIMEDOUT or EHOSTUNREACH).
  virtual std::optional<wire::MacAddress> resolve(const wire::Gid& address) = 0;

  // Membership of multicast groups, called on the innermost link under the engine's lock, and done when the next
  // flush() returns. For links to whom the network gives only what they ask for; a link that hears everything has
  // nothing to do.
  /// The first local member of a group has come. Joining twice is joining once.
  virtual void join(const wire::Gid&) {}
  /// The last one has gone.
  virtual void leave(const wire::Gid&) {}

  // Around fork(), called on the innermost link by the forking thread, which holds the engine's lock.
  /// Waits until no other thread is inside the link, and keeps it so until release_after_fork().
  virtual void hold_for_fork() {}
  /// In the parent, and in the child before abandon_after_fork().
  virtual void release_after_fork() {}
  /// In the child: closes descriptors and mappings and says nothing to anybody, so that the parent's end is seen by its
  /// peers. The link is not used again, and not destroyed.
  virtual void abandon_after_fork() {}
};

/// What opening a link yields: it, and where the process stands behind it.
struct OpenedLink {
  std::unique_ptr<Link> link;
  std::uint8_t slot = 0;  // QPNs begin at slot << 16
  wire::MacAddress mac;
  std::uint32_t mtu_bytes = 4096;     // the largest path MTU that fits its frames
  std::uint16_t udp_source_port = 0;  // the one port that frames leave from; 0: any
  std::uint32_t window_bytes = 0;     // what a QP may have unacknowledged without overrunning the peer; 0: any
};

}  // namespace verbena::host
