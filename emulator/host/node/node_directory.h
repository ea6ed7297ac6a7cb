// NodeDirectory: which processes stand on which node of a fabric, on this machine.
//
// Solely responsible for process slots and their names. A seat is a listening unix socket with the abstract name
// verbena/UID/FABRIC/ADDRESS/SLOT: the kernel removes it with the process, however that ends, so nothing is ever stale.
// It does not accept connections (link/shm/shm_control.h) and knows no frames; links without shared memory hold a seat
// for its slot only.
// Tested by: tests/host/config/environment_test.cc
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/host/node/identity.h"
#include "emulator/host/os/abstract_name.h"
#include "wire/result.h"
#include "wire/types.h"

namespace verbena::host {

/// Slots 0..254; 255 would make QPN 0xffffff, the multicast one.
inline constexpr std::uint32_t kSlots = 255;
inline constexpr unsigned kSlotShift = 16;
inline constexpr std::size_t kFabricNameBytesMax = 40;

/// Where the process that serves a fabric sits, at slot 0: no node has this address.
inline constexpr wire::Gid kFabricSeat{};

/// Of which slots a process takes one, the lowest that is free.
struct SlotRange {
  std::uint32_t first = 0;
  std::uint32_t last = kSlots - 1;
  static constexpr SlotRange only(std::uint32_t slot) { return {slot, slot}; }
};

constexpr std::uint8_t slot_of(wire::Qpn qpn) {
  return static_cast<std::uint8_t>(qpn.value() >> kSlotShift);
}
constexpr wire::Qpn qpn_base_of(std::uint8_t slot) {
  return wire::Qpn(std::uint32_t{slot} << kSlotShift);
}

/// "127.47.91.1" or an IPv6 address.
std::string address_text(const wire::Gid& address);
/// 1 to kFabricNameBytesMax letters, digits, '.', '_' or '-'; not "." or "..".
bool is_fabric_name(std::string_view name);
/// The same in words, for messages, from the number on.
std::string fabric_name_rule();

/// Where a process of a node is reached.
struct SeatName {
  std::string_view fabric;  // is_fabric_name()
  wire::Gid address;
  std::uint8_t slot = 0;
};
AbstractName seat_address(const SeatName& seat);
struct SeatTaken {
  wire::Gid address;
  std::uint8_t slot = 0;
};
/// The seats of a fabric that processes of this user hold at the moment; reads /proc/net/unix.
std::vector<SeatTaken> seats_taken(std::string_view fabric);
/// The fabrics in which this user's processes hold a seat or serve, sorted; reads /proc/net/unix.
std::vector<std::string> fabrics_present();

/// A seat that this process holds: movable, closes its socket at the end (the slot is free at once).
class NodeDirectory {
 public:
  /// The error is one line for the user.
  static Result<NodeDirectory, std::string> join(std::string_view fabric, const wire::Gid& address,
                                                 const SlotRange& slots = {});
  ~NodeDirectory();
  NodeDirectory(NodeDirectory&& other) noexcept;
  NodeDirectory& operator=(NodeDirectory&& other) noexcept;

  std::uint8_t slot() const { return slot_; }
  /// SOCK_SEQPACKET, listening, non-blocking, close-on-exec.
  int listener() const { return listener_; }

 private:
  NodeDirectory(int listener, std::uint8_t slot) : listener_(listener), slot_(slot) {}
  int listener_ = -1;
  std::uint8_t slot_ = 0;
  pid_t owner_ = getpid();  // a child of fork() has a second hold on the listener
};

}  // namespace verbena::host
