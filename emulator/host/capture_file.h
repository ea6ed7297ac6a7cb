// CaptureTap: where frames and the faults that hit them are written down. CaptureFile: the tap that is a pcapng file.
//
// Solely responsible for recording without disturbing: record() and annotate() copy into a buffer made beforehand and
// never enter the kernel; write_out() does the writing, outside the engine's lock. Several processes of one `verbena
// exec` append to one file: each writes whole blocks with one write() on an O_APPEND descriptor. It does not decide
// what is recorded (capturing_link.h, faulty_link.h) and knows no pcapng layout (wire/pcap_file.h).
//
// Who says what: CapturingLink stands next to the real link and records every frame that crosses it, both ways. A fault
// decorator stands outside of it, and
//   tx  dropped: record(now, frame, tx, "dropped: RULE")    the frame never reaches the link
//       otherwise changed: annotate("corrupted: RULE") just before it commits the frame to the link below
//   rx  anything: annotate("dropped: RULE") from within FrameSink::frame(), never record(): CapturingLink records the
//   frame
//       as it came from the wire once the sinks above it have returned, with the comment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "wire/time.h"

namespace verbena::host {

/// Seen from the node.
enum class Direction : std::uint8_t { tx, rx };

/// All calls are made under the engine's lock.
class CaptureTap {
 public:
  virtual ~CaptureTap() = default;
  /// One frame, with a comment or none. `now` is the engine's time (CLOCK_MONOTONIC); kNever: not known, the tap looks.
  virtual void record(Time now, std::span<const std::byte> frame, Direction direction, std::string_view comment) = 0;
  /// A comment for the frame that is passing right now; several are joined with "; ".
  virtual void annotate(std::string_view comment) = 0;
};

}  // namespace verbena::host
