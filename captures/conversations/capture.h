// What `explain` tells: the packets of a capture, as captures/ reads them.
#pragma once

#include "captures/read/capture.h"

namespace verbena::explain {

using captures::Capture;
using captures::MalformedPacket;
using captures::other_packets;
using captures::Packet;
using captures::PausePacket;
using captures::Reached;
using captures::why_no_packets;

}  // namespace verbena::explain
