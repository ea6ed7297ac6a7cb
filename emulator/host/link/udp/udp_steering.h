// UdpSteering: makes the kernel give each process of a node its own datagrams.
//
// Solely responsible for the classic BPF program of the node's SO_REUSEPORT group, which chooses the socket by the slot
// in the destination QPN. It is an optimisation and may be wrong at any time: a frame that comes to the wrong process
// is passed on by node_forwarder.h, and that is what sets this to work.
//
// The kernel numbers the sockets of a group by the order of bind(); when one leaves, the last one takes its number.
// Nobody can ask for the numbers, so they are found out: the program sends a probe to the number that it carries, and
// the process that gets it tells the prober, through the node forwarder, which slot stands there. A probe to a number
// beyond the last lands anywhere, so the smallest number that a slot answers for is its own. With one process there is
// no program at all.
//
// All calls are made under the receiver's gate.
// Tested by: tests/host/link/udp/udp_link_test.cc
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "emulator/host/link/node_forwarder.h"
#include "emulator/host/node/node_directory.h"
#include "emulator/host/os/socket_address.h"
#include "wire/time.h"

namespace verbena::host {

class UdpSteering final : public NodeForwarder::NoteSink {
 public:
  struct Options {
    int socket = -1;
    wire::Gid address;
    std::uint8_t slot = 0;
    unsigned interface_index = 0;
  };
  UdpSteering(const Options& options, NodeForwarder& siblings) : options_(options), forwarder_(siblings) {}

  /// Shorter than any frame.
  static constexpr std::size_t kProbeBytes = 8;
  /// Whether that was a probe, and answers it. `from` is the datagram's sender.
  bool take_probe(std::span<const std::byte> datagram, const SocketAddress& from);
  /// A frame came to us and belongs to that slot.
  void note_misdelivery(std::uint8_t slot) {
    if (forwarder_.knows(slot)) wanted_ = true;
  }
  /// An answer.
  void note(std::uint8_t sender_slot, std::uint16_t note) override;
  /// Asks anew if there is reason to, and loads the program if something was learned.
  void step();

 private:
  static constexpr Duration kProbeInterval = milliseconds(5);
  void probe();
  bool load() const;

  const Options options_;
  NodeForwarder& forwarder_;
  // What the program goes by. It stays while we ask anew: were it forgotten, every frame that comes meanwhile would go
  // astray, and each process that gets one would ask for itself, for ever.
  std::array<std::optional<std::uint8_t>, kSlots> socket_of_slot_;
  std::array<std::optional<std::uint8_t>, kSlots> answers_;  // of this round
  bool wanted_ = false;
  bool learned_ = false;
  std::uint8_t round_ = 0;  // answers to earlier rounds do not count
  Time last_probe_;
};

}  // namespace verbena::host
