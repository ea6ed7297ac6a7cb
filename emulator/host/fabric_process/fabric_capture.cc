#include "emulator/host/fabric_process/fabric_capture.h"

#include <algorithm>
#include <utility>

#include "wire/pcap_file.h"

namespace verbena::host {
namespace {
constexpr std::uint64_t kRecordBytes = 64;  // about what a capture adds to a frame
constexpr std::string_view kOverflowed = "verbena: lost, the queue is full";
}  // namespace

Result<std::unique_ptr<FabricCapture>, std::string> FabricCapture::open(const Options& options) {
  std::unique_ptr<FabricCapture> capture(new FabricCapture);
  capture->octets_left_ = options.octets_max;
  capture->snap_bytes_ = options.snap_bytes;
  const std::size_t files = std::min(options.topology.cables.size(), kFilesMax);
  for (std::uint32_t cable = 0; cable < files; ++cable) {
    const std::string path = options.directory + "/" + options.topology.cable_name(cable) + ".pcapng";
    const wire::Medium medium = options.topology.medium;
    if (auto created = create_capture_file(path, options.snap_bytes, medium); !created)
      return Failure{created.error().text};
    auto file = CaptureFile::open(
        {.path = path, .snap_bytes = options.snap_bytes, .buffer_bytes = kBufferBytes, .medium = medium});
    if (!file) return Failure{file.error()};
    capture->files_.push_back(std::move(*file));
  }
  capture->says_end_.resize(capture->files_.size());
  return capture;
}

/// All files end at one time: a hole in one of them would tell of losses that never were.
void FabricCapture::leave_out(const fabric::ObservedFrame& frame) {
  octets_left_ = 0;
  ++missing_.frames;
  if (!missing_.from) missing_.from = frame.time;
  if (says_end_[frame.link.cable]) return;
  says_end_[frame.link.cable] = true;
  write_down(frame, wire::kCaptureEndsNote);
}

void FabricCapture::write_down(const fabric::ObservedFrame& frame, std::string_view comment) {
  CaptureFile& file = *files_[frame.link.cable];
  // The traffic waits for the file rather than leave holes in it that would tell of losses that never were.
  if (file.frames_free() == 0) file.write_out();
  file.record(frame.time, frame.frame, frame.link.backward ? wire::Direction::inbound : wire::Direction::outbound,
              comment);
}

void FabricCapture::observe(const fabric::ObservedFrame& frame) {
  std::string_view comment = frame.comment;
  switch (frame.event) {
    case fabric::FrameEvent::sent:
    case fabric::FrameEvent::lost:
      break;
    case fabric::FrameEvent::overflowed:
      comment = kOverflowed;
      break;
    case fabric::FrameEvent::entered:
    case fabric::FrameEvent::vanished:   // told of as sent, or never on a cable
    case fabric::FrameEvent::delivered:  // told of as sent
      return;
  }
  if (frame.link.cable >= files_.size()) return;
  const bool cut = snap_bytes_ != 0 && frame.frame.size() > snap_bytes_;
  const std::uint64_t octets = (cut ? snap_bytes_ : frame.frame.size()) + comment.size() + kRecordBytes;
  if (octets > octets_left_) return leave_out(frame);
  octets_left_ -= octets;
  missing_.cut += cut ? 1 : 0;
  write_down(frame, comment);
}

void FabricCapture::write_out(Time now) {
  for (const auto& file : files_)
    if (file->wants_writing(now)) file->write_out();
}

std::optional<Time> FabricCapture::next_deadline() const {
  std::optional<Time> earliest;
  for (const auto& file : files_)
    if (const auto due = file->next_deadline(); due && (!earliest || *due < *earliest)) earliest = due;
  return earliest;
}

}  // namespace verbena::host
