#include "wire/known_headers.h"

#include <algorithm>

namespace verbena::wire {

void KnownHeaders::learn(const std::byte* octets, std::size_t frame_bytes, std::size_t ip_payload_bytes) {
  Entry& entry = entries_[place_of(frame_bytes)];
  std::copy_n(octets, kBytes, entry.octets.begin());
  entry.ip_payload_bytes = static_cast<std::uint16_t>(ip_payload_bytes);
  entry.icrc_until_bth = icrc_until_bth(std::span(entry.octets).subspan(EthernetLayout::bytes), true);
}

}  // namespace verbena::wire
