// LastWordsCarrier: how what the kernel says for a process that was killed gets from its node to ours.
//
// Solely that interface; what a NIC tells the agent of its port goes by it as well (key_report.h). Our process has no
// kernel behind it that outlives it: who has a connection with it finds out that it has ended
// (engine/connection_service.h) and puts together what its kernel would say, a DREQ or a REJ. Between processes on a
// direct cable that frame arrives at the port of who has found it (FramePort::take_in). A link whose frames pass
// through a network has this part: the frame is handed to the network at the dead process's node, and whatever the
// network does to frames it does to this one.
// Tested by: tests/host/fabric_process/last_words_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "emulator/host/link/key_report.h"

namespace verbena::host {

class LastWordsCarrier {
 public:
  virtual ~LastWordsCarrier() = default;
  /// A frame from the process in that slot of the node that is its source. Outside of the engine's lock.
  virtual void carry(std::uint8_t slot, std::span<const std::byte> frame) = 0;
  /// To the agent of the port. Outside of the engine's lock.
  virtual void report(const KeyReport& report) = 0;
  /// The process goes by the list of faults with this sequence (node/verb_fault_list.h). Outside of the engine's lock.
  virtual void heard(std::uint32_t sequence) = 0;
};

}  // namespace verbena::host
