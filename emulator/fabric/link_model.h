// LinkModel: one direction of a cable: what goes in, what comes out, and when.
//
// Solely responsible for asking the fault plan, having its verdicts carried out (fault_carrier.h), and for rate and
// propagation delay. Sans-IO: time is an argument, frames are copied into a pool of fixed size made at construction and
// handed out from there. It allocates nothing per frame. It owns the frames between submit() and pop(); it does not
// know NICs or links.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "emulator/fabric/fault_carrier.h"
#include "emulator/fabric/fault_plan.h"
#include "emulator/fabric/fault_rule.h"
#include "wire/path_address.h"
#include "wire/time.h"
#include "wire/types.h"

namespace verbena::fabric {

/// Frames that one direction can hold: about 17 MB of address space, of which only the slots in use are touched.
inline constexpr std::uint32_t kPoolFramesDefault = 4096;

struct LinkParameters {
  std::uint64_t rate_bits_per_second = 0;  // 0: none, frames take no time
  Duration propagation{0};
  std::uint32_t pool_frames = kPoolFramesDefault;
  wire::Medium medium = wire::Medium::ethernet;
};

struct LinkCounters : FaultCounters {
  std::uint64_t submitted = 0;
  std::uint64_t delivered = 0;
  std::uint64_t dropped_by_fault = 0;
  std::uint64_t dropped_full = 0;  // the pool was full
  std::uint64_t unparsed = 0;      // no packet of the transport: let through, untouched
};

/// What the submitter wants back with the frame; the model does not look at it.
struct FrameTag {
  wire::Gid address;
  wire::Qpn qpn;
  std::uint32_t word = 0;
};

/// A frame that has arrived at the far end. Valid until pop().
struct Delivery {
  std::span<const std::byte> frame;
  std::string_view comment;  // what was done to it; empty: nothing
  FrameTag tag;              // as given to submit()
  bool corrupted = false;
};

/// What became of a frame at submission. Not lost: it will be delivered, now or later.
struct Submission {
  bool lost = false;
  std::string_view comment;  // what was done to it; empty: nothing
  bool judged = false;       // by the plan, whose struck() then is of it
};

class LinkModel {
 public:
  LinkModel(const LinkParameters& parameters, FaultPlan plan);

  /// `tag` is given back with the frame. Frames above kFrameBytesMax are lost.
  Submission submit(Time now, std::span<const std::byte> frame, const FrameTag& tag = {});

  /// The same in two steps, without a copy: build a frame in slot(), then submit the first `bytes` of it. An empty
  /// slot: the pool is full.
  std::span<std::byte> slot();
  Submission submit_slot(Time now, std::size_t bytes, const FrameTag& tag);
  /// The frame in slot(), after submit_slot() said it is lost and until the next call of slot().
  std::span<const std::byte> slot_frame(std::size_t bytes) const;

  /// The next frame that has arrived by `now`, in order of arrival. Take it off with pop() before the next submission.
  std::optional<Delivery> next_delivery(Time now);
  void pop();
  /// When next_delivery() has something new to give. In the past: at once.
  std::optional<Time> next_deadline() const;
  bool idle() const { return arriving_.empty() && carrier_.idle(); }

  const FaultPlan& plan() const { return plan_; }
  const LinkCounters& counters() const { return counters_; }

 private:
  struct Frame {
    std::uint32_t bytes = 0;
    bool corrupted = false;
    FrameTag tag;
    std::string_view comment;
  };
  struct Arrival {
    Time due;
    std::uint64_t sequence = 0;
    std::uint32_t slot = kNoSlot;
  };
  struct Way;  // what it lends to the carrier

  std::span<std::byte> bytes_of(std::uint32_t slot);
  std::span<const std::byte> bytes_of(std::uint32_t slot) const;
  std::uint32_t take_slot();
  void schedule(Time sent, Duration extra, std::uint32_t slot);

  LinkParameters parameters_;
  FaultPlan plan_;
  LinkCounters counters_;
  std::unique_ptr<std::byte[]> pool_;
  std::vector<Frame> frames_;
  std::vector<std::uint32_t> free_;  // a stack: the slot used last is the warmest
  std::vector<Arrival> arriving_;    // heap, first due on top
  FaultCarrier carrier_;
  std::uint64_t next_sequence_ = 0;
  Time wire_free_{0};
  std::uint32_t open_slot_ = kNoSlot;
};

}  // namespace verbena::fabric
