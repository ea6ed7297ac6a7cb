#include "emulator/nic/counters.h"

namespace verbena::nic {

std::string_view to_string(Counter counter) {
  switch (counter) {
    case Counter::tx_packets:
      return "tx_packets";
    case Counter::tx_bytes:
      return "tx_bytes";
    case Counter::rx_packets:
      return "rx_packets";
    case Counter::rx_bytes:
      return "rx_bytes";
    case Counter::tx_retransmitted_packets:
      return "tx_retransmitted_packets";
    case Counter::rx_write_requests:
      return "rx_write_requests";
    case Counter::rx_read_requests:
      return "rx_read_requests";
    case Counter::rx_atomic_requests:
      return "rx_atomic_requests";
    case Counter::rx_send_requests:
      return "rx_send_requests";
    case Counter::tx_acknowledges:
      return "tx_acknowledges";
    case Counter::rx_acknowledges:
      return "rx_acknowledges";
    case Counter::out_of_sequence:
      return "out_of_sequence";
    case Counter::duplicate_request:
      return "duplicate_request";
    case Counter::packet_seq_err:
      return "packet_seq_err";
    case Counter::implied_nak_seq_err:
      return "implied_nak_seq_err";
    case Counter::rnr_nak_sent:
      return "rnr_nak_sent";
    case Counter::rnr_nak_received:
      return "rnr_nak_received";
    case Counter::local_ack_timeout_err:
      return "local_ack_timeout_err";
    case Counter::retry_exceeded_err:
      return "retry_exceeded_err";
    case Counter::rnr_retry_exceeded_err:
      return "rnr_retry_exceeded_err";
    case Counter::nak_sent_invalid_request:
      return "nak_sent_invalid_request";
    case Counter::nak_sent_access:
      return "nak_sent_access";
    case Counter::nak_sent_operation:
      return "nak_sent_operation";
    case Counter::nak_received_invalid_request:
      return "nak_received_invalid_request";
    case Counter::nak_received_access:
      return "nak_received_access";
    case Counter::nak_received_operation:
      return "nak_received_operation";
    case Counter::ud_dropped_no_receive:
      return "ud_dropped_no_receive";
    case Counter::uc_dropped_messages:
      return "uc_dropped_messages";
    case Counter::rx_dropped_malformed:
      return "rx_dropped_malformed";
    case Counter::rx_dropped_icrc:
      return "rx_dropped_icrc";
    case Counter::rx_dropped_no_qp:
      return "rx_dropped_no_qp";
    case Counter::rx_dropped_qp_state:
      return "rx_dropped_qp_state";
    case Counter::rx_dropped_wrong_source:
      return "rx_dropped_wrong_source";
    case Counter::rx_dropped_wrong_transport:
      return "rx_dropped_wrong_transport";
    case Counter::rx_dropped_pkey:
      return "rx_dropped_pkey";
    case Counter::rx_dropped_qkey:
      return "rx_dropped_qkey";
    case Counter::rx_dropped_wrong_destination:
      return "rx_dropped_wrong_destination";
    case Counter::rx_dropped_no_buffer:
      return "rx_dropped_no_buffer";
    case Counter::rx_dropped_no_rule:
      return "rx_dropped_no_rule";
    case Counter::np_ecn_marked_roce_packets:
      return "np_ecn_marked_roce_packets";
    case Counter::np_cnp_sent:
      return "np_cnp_sent";
    case Counter::rp_cnp_handled:
      return "rp_cnp_handled";
    case Counter::rp_cnp_ignored:
      return "rp_cnp_ignored";
    case Counter::link_downed:
      return "link_downed";
    case Counter::completions:
      return "completions";
    case Counter::async_events:
      return "async_events";
    case Counter::count_:
      break;
  }
  return "unknown";
}

}  // namespace verbena::nic
