#include "emulator/host/link/capturing_link.h"

#include <algorithm>
#include <utility>

#include "emulator/host/os/cancellation_shield.h"
#include "emulator/host/os/clock.h"
#include "wire/assert.h"
#include "wire/icrc.h"

namespace verbena::host {

class CapturingLink::Recorder final : public FrameSink {
 public:
  Recorder(CaptureFile& file, Time now, FrameSink& above) : file_(file), now_(now), above_(above) {}
  void frame(std::span<const std::byte> frame, wire::IcrcState icrc) override {
    above_.frame(frame, icrc);
    const bool lacks_icrc = icrc == wire::IcrcState::deferred && frame.size() <= wire::kFrameBytesMax;
    file_.record(now_, lacks_icrc ? completed_.copy_of(frame, file_.medium()) : frame, wire::Direction::inbound,
                 file_.take_annotation());
  }

 private:
  CaptureFile& file_;
  const Time now_;
  FrameSink& above_;
  wire::CompletedFrame completed_;
};

CapturingLink::CapturingLink(FramePort& inner, std::shared_ptr<CaptureFile> file)
    : file_(std::move(file)), inner_(inner) {}
CapturingLink::~CapturingLink() = default;

std::size_t CapturingLink::frames_free() const {
  return std::max(file_->frames_free(), kFramesReserved) - kFramesReserved;
}

std::span<std::byte> CapturingLink::reserve(const nic::Destination& destination, std::size_t bytes) {
  if (frames_free() == 0) return {};
  return room_ = inner_.reserve(destination, bytes);
}

void CapturingLink::commit(std::size_t bytes, wire::IcrcState icrc) {
  VERBENA_ASSERT(icrc != wire::IcrcState::deferred);
  file_->record(kNever, room_.first(bytes), wire::Direction::outbound, file_->take_annotation());
  inner_.commit(bytes, icrc);
}

std::size_t CapturingLink::receive(Time now, FrameSink& sink, std::size_t budget) {
  Recorder recorder(*file_, now, sink);
  const std::size_t most = frames_free();
  was_full_ = most < budget;
  return inner_.receive(now, recorder, std::min(budget, most));
}

bool CapturingLink::take_in(Time now, std::span<const std::byte> frame) {
  file_->record(now, frame, wire::Direction::inbound, file_->take_annotation());
  return inner_.take_in(now, frame);
}

std::optional<Time> CapturingLink::next_deadline() const {
  const std::optional<Time> below = inner_.next_deadline();
  const std::optional<Time> due = file_->next_deadline();
  if (!below || !due) return below ? below : due;
  return std::min(*below, *due);
}

void CapturingLink::write_if_due() {
  if (!file_->wants_writing(clock_now())) return;
  const CancellationShield shield;
  file_->write_out();
}

}  // namespace verbena::host
