// A capture file in memory: its packets of the transport as references into the octets of the file, and a count by name
// of everything else.
//
// Solely responsible for reading. Each packet is parsed here, once: the capture keeps what the parser has found out,
// some 120 octets a packet, and copies no packet, except where the peeler has to (peeler.h). captures/conversations
// finds out who talks with whom.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "captures/peel/peeler.h"
#include "captures/read/input.h"
#include "wire/packet_form.h"
#include "wire/packet_view.h"
#include "wire/pause_frame.h"
#include "wire/pcap_file.h"
#include "wire/result.h"

namespace verbena::captures {

/// What the file has of a packet, and says of it. The octets and the texts belong to the Capture.
struct Captured {
  std::span<const std::byte> bytes;  // without the layers around the packet
  std::string_view interface_name;
  std::string_view comment;
  std::uint32_t original_bytes = 0;  // on the wire
  std::uint32_t interface = 0;       // pcapng: index within its section
  wire::Direction direction = wire::Direction::unknown;
};

/// A packet of the transport in the file, parsed: of RoCE, or of InfiniBand.
struct Packet {
  std::uint32_t number = 0;  // in the file, from 1, as Wireshark counts
  Time time;                 // since the first packet of the file
  Captured captured;
  wire::PacketForm form;
  std::string_view layers;     // these around it, from the outside in: "VLAN 100, VXLAN 42"
  bool lacks_headers = false;  // the snap length has cut some off behind the BTH

  /// All that was on the wire; the wire's own losses (a frame that a fault truncated) are the view's.
  bool is_whole() const { return captured.bytes.size() >= captured.original_bytes; }
  bool was_dropped() const { return captured.comment.starts_with(wire::kDroppedPrefix); }
  /// A fault's note says that it has made the ICRC wrong, which a snap length may have cut off.
  bool was_damaged() const {
    if (captured.comment.starts_with(wire::kTruncatedPrefix)) return true;
    return captured.comment.starts_with(wire::kCorruptedPrefix) &&
           captured.comment.find(wire::kRepairedWord) == std::string_view::npos;
  }
  /// Copies the headers; they were checked when the file was read.
  wire::PacketView view() const { return form.view_of(captured.bytes); }
};

/// What stops a port for a while: PFC, or PAUSE.
struct PausePacket {
  std::uint32_t number = 0;
  Time time;
  wire::PauseFrame frame;
};

struct MalformedPacket {
  std::uint32_t number = 0;
  Time time;
  wire::ParseError error{};
  bool is_hit = false;  // a note says that a fault of Verbena has hit it
};

/// So many packets of one kind: that are not RoCE, by what they are, or that are, by the layers around them.
struct Kind {
  std::string name;
  std::uint64_t count = 0;
};

class Capture {
 public:
  static constexpr std::size_t kMalformedKept = 1000;
  static constexpr std::size_t kNamesMax = 1000;  // others are counted together

  /// Maps and reads FILE; "-" is standard input. The error is one line, without the file's name. `reached`: octets, now
  /// and then.
  static Result<Capture, std::string> open(const std::string& path, const Reached& reached = {});

  const std::vector<Packet>& packets() const { return packets_; }
  const std::vector<PausePacket>& pauses() const { return pauses_; }
  const std::vector<MalformedPacket>& malformed() const { return malformed_; }  // the first kMalformedKept
  std::uint64_t malformed_count() const { return malformed_count_; }
  /// Of these, so many that a fault of Verbena has hit.
  std::uint64_t hit_malformed_count() const { return hit_malformed_count_; }
  /// Packets of which the snap length has left less than their BTH: RoCE or not, nobody knows.
  std::uint64_t headless_count() const { return headless_count_; }
  /// Those of packets() whose BTH is there, and what is behind it is cut off.
  std::uint64_t lacking_headers_count() const { return lacking_headers_count_; }
  /// packets() by what carries them, the most frequent first.
  std::vector<Kind> carried() const;
  /// Packets of nothing that is read here.
  std::uint64_t skipped_count() const { return skipped_count_; }
  /// What these are, the most frequent first.
  std::vector<Kind> others() const;
  /// The layers around packets(), the most frequent first; those without any are not in it.
  std::vector<Kind> layers() const;
  /// Packets of which the file does not say when they were captured (simple packet blocks).
  std::uint64_t timeless_count() const { return timeless_count_; }
  std::uint64_t total_count() const { return total_count_; }
  /// What is wrong with the file from some point on; empty if it was read to its end.
  const std::string& damage() const { return damage_; }

 private:
  void read(wire::CaptureReader& reader, const Reached& reached);
  void sort_in(const wire::CapturedPacket& captured);
  void sort_in_roce(const Peeled& peeled);
  void add(const wire::CapturedPacket& captured, const wire::PacketView& view, const std::string& layers,
           bool lacks_headers = false);
  void note_time(const wire::CapturedPacket& captured);
  void skip(const std::string& name, std::uint64_t count = 1);
  std::uint32_t number() const { return static_cast<std::uint32_t>(total_count_); }

  std::shared_ptr<const Input> input_;
  std::shared_ptr<Peeler> peeler_ = std::make_shared<Peeler>();  // owns what it has made
  std::vector<Packet> packets_;
  std::vector<PausePacket> pauses_;
  std::vector<MalformedPacket> malformed_;
  std::map<std::string, std::uint64_t, std::less<>> others_;
  std::map<std::string, std::uint64_t, std::less<>> carried_;
  std::shared_ptr<std::map<std::string, std::uint64_t, std::less<>>> layers_ =
      std::make_shared<std::map<std::string, std::uint64_t, std::less<>>>();  // packets refer to its keys
  std::uint64_t malformed_count_ = 0;
  std::uint64_t hit_malformed_count_ = 0;
  std::uint64_t headless_count_ = 0;
  std::uint64_t lacking_headers_count_ = 0;
  std::uint64_t skipped_count_ = 0;
  std::uint64_t piece_count_ = 0;  // of IP datagrams
  std::uint64_t timeless_count_ = 0;
  std::uint64_t total_count_ = 0;
  std::optional<Time> begin_;
  Time time_;  // of the packet that is read
  std::string damage_;
};

/// "1030 VXLAN, 3 ARP, not read", with what is cut off or malformed, and pause frames; empty: there is none.
std::string other_packets(const Capture& capture);
/// "RoCE v2 packet": what its packets() are; "packet" where they are of several kinds.
std::string packet_noun(const Capture& capture);
/// Of a capture without packets(): "the file has no packets",
/// "none of the 3 packets can be read as RoCE or InfiniBand: 3 ARP, not read".
std::string why_no_packets(const Capture& capture);

}  // namespace verbena::captures
