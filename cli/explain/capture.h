// A capture file in memory: its RoCE v2 packets as references into the mapped file, and a count of everything else.
//
// Solely responsible for reading; keeps some 60 bytes per packet and copies none. Who talks with whom is found by
// conversations.h.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "wire/packet_view.h"
#include "wire/pcap_file.h"
#include "wire/result.h"

namespace verbena::explain {

/// How far something is that takes long with a large file: so many units of so many.
using Reached = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// A packet of the file. Its octets, and those of the comment, belong to the Capture.
struct Packet {
  std::uint32_t number = 0;  // in the file, from 1, as Wireshark counts
  Time time;                 // since the first packet of the file
  wire::CapturedPacket captured;
  bool lacks_headers = false;  // the snap length has cut some off behind the BTH

  /// All that was on the wire; the wire's own losses (a frame that a fault truncated) are the view's.
  bool is_whole() const { return captured.bytes.size() >= captured.original_bytes; }
  bool was_dropped() const { return captured.comment.starts_with(wire::kDroppedPrefix); }
  /// An error only if the file has changed under us.
  Result<wire::PacketView, wire::ParseError> view() const {
    return wire::parse_captured(captured, lacks_headers ? wire::HeadersNeeded::bth : wire::HeadersNeeded::all);
  }
};

struct MalformedPacket {
  std::uint32_t number = 0;
  Time time;
  wire::ParseError error{};
  bool is_hit = false;  // a note says that a fault of Verbena has hit it
};

/// Packets that are not RoCE v2, by what they are.
struct OtherPackets {
  std::string name;
  std::uint64_t count = 0;
};

class Capture {
 public:
  static constexpr std::size_t kMalformedKept = 1000;

  /// Maps and reads FILE. The error is one line, without the file's name. `reached`: octets, after each packet.
  static Result<Capture, std::string> open(const std::string& path, const Reached& reached = {});

  const std::vector<Packet>& packets() const { return packets_; }
  const std::vector<MalformedPacket>& malformed() const { return malformed_; }  // the first kMalformedKept
  std::uint64_t malformed_count() const { return malformed_count_; }
  /// Of these, so many that a fault of Verbena has hit.
  std::uint64_t hit_malformed_count() const { return hit_malformed_count_; }
  /// Packets of which the snap length has left less than their BTH: RoCE v2 or not, nobody knows.
  std::uint64_t headless_count() const { return headless_count_; }
  /// Those of packets() whose BTH is there, and what is behind it is cut off.
  std::uint64_t lacking_headers_count() const { return lacking_headers_count_; }
  /// Packets that are not RoCE v2, or not IP at all.
  std::uint64_t skipped_count() const { return skipped_count_; }
  /// What these are, the most frequent first.
  std::vector<OtherPackets> others() const;
  std::uint64_t total_count() const { return total_count_; }
  /// What is wrong with the file from some point on; empty if it was read to its end.
  const std::string& damage() const { return damage_; }

 private:
  class Mapping;
  void read(wire::CaptureReader& reader, const Reached& reached);
  void sort_in(const wire::CapturedPacket& captured, Time begin);

  std::shared_ptr<const Mapping> mapping_;
  std::vector<Packet> packets_;
  std::vector<MalformedPacket> malformed_;
  std::map<std::string, std::uint64_t, std::less<>> others_;
  std::uint64_t malformed_count_ = 0;
  std::uint64_t hit_malformed_count_ = 0;
  std::uint64_t headless_count_ = 0;
  std::uint64_t lacking_headers_count_ = 0;
  std::uint64_t skipped_count_ = 0;
  std::uint64_t total_count_ = 0;
  std::string damage_;
};

/// "1030 VXLAN, 3 ARP, not read", with what is cut off or malformed; empty: there is none.
std::string other_packets(const Capture& capture);

}  // namespace verbena::explain
