// CaptureTap: where frames and the faults that hit them are written down. CaptureFile: the tap that is a pcapng file.
//
// Solely responsible for recording without disturbing: record() and annotate() copy into a buffer made beforehand and
// never enter the kernel; write_out() does the writing, outside the engine's lock. Several processes of one `verbena
// exec` append to one file: each writes whole blocks with one writev() on an O_APPEND descriptor. It does not decide
// what is recorded (capturing_link.h, faulty_link.h) and knows no pcapng layout (wire/pcap_file.h).
//
// Who says what: CapturingLink stands next to the real link and records every frame that crosses it, both ways. A fault
// decorator stands outside of it, and
//   tx  dropped: record(now, frame, tx, "dropped: RULE")    the frame never reaches the link
//       otherwise changed: annotate("corrupted: RULE") just before it commits the frame to the link below
//   rx  anything: annotate("dropped: RULE") from within FrameSink::frame(), never record(): CapturingLink records the
//       frame as it came from the wire once the sinks above it have returned, with the comment.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "emulator/host/os/combining_gate.h"
#include "emulator/host/os/frame_ring.h"
#include "emulator/host/os/shortage.h"
#include "wire/path_address.h"
#include "wire/pcap_file.h"
#include "wire/result.h"
#include "wire/time.h"

namespace verbena::host {

/// All calls are made under the engine's lock.
class CaptureTap {
 public:
  virtual ~CaptureTap() = default;
  /// One frame, with a comment or none. `now` is the engine's time (CLOCK_MONOTONIC); kNever: not known, the tap looks.
  virtual void record(Time now, std::span<const std::byte> frame, wire::Direction direction,
                      std::string_view comment) = 0;
  /// A comment for the frame that is passing right now; several are joined with "; ".
  virtual void annotate(std::string_view comment) = 0;
};

/// Makes FILE an empty capture, whatever it was before. The error is one line.
Result<void, FileError> create_capture_file(const std::string& path, std::uint32_t snap_bytes = 0,
                                            wire::Medium medium = wire::Medium::ethernet);

class CaptureFile final : public CaptureTap {
 public:
  struct Options {
    std::string path;
    std::uint32_t snap_bytes = 0;                     // keep at most so much of a frame; 0: all
    std::size_t buffer_bytes = std::size_t{4} << 20;  // a power of two
    wire::Medium medium = wire::Medium::ethernet;     // that all frames are on
  };
  /// Appends; writes the capture's header first if the file is new or empty. The error is one line.
  static Result<std::unique_ptr<CaptureFile>, std::string> open(const Options& options);
  /// Writes what is left and says on stderr how many frames are missing, if any.
  ~CaptureFile() override;
  CaptureFile(const CaptureFile&) = delete;
  CaptureFile& operator=(const CaptureFile&) = delete;

  // -- Under the engine's lock --------------------------------------------------------------------------------------
  void record(Time now, std::span<const std::byte> frame, wire::Direction direction, std::string_view comment) override;
  void annotate(std::string_view comment) override;
  /// How many of the largest frames the buffer still takes; as many as anybody wants once the file takes no more.
  std::size_t frames_free() const;
  /// What annotate() was told since the last time.
  std::string_view take_annotation();
  /// When write_out() is due, although the buffer is far from full: a while after the oldest frame in it.
  std::optional<Time> next_deadline() const;

  // -- Outside of it, any thread --------------------------------------------------------------------------------------
  /// Whether the buffer is filling up or the oldest frame has waited long enough.
  bool wants_writing(Time now) const;
  void write_out();
  /// At the end of the process: waits for a thread that is writing, then writes the rest.
  void finish();

  wire::Medium medium() const { return options_.medium; }
  std::uint64_t frames_lost() const { return frames_lost_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kCommentBytesMax = 512;

  CaptureFile(const Options& options, int file);
  std::size_t bytes_waiting() const;
  bool append(std::span<const std::byte> block);
  bool write_blocks(std::uint64_t from, std::uint64_t to);

  const Options options_;
  const int file_;
  const pid_t process_;  // a child after fork() must not write its parent's frames again
  const Duration wall_clock_offset_;
  std::unique_ptr<std::byte[]> buffer_;
  std::unique_ptr<std::byte[]> scratch_;  // one encoded block; under the engine's lock
  std::array<char, kCommentBytesMax> annotation_{};
  std::size_t annotation_bytes_ = 0;
  CombiningGate gate_;
  alignas(64) std::atomic<std::uint64_t> produced_{0};
  alignas(64) std::atomic<std::uint64_t> written_{0};
  std::atomic<std::int64_t> due_ns_{0};
  std::atomic<std::uint64_t> frames_lost_{0};
  std::atomic<bool> failed_{false};                // the file takes no more
  std::atomic<std::uint64_t> frames_recorded_{0};  // into the buffer
  std::uint64_t frames_settled_ = 0;               // of these, written or counted as lost; under the gate
};

}  // namespace verbena::host
