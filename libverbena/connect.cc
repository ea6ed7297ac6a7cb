// World::connect: queue pairs brought to life towards each other, or towards one that the test plays. And that one.
// Tested by: tests/libverbena/world_test.cc
#include "emulator/fabric/chance.h"
#include "emulator/fabric/nic_words.h"
#include "libverbena/state.h"

namespace libverbena {
namespace {

constexpr std::uint32_t kFirstPeerQpn = 0x77;

nic::VerbsResult<void> bring_up(WorldState& state, End& end, const ConnectOptions& options) {
  nic::Nic& nic = state.nic_of(end.host);
  const End& other = state.ends[*end.other];
  const verbena::Time now = state.world.now();
  const bool is_rc = end.type == QpType::rc;
  const bool is_ud = end.type == QpType::ud;
  nic::QpAttributes attributes;
  attributes.state = nic::QpState::init;
  attributes.access = kAnyAccess;
  attributes.qkey = kDatagramQkey;
  std::uint32_t mask = nic::kQpState | nic::kQpPkeyIndex | nic::kQpPort | (is_ud ? nic::kQpQkey : nic::kQpAccessFlags);
  if (const auto done = nic.modify_qp(end.handle, attributes, mask, now); !done) return done;

  attributes.state = nic::QpState::rtr;
  attributes.address_vector.destination = sim::host_address(other.host);
  attributes.address_vector.next_hop = sim::host_mac(other.host);
  const verbena::wire::WireKind& own = fabric::wire_of(state.settings[end.host]);
  const auto version = fabric::version_between(own, fabric::wire_of(state.settings[other.host]));
  attributes.address_vector.source_gid_index = fabric::gid_index_of(own, version);
  attributes.address_vector.traffic_class = options.traffic_class;
  attributes.path_mtu_bytes = options.path_mtu;
  attributes.dest_qpn = other.qpn;
  attributes.rq_psn = other.first_psn;
  attributes.max_dest_read_atomic = options.max_read_atomic;
  attributes.min_rnr_timer = options.min_rnr_timer;
  fabric::apply(state.settings[end.host], attributes);
  mask = nic::kQpState;
  if (!is_ud) mask |= nic::kQpAv | nic::kQpPathMtu | nic::kQpDestQpn | nic::kQpRqPsn;
  if (is_rc) mask |= nic::kQpMaxDestReadAtomic | nic::kQpMinRnrTimer;
  if (const auto done = nic.modify_qp(end.handle, attributes, mask, now); !done) return done;

  attributes.state = nic::QpState::rts;
  attributes.sq_psn = end.first_psn;
  attributes.timeout = options.timeout;
  attributes.retry_count = options.retry_count;
  attributes.rnr_retry = options.rnr_retry;
  fabric::apply(state.settings[end.host], attributes);
  attributes.max_read_atomic = options.max_read_atomic;
  mask = nic::kQpState | nic::kQpSqPsn;
  if (is_rc) mask |= nic::kQpTimeout | nic::kQpRetryCount | nic::kQpRnrRetry | nic::kQpMaxReadAtomic;
  if (const auto done = nic.modify_qp(end.handle, attributes, mask, now); !done) return done;
  if (!is_ud) return {};
  const auto address_handle = nic.create_ah(state.own[end.host].pd, attributes.address_vector);
  if (!address_handle) return verbena::Failure{address_handle.error()};
  end.address_handle = *address_handle;
  return {};
}

void tell_checkers(WorldState& state, const End& a, const End& b, const ConnectOptions& options) {
  if (!state.checkers) return;
  const auto end = [&](const End& of) {
    nic::QpAttributes attributes;
    attributes.timeout = options.timeout;
    fabric::apply(state.settings[of.host], attributes);
    const verbena::Duration timeout{attributes.timeout == 0 ? 0 : std::int64_t{4096} << attributes.timeout};
    return verbena::checkers::CheckedEnd{.address = sim::host_address(of.host),
                                         .qpn = of.qpn,
                                         .first_psn = of.first_psn,
                                         .ack_timeout = timeout,
                                         .rto_low = state.settings[of.host].loss_recovery.rto_low};
  };
  state.checkers->connect({.ends = {end(a), end(b)}, .path_mtu_bytes = options.path_mtu});
}

Result<void> join(WorldState& state, std::size_t a, std::size_t b, const ConnectOptions& options) {
  End& one = state.ends[a];
  End& two = state.ends[b];
  if (a == b || one.host == two.host) return invalid("connect: both ends are on the same NIC");
  if (one.other || two.other) return invalid("connect: an end is connected already");
  if (one.type != two.type) return invalid("connect: the ends are of different types");
  if (options.psn.value_or(0) > wire::Psn::kMask) return invalid("connect: a PSN has 24 bits");
  const std::uint64_t draw = fabric::mix_all({state.seed, a, b});
  one.first_psn = wire::Psn(options.psn.value_or(static_cast<std::uint32_t>(draw)));
  two.first_psn = wire::Psn(options.psn.value_or(static_cast<std::uint32_t>(draw >> 32)));
  one.other = b;
  two.other = a;
  for (End* end : {&one, &two}) {
    if (end->is_peer) continue;
    state.world.touch(end->host);  // it looks at a QP that may send, and finds nothing yet
    if (const auto done = bring_up(state, *end, options); !done) {
      one.other = two.other = std::nullopt;
      return to_error(done.error(), "connect: modify_qp");
    }
  }
  if (one.type != QpType::ud) tell_checkers(state, one, two, options);
  return {};
}

}  // namespace

Result<void> World::connect(const Qp& a, const Qp& b, const ConnectOptions& options) {
  if (a.state_ != state_.get() || b.state_ != state_.get()) return invalid("connect: a QP of another world");
  return join(*state_, a.index_, b.index_, options);
}

Result<PeerQp> World::connect(const Qp& qp, std::string_view peer, const ConnectOptions& options) {
  const auto vertex = state_->vertex_named(peer);
  if (!vertex || *vertex < state_->nics || *vertex >= state_->topology().hosts)
    return invalid("there is no peer '" + std::string(peer) + "'");
  if (qp.state_ != state_.get()) return invalid("connect: a QP of another world");
  const std::size_t index = state_->ends.size();
  End& end = state_->ends.emplace_back();
  end.host = *vertex;
  end.is_peer = true;
  end.type = state_->ends[qp.index_].type;
  end.qpn = wire::Qpn(kFirstPeerQpn + static_cast<std::uint32_t>(index));
  if (auto joined = join(*state_, qp.index_, index, options); !joined) {
    state_->ends.pop_back();
    return joined.error();
  }
  return PeerQp(state_.get(), index);
}

std::uint32_t PeerQp::number() const {
  return state_->ends[index_].qpn.value();
}
std::uint32_t PeerQp::first_psn() const {
  return state_->ends[index_].first_psn.value();
}

Result<void> PeerQp::send(const Packet& packet) const {
  const auto frame = state_->make_frame(state_->ends[index_], packet);
  if (!frame) return frame.error();
  return send_frame(frame.value());
}

Result<void> PeerQp::send_frame(std::span<const std::byte> frame) const {
  if (frame.size() > wire::kFrameBytesMax) return invalid("a frame has at most 4224 octets");
  sim::PacketControl(state_->world).send(state_->ends[index_].host, frame);
  return {};
}

Result<Packet> PeerQp::next(Duration within) const {
  auto& arrived = state_->ends[index_].arrived;
  if (!state_->run_until([&] { return !arrived.empty(); }, within))
    return Error{ErrorKind::timed_out, "no packet has come within the time given"};
  const auto view = wire::parse_frame(arrived.front());
  Packet packet = packet_of(*view);
  arrived.pop_front();
  return packet;
}

}  // namespace libverbena
