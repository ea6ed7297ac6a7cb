// What the benchmark's own verbs programs share: a device with a PD and a CQ, and connected RC queue pairs.
//
// Solely responsible for the calls that every verbs program starts with. They are those of the installed libibverbs, so
// the programs run unmodified under `verbena exec`. An error ends the program with one line: nothing here recovers.
#pragma once

#include <infiniband/verbs.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace verbena::bench {

[[noreturn]] inline void die(const char* what) {
  std::fprintf(stderr, "%s: %s\n", what, std::strerror(errno));
  std::exit(1);
}

inline constexpr std::uint8_t kPort = 1;
inline constexpr int kGidIndex = 0;
inline constexpr std::uint32_t kFirstPsn = 0;

/// What a peer has to know of a queue pair, and of the memory that it may write.
struct Endpoint {
  ibv_gid gid;
  std::uint32_t qpn;
  std::uint32_t rkey;
  std::uint64_t address;
};

/// The first device, opened. Lives as long as the process: the end of a measurement is the end of its program.
struct Device {
  explicit Device(int cq_entries) {
    ibv_device** const devices = ibv_get_device_list(nullptr);
    if (devices == nullptr || devices[0] == nullptr) die("no RDMA device");
    context = ibv_open_device(devices[0]);
    ibv_free_device_list(devices);
    if (context == nullptr) die("ibv_open_device");
    if ((pd = ibv_alloc_pd(context)) == nullptr) die("ibv_alloc_pd");
    if ((cq = ibv_create_cq(context, cq_entries, nullptr, nullptr, 0)) == nullptr) die("ibv_create_cq");
    if (ibv_query_gid(context, kPort, kGidIndex, &gid) != 0) die("ibv_query_gid");
  }

  ibv_qp* create_qp(std::uint32_t send_wr, std::uint32_t recv_wr) const {
    ibv_qp_init_attr wanted{};
    wanted.send_cq = cq;
    wanted.recv_cq = cq;
    wanted.qp_type = IBV_QPT_RC;
    wanted.cap = {
        .max_send_wr = send_wr, .max_recv_wr = recv_wr, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
    ibv_qp* const qp = ibv_create_qp(pd, &wanted);
    if (qp == nullptr) die("ibv_create_qp");
    return qp;
  }

  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;
  ibv_cq* cq = nullptr;
  ibv_gid gid{};
};

inline void to_init(ibv_qp* qp) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = kPort;
  attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) != 0) die("INIT");
}

inline void to_rtr(ibv_qp* qp, const Endpoint& peer) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTR;
  attr.path_mtu = IBV_MTU_4096;
  attr.dest_qp_num = peer.qpn;
  attr.rq_psn = kFirstPsn;
  attr.max_dest_rd_atomic = 1;
  attr.min_rnr_timer = 12;
  attr.ah_attr.is_global = 1;
  attr.ah_attr.grh.dgid = peer.gid;
  attr.ah_attr.grh.sgid_index = kGidIndex;
  attr.ah_attr.grh.hop_limit = 64;
  attr.ah_attr.port_num = kPort;
  if (ibv_modify_qp(qp, &attr,
                    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                        IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) != 0)
    die("RTR");
}

inline void to_rts(ibv_qp* qp) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTS;
  attr.sq_psn = kFirstPsn;
  attr.timeout = 18;  // 1 s
  attr.retry_cnt = 7;
  attr.rnr_retry = 7;
  attr.max_rd_atomic = 1;
  if (ibv_modify_qp(qp, &attr,
                    IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                        IBV_QP_MAX_QP_RD_ATOMIC) != 0)
    die("RTS");
}

inline void connect(ibv_qp* qp, const Endpoint& peer) {
  to_init(qp);
  to_rtr(qp, peer);
  to_rts(qp);
}

}  // namespace verbena::bench
