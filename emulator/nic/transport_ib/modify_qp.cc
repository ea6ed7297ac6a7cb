// modify_qp: which attributes each transition wants and allows, their ranges, and what a transition does.
// IBTA vol 1, 10.3.1, 11.2.5.2 and table 91; the tables of the verbs man page ibv_modify_qp. Where they leave something
// open, as Linux has it for a RoCE port: qp_state_table and _ib_modify_qp in verbs.c, modify_qp in uverbs_cmd.c.
#include "emulator/nic/transport_ib/modify_qp.h"

#include <algorithm>
#include <bit>

#include "emulator/nic/state/nic_state.h"
#include "emulator/nic/transport_ib/completer.h"
#include "emulator/nic/transport_ib/pacing.h"
#include "wire/static_rate.h"

namespace verbena::nic {
namespace {

struct Transition {
  QpState from, to;
  QpType type;
  std::uint32_t required;
  std::uint32_t optional;
};

constexpr std::uint32_t kConnectedInit = kQpPkeyIndex | kQpPort | kQpAccessFlags;
constexpr std::uint32_t kDatagramInit = kQpPkeyIndex | kQpPort | kQpQkey;
constexpr std::uint32_t kRcRtr = kQpAv | kQpPathMtu | kQpDestQpn | kQpRqPsn | kQpMaxDestReadAtomic | kQpMinRnrTimer;
constexpr std::uint32_t kUcRtr = kQpAv | kQpPathMtu | kQpDestQpn | kQpRqPsn;
constexpr std::uint32_t kRcRts = kQpTimeout | kQpRetryCount | kQpRnrRetry | kQpSqPsn | kQpMaxReadAtomic;
constexpr std::uint32_t kRtrOptional = kQpAccessFlags | kQpPkeyIndex;  // no alternate path: there is none on RoCE
constexpr std::uint32_t kUcLive = kQpCurrentState | kQpAccessFlags | kQpPathMigrationState;
constexpr std::uint32_t kRcLive = kUcLive | kQpMinRnrTimer;
constexpr std::uint32_t kUdLive = kQpCurrentState | kQpQkey;
// Linux adds the port to a path that is named outside of INIT to RTR, and a UC QP cannot change its port: so it cannot
// change its path either.
constexpr std::uint32_t kUcDrained = kQpAccessFlags | kQpPkeyIndex | kQpPathMigrationState;
constexpr std::uint32_t kXrcSendDrained =
    kUcDrained | kQpAv | kQpPort | kQpTimeout | kQpRetryCount | kQpRnrRetry | kQpMaxReadAtomic;
constexpr std::uint32_t kXrcReceiveDrained =
    kUcDrained | kQpAv | kQpPort | kQpTimeout | kQpMaxDestReadAtomic | kQpMinRnrTimer;
constexpr std::uint32_t kRcDrained = kXrcSendDrained | kXrcReceiveDrained;

using enum QpState;
constexpr Transition kTransitions[] = {
    {reset, init, QpType::rc, kConnectedInit, 0},
    {reset, init, QpType::uc, kConnectedInit, 0},
    {reset, init, QpType::ud, kDatagramInit, 0},
    {reset, init, QpType::raw_packet, kQpPort, 0},
    {reset, init, QpType::xrc_send, kConnectedInit, 0},
    {reset, init, QpType::xrc_receive, kConnectedInit, 0},
    {init, init, QpType::rc, 0, kConnectedInit},
    {init, init, QpType::uc, 0, kConnectedInit},
    {init, init, QpType::ud, 0, kDatagramInit},
    {init, init, QpType::raw_packet, 0, kQpPort},
    {init, init, QpType::xrc_send, 0, kConnectedInit},
    {init, init, QpType::xrc_receive, 0, kConnectedInit},
    {init, rtr, QpType::rc, kRcRtr, kRtrOptional},
    {init, rtr, QpType::uc, kUcRtr, kRtrOptional},
    {init, rtr, QpType::ud, 0, kQpPkeyIndex | kQpQkey},
    {init, rtr, QpType::raw_packet, 0, 0},
    {init, rtr, QpType::xrc_send, kUcRtr, kRtrOptional},
    {init, rtr, QpType::xrc_receive, kRcRtr, kRtrOptional},
    {rtr, rts, QpType::rc, kRcRts, kRcLive | kQpRateLimit},
    {rtr, rts, QpType::uc, kQpSqPsn, kUcLive | kQpRateLimit},
    {rtr, rts, QpType::ud, kQpSqPsn, kUdLive | kQpRateLimit},
    {rtr, rts, QpType::raw_packet, 0, kQpRateLimit},
    {rtr, rts, QpType::xrc_send, kRcRts, kUcLive | kQpRateLimit},
    {rtr, rts, QpType::xrc_receive, kQpTimeout | kQpSqPsn, kRcLive},
    {rts, rts, QpType::rc, 0, kRcLive | kQpRateLimit},
    {rts, rts, QpType::uc, 0, kUcLive | kQpRateLimit},
    {rts, rts, QpType::ud, 0, kUdLive | kQpRateLimit},
    {rts, rts, QpType::raw_packet, 0, kQpRateLimit},
    {rts, rts, QpType::xrc_send, 0, kUcLive | kQpRateLimit},
    {rts, rts, QpType::xrc_receive, 0, kRcLive},
    {rts, sqd, QpType::rc, 0, kQpEnableSqdAsync},
    {rts, sqd, QpType::uc, 0, kQpEnableSqdAsync},
    {rts, sqd, QpType::ud, 0, kQpEnableSqdAsync},
    {rts, sqd, QpType::raw_packet, 0, 0},
    {rts, sqd, QpType::xrc_send, 0, kQpEnableSqdAsync},
    {rts, sqd, QpType::xrc_receive, 0, kQpEnableSqdAsync},
    {sqd, rts, QpType::rc, 0, kRcLive},
    {sqd, rts, QpType::uc, 0, kUcLive},
    {sqd, rts, QpType::ud, 0, kUdLive},
    {sqd, rts, QpType::raw_packet, 0, 0},
    {sqd, rts, QpType::xrc_send, 0, kUcLive},
    {sqd, rts, QpType::xrc_receive, 0, kRcLive},
    {sqd, sqd, QpType::rc, 0, kRcDrained},
    {sqd, sqd, QpType::uc, 0, kUcDrained},
    {sqd, sqd, QpType::ud, 0, kQpPkeyIndex | kQpQkey},
    {sqd, sqd, QpType::raw_packet, 0, 0},
    {sqd, sqd, QpType::xrc_send, 0, kXrcSendDrained},
    {sqd, sqd, QpType::xrc_receive, 0, kXrcReceiveDrained},
    {sqe, rts, QpType::uc, 0, kQpCurrentState | kQpAccessFlags},
    {sqe, rts, QpType::ud, 0, kUdLive},
    {sqe, rts, QpType::raw_packet, 0, 0},
};

/// What a QP of the type may be told and has no use for: programs connect both halves of an XRC connection alike.
std::uint32_t ignored_bits(QpType type) {
  if (type == QpType::xrc_send) return kQpMaxDestReadAtomic | kQpMinRnrTimer;
  if (type == QpType::xrc_receive) return kQpMaxReadAtomic | kQpRetryCount | kQpRnrRetry;
  return 0;
}

bool mask_fits(QpType type, QpState from, QpState to, std::uint32_t mask) {
  mask &= ~static_cast<std::uint32_t>(kQpState);
  if (to == reset || (to == error && from != reset)) return mask == 0;
  for (const Transition& row : kTransitions)
    if (row.from == from && row.to == to && row.type == type)
      return (mask & row.required) == row.required && (mask & ~(row.required | row.optional)) == 0;
  return false;
}

/// A path leaves by the QP's port. Of a drained QP the path may change the port, as Linux has it.
bool port_fits(const QpAttributes& kept, const QpAttributes& wanted, QpState from, std::uint32_t mask) {
  if ((mask & kQpAv) == 0) return (mask & kQpPort) == 0 || from != sqd || wanted.port == kept.port;
  if ((mask & kQpPort) != 0) return wanted.address_vector.port == wanted.port;
  return from == sqd || wanted.address_vector.port == kept.port;
}

bool values_fit(const NicState& nic, const Qp& qp, const QpAttributes& wanted, std::uint32_t mask) {
  const auto named = [&](std::uint32_t bit) { return (mask & bit) != 0; };
  if (!port_fits(qp.attributes, wanted, qp.state, mask)) return false;
  if (named(kQpPort) && !nic.config.has_port(wanted.port)) return false;
  if (named(kQpPkeyIndex) && wanted.pkey_index >= nic.config.limits.pkeys) return false;
  if (named(kQpPathMtu) && (!std::has_single_bit(wanted.path_mtu_bytes) || wanted.path_mtu_bytes < 256 ||
                            wanted.path_mtu_bytes > nic.config.port_mtu_bytes))
    return false;
  if (named(kQpAv) && !has_source(nic.config, wanted.address_vector)) return false;
  if (named(kQpAv) && !wire::is_static_rate(wanted.address_vector.static_rate)) return false;
  if (named(kQpTimeout) && wanted.timeout > 31) return false;
  if (named(kQpRetryCount) && wanted.retry_count > 7) return false;
  if (named(kQpRnrRetry) && wanted.rnr_retry > 7) return false;
  if (named(kQpMinRnrTimer) && wanted.min_rnr_timer > 31) return false;
  if (named(kQpMaxReadAtomic) && wanted.max_read_atomic > nic.config.limits.max_read_atomic) return false;
  if (named(kQpMaxDestReadAtomic) && wanted.max_dest_read_atomic > nic.config.limits.max_read_atomic) return false;
  // Any access flags will do: programs give a QP those of their regions, and those for peers are what counts.
  const NicLimits& limits = nic.config.limits;
  return !named(kQpRateLimit) || wanted.rate_limit_kbps == 0 ||
         (wanted.rate_limit_kbps >= limits.min_rate_kbps && wanted.rate_limit_kbps <= limits.max_rate_kbps);
}

void store(QpAttributes& kept, const QpAttributes& wanted, std::uint32_t mask) {
  const auto take = [&](std::uint32_t bit, auto QpAttributes::* member) {
    if ((mask & bit) != 0) kept.*member = wanted.*member;
  };
  take(kQpAccessFlags, &QpAttributes::access);
  take(kQpPkeyIndex, &QpAttributes::pkey_index);
  take(kQpPort, &QpAttributes::port);
  take(kQpQkey, &QpAttributes::qkey);
  take(kQpAv, &QpAttributes::address_vector);
  if ((mask & kQpAv) != 0) kept.port = wanted.address_vector.port;
  take(kQpPathMtu, &QpAttributes::path_mtu_bytes);
  take(kQpTimeout, &QpAttributes::timeout);
  take(kQpRetryCount, &QpAttributes::retry_count);
  take(kQpRnrRetry, &QpAttributes::rnr_retry);
  take(kQpRqPsn, &QpAttributes::rq_psn);
  take(kQpSqPsn, &QpAttributes::sq_psn);
  take(kQpMaxReadAtomic, &QpAttributes::max_read_atomic);
  take(kQpMaxDestReadAtomic, &QpAttributes::max_dest_read_atomic);
  take(kQpMinRnrTimer, &QpAttributes::min_rnr_timer);
  take(kQpDestQpn, &QpAttributes::dest_qpn);
  take(kQpPathMigrationState, &QpAttributes::path_migration);
  take(kQpRateLimit, &QpAttributes::rate_limit_kbps);
}

/// Of the QP's transport, and where its largest packet is a frame with it as well.
void start_telemetry(const NicState& nic, Qp& qp) {
  const std::size_t most = wire::frame_bytes(
      qp.frame_template, wire::make_opcode(wire::Transport::rc, wire::OperationCode::write_only_with_immediate), qp.mtu,
      wire::kTelemetryBytes);
  const bool fits = qp.service->transport == wire::Transport::rc && most <= wire::kFrameBytesMax;
  if (!nic.config.congestion.wants().telemetry || !fits) return;
  qp.telemetry = wire::kTakesTelemetry;
  qp.responder.telemetry = std::make_unique<wire::Telemetry>();
}

void reset_qp(NicState& nic, Qp& qp) {
  nic.unschedule(qp);
  nic.timers.remove(qp.timer_entry);
  nic.purge_completions(qp);
  qp.send_queue.clear();
  qp.receive_queue.clear();
  qp.requester = {};
  qp.responder = {};
  qp.pace = {};
  qp.recovery.reset();
  qp.telemetry = 0;
  qp.timers.stop_all();
  if (qp.service->names_srq) {
    qp.srq = nullptr;
    qp.recv_cq = nullptr;
  }
  const QpCapabilities capabilities = qp.attributes.capabilities;
  qp.attributes = {};
  qp.attributes.capabilities = capabilities;
  nic.settle_at_port(qp);
}

/// Source port per flow, so that a fabric may spread flows over paths (annex A17.3.2: 0xc000 - 0xffff).
std::uint16_t flow_port(const Qp& qp) {
  const std::uint32_t label = qp.attributes.address_vector.flow_label;
  const std::uint32_t mixed =
      label != 0 ? (label & 0x3fff) ^ (label >> 14) : (qp.qpn.value() * 31 + qp.attributes.dest_qpn.value());
  return static_cast<std::uint16_t>(0xc000 | (mixed & 0x3fff));
}

void take_path(NicState& nic, Qp& qp) {
  wire::FramePath path = nic.frame_path(qp.attributes.address_vector, flow_port(qp));
  // No switch reads, or marks, what is hidden from it.
  if (nic.config.congestion.wants().marks && !path.encapsulation->is_hidden) path.traffic_class |= wire::kEcnCapable;
  qp.frame_template = wire::FrameTemplate(path);
  qp.route_hint = 0;
}

/// Of raw packets nothing is known but the port: their headers are the application's.
void take_port(NicState& nic, Qp& qp) {
  AddressVector nowhere;
  nowhere.port = qp.attributes.port;
  nowhere.destination = nic.config.gids_of(nowhere.port).front().gid;
  qp.frame_template = wire::FrameTemplate(nic.frame_path(nowhere, 0));
  qp.route_hint = 0;
}

void start_responder(NicState& nic, Qp& qp) {
  qp.responder.expected_psn = qp.attributes.rq_psn;
  if (!qp.service->is_connected) {
    qp.mtu = nic.config.port_mtu_bytes;
    if (qp.service->transport == kNoTransport) take_port(nic, qp);
    return;
  }
  qp.mtu = qp.attributes.path_mtu_bytes;
  take_path(nic, qp);
  start_congestion_control(nic, qp);
  qp.recovery = nic.loss_recovery.make(nic.config, qp);
  if (!qp.service->is_reliable) return;
  start_telemetry(nic, qp);
  if (nic.config.congestion.wants().mark_echo) qp.responder.echo = std::make_unique<MarkEcho>();
  qp.responder.jobs.reserve(qp.attributes.max_dest_read_atomic + kDuplicateJobs);
  qp.responder.atomics.resize(std::max<std::size_t>(qp.attributes.max_dest_read_atomic, 1));
}

void take_requester_limits(Qp& qp) {
  Requester& requester = qp.requester;
  constexpr std::int64_t kTimeoutUnitNs = 4096;  // 4.096 us x 2^timeout (9.7.6.1.3)
  requester.ack_timeout = qp.attributes.timeout == 0 ? Duration{} : Duration{kTimeoutUnitNs << qp.attributes.timeout};
  requester.retries_left = qp.attributes.retry_count;
  requester.rnr_retries_left = qp.attributes.rnr_retry;
}

void start_requester(const NicState& nic, Qp& qp) {
  constexpr std::uint32_t kWindowPacketsMax = 512;
  constexpr std::uint32_t kAckRequestEvery = 64;
  Requester& requester = qp.requester;
  const std::uint32_t window = std::clamp(nic.config.window_bytes / qp.mtu, 2u, kWindowPacketsMax);
  requester.window_packets = static_cast<std::int32_t>(window);
  const std::uint32_t every = nic.config.acknowledge_every;
  requester.ack_request_every = std::min(window / 2, every != 0 ? every : kAckRequestEvery);
  requester.una_psn = requester.next_psn = requester.sent_psn = requester.post_psn = qp.attributes.sq_psn;
  take_requester_limits(qp);
  if (qp.recovery != nullptr) qp.recovery->start_requester(nic, qp);
  start_window(qp);
}

void enter(NicState& nic, Qp& qp, QpState from, QpState to, std::uint32_t mask, Time now) {
  qp.enter(to);
  if (to == rtr) start_responder(nic, qp);
  if (to == rts) {
    if (from == rtr) start_requester(nic, qp);
    nic.ready.push_back(qp);
  }
  if (to == sqd) {
    if (from == sqd) {
      take_requester_limits(qp);
      if ((mask & kQpTimeout) != 0) restart_ack_timer(nic, qp, now);
      if ((mask & kQpAv) != 0) take_path(nic, qp);
      if ((mask & kQpMaxDestReadAtomic) != 0) {
        qp.responder.jobs.reserve(qp.attributes.max_dest_read_atomic + kDuplicateJobs);
        qp.responder.atomics.resize(std::max<std::size_t>(qp.attributes.max_dest_read_atomic, 1));
      }
    } else {
      qp.sq_draining = true;
      retire(nic, qp);
    }
  }
}

}  // namespace

VerbsResult<void> modify_qp(NicState& nic, Qp& qp, const QpAttributes& attributes, std::uint32_t mask, Time now) {
  nic.now = now;
  if (nic.is_removed) return Failure{VerbsError::no_device};
  mask &= ~ignored_bits(qp.service->type);
  if ((mask & kQpCurrentState) != 0 && attributes.current_state != qp.state && qp.state != sqe)
    return Failure{VerbsError::invalid_argument};
  if (qp.spread != nullptr) return Failure{VerbsError::not_supported};  // has no states: its work queues do
  const QpState from = qp.state;
  const QpState to = (mask & kQpState) != 0 ? attributes.state : from;
  if (!mask_fits(qp.service->type, from, to, mask) || !values_fit(nic, qp, attributes, mask))
    return Failure{VerbsError::invalid_argument};
  if (to == reset) {
    reset_qp(nic, qp);
    qp.enter(reset);
    return {};
  }
  if (to == error) {
    nic.enter_error(qp);
    return {};
  }
  if (to == sqd) qp.sq_drained_notify = (mask & kQpEnableSqdAsync) != 0 && attributes.enable_sqd_async_notify;
  store(qp.attributes, attributes, mask);
  nic.settle_at_port(qp);
  if ((mask & kQpAv) != 0) set_static_rate(nic, qp, nic.config.static_rate_of(attributes.address_vector));
  if ((mask & kQpRateLimit) != 0) set_pace(qp, {.kbps = attributes.rate_limit_kbps});
  enter(nic, qp, from, to, mask, now);
  return {};
}

}  // namespace verbena::nic
