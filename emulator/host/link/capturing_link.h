// CapturingLink: a link whose frames are recorded, both ways. A decorator of the link's port; the link does not know.
//
// Solely responsible for when a frame is recorded (capture_file.h says who records what) and for when the capture is
// written, outside the engine's lock. Frames out are recorded when they are committed, frames in after the
// sinks above have seen them, before the NIC's answer is built. A full buffer holds the traffic up, as a slow link
// would, until it is written: a capture with holes would tell of losses that never were. What leaves through it has its
// ICRC; of what arrives without one, the capture has a completed copy.
// Tested by: tests/host/link/capture_file_test.cc
#pragma once

#include <memory>

#include "emulator/host/link/capture_file.h"
#include "emulator/host/link/frame_port.h"

namespace verbena::host {

class CapturingLink final : public FramePort {
 public:
  /// `inner` outlives it.
  CapturingLink(FramePort& inner, std::shared_ptr<CaptureFile> file);
  ~CapturingLink() override;

  /// For the fault decorator around this one; lives as long as this one.
  CaptureTap& tap() { return *file_; }

  std::span<std::byte> reserve(const nic::Destination& destination, std::size_t bytes) override;
  void commit(std::size_t bytes, wire::IcrcState icrc) override;
  void cancel() override { inner_.cancel(); }
  void publish() override { inner_.publish(); }
  std::size_t receive(Time now, FrameSink& sink, std::size_t budget) override;
  bool take_in(Time now, std::span<const std::byte> frame) override;
  std::optional<Time> next_deadline() const override;
  bool holds_back() const override { return was_full_ || inner_.holds_back(); }

  /// Outside of the engine's lock, any thread, wherever the link is flushed.
  void write_if_due();

 private:
  class Recorder;
  static constexpr std::size_t kFramesReserved = 32;  // for what the fault decorator records without asking
  std::size_t frames_free() const;

  std::shared_ptr<CaptureFile> file_;
  FramePort& inner_;
  std::span<std::byte> room_;
  bool was_full_ = false;  // in the last receive()
};

}  // namespace verbena::host
