// SendQueue and ReceiveQueue: rings of work requests with their scatter/gather lists, sized once.
//
// Positions are free-running 32-bit counters; the storage is a power of two, the capacity what was asked for. A slot is
// in use from the post until a completion that frees it was polled (slots.h), which is later than the request's end.
// Solely storage: what a work request means is known to post.cc, requester.cc and responder.cc.
// Tested by: tests/nic/slots_test.cc, tests/nic/queue_test.cc
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <span>

#include "emulator/nic/objects/attributes.h"
#include "emulator/nic/objects/completion.h"
#include "emulator/nic/objects/handles.h"
#include "emulator/nic/objects/operations.h"
#include "emulator/nic/objects/work_request.h"
#include "wire/assert.h"
#include "wire/packet_builder.h"

namespace verbena::nic {

struct AddressHandle {
  AhHandle handle;
  PdHandle pd;
  AddressVector address_vector;
  wire::FrameTemplate frame_template;
  std::uint64_t static_bits_per_second = 0;  // on InfiniBand, where it is less than the port's; 0: none
  std::uint32_t route_hint = 0;
  bool is_destroyed = false;  // as far as the application knows; datagrams posted with it are still to be sent
};

/// A posted send work request and how far it has got.
struct SendWork {
  std::uint64_t wr_id = 0;
  Operand operand{};
  std::uint32_t immediate = 0;         // or the rkey that is invalidated
  std::uint32_t length = 0;            // octets of the whole message
  std::uint32_t packets = 0;           // PSNs that it takes (a read: those of its responses; a local operation: none)
  std::uint32_t received_packets = 0;  // read, atomic: responses that have arrived; local operation: it is executed
  std::uint32_t ssn = 0;               // send sequence number, for end-to-end credits (IBTA 9.7.7.2)
  std::uint32_t receive_number = 0;    // selective repeat: messages before it that take a receive
  std::uint32_t remote_qkey = 0;
  wire::Psn first_psn;
  wire::Qpn remote_qpn;  // XRC: the shared receive queue
  AhHandle address_handle;
  SendOpcode opcode = SendOpcode::send;
  CompletionStatus status = CompletionStatus::success;  // else: failed here, completes so when its turn comes
  std::uint8_t sge_count = 0;
  bool signaled = false;
  bool solicited = false;
  bool fence = false;
  bool inline_data = false;

  bool is_read() const { return opcode == SendOpcode::rdma_read; }
  bool is_atomic() const { return opcode == SendOpcode::compare_and_swap || opcode == SendOpcode::fetch_and_add; }
  bool awaits_data() const { return contains(kAwaitData, opcode); }
  /// Executed here, in its turn; no packet.
  bool is_local() const { return contains(kLocal, opcode); }
  bool is_executed() const { return received_packets != 0; }
  bool is_write() const { return opcode == SendOpcode::rdma_write || opcode == SendOpcode::rdma_write_with_immediate; }
  bool consumes_receive() const { return contains(kConsumeReceive, opcode); }
};

class SendQueue {
 public:
  void allocate(std::uint32_t capacity, std::uint32_t sges_max, std::uint32_t inline_max) {
    capacity_ = capacity;
    sges_max_ = std::max(sges_max, 1u);
    inline_max_ = inline_max;
    stride_ = std::max(sges_max_, inline_places(inline_max));
    const std::uint32_t storage = std::bit_ceil(std::max(capacity, 1u));
    mask_ = storage - 1;
    work_ = std::make_unique<SendWork[]>(storage);
    sges_ = std::make_unique<Sge[]>(std::size_t{storage} * stride_);
  }
  void clear() { freed = head = next = tail = 0; }

  /// Slots for further posts.
  std::uint32_t room() const { return capacity_ - (tail - freed); }
  /// Those that are complete and hold their slots.
  std::uint32_t done() const { return head - freed; }
  std::uint32_t capacity() const { return capacity_; }
  SendWork& at(std::uint32_t position) { return work_[position & mask_]; }
  const SendWork& at(std::uint32_t position) const { return work_[position & mask_]; }
  std::span<Sge> sges(std::uint32_t position) { return {&sges_[std::size_t{position & mask_} * stride_], sges_max_}; }
  /// Lies where the scatter/gather list would, as on hardware.
  std::span<std::byte> inline_data(std::uint32_t position) {
    return std::as_writable_bytes(std::span(&sges_[std::size_t{position & mask_} * stride_], stride_))
        .first(inline_max_);
  }

  std::uint32_t freed = 0;  // the oldest one whose slot is in use: its completion, or a later one, was not polled
  std::uint32_t head = 0;   // the oldest one not completed
  std::uint32_t next = 0;   // the one that is being sent
  std::uint32_t tail = 0;   // where the next post goes

 private:
  static std::uint32_t inline_places(std::uint32_t octets) {
    return static_cast<std::uint32_t>((octets + sizeof(Sge) - 1) / sizeof(Sge));
  }
  std::uint32_t capacity_ = 0;
  std::uint32_t sges_max_ = 1;
  std::uint32_t inline_max_ = 0;
  std::uint32_t stride_ = 1;  // places for SGEs of one work request
  std::uint32_t mask_ = 0;
  // A QP has many of these, and none ever changes its size: no vector, which knows it too.
  std::unique_ptr<SendWork[]> work_;
  std::unique_ptr<Sge[]> sges_;
};

class ReceiveQueue {
 public:
  void allocate(std::uint32_t capacity, std::uint32_t sges_max) {
    capacity_ = capacity;
    sges_max_ = std::max(sges_max, 1u);
    const std::uint32_t storage = std::bit_ceil(std::max(capacity, 1u));
    mask_ = storage - 1;
    work_ = std::make_unique<Work[]>(storage);
    sges_ = std::make_unique<Sge[]>(std::size_t{storage} * sges_max_);
  }
  void clear() { freed_ = head_ = tail_ = 0; }
  std::uint32_t capacity() const { return capacity_; }
  /// Those that wait for a message.
  std::uint32_t depth() const { return tail_ - head_; }
  /// Slots in use: of those that wait, and of those whose completion was not polled.
  std::uint32_t used() const { return tail_ - freed_; }
  bool full() const { return used() >= capacity_; }
  /// Those that were taken and hold their slots.
  std::uint32_t done() const { return head_ - freed_; }
  bool empty() const { return head_ == tail_; }
  /// The completion of one that was taken has been polled.
  void free_slot() { ++freed_; }

  /// Asserts room; the caller has checked full() and the number of SGEs.
  void push(const ReceiveRequest& request) {
    VERBENA_ASSERT(!full() && request.sges.size() <= sges_max_);
    work_[tail_ & mask_] = {request.wr_id, static_cast<std::uint32_t>(request.sges.size())};
    std::copy(request.sges.begin(), request.sges.end(), &sges_[index_of_sges(tail_)]);
    ++tail_;
  }
  ReceiveRequest front() const {
    const Work& work = work_[head_ & mask_];
    return {work.wr_id, {&sges_[index_of_sges(head_)], work.sge_count}};
  }
  void pop() { ++head_; }
  /// The one that front() gives after `ahead` calls of pop(); there must be one.
  ReceiveRequest peek(std::uint32_t ahead) const {
    const Work& work = work_[(head_ + ahead) & mask_];
    return {work.wr_id, {&sges_[index_of_sges(head_ + ahead)], work.sge_count}};
  }
  /// Keeps what waits, and the slots in use.
  void grow(std::uint32_t capacity) {
    ReceiveQueue bigger;
    bigger.allocate(capacity, sges_max_);
    bigger.freed_ = freed_;
    bigger.head_ = bigger.tail_ = head_;
    for (; !empty(); pop()) bigger.push(front());
    *this = std::move(bigger);
  }

 private:
  struct Work {
    std::uint64_t wr_id = 0;
    std::uint32_t sge_count = 0;
  };
  std::size_t index_of_sges(std::uint32_t position) const { return std::size_t{position & mask_} * sges_max_; }
  std::uint32_t capacity_ = 0;
  std::uint32_t sges_max_ = 1;
  std::uint32_t mask_ = 0;
  std::uint32_t freed_ = 0;
  std::uint32_t head_ = 0;
  std::uint32_t tail_ = 0;
  std::unique_ptr<Work[]> work_;
  std::unique_ptr<Sge[]> sges_;
};

/// What XRC SRQs and XRC receive QPs must have in common to meet (annex A14).
struct XrcDomain {
  XrcDomainHandle handle;
  std::uint32_t users = 0;
};

/// Receive queue shared by QPs (IBTA 10.2.9).
struct SharedReceiveQueue {
  SrqHandle handle;
  PdHandle pd;
  XrcDomain* xrc_domain = nullptr;  // not null: an XRC SRQ, found by its number
  class CompletionQueue* cq = nullptr;
  wire::Qpn number;
  std::uint64_t context = 0;
  std::uint32_t users = 0;
  std::uint32_t limit = 0;  // 0: not armed
  std::uint32_t max_sge = 0;
  ReceiveQueue queue;
};

}  // namespace verbena::nic
