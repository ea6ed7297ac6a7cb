// Asserts at compile time that the NIC's numeric values are those of the verbs ABI, so that the shim may cast. No code.
// Tested by: tests/shim/abi/abi_test.py
#include <infiniband/verbs.h>

#include <cstddef>

#include "emulator/nic/objects/attributes.h"
#include "emulator/nic/objects/completion.h"
#include "emulator/nic/objects/work_request.h"
#include "verbs-shim/verbs/objects.h"

namespace verbena::shim {
namespace {

template <class Ours, class Theirs>
consteval bool same(Ours ours, Theirs theirs) {
  return static_cast<std::uint64_t>(ours) == static_cast<std::uint64_t>(theirs);
}

static_assert(same(nic::kLocalWrite, IBV_ACCESS_LOCAL_WRITE) && same(nic::kRemoteWrite, IBV_ACCESS_REMOTE_WRITE) &&
              same(nic::kRemoteRead, IBV_ACCESS_REMOTE_READ) && same(nic::kRemoteAtomic, IBV_ACCESS_REMOTE_ATOMIC) &&
              same(nic::kMwBind, IBV_ACCESS_MW_BIND) && same(nic::kZeroBased, IBV_ACCESS_ZERO_BASED) &&
              same(nic::kOnDemand, IBV_ACCESS_ON_DEMAND) && same(nic::kHugeTlb, IBV_ACCESS_HUGETLB) &&
              same(nic::kRelaxedOrdering, IBV_ACCESS_RELAXED_ORDERING));

static_assert(same(nic::WindowType::type1, IBV_MW_TYPE_1) && same(nic::WindowType::type2, IBV_MW_TYPE_2));

static_assert(same(nic::QpType::rc, IBV_QPT_RC) && same(nic::QpType::uc, IBV_QPT_UC) &&
              same(nic::QpType::ud, IBV_QPT_UD) && same(nic::QpType::raw_packet, IBV_QPT_RAW_PACKET) &&
              same(nic::QpType::xrc_send, IBV_QPT_XRC_SEND) && same(nic::QpType::xrc_receive, IBV_QPT_XRC_RECV));

static_assert(same(nic::QpState::reset, IBV_QPS_RESET) && same(nic::QpState::init, IBV_QPS_INIT) &&
              same(nic::QpState::rtr, IBV_QPS_RTR) && same(nic::QpState::rts, IBV_QPS_RTS) &&
              same(nic::QpState::sqd, IBV_QPS_SQD) && same(nic::QpState::sqe, IBV_QPS_SQE) &&
              same(nic::QpState::error, IBV_QPS_ERR));
static_assert(same(nic::MigrationState::migrated, IBV_MIG_MIGRATED) &&
              same(nic::MigrationState::rearm, IBV_MIG_REARM) && same(nic::MigrationState::armed, IBV_MIG_ARMED));

static_assert(same(nic::kQpState, IBV_QP_STATE) && same(nic::kQpCurrentState, IBV_QP_CUR_STATE) &&
              same(nic::kQpEnableSqdAsync, IBV_QP_EN_SQD_ASYNC_NOTIFY) &&
              same(nic::kQpAccessFlags, IBV_QP_ACCESS_FLAGS) && same(nic::kQpPkeyIndex, IBV_QP_PKEY_INDEX) &&
              same(nic::kQpPort, IBV_QP_PORT) && same(nic::kQpQkey, IBV_QP_QKEY) && same(nic::kQpAv, IBV_QP_AV) &&
              same(nic::kQpPathMtu, IBV_QP_PATH_MTU) && same(nic::kQpTimeout, IBV_QP_TIMEOUT) &&
              same(nic::kQpRetryCount, IBV_QP_RETRY_CNT) && same(nic::kQpRnrRetry, IBV_QP_RNR_RETRY) &&
              same(nic::kQpRqPsn, IBV_QP_RQ_PSN) && same(nic::kQpMaxReadAtomic, IBV_QP_MAX_QP_RD_ATOMIC) &&
              same(nic::kQpAlternatePath, IBV_QP_ALT_PATH) && same(nic::kQpMinRnrTimer, IBV_QP_MIN_RNR_TIMER) &&
              same(nic::kQpSqPsn, IBV_QP_SQ_PSN) && same(nic::kQpMaxDestReadAtomic, IBV_QP_MAX_DEST_RD_ATOMIC) &&
              same(nic::kQpPathMigrationState, IBV_QP_PATH_MIG_STATE) && same(nic::kQpCapabilities, IBV_QP_CAP) &&
              same(nic::kQpDestQpn, IBV_QP_DEST_QPN) && same(nic::kQpRateLimit, IBV_QP_RATE_LIMIT));

static_assert(same(nic::SendOpcode::rdma_write, IBV_WR_RDMA_WRITE) &&
              same(nic::SendOpcode::rdma_write_with_immediate, IBV_WR_RDMA_WRITE_WITH_IMM) &&
              same(nic::SendOpcode::send, IBV_WR_SEND) &&
              same(nic::SendOpcode::send_with_immediate, IBV_WR_SEND_WITH_IMM) &&
              same(nic::SendOpcode::rdma_read, IBV_WR_RDMA_READ) &&
              same(nic::SendOpcode::compare_and_swap, IBV_WR_ATOMIC_CMP_AND_SWP) &&
              same(nic::SendOpcode::fetch_and_add, IBV_WR_ATOMIC_FETCH_AND_ADD) &&
              same(nic::SendOpcode::local_invalidate, IBV_WR_LOCAL_INV) &&
              same(nic::SendOpcode::bind_memory_window, IBV_WR_BIND_MW) &&
              same(nic::SendOpcode::send_with_invalidate, IBV_WR_SEND_WITH_INV) &&
              same(nic::SendOpcode::atomic_write, IBV_WR_ATOMIC_WRITE));

static_assert(same(nic::CompletionStatus::success, IBV_WC_SUCCESS) &&
              same(nic::CompletionStatus::local_length_error, IBV_WC_LOC_LEN_ERR) &&
              same(nic::CompletionStatus::local_qp_operation_error, IBV_WC_LOC_QP_OP_ERR) &&
              same(nic::CompletionStatus::local_eec_operation_error, IBV_WC_LOC_EEC_OP_ERR) &&
              same(nic::CompletionStatus::local_protection_error, IBV_WC_LOC_PROT_ERR) &&
              same(nic::CompletionStatus::flushed, IBV_WC_WR_FLUSH_ERR) &&
              same(nic::CompletionStatus::memory_window_bind_error, IBV_WC_MW_BIND_ERR) &&
              same(nic::CompletionStatus::bad_response, IBV_WC_BAD_RESP_ERR) &&
              same(nic::CompletionStatus::local_access_error, IBV_WC_LOC_ACCESS_ERR) &&
              same(nic::CompletionStatus::remote_invalid_request, IBV_WC_REM_INV_REQ_ERR) &&
              same(nic::CompletionStatus::remote_access_error, IBV_WC_REM_ACCESS_ERR) &&
              same(nic::CompletionStatus::remote_operation_error, IBV_WC_REM_OP_ERR) &&
              same(nic::CompletionStatus::retry_exceeded, IBV_WC_RETRY_EXC_ERR) &&
              same(nic::CompletionStatus::rnr_retry_exceeded, IBV_WC_RNR_RETRY_EXC_ERR) &&
              same(nic::CompletionStatus::remote_aborted, IBV_WC_REM_ABORT_ERR) &&
              same(nic::CompletionStatus::fatal_error, IBV_WC_FATAL_ERR) &&
              same(nic::CompletionStatus::response_timeout, IBV_WC_RESP_TIMEOUT_ERR) &&
              same(nic::CompletionStatus::general_error, IBV_WC_GENERAL_ERR));

static_assert(same(nic::CompletionOpcode::send, IBV_WC_SEND) &&
              same(nic::CompletionOpcode::rdma_write, IBV_WC_RDMA_WRITE) &&
              same(nic::CompletionOpcode::rdma_read, IBV_WC_RDMA_READ) &&
              same(nic::CompletionOpcode::compare_and_swap, IBV_WC_COMP_SWAP) &&
              same(nic::CompletionOpcode::fetch_and_add, IBV_WC_FETCH_ADD) &&
              same(nic::CompletionOpcode::bind_memory_window, IBV_WC_BIND_MW) &&
              same(nic::CompletionOpcode::local_invalidate, IBV_WC_LOCAL_INV) &&
              same(nic::CompletionOpcode::atomic_write, IBV_WC_ATOMIC_WRITE) &&
              same(nic::CompletionOpcode::receive, IBV_WC_RECV) &&
              same(nic::CompletionOpcode::receive_rdma_with_immediate, IBV_WC_RECV_RDMA_WITH_IMM));

static_assert(same(nic::AsyncEventType::cq_error, IBV_EVENT_CQ_ERR) &&
              same(nic::AsyncEventType::qp_fatal, IBV_EVENT_QP_FATAL) &&
              same(nic::AsyncEventType::qp_request_error, IBV_EVENT_QP_REQ_ERR) &&
              same(nic::AsyncEventType::qp_access_error, IBV_EVENT_QP_ACCESS_ERR) &&
              same(nic::AsyncEventType::communication_established, IBV_EVENT_COMM_EST) &&
              same(nic::AsyncEventType::sq_drained, IBV_EVENT_SQ_DRAINED) &&
              same(nic::AsyncEventType::path_migrated, IBV_EVENT_PATH_MIG) &&
              same(nic::AsyncEventType::path_migration_error, IBV_EVENT_PATH_MIG_ERR) &&
              same(nic::AsyncEventType::device_fatal, IBV_EVENT_DEVICE_FATAL) &&
              same(nic::AsyncEventType::port_active, IBV_EVENT_PORT_ACTIVE) &&
              same(nic::AsyncEventType::port_error, IBV_EVENT_PORT_ERR) &&
              same(nic::AsyncEventType::lid_change, IBV_EVENT_LID_CHANGE) &&
              same(nic::AsyncEventType::pkey_change, IBV_EVENT_PKEY_CHANGE) &&
              same(nic::AsyncEventType::sm_change, IBV_EVENT_SM_CHANGE) &&
              same(nic::AsyncEventType::srq_error, IBV_EVENT_SRQ_ERR) &&
              same(nic::AsyncEventType::srq_limit_reached, IBV_EVENT_SRQ_LIMIT_REACHED) &&
              same(nic::AsyncEventType::qp_last_wqe_reached, IBV_EVENT_QP_LAST_WQE_REACHED) &&
              same(nic::AsyncEventType::client_reregister, IBV_EVENT_CLIENT_REREGISTER) &&
              same(nic::AsyncEventType::gid_change, IBV_EVENT_GID_CHANGE));

static_assert(sizeof(nic::Sge) == sizeof(ibv_sge) && offsetof(nic::Sge, address) == offsetof(ibv_sge, addr) &&
              offsetof(nic::Sge, length) == offsetof(ibv_sge, length) &&
              offsetof(nic::Sge, lkey) == offsetof(ibv_sge, lkey));

// The shapes that applications and the providers' libraries count on.
static_assert(sizeof(ibv_device) == 664 && offsetof(VisibleDevice, provider_operations) == sizeof(ibv_device));
static_assert(offsetof(verbs_context, sz) + sizeof(std::size_t) == offsetof(verbs_context, context));
static_assert(offsetof(ibv_cq_ex, async_events_completed) == offsetof(ibv_cq, async_events_completed));
static_assert(offsetof(ibv_port_attr, port_cap_flags2) == 48);  // where the compatible layout ends

}  // namespace
}  // namespace verbena::shim
