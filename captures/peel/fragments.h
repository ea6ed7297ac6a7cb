// IP fragments of a capture, put together again (RFC 791, RFC 8200 4.5).
//
// Solely responsible for which pieces make a datagram. Bounded: of more datagrams than kDatagramsMax that are not
// complete the oldest is forgotten.
// Tested by: tests/captures/peel/peeler_test.cc
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "captures/peel/arena.h"
#include "captures/peel/layer.h"

namespace verbena::captures {

class Fragments {
 public:
  static constexpr std::size_t kDatagramsMax = 1024;
  static constexpr std::size_t kPiecesMax = 512;  // of one datagram
  static constexpr std::size_t kDatagramBytesMax = 65535;

  explicit Fragments(Arena& arena) : arena_(arena) {}

  /// Takes the piece that the walk has come to. The whole datagram, if this was its last one: the header of its first
  /// piece (without what says that it is one), and all octets.
  std::optional<IpHeader> add(const Walk& walk);

  /// Pieces that were not the last to come of a datagram that became whole.
  std::uint64_t joined_count() const { return joined_count_; }

 private:
  struct Key {
    wire::Gid source;
    wire::Gid destination;
    std::uint32_t identification = 0;
    std::uint32_t protocol = 0;
    bool operator<(const Key& other) const;
  };
  struct Datagram {
    std::vector<std::byte> header;  // of the first piece
    bool is_v4 = true;
    std::map<std::size_t, std::vector<std::byte>> pieces;
    std::optional<std::size_t> bytes;  // known from the last piece
    std::uint64_t piece_count = 0;
    std::optional<wire::Gid> final_destination;
    std::uint64_t age = 0;
  };
  std::optional<IpHeader> join(const Datagram& datagram);
  void forget_oldest();

  Arena& arena_;
  std::map<Key, Datagram> datagrams_;
  std::uint64_t joined_count_ = 0;
  std::uint64_t age_ = 0;
};

}  // namespace verbena::captures
