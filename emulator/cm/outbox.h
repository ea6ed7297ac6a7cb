// Outbox: the datagrams of a communication manager that wait to leave.
//
// Solely responsible for their order, for how many may wait, and for putting each into a frame when a port has room for
// it. It does not know what they say, nor who sends one again.
// Tested by: tests/cm/waiting_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "emulator/cm/connection.h"
#include "emulator/cm/mad.h"
#include "emulator/nic/objects/transmit_port.h"
#include "wire/packet_builder.h"

namespace verbena::cm {

class Exchange;

struct FrameNumbers {
  wire::Psn psn;
  std::uint16_t pkey = wire::kPkeyDefault;
};
/// The datagram in a frame, in room for wire::frame_bytes() of it. Returns how many octets it has.
std::size_t write_frame(const wire::FramePath& path, const FrameNumbers& numbers, const Mad& mad,
                        std::span<std::byte> room, wire::IcrcState icrc);
std::size_t frame_bytes_of(const wire::FramePath& path);

class Outbox {
 public:
  static constexpr std::size_t kDatagramsMax = 1 << 14;

  /// `origin`: the source's addresses and UDP port; the rest of it does not count.
  explicit Outbox(const wire::FramePath& origin) : origin_(origin) {}
  /// The source's address on its wire. A subnet manager may give the port another one.
  const wire::PathAddress& from() const { return origin_.from; }
  void move_to(const wire::PathAddress& address) { origin_.from = address; }
  /// The port's P_Key table, of which a datagram has the key of its path's partition, or else the first one. Before the
  /// first call it has the default one alone.
  void set_pkeys(std::span<const std::uint16_t> pkeys) { pkeys_.assign(pkeys.begin(), pkeys.end()); }

  bool empty() const { return waiting_.empty(); }
  /// Returns how many datagrams left.
  std::size_t transmit(nic::TransmitPort& port, std::size_t budget);

 private:
  friend class Exchange;

  struct Datagram {
    Path path;
    Mad mad;
  };
  /// Dropped if too many wait, as on a lossy wire.
  void push(const Path& path, const Mad& mad);
  void clear() { waiting_.clear(); }

  wire::FramePath origin_;
  std::uint16_t own_pkey(std::uint16_t of_path) const;

  std::vector<std::uint16_t> pkeys_{wire::kPkeyDefault};
  std::uint32_t next_psn_ = 0;
  std::deque<Datagram> waiting_;
};

}  // namespace verbena::cm
