// A packet in the words of a ladder: short, without addresses (the ladder has them) and without what is usual; and how
// an end of a conversation is called.
//
// wire/packet_text.h has the full text of a packet; here the reader follows a conversation.
// Tested by: tests/captures/story/kernel_captures_test.cc
#pragma once

#include <string>

#include "captures/story/flow_tracker.h"
#include "wire/packet_view.h"

namespace verbena::captures {

/// "RDMA WRITE First psn 4711 (+0) va 0x7f00dead0000 rkey 0x1234 length 65536, 1024 B".
std::string words(const wire::PacketView& packet, const Judged& step);

/// "RDMA WRITE Middle": the opcode's name without its transport.
std::string_view operation_name(const wire::PacketView& packet);

/// The management datagram in a packet to QP0 or QP1: "CM REQ", "SubnGet(NodeInfo)". Empty if it is none.
std::string management_name(const wire::PacketView& packet);

/// "127.47.91.1 qp 0x000011".
std::string to_text(const End& end);
/// "RC".
std::string_view transport_name(wire::Transport transport);

}  // namespace verbena::captures
