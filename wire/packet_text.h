// One line of text for a packet, in the specification's words.
//
// Solely responsible for how packets read: traces, captures' explanations and test failures use the same line. It says
// what is in the packet; what a packet means within its conversation is the business of whoever follows it
// (captures/render/words).
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "wire/aeth.h"
#include "wire/packet_view.h"
#include "wire/pause_frame.h"

namespace verbena::wire {

/// Dotted for an IPv4-mapped GID, "LID 5" for a port without one (lid.h), else as RFC 5952 has it.
std::string to_text(const Gid& gid);
std::string to_text(const MacAddress& mac);

/// "PSN sequence error"; "reserved NAK code" for codes the specification does not name.
std::string_view to_string(NakCode code);

/// "ACK, 32 credits", "RNR NAK, retry after 0.01 ms", "NAK remote access error".
std::string to_text(const Syndrome& syndrome);

/// "PFC class 3 stops for 65535 quanta, class 4 goes on", "PAUSE stops for 65535 quanta".
std::string to_text(const PauseFrame& frame);

/// "RC RDMA WRITE First qp 0x000011 psn 4711 va 0x7f00dead0000 rkey 0x00001234 length 65536 payload 1024".
/// Flags and fields appear when they say something: solicited, ack-request, FECN, BECN, CE, pad, a partition key other
/// than the default one.
std::string to_text(const PacketView& packet);
/// The same, appended to a buffer that may be used again.
void append_text(fmt::memory_buffer& into, const PacketView& packet);

}  // namespace verbena::wire
