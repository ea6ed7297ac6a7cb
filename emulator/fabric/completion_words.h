// CompletionWords: how completion statuses and asynchronous events are written, by rules of faults and in reports: as
// enum ibv_wc_status and enum ibv_event_type have them, without "IBV_WC_" and "IBV_EVENT_".
//
// Solely the names.
// Tested by: tests/fabric/verb_rule_test.cc
#pragma once

#include <array>
#include <string_view>

#include "emulator/fabric/quantity.h"
#include "emulator/nic/objects/completion.h"

namespace verbena::fabric {

inline constexpr std::array kCompletionStatuses{
    Named<nic::CompletionStatus>{"SUCCESS", nic::CompletionStatus::success},
    Named<nic::CompletionStatus>{"LOC_LEN_ERR", nic::CompletionStatus::local_length_error},
    Named<nic::CompletionStatus>{"LOC_QP_OP_ERR", nic::CompletionStatus::local_qp_operation_error},
    Named<nic::CompletionStatus>{"LOC_EEC_OP_ERR", nic::CompletionStatus::local_eec_operation_error},
    Named<nic::CompletionStatus>{"LOC_PROT_ERR", nic::CompletionStatus::local_protection_error},
    Named<nic::CompletionStatus>{"WR_FLUSH_ERR", nic::CompletionStatus::flushed},
    Named<nic::CompletionStatus>{"MW_BIND_ERR", nic::CompletionStatus::memory_window_bind_error},
    Named<nic::CompletionStatus>{"BAD_RESP_ERR", nic::CompletionStatus::bad_response},
    Named<nic::CompletionStatus>{"LOC_ACCESS_ERR", nic::CompletionStatus::local_access_error},
    Named<nic::CompletionStatus>{"REM_INV_REQ_ERR", nic::CompletionStatus::remote_invalid_request},
    Named<nic::CompletionStatus>{"REM_ACCESS_ERR", nic::CompletionStatus::remote_access_error},
    Named<nic::CompletionStatus>{"REM_OP_ERR", nic::CompletionStatus::remote_operation_error},
    Named<nic::CompletionStatus>{"RETRY_EXC_ERR", nic::CompletionStatus::retry_exceeded},
    Named<nic::CompletionStatus>{"RNR_RETRY_EXC_ERR", nic::CompletionStatus::rnr_retry_exceeded},
    Named<nic::CompletionStatus>{"LOC_RDD_VIOL_ERR", nic::CompletionStatus::local_rdd_violation},
    Named<nic::CompletionStatus>{"REM_INV_RD_REQ_ERR", nic::CompletionStatus::remote_invalid_rd_request},
    Named<nic::CompletionStatus>{"REM_ABORT_ERR", nic::CompletionStatus::remote_aborted},
    Named<nic::CompletionStatus>{"INV_EECN_ERR", nic::CompletionStatus::invalid_eecn},
    Named<nic::CompletionStatus>{"INV_EEC_STATE_ERR", nic::CompletionStatus::invalid_eec_state},
    Named<nic::CompletionStatus>{"FATAL_ERR", nic::CompletionStatus::fatal_error},
    Named<nic::CompletionStatus>{"RESP_TIMEOUT_ERR", nic::CompletionStatus::response_timeout},
    Named<nic::CompletionStatus>{"GENERAL_ERR", nic::CompletionStatus::general_error},
    Named<nic::CompletionStatus>{"TM_ERR", nic::CompletionStatus::tag_matching_error},
    Named<nic::CompletionStatus>{"TM_RNDV_INCOMPLETE", nic::CompletionStatus::tag_matching_rendezvous_incomplete}};
inline constexpr std::array kAsyncEvents{
    Named<nic::AsyncEventType>{"CQ_ERR", nic::AsyncEventType::cq_error},
    Named<nic::AsyncEventType>{"QP_FATAL", nic::AsyncEventType::qp_fatal},
    Named<nic::AsyncEventType>{"QP_REQ_ERR", nic::AsyncEventType::qp_request_error},
    Named<nic::AsyncEventType>{"QP_ACCESS_ERR", nic::AsyncEventType::qp_access_error},
    Named<nic::AsyncEventType>{"COMM_EST", nic::AsyncEventType::communication_established},
    Named<nic::AsyncEventType>{"SQ_DRAINED", nic::AsyncEventType::sq_drained},
    Named<nic::AsyncEventType>{"PATH_MIG", nic::AsyncEventType::path_migrated},
    Named<nic::AsyncEventType>{"PATH_MIG_ERR", nic::AsyncEventType::path_migration_error},
    Named<nic::AsyncEventType>{"DEVICE_FATAL", nic::AsyncEventType::device_fatal},
    Named<nic::AsyncEventType>{"PORT_ACTIVE", nic::AsyncEventType::port_active},
    Named<nic::AsyncEventType>{"PORT_ERR", nic::AsyncEventType::port_error},
    Named<nic::AsyncEventType>{"LID_CHANGE", nic::AsyncEventType::lid_change},
    Named<nic::AsyncEventType>{"PKEY_CHANGE", nic::AsyncEventType::pkey_change},
    Named<nic::AsyncEventType>{"SM_CHANGE", nic::AsyncEventType::sm_change},
    Named<nic::AsyncEventType>{"SRQ_ERR", nic::AsyncEventType::srq_error},
    Named<nic::AsyncEventType>{"SRQ_LIMIT_REACHED", nic::AsyncEventType::srq_limit_reached},
    Named<nic::AsyncEventType>{"QP_LAST_WQE_REACHED", nic::AsyncEventType::qp_last_wqe_reached},
    Named<nic::AsyncEventType>{"CLIENT_REREGISTER", nic::AsyncEventType::client_reregister},
    Named<nic::AsyncEventType>{"GID_CHANGE", nic::AsyncEventType::gid_change}};

/// `otherwise`: it is none of these.
template <class Table, class T>
constexpr std::string_view name_in(const Table& table, T value, std::string_view otherwise) {
  for (const auto& entry : table)
    if (entry.value == value) return entry.name;
  return otherwise;
}

}  // namespace verbena::fabric
