// The counters of one NIC. Names follow the hw_counters of Linux RDMA drivers where one exists.
//
// The storage belongs to the host (it may be shared memory that `verbena exec --stats` reads); one NIC writes it, under
// its owner's lock; readers use relaxed loads and may be a moment behind.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace verbena::nic {

enum class Counter : std::uint8_t {
  tx_packets,
  tx_bytes,
  rx_packets,
  rx_bytes,
  tx_retransmitted_packets,  // request packets sent again
  rx_write_requests,
  rx_read_requests,
  rx_atomic_requests,
  rx_send_requests,
  tx_acknowledges,
  rx_acknowledges,
  out_of_sequence,      // responder: requests ahead of the expected PSN
  duplicate_request,    // responder: requests behind it
  packet_seq_err,       // requester: NAK sequence error received
  implied_nak_seq_err,  // requester: a response is missing
  rnr_nak_sent,
  rnr_nak_received,
  local_ack_timeout_err,  // requester: ACK timer ran out
  retry_exceeded_err,
  rnr_retry_exceeded_err,
  nak_sent_invalid_request,
  nak_sent_access,
  nak_sent_operation,
  nak_received_invalid_request,
  nak_received_access,
  nak_received_operation,
  ud_dropped_no_receive,
  uc_dropped_messages,
  rx_dropped_malformed,  // parse failed
  rx_dropped_icrc,
  rx_dropped_no_qp,
  rx_dropped_qp_state,      // the QP is not in a state that receives
  rx_dropped_wrong_source,  // source address is not the connected peer's
  rx_dropped_wrong_transport,
  rx_dropped_pkey,
  rx_dropped_qkey,
  rx_dropped_wrong_destination,
  rx_dropped_no_buffer,        // raw packets: no receive work request, or a queue that is not ready
  rx_dropped_no_rule,          // raw packets: nobody wants them
  np_ecn_marked_roce_packets,  // notification point: packets of our QPs that carry the mark
  np_cnp_sent,
  rp_cnp_handled,  // reaction point: CNPs for a QP that is connected
  rp_cnp_ignored,  // CNPs for another one
  link_downed,     // the port's cable lost its signal
  completions,
  async_events,
  count_,
};
inline constexpr std::size_t kCounters = static_cast<std::size_t>(Counter::count_);

std::string_view to_string(Counter counter);

class Counters {
 public:
  void add(Counter counter, std::uint64_t amount = 1) {
    auto& cell = cells_[static_cast<std::size_t>(counter)];
    cell.store(cell.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
  std::uint64_t get(Counter counter) const {
    return cells_[static_cast<std::size_t>(counter)].load(std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint64_t> cells_[kCounters] = {};
};

}  // namespace verbena::nic
