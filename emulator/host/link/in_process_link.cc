#include "emulator/host/link/in_process_link.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "emulator/host/os/frame_ring.h"

namespace verbena::host {
namespace {

/// What travels towards one end, and how that end is woken. Shared by both ends, so that neither outlives it.
struct Inbox {
  explicit Inbox(std::size_t depth_frames) : from_far_end(depth_frames), looped(depth_frames) {
    wake = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    VERBENA_ASSERT(wake >= 0);
  }
  ~Inbox() { ::close(wake); }
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  FrameRing from_far_end;
  FrameRing looped;
  int wake = -1;
  std::atomic<bool> sleeping{false};
  std::atomic<bool> signalled{false};  // the descriptor wants to be read
  std::atomic<bool> open{true};
};

class InProcessLink final : public Link {
 public:
  InProcessLink(const InProcessCable& cable, bool is_first, std::shared_ptr<Inbox> inbox, std::shared_ptr<Inbox> far)
      : address_(is_first ? cable.first : cable.second),
        far_address_(is_first ? cable.second : cable.first),
        mac_(is_first ? cable.first_mac : cable.second_mac),
        far_mac_(is_first ? cable.second_mac : cable.first_mac),
        inbox_(std::move(inbox)),
        far_(std::move(far)) {}

  ~InProcessLink() override { inbox_->open.store(false); }

  std::span<std::byte> reserve(const nic::Destination& destination, std::size_t bytes) override {
    VERBENA_ASSERT(reserved_ == nullptr && bytes <= wire::kFrameBytesMax);
    FrameRing& ring = destination.address == address_ ? inbox_->looped : far_->from_far_end;
    vanishes_ = &ring == &far_->from_far_end && !far_->open.load(std::memory_order_acquire);
    const std::span<std::byte> room = vanishes_ ? std::span(nowhere_).first(bytes) : ring.reserve(bytes);
    if (!room.empty()) reserved_ = &ring;
    return room;
  }

  void commit(std::size_t bytes, wire::IcrcState icrc) override {
    VERBENA_ASSERT(reserved_ != nullptr && icrc != wire::IcrcState::deferred);
    if (!vanishes_) reserved_->commit(bytes);
    reserved_ = nullptr;
  }

  void cancel() override {
    VERBENA_ASSERT(reserved_ != nullptr);
    reserved_ = nullptr;
  }

  void publish() override {
    inbox_->looped.publish();
    far_->from_far_end.publish();
  }

  std::size_t receive(Time, FrameSink& sink, std::size_t budget) override {
    const std::size_t looped = take(inbox_->looped, sink, budget);
    return looped + take(inbox_->from_far_end, sink, budget - looped);
  }
  std::optional<Time> next_deadline() const override { return std::nullopt; }
  bool holds_back() const override { return false; }

  bool fetch(std::size_t) override {
    if (inbox_->signalled.exchange(false)) {
      std::uint64_t count = 0;
      [[maybe_unused]] const ssize_t taken = ::read(inbox_->wake, &count, sizeof count);
    }
    return has_frames();
  }

  bool fetch_all() override {
    fetch(kAll);
    return true;
  }

  bool flush() override {
    // Sequentially consistent with arm(): either this sees the sleeper, or the sleeper sees the frames.
    if (far_->from_far_end.waiting() != 0 && far_->sleeping.exchange(false)) wake(*far_);
    if (inbox_->looped.waiting() != 0 && inbox_->sleeping.exchange(false)) wake(*inbox_);
    return false;
  }

  WaitDescriptors wait_descriptors() const override { return {.frames = inbox_->wake, .control = -1}; }

  bool arm() override {
    inbox_->sleeping.store(true);
    if (!has_frames()) return true;
    inbox_->sleeping.store(false);
    return false;
  }

  void disarm() override { inbox_->sleeping.store(false, std::memory_order_relaxed); }

  std::optional<wire::PathAddress> resolve(const wire::Gid& address) override {
    if (address == address_) return mac_;
    if (address == far_address_) return far_mac_;
    return std::nullopt;
  }

 private:
  static void wake(Inbox& inbox) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(inbox.wake, &one, sizeof one);
    inbox.signalled.store(true);  // after the write: who sees this finds the descriptor readable
  }

  bool has_frames() const { return inbox_->looped.waiting() != 0 || inbox_->from_far_end.waiting() != 0; }

  static std::size_t take(FrameRing& ring, FrameSink& sink, std::size_t budget) {
    const std::size_t frames = std::min(ring.waiting(), budget);
    for (std::size_t i = 0; i < frames; ++i) {
      sink.frame(ring.frame(0), wire::IcrcState::present);
      ring.release(1);
    }
    return frames;
  }

  const wire::Gid address_;
  const wire::Gid far_address_;
  const wire::MacAddress mac_;
  const wire::MacAddress far_mac_;
  std::shared_ptr<Inbox> inbox_;
  std::shared_ptr<Inbox> far_;
  FrameRing* reserved_ = nullptr;
  bool vanishes_ = false;
  std::array<std::byte, wire::kFrameBytesMax> nowhere_;
};

}  // namespace

std::pair<std::unique_ptr<Link>, std::unique_ptr<Link>> connect_in_process(const InProcessCable& cable) {
  auto first = std::make_shared<Inbox>(cable.depth_frames);
  auto second = std::make_shared<Inbox>(cable.depth_frames);
  return {std::make_unique<InProcessLink>(cable, true, first, second),
          std::make_unique<InProcessLink>(cable, false, second, first)};
}

}  // namespace verbena::host
