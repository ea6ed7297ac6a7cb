#include "captures/peel/fragments.h"

#include <algorithm>
#include <cstring>
#include <tuple>

namespace verbena::captures {

namespace {

wire::Gid address_at(const Octets& packet, std::size_t at, std::size_t bytes) {
  if (bytes == 4) return wire::Gid::from_ipv4(packet.u32(at));
  wire::Gid gid;
  for (std::size_t i = 0; i < bytes; ++i) gid.octets[i] = static_cast<std::uint8_t>(packet.u8(at + i));
  return gid;
}

}  // namespace

bool Fragments::Key::operator<(const Key& other) const {
  return std::tie(source, destination, identification, protocol) <
         std::tie(other.source, other.destination, other.identification, other.protocol);
}

std::optional<IpHeader> Fragments::add(const Walk& walk) {
  const IpHeader& ip = walk.ip;
  const Piece& piece = walk.piece;
  const std::size_t address_bytes = ip.is_v4 ? 4 : 16;
  const std::size_t source_at = ip.is_v4 ? 12 : 8;
  const Key key{address_at(ip.packet, source_at, address_bytes),
                address_at(ip.packet, source_at + address_bytes, address_bytes), piece.identification, piece.protocol};
  if (walk.left.is_cut() || piece.at + walk.left.size() > kDatagramBytesMax) return std::nullopt;
  if (!datagrams_.contains(key) && datagrams_.size() == kDatagramsMax) forget_oldest();
  Datagram& datagram = datagrams_[key];
  if (datagram.piece_count == 0) datagram.age = ++age_;
  if (datagram.pieces.size() == kPiecesMax) return std::nullopt;
  ++datagram.piece_count;
  datagram.is_v4 = ip.is_v4;
  const auto bytes = walk.left.bytes();
  datagram.pieces.try_emplace(piece.at, bytes.begin(), bytes.end());  // a copy that comes again says nothing new
  if (piece.is_last) datagram.bytes = piece.at + bytes.size();
  if (piece.at == 0) {
    const auto header = ip.packet.bytes().first(ip.is_v4 ? ip.transport_at : 40);
    datagram.header.assign(header.begin(), header.end());
    datagram.final_destination = ip.final_destination;
  }
  std::optional<IpHeader> joined = join(datagram);
  if (!joined) return std::nullopt;
  joined_count_ += datagram.piece_count - 1;
  datagrams_.erase(key);
  return joined;
}

std::optional<IpHeader> Fragments::join(const Datagram& datagram) {
  if (!datagram.bytes || datagram.header.empty()) return std::nullopt;
  std::size_t reached = 0;
  for (const auto& [at, bytes] : datagram.pieces) {
    if (at > reached) return std::nullopt;
    reached = std::max(reached, at + bytes.size());
  }
  if (reached < *datagram.bytes) return std::nullopt;
  const std::size_t header_bytes = datagram.header.size();
  const std::span<std::byte> room = arena_.room(header_bytes + *datagram.bytes);
  if (room.empty()) return std::nullopt;
  std::copy(datagram.header.begin(), datagram.header.end(), room.begin());
  for (const auto& [at, bytes] : datagram.pieces) {
    if (at >= *datagram.bytes) break;
    std::copy_n(bytes.begin(), std::min(bytes.size(), *datagram.bytes - at),
                room.begin() + static_cast<std::ptrdiff_t>(header_bytes + at));
  }
  const std::size_t length = datagram.is_v4 ? room.size() : room.size() - header_bytes;
  const std::size_t length_at = datagram.is_v4 ? 2 : 4;
  room[length_at] = static_cast<std::byte>(length >> 8);
  room[length_at + 1] = static_cast<std::byte>(length);
  if (datagram.is_v4) room[6] = room[7] = std::byte{0};
  IpHeader made;
  made.packet = Octets(room, room.size());
  made.is_v4 = datagram.is_v4;
  made.is_plain = datagram.is_v4 && header_bytes == 20;
  made.transport_at = header_bytes;
  made.final_destination = datagram.final_destination;
  return made;
}

void Fragments::forget_oldest() {
  const auto oldest = std::min_element(datagrams_.begin(), datagrams_.end(),
                                       [](const auto& a, const auto& b) { return a.second.age < b.second.age; });
  datagrams_.erase(oldest);
}

}  // namespace verbena::captures
