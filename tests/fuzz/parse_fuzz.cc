// libFuzzer: arbitrary octets as a frame, as a captured record of each link type with any layers around a packet, and
// as a capture file.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "captures/peel/peeler.h"
#include "wire/icrc.h"
#include "wire/packet_text.h"
#include "wire/packet_view.h"
#include "wire/pcap_file.h"

namespace {

using namespace verbena;
using namespace verbena::wire;

void require(bool condition) {
  if (!condition) std::abort();
}

void look_at(std::span<const std::byte> bytes, const PacketView& view) {
  require(view.frame().size() <= bytes.size());
  require(view.payload().size() <= view.payload_bytes());
  require(!view.is_whole() || view.payload().size() == view.payload_bytes());
  require(!to_text(view).empty());
  (void)view.icrc_is_valid();
}

void as_packet(std::span<const std::byte> bytes) {
  if (const auto view = parse_frame(bytes)) {
    look_at(bytes, *view);
    require(parse_cut_frame(bytes).ok());
  }
  for (const LinkType type : {LinkType::ethernet, LinkType::raw_ip, LinkType::linux_sll, LinkType::linux_sll2}) {
    CapturedPacket packet;
    packet.bytes = bytes;
    packet.link_type = type;
    if (const auto view = parse_captured(packet)) look_at(bytes, *view);
  }
  captures::Peeler peeler;
  for (const captures::LayerRow& row : captures::link_layers()) {
    CapturedPacket packet;
    packet.bytes = bytes;
    packet.original_bytes = bytes.size();
    packet.link_type = static_cast<LinkType>(row.announced.number);
    const captures::Peeled peeled = peeler.peel(packet);
    if (peeled.kind != captures::Peeled::Kind::roce) continue;
    if (const auto view = parse_captured(peeled.packet)) look_at(peeled.packet.bytes, *view);
  }
  if (const auto identification = solve_ipv4_identification(bytes)) {
    std::vector<std::byte> copy(bytes.begin(), bytes.end());
    set_ipv4_identification(copy, *identification);
    const auto view = parse_frame(copy);
    require(view.ok() && view->icrc_is_valid());
  }
}

void as_file(std::span<const std::byte> bytes) {
  auto reader = CaptureReader::open(bytes);
  if (!reader) {
    require(reader.error().offset <= bytes.size());
    return;
  }
  captures::Peeler peeler;
  // A record takes at least four octets of the file.
  for (std::size_t records = 0; records <= bytes.size() / 4; ++records) {
    const auto packet = reader->next();
    if (!packet) {
      require(packet.error().offset <= bytes.size());
      return;
    }
    if (!*packet) return;
    if (const auto view = parse_captured(**packet)) look_at((*packet)->bytes, *view);
    (void)peeler.peel(**packet);
    std::vector<std::byte> room(encoded_packet_bytes_max((*packet)->bytes.size(), (*packet)->comment.size()));
    require(encode_pcapng_packet(
                room, {.time = (*packet)->time, .bytes = (*packet)->bytes, .comment = (*packet)->comment}) != 0);
  }
  require(false);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  as_packet(bytes);
  as_file(bytes);
  return 0;
}
