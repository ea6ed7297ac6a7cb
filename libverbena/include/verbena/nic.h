// The objects of an emulated NIC and the work that is posted to them, as the verbs have them (IBTA vol 1, ch. 10, 11).
//
// Nic, Pd, Mr, Cq and Qp are names of objects: small, copied as pointers are, valid as long as their World. Numbers
// have the verbs' values (infiniband/verbs.h). Posting only enqueues: packets leave when the world's clock runs.
#pragma once

#include <verbena/result.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace libverbena {

struct WorldState;  // of a World, private to the library
class World;

/// Virtual time since the world was made, and spans of it: `10us` with std::chrono_literals.
using Time = std::chrono::nanoseconds;
using Duration = std::chrono::nanoseconds;

/// The bits of enum ibv_access_flags.
enum Access : std::uint32_t {
  kLocalWrite = 1,
  kRemoteWrite = 2,
  kRemoteRead = 4,
  kRemoteAtomic = 8,
  kAnyAccess = kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic,
};

/// The values of enum ibv_qp_type, ibv_qp_state, ibv_wr_opcode, ibv_wc_status.
enum class QpType : std::uint8_t { rc = 2, uc = 3, ud = 4 };
enum class QpState : std::uint8_t { reset = 0, init = 1, rtr = 2, rts = 3, sqd = 4, sqe = 5, error = 6 };
enum class SendOpcode : std::uint8_t {
  rdma_write = 0,
  rdma_write_with_immediate = 1,
  send = 2,
  send_with_immediate = 3,
  rdma_read = 4,
  compare_and_swap = 5,
  fetch_and_add = 6,
  send_with_invalidate = 9,
  atomic_write = 15,
};
enum class Status : std::uint8_t {
  success = 0,
  local_length_error = 1,
  local_qp_operation_error = 2,
  local_protection_error = 4,
  flushed = 5,
  memory_window_bind_error = 6,
  bad_response = 7,
  local_access_error = 8,
  remote_invalid_request = 9,
  remote_access_error = 10,
  remote_operation_error = 11,
  retry_exceeded = 12,
  rnr_retry_exceeded = 13,
};
LIBVERBENA_PUBLIC std::string_view to_string(Status status);

/// Octets of one's own that a request speaks of; made by Mr::slice.
struct Sge {
  std::uint64_t address = 0;
  std::uint32_t length = 0;
  std::uint32_t lkey = 0;
};
/// The peer's memory that a request speaks of; made by Mr::remote.
struct Remote {
  std::uint64_t address = 0;
  std::uint32_t rkey = 0;
};

struct SendRequest {
  std::uint64_t wr_id = 0;
  SendOpcode opcode = SendOpcode::send;
  std::vector<Sge> local{};
  Remote remote{};              // RDMA and atomics
  std::uint32_t immediate = 0;  // with immediate; or the rkey to invalidate
  std::uint64_t compare_or_add = 0;
  std::uint64_t swap = 0;
  bool signaled = true;  // else no completion says that it is done, and its slot is free when a later one was polled
  bool solicited = false;
  bool fence = false;
};

/// What comes back of a request (man ibv_poll_cq).
struct Completion {
  std::uint64_t wr_id = 0;
  Status status = Status::success;
  bool is_receive = false;
  std::uint32_t byte_count = 0;  // received
  std::optional<std::uint32_t> immediate{};
  std::uint32_t qpn = 0;
  Time time{};  // when the NIC made it
};

class LIBVERBENA_PUBLIC Pd {
 private:
  friend class Nic;
  Pd(std::uint32_t host, std::uint32_t handle) : host_(host), handle_(handle) {}
  std::uint32_t host_;
  std::uint32_t handle_;
};

/// Memory that a NIC may read and write. Its octets belong to the world. The address that requests name does not depend
/// on where they lie, so that packets are the same in each run.
class LIBVERBENA_PUBLIC Mr {
 public:
  std::span<std::byte> bytes() const;
  std::uint32_t rkey() const;
  /// `length` octets from `offset` on, as far as there are so many; what lies outside the region is what the NIC is to
  /// judge.
  Sge slice(std::uint64_t offset = 0, std::optional<std::uint32_t> length = std::nullopt) const;
  Remote remote(std::uint64_t offset = 0) const;

 private:
  friend class Nic;
  Mr(WorldState* state, std::size_t index) : state_(state), index_(index) {}
  WorldState* state_;
  std::size_t index_;
};

class LIBVERBENA_PUBLIC Cq {
 public:
  /// What is there now, oldest first, at most `most`.
  std::vector<Completion> poll(std::size_t most = 64) const;
  /// Runs the world until a completion is there, and takes it. timed_out: there was none within that time.
  Result<Completion> next(Duration within = std::chrono::seconds(10)) const;

 private:
  friend class Nic;
  friend class Qp;
  Cq(WorldState* state, std::uint32_t host, std::uint32_t handle) : state_(state), host_(host), handle_(handle) {}
  WorldState* state_;
  std::uint32_t host_;
  std::uint32_t handle_;
};

class LIBVERBENA_PUBLIC Qp {
 public:
  /// 24 bits.
  std::uint32_t number() const;
  /// The PSN of its first request, since World::connect.
  std::uint32_t first_psn() const;
  QpState state() const;
  /// no_memory: the queue is full; invalid_argument: what the verbs call EINVAL (man ibv_post_send, ibv_post_recv).
  Result<void> post_send(const SendRequest& request) const;
  Result<void> post_receive(std::uint64_t wr_id, std::span<const Sge> into) const;
  Result<void> post_receive(std::uint64_t wr_id, const Sge& into) const { return post_receive(wr_id, {&into, 1}); }

 private:
  friend class Nic;
  friend class World;
  Qp(WorldState* state, std::size_t index) : state_(state), index_(index) {}
  WorldState* state_;
  std::size_t index_;
};

struct QpOptions {
  QpType type = QpType::rc;
  std::optional<Pd> pd{};  // nothing: the NIC's own, as for the queues
  std::optional<Cq> send_cq{};
  std::optional<Cq> receive_cq{};
  std::uint32_t max_send_wr = 64;
  std::uint32_t max_receive_wr = 64;
  std::uint32_t max_sge = 4;
};

class LIBVERBENA_PUBLIC Nic {
 public:
  const std::string& name() const;
  std::string address() const;  // IP

  Result<Pd> allocate_pd() const;
  /// `length` octets, all zero. Without a PD: in the NIC's own.
  Result<Mr> register_memory(std::size_t length, std::uint32_t access = kAnyAccess,
                             std::optional<Pd> pd = std::nullopt) const;
  Result<void> deregister_memory(const Mr& mr) const;
  Result<Cq> create_cq(std::uint32_t entries) const;
  /// The NIC's own, of 4096 entries.
  Cq cq() const;
  Result<Qp> create_qp(const QpOptions& options = {}) const;
  Result<void> destroy_qp(const Qp& qp) const;
  /// By the names of the files below hw_counters ("out_of_sequence"); nothing: it has none of that name.
  std::optional<std::uint64_t> counter(std::string_view name) const;

 private:
  friend class World;
  Nic(WorldState* state, std::uint32_t host) : state_(state), host_(host) {}
  WorldState* state_;
  std::uint32_t host_;
};

}  // namespace libverbena
