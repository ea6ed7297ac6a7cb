// Link: the one interface behind which shared memory, UDP, raw sockets and the in-process cable stand.
//
// A link carries whole RoCE v2 frames for one process of one node: a port for frames (frame_port.h) and, here, the
// kernel's side of it: descriptors, threads that sleep, what is on its way within the process. What only some links can
// do are interfaces of their own, handed over once when a link is opened (LinkParts). Faults and captures are
// decorators of the port, not part of a link.
//
// Calls come in two classes. Under the engine's lock, never entering the kernel: those of the port, arm, disarm,
// published, has_sent. Outside of it, free to enter the kernel and safe from several threads: fetch, flush, resolve,
// service, has_unsent, take_notice, has_signal. One pass of the engine: fetch; lock; receive -> Nic::receive;
// Nic::transmit -> reserve/commit; publish; unlock; flush. A thread may be preempted at any of these: fetch_all,
// holds_back and has_sent tell the engine what is still on its way within the process, so that no timer runs out over
// it (fair_timers.h).
// Tested by: tests/host/link/in_process_link_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "emulator/host/link/core_rest.h"
#include "emulator/host/link/fork_guard.h"
#include "emulator/host/link/frame_port.h"
#include "emulator/host/link/group_membership.h"
#include "emulator/host/link/last_words.h"
#include "emulator/host/link/peer_answers.h"
#include "emulator/host/link/peer_scheduling.h"
#include "emulator/host/link/relay.h"
#include "wire/path_address.h"
#include "wire/result.h"
#include "wire/types.h"

namespace verbena::host {

/// What a fabric tells a process of its node's NIC, beside frames.
enum class Notice : std::uint8_t {
  device_removed = 1,
  port_down = 2,
  port_up = 3,
  // Not told, but found by the process itself: it is plugged into another fabric process, or into none.
  uplink_changed = 4,
  // On a fabric that a subnet manager manages: managed_port.h says what is another now.
  subnet_changed = 5,
  // node/verb_fault_list.h says which faults of verbs there are now.
  faults_changed = 6,
};

class Link : public FramePort {
 public:
  using FramePort::FramePort;
  /// Takes frames from the kernel into the link's buffers, without blocking. Returns whether receive() has something.
  /// `most`: the kernel is not asked for more datagrams than that at once. Its vain look for another one is a tenth of
  /// a turn of a ping-pong; who stops looking afterwards asks for all (kAll).
  virtual bool fetch(std::size_t most) = 0;
  static constexpr std::size_t kAll = SIZE_MAX;
  /// Takes everything that had arrived when the call began, wherever it is; waits a moment, in the kernel, for a thread
  /// that has some of it in hand. False: there may be more.
  virtual bool fetch_all() = 0;
  /// Gives the kernel what publish() sealed: datagrams, wake-ups of sleeping peers. Does what arm() and disarm() want
  /// of it.
  /// Returns whether a frame for which reserve() had no room may find some now: the way to a peer to whom nothing was
  /// sent before has been made.
  virtual bool flush() = 0;

  // -- What is on its way within the process. A link that hands frames to nobody between the ends has sent them. --
  /// After publish(): grows with the frames that leave through others' hands, and whether all that were published at
  /// such a count have left.
  virtual std::uint64_t published() { return 0; }
  virtual bool has_sent(std::uint64_t) { return true; }
  /// Published frames have not reached the kernel: another thread has them in hand, or the kernel takes no more. They
  /// are lost if the process ends now.
  virtual bool has_unsent() const { return false; }

  // -- Beside frames. A link without a control side has no connections, no notices, and a signal always. --
  /// Accepts and tears down connections; called when `control` of wait_descriptors() is readable.
  virtual void service() {}
  /// What service() has heard, oldest first.
  virtual std::optional<Notice> take_notice() { return std::nullopt; }
  /// Whether the cable at the node's port has a signal now. Each change gives a notice; of very many, some may be lost.
  virtual bool has_signal() { return true; }
  /// The next hop on the way to a GID, asked at modify_qp to RTR and create_ah. May block briefly (neighbour
  /// discovery). Nothing: unreachable (the caller reports ETIMEDOUT or EHOSTUNREACH).
  virtual std::optional<wire::PathAddress> resolve(const wire::Gid& address) = 0;
  /// Of a NIC with several ports, the link of one, from 1: each has notices, a signal and neighbours of its own.
  virtual Link& of_port(std::uint32_t) { return *this; }
  /// Where frames of that port go in that name no headers, as those of its communication manager.
  virtual FramePort& frames_of(std::uint32_t) { return *this; }

  // -- Sleeping --
  /// What a thread that wants to sleep waits for (POLLIN). `frames` become readable when frames arrive after arm()
  /// said yes and flush() returned; `control` wants service(). A negative descriptor is unused.
  struct WaitDescriptors {
    int frames = -1;
    int control = -1;
  };
  virtual WaitDescriptors wait_descriptors() const = 0;
  /// Called when `frames` is readable: where it stays so only for frames that wait there is nothing to do.
  virtual void acknowledge_doorbell() {}
  /// Asks to be woken by the next frame. False: frames are waiting already, do not sleep.
  virtual bool arm() = 0;
  /// The application is polling: frames need not wake anybody. Cheap; called on every empty poll.
  virtual void disarm() = 0;
};

/// What only some links can do. Null: this one has no such part.
struct LinkParts {
  PeerScheduling* scheduling = nullptr;
  DirectedYield* directed_yield = nullptr;
  CoreRest* core_rest = nullptr;
  Relay* relay = nullptr;
  PeerAnswers* answers = nullptr;
  GroupMembership* groups = nullptr;
  ForkGuard* fork_guard = nullptr;
  LastWordsCarrier* last_words = nullptr;
};

/// What is a port's own where a NIC has several.
struct OpenedPort {
  wire::PathAddress address;
  LastWordsCarrier* last_words = nullptr;
};

/// What opening a link yields: it, and where the process stands behind it.
struct OpenedLink {
  std::unique_ptr<Link> link;
  LinkParts parts;
  bool fetches = true;    // frames come out of the kernel, by fetch(); else they lie before receive()
  std::uint8_t slot = 0;  // QPNs begin at slot << 16
  wire::Medium medium = wire::Medium::ethernet;
  wire::PathAddress address;              // the node's own
  std::vector<OpenedPort> further_ports;  // of the NIC, from the second on (ports_link.h)
  bool is_decorated = false;              // captures and faults stand inside of it
  std::uint32_t mtu_bytes = 4096;         // the largest path MTU that fits its frames
  std::uint16_t udp_source_port = 0;      // the one port that frames leave from; 0: any
  std::uint32_t window_bytes = 0;         // what a QP may have unacknowledged without overrunning the peer; 0: any
};

}  // namespace verbena::host
