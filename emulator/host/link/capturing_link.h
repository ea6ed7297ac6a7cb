// CapturingLink: a link whose frames are recorded, both ways. A decorator; the link below does not know.
//
// Solely responsible for when a frame is recorded (capture_file.h says who records what) and for having the capture
// written from flush(), outside the engine's lock. Frames out are recorded when they are committed, frames in after the
// sinks above have seen them, before the NIC's answer is built. A full buffer holds the traffic up, as a slow link
// would, until it is written: a capture with holes would tell of losses that never were.
#pragma once

#include <memory>

#include "emulator/host/link/capture_file.h"
#include "emulator/host/link/link.h"

namespace verbena::host {

class CapturingLink final : public Link {
 public:
  CapturingLink(std::unique_ptr<Link> inner, std::shared_ptr<CaptureFile> file);
  ~CapturingLink() override;

  /// For the fault decorator around this link; lives as long as this link.
  CaptureTap& tap() { return *file_; }

  std::span<std::byte> reserve(const nic::Destination& destination, std::size_t bytes) override;
  void commit(std::size_t bytes) override;
  void cancel() override { inner_->cancel(); }
  void publish() override { inner_->publish(); }
  std::size_t receive(Time now, FrameSink& sink, std::size_t budget) override;
  std::optional<Time> next_deadline() const override;
  bool fetch(std::size_t most) override { return inner_->fetch(most); }
  bool fetch_all() override { return inner_->fetch_all(); }
  bool holds_back() const override { return was_full_ || inner_->holds_back(); }
  std::uint64_t published() override { return inner_->published(); }
  bool has_sent(std::uint64_t published) override { return inner_->has_sent(published); }
  bool fetches() const override { return inner_->fetches(); }
  bool flush() override;
  void service() override { inner_->service(); }
  void acknowledge_doorbell() override { inner_->acknowledge_doorbell(); }
  WaitDescriptors wait_descriptors() const override { return inner_->wait_descriptors(); }
  bool arm() override { return inner_->arm(); }
  void disarm() override { inner_->disarm(); }
  void stops_polling() override { inner_->stops_polling(); }
  void sleeps_on_cpu() override { inner_->sleeps_on_cpu(); }
  void note_activity() override { inner_->note_activity(); }
  bool blocks_peer_cpu() override { return inner_->blocks_peer_cpu(); }
  bool shares_core() override { return inner_->shares_core(); }
  bool offers_core() override { return inner_->offers_core(); }
  void lend_core() override { inner_->lend_core(); }
  std::optional<wire::MacAddress> resolve(const wire::Gid& address) override { return inner_->resolve(address); }

 private:
  class Recorder;
  static constexpr std::size_t kFramesReserved = 32;  // for what the fault decorator records without asking
  std::size_t frames_free() const;

  std::shared_ptr<CaptureFile> file_;
  std::unique_ptr<Link> inner_;
  std::span<std::byte> room_;
  bool was_full_ = false;  // in the last receive()
};

}  // namespace verbena::host
