// Steering: what a NIC has besides connections: raw packet rules, work queues, multicast groups, looped frames.
//
// Plain data, owned by NicState; behaviour lives in transport_ib/groups.cc, ethernet/ and verbs/.
// Tested by: tests/nic/raw_packet_test.cc, tests/nic/groups_test.cc
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "emulator/nic/objects/steering_rule.h"
#include "emulator/nic/objects/work_queue.h"
#include "emulator/nic/state/qp.h"

namespace verbena::nic {

/// A receive queue without a QP of its own.
struct WorkQueue {
  WorkQueueHandle handle;
  PdHandle pd;
  CompletionQueue* cq = nullptr;
  wire::Qpn number;
  std::uint64_t context = 0;
  std::uint32_t users = 0;  // indirection tables
  std::uint32_t max_sge = 0;
  bool strips_vlan = false;
  WorkQueueState state = WorkQueueState::reset;
  ReceiveQueue queue;
};

struct IndirectionTable {
  IndirectionTableHandle handle;
  std::uint32_t users = 0;         // QPs
  std::vector<WorkQueue*> queues;  // a power of two
};

/// How a QP spreads what it receives.
struct ReceiveSpread {
  IndirectionTable* table = nullptr;
  ReceiveHash hash;
};

struct FlowCounters {
  FlowCountersHandle handle;
  std::uint32_t users = 0;
  FlowCount count;
};

struct Flow {
  FlowHandle handle;
  FlowInit init;
  Qp* qp = nullptr;
  FlowCounters* counters = nullptr;
  std::uint64_t order = 0;  // of creation
};

struct Group {
  wire::Gid address;
  std::vector<Qp*> members;
};

/// Frames that the NIC itself has to receive as well: bounded, delivered after the batch that sent them.
class LoopedFrames {
 public:
  static constexpr std::size_t kFramesMax = 64;
  struct Frame {
    wire::Qpn sender;
    std::span<const std::byte> octets;
  };

  void allocate() { storage_.resize(kFramesMax * wire::kFrameBytesMax); }
  bool empty() const { return count_ == 0; }
  bool full() const { return count_ == kFramesMax; }
  void push(wire::Qpn sender, std::span<const std::byte> octets);
  std::size_t count() const { return count_; }
  Frame at(std::size_t index) const {
    return {senders_[index], std::span(storage_).subspan(index * wire::kFrameBytesMax, bytes_[index])};
  }
  void clear() { count_ = 0; }

 private:
  std::size_t count_ = 0;
  std::vector<std::byte> storage_;  // asked for with the first group or rule
  std::array<std::size_t, kFramesMax> bytes_{};
  std::array<wire::Qpn, kFramesMax> senders_{};
};

struct Steering {
  std::uint32_t sniffers = 0;
  LoopedFrames looped;
  std::vector<Group> groups;  // of this NIC; few
  std::vector<Flow*> rules;   // in the order in which frames meet them
  std::uint64_t flows_made = 0;

  /// Null: it has no members.
  Group* find_group(const wire::Gid& address);
  const Group* find_group(const wire::Gid& address) const;
};

}  // namespace verbena::nic
