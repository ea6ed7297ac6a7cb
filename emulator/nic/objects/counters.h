// The counters of one NIC. Names follow the hw_counters of Linux RDMA drivers where one exists.
//
// The storage belongs to the host (it may be shared memory that `verbena exec --stats` reads); one NIC writes it, under
// its owner's lock; readers use relaxed loads and may be a moment behind.
// Tested by: tests/nic/port_test.cc
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace verbena::nic {

/// Every counter, once: X(name). The names are those of the files below hw_counters.
#define VERBENA_NIC_COUNTERS(X)                                                                          \
  X(tx_packets)                                                                                          \
  X(tx_bytes)                                                                                            \
  X(rx_packets)                                                                                          \
  X(rx_bytes)                                                                                            \
  X(tx_retransmitted_packets) /* request packets sent again */                                           \
  X(rx_write_requests)                                                                                   \
  X(rx_read_requests)                                                                                    \
  X(rx_atomic_requests)                                                                                  \
  X(rx_send_requests)                                                                                    \
  X(tx_acknowledges)                                                                                     \
  X(rx_acknowledges)                                                                                     \
  X(out_of_sequence)     /* responder: requests ahead of the expected PSN */                             \
  X(duplicate_request)   /* responder: requests behind it */                                             \
  X(packet_seq_err)      /* requester: NAK sequence error received */                                    \
  X(implied_nak_seq_err) /* requester: a response is missing */                                          \
  X(rnr_nak_sent)                                                                                        \
  X(rnr_nak_received)                                                                                    \
  X(local_ack_timeout_err) /* requester: ACK timer ran out */                                            \
  X(retry_exceeded_err)                                                                                  \
  X(rnr_retry_exceeded_err)                                                                              \
  X(nak_sent_invalid_request)                                                                            \
  X(nak_sent_access)                                                                                     \
  X(nak_sent_operation)                                                                                  \
  X(nak_received_invalid_request)                                                                        \
  X(nak_received_access)                                                                                 \
  X(nak_received_operation)                                                                              \
  X(ud_dropped_no_receive)                                                                               \
  X(uc_dropped_messages)                                                                                 \
  X(rx_dropped_malformed) /* parse failed */                                                             \
  X(rx_dropped_icrc)                                                                                     \
  X(rx_dropped_no_qp)                                                                                    \
  X(rx_dropped_qp_state)     /* the QP is not in a state that receives */                                \
  X(rx_dropped_wrong_source) /* source address is not the connected peer's */                            \
  X(rx_dropped_wrong_transport)                                                                          \
  X(rx_dropped_pkey)                                                                                     \
  X(rx_dropped_qkey)                                                                                     \
  X(rx_dropped_wrong_destination)                                                                        \
  X(rx_dropped_no_buffer)       /* raw packets: no receive work request, or a queue that is not ready */ \
  X(rx_dropped_no_rule)         /* raw packets: nobody wants them */                                     \
  X(np_ecn_marked_roce_packets) /* notification point: packets of our QPs that carry the mark */         \
  X(np_cnp_sent)                                                                                         \
  X(rp_cnp_handled)   /* reaction point: CNPs for a QP that is connected */                              \
  X(rp_cnp_ignored)   /* CNPs for another one */                                                         \
  X(roce_adp_retrans) /* of what ConnectX has beside: always 0 (docs/deviations.md) */                   \
  X(roce_adp_retrans_to)                                                                                 \
  X(roce_slow_restart)                                                                                   \
  X(roce_slow_restart_cnps)                                                                              \
  X(roce_slow_restart_trans)                                                                             \
  X(page_faults)        /* of on-demand regions: pages that the NIC met for the first time */            \
  X(page_invalidations) /* pages that it knew and forgot */                                              \
  X(page_prefetch)      /* pages that advise_mr made known */                                            \
  X(link_downed)        /* the port's cable lost its signal */                                           \
  X(rx_prio0_pause)     /* pause frames of this class (802.1Qbb); of the whole port: of each */          \
  X(rx_prio1_pause)                                                                                      \
  X(rx_prio2_pause)                                                                                      \
  X(rx_prio3_pause)                                                                                      \
  X(rx_prio4_pause)                                                                                      \
  X(rx_prio5_pause)                                                                                      \
  X(rx_prio6_pause)                                                                                      \
  X(rx_prio7_pause)                                                                                      \
  X(tx_prio0_pause)                                                                                      \
  X(tx_prio1_pause)                                                                                      \
  X(tx_prio2_pause)                                                                                      \
  X(tx_prio3_pause)                                                                                      \
  X(tx_prio4_pause)                                                                                      \
  X(tx_prio5_pause)                                                                                      \
  X(tx_prio6_pause)                                                                                      \
  X(tx_prio7_pause)                                                                                      \
  X(posts_refused_unpolled) /* no slot: requests are done, but nobody polled their completions */        \
  X(completions)                                                                                         \
  X(async_events)

enum class Counter : std::uint8_t {
#define VERBENA_NIC_COUNTER(name) name,
  VERBENA_NIC_COUNTERS(VERBENA_NIC_COUNTER)
#undef VERBENA_NIC_COUNTER
      count_,
};
inline constexpr std::size_t kCounters = static_cast<std::size_t>(Counter::count_);

static_assert(static_cast<int>(Counter::rx_prio7_pause) - static_cast<int>(Counter::rx_prio0_pause) == 7);
static_assert(static_cast<int>(Counter::tx_prio7_pause) - static_cast<int>(Counter::tx_prio0_pause) == 7);

std::string_view to_string(Counter counter);

class Counters {
 public:
  void add(Counter counter, std::uint64_t amount = 1) {
    auto& cell = cells_[static_cast<std::size_t>(counter)];
    cell.store(cell.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
  /// Of the counters of traffic classes 0 to 7, which follow `of_class_0`, those of the bits that are set.
  void add_by_class(Counter of_class_0, std::uint8_t classes) {
    for (unsigned i = 0; i < 8; ++i)
      if ((classes >> i & 1) != 0) add(static_cast<Counter>(static_cast<unsigned>(of_class_0) + i));
  }
  std::uint64_t get(Counter counter) const {
    return cells_[static_cast<std::size_t>(counter)].load(std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint64_t> cells_[kCounters] = {};
};

}  // namespace verbena::nic
