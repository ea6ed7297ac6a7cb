// InfiniBand's own packets: what stands behind a local route header, and link packets (IBTA vol 1, 7.7, 7.9).
// Tested by: tests/captures/infiniband.py
#include <fmt/format.h>

#include "captures/peel/layer.h"
#include "wire/grh.h"
#include "wire/infiniband.h"

namespace verbena::captures {
namespace {

constexpr std::size_t kLrhBytes = wire::LocalRouteHeaderLayout::bytes;
constexpr std::size_t kNextHeaderAt = 6;  // in a GRH

Step named(Walk& walk, std::string name) {
  walk.name = std::move(name);
  return Step::named;
}

}  // namespace

Step strip_infiniband(Walk& walk) {
  if (!walk.left.has(kLrhBytes)) return Step::short_of;
  const auto header = wire::LocalRouteHeaderLayout::parse(walk.left.bytes().first<kLrhBytes>());
  switch (header.next_header) {
    case wire::LinkNextHeader::raw_ether_type: {
      constexpr std::size_t kEtherTypeAt = kLrhBytes + 2;  // 5.3: behind two octets that are reserved
      if (!walk.left.has(kEtherTypeAt + 2)) return Step::short_of;
      return named(walk, fmt::format("raw InfiniBand, EtherType {:#06x}", walk.left.u16(kEtherTypeAt)));
    }
    case wire::LinkNextHeader::raw_ipv6:
      return named(walk, "raw InfiniBand, IPv6");
    case wire::LinkNextHeader::iba_local:
      walk.opcode_at = kLrhBytes;
      return Step::carried;
    case wire::LinkNextHeader::iba_global: {
      const std::uint32_t next = walk.left.u8(kLrhBytes + kNextHeaderAt);
      if (walk.left.has(kLrhBytes + kNextHeaderAt + 1) && next != wire::kGrhNextHeaderIba)
        return named(walk, fmt::format("raw InfiniBand, next header {:#04x}", next));
      walk.opcode_at = kLrhBytes + wire::GrhLayout::bytes;
      return Step::carried;
    }
  }
  return Step::broken;
}

Step strip_infiniband_link(Walk& walk) {
  if (!walk.left.has(wire::kLinkPacketBytes)) return Step::short_of;
  const auto read = wire::read_link_packet(walk.left.bytes().first(wire::kLinkPacketBytes));
  if (!read->is_right) return named(walk, "InfiniBand link packet with a wrong CRC");
  switch (read->packet.op) {
    case wire::FlowControlOp::normal:
      return named(walk, "InfiniBand flow control");
    case wire::FlowControlOp::init:
      return named(walk, "InfiniBand flow control, initial");
  }
  return named(walk, fmt::format("InfiniBand link packet {:#x}", static_cast<unsigned>(read->packet.op)));
}

}  // namespace verbena::captures
