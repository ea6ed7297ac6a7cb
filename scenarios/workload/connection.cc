#include "scenarios/workload/connection.h"

#include <algorithm>

#include "emulator/fabric/chance.h"
#include "emulator/fabric/nic_words.h"

namespace verbena::scenarios {
namespace {

constexpr std::uint32_t kQkey = 0x11111111;
constexpr std::uint32_t kAccess = nic::kLocalWrite | nic::kRemoteWrite | nic::kRemoteRead | nic::kRemoteAtomic;
constexpr std::uint64_t kAddressBase = std::uint64_t{1} << 44;  // of all connections; the same in every run
constexpr unsigned kAddressBits = 36;                           // of one end

constexpr std::int64_t kTimeoutUnitNs = 4096;  // IBTA 9.7.6.1.3: 4.096 us x 2^code

nic::QpType type_of(Transport transport) {
  switch (transport) {
    case Transport::rc:
      return nic::QpType::rc;
    case Transport::uc:
      return nic::QpType::uc;
    case Transport::ud:
      return nic::QpType::ud;
  }
  return nic::QpType::rc;
}

/// What QPs of workloads have where nothing is said.
constexpr nic::QpAttributes kQpDefaults{.min_rnr_timer = 12, .timeout = 14, .retry_count = 7, .rnr_retry = 7};

nic::QpAttributes with_settings(const NicSettings& settings) {
  nic::QpAttributes attributes = kQpDefaults;
  fabric::apply(settings, attributes);
  return attributes;
}

}  // namespace

Connection::Connection(sim::World& world, const ConnectionPlan& plan, Side initiator, Side target, bool payload)
    : world_(world), plan_(plan), initiator_{.side = initiator}, target_{.side = target}, payload_(payload) {
  initiator_.octets = plan.initiator_octets;
  target_.octets = plan.target_octets;
  initiator_.iova = kAddressBase + ((plan.index * 2) << kAddressBits);
  target_.iova = kAddressBase + ((plan.index * 2 + 1) << kAddressBits);
  initiator_.id = initiator.agent.add(initiator.owner, plan.queue_depth, 0);
  target_.id = target.agent.add(target.owner, 0, plan.receive_depth);
}

std::span<std::byte> Connection::memory_of(End& end) {
  if (!end.memory) return {};
  return std::as_writable_bytes(std::span(end.memory.get(), (end.octets + 7) / 8)).first(end.octets);
}

bool Connection::both_alive() const {
  return alive(initiator_) && alive(target_);
}

void Connection::unmake(End& end) {
  if (alive(end)) {
    nic::Nic& nic = end.side.agent.nic();
    (void)end.side.agent.verbs().destroy_qp(end.qp);
    if (&end == &initiator_ && address_handle_.valid()) (void)nic.destroy_ah(address_handle_);
    end.side.agent.deregister_memory(end.region);
  }
  if (&end == &initiator_) address_handle_ = {};
  end.made = false;
}

bool Connection::make(End& end) {
  HostAgent& agent = end.side.agent;
  if (!agent.is_running() || !agent.make_ready()) return false;
  const std::uint64_t octets = std::max<std::uint64_t>(end.octets, 8);
  if (payload_) end.memory = std::make_unique<std::uint64_t[]>((octets + 7) / 8);
  const auto place = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(end.memory.get()));
  const auto region = agent.register_memory({.pd = agent.pd(),
                                             .address = payload_ ? place : end.iova,
                                             .length = octets,
                                             .iova = end.iova,
                                             .access = kAccess});
  if (!region) return false;
  const bool sends = &end == &initiator_;
  const nic::QpInit init{.pd = agent.pd(),
                         .type = type_of(plan_.transport),
                         .send_cq = agent.send_cq(),
                         .recv_cq = agent.receive_cq(),
                         .capabilities = {.max_send_wr = sends ? plan_.queue_depth : 1,
                                          .max_recv_wr = sends ? 1 : std::max(plan_.receive_depth, 1u),
                                          .max_send_sge = 1,
                                          .max_recv_sge = 1},
                         .signal_all = true};
  const auto qp = agent.verbs().create_qp(init);
  if (!qp) {
    agent.deregister_memory(*region);
    return false;
  }
  end.region = *region;
  end.qp = *qp;
  end.qpn = agent.nic().qpn(*qp);
  end.life = agent.life();
  end.made = true;
  return true;
}

nic::AddressVector Connection::path(const End& from, const End& to) const {
  nic::AddressVector path;
  const wire::Medium medium = world_.network().topology().medium;
  path.destination = sim::host_address(to.side.agent.host(), medium);
  path.next_hop = sim::host_path(to.side.agent.host(), medium, plan_.service_level);
  const wire::WireKind& own = fabric::wire_of(from.side.settings);
  path.source_gid_index = fabric::gid_index_of(
      own, plan_.version.value_or(fabric::version_between(own, fabric::wire_of(to.side.settings))));
  if (from.side.settings.cnp_interval.ns != 0) path.traffic_class = wire::kEcnCapable;
  path.traffic_class |= static_cast<std::uint8_t>(plan_.dscp << 2);
  return path;
}

bool Connection::connect(End& end, const End& peer, wire::Psn receive_psn, wire::Psn send_psn, Time now) {
  HostAgent& agent = end.side.agent;
  const NicSettings& own = end.side.settings;
  const NicSettings& other = peer.side.settings;
  const bool ud = plan_.transport == Transport::ud;
  const bool rc = plan_.transport == Transport::rc;
  nic::QpAttributes attributes = with_settings(own);
  attributes.state = nic::QpState::init;
  attributes.access = kAccess;
  attributes.qkey = kQkey;
  std::uint32_t mask = nic::kQpState | nic::kQpPkeyIndex | nic::kQpPort | (ud ? nic::kQpQkey : nic::kQpAccessFlags);
  if (!agent.verbs().modify_qp(end.qp, attributes, mask, now)) return false;

  attributes.state = nic::QpState::rtr;
  attributes.address_vector = path(end, peer);
  attributes.path_mtu_bytes = std::min(own.mtu(), other.mtu());
  attributes.dest_qpn = peer.qpn;
  attributes.rq_psn = receive_psn;
  attributes.max_dest_read_atomic = own.read_limit();
  mask = nic::kQpState;
  if (!ud) mask |= nic::kQpAv | nic::kQpPathMtu | nic::kQpDestQpn | nic::kQpRqPsn;
  if (rc) mask |= nic::kQpMaxDestReadAtomic | nic::kQpMinRnrTimer;
  if (!agent.verbs().modify_qp(end.qp, attributes, mask, now)) return false;

  attributes.state = nic::QpState::rts;
  attributes.sq_psn = send_psn;
  attributes.max_read_atomic = std::min(own.read_limit(), other.read_limit());
  mask = nic::kQpState | nic::kQpSqPsn;
  if (rc) mask |= nic::kQpTimeout | nic::kQpRetryCount | nic::kQpRnrRetry | nic::kQpMaxReadAtomic;
  return agent.verbs().modify_qp(end.qp, attributes, mask, now).ok();
}

bool Connection::set_up(Time now) {
  unmake(initiator_);
  unmake(target_);
  up_ = false;
  ++incarnation_;
  if (!make(target_) || !make(initiator_)) {
    unmake(target_);
    return false;
  }
  const std::uint64_t draw = fabric::mix_all({plan_.seed, plan_.index, incarnation_});
  const wire::Psn forward(static_cast<std::uint32_t>(draw & wire::Psn::kMask));
  const wire::Psn backward(static_cast<std::uint32_t>(draw >> 32 & wire::Psn::kMask));
  up_ = connect(target_, initiator_, forward, backward, now) && connect(initiator_, target_, backward, forward, now);
  if (up_ && plan_.transport == Transport::ud) {
    const auto handle = initiator_.side.agent.verbs().create_ah(initiator_.side.agent.pd(), path(initiator_, target_));
    up_ = handle.ok();
    if (handle) address_handle_ = *handle;
  }
  if (up_ && plan_.transport != Transport::ud) announce(forward, backward);
  world_.touch(initiator_.side.agent.host());
  world_.touch(target_.side.agent.host());
  return up_;
}

void Connection::announce(wire::Psn forward, wire::Psn backward) {
  SetUpListener* listener = initiator_.side.agent.listener();
  if (listener == nullptr) return;
  const auto of = [](const End& end, wire::Psn psn) {
    const std::uint8_t code = with_settings(end.side.settings).timeout;
    return ConnectedEnd{end.side.agent.host(), end.qpn, psn, Duration{code == 0 ? 0 : kTimeoutUnitNs << code}};
  };
  listener->connected(of(initiator_, forward), of(target_, backward),
                      std::min(initiator_.side.settings.mtu(), target_.side.settings.mtu()));
}

nic::VerbsResult<void> Connection::post(nic::SendRequest request, Place local, std::uint64_t remote_offset, Time now) {
  request.operand.remote.address = target_.iova + remote_offset;
  request.operand.remote.rkey = target_.region.rkey;
  return post_to(request, local, now);
}

nic::VerbsResult<void> Connection::post_to(nic::SendRequest request, Place local, Time now) {
  const nic::Sge sge{initiator_.iova + local.offset, local.octets, initiator_.region.lkey};
  request.sges = {&sge, 1};
  request.wr_id = work_request_id(initiator_.id, request.wr_id);
  if (plan_.transport == Transport::ud) {
    request.address_handle = address_handle_;
    request.remote_qpn = target_.qpn;
    request.remote_qkey = kQkey;
  }
  return initiator_.side.agent.verbs().post_send(initiator_.qp, request, now);
}

bool Connection::post_receive(std::uint64_t number, Place place) {
  if (!alive(target_)) return false;
  const nic::Sge sge{target_.iova + place.offset, place.octets, target_.region.lkey};
  return target_.side.agent.verbs()
      .post_receive(target_.qp, {.wr_id = work_request_id(target_.id, number), .sges = {&sge, 1}})
      .ok();
}

PairOutcome Connection::pair() const {
  return {.from = initiator_.side.agent.host(),
          .to = target_.side.agent.host(),
          .from_qpn = initiator_.qpn.value(),
          .to_qpn = target_.qpn.value()};
}

std::optional<nic::QpState> Connection::state(bool target_side) const {
  const End& end = target_side ? target_ : initiator_;
  if (!alive(end)) return std::nullopt;
  const auto attributes = end.side.agent.nic().query_qp(end.qp);
  return attributes ? std::optional(attributes->state) : std::nullopt;
}

}  // namespace verbena::scenarios
