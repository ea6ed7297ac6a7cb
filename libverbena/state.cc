#include "libverbena/state.h"

#include <algorithm>

#include "emulator/fabric/nic_words.h"
#include "libverbena/script_run.h"
#include "libverbena/settings.h"
#include "wire/packet_builder.h"
#include "wire/roce_v1.h"

namespace libverbena {
namespace {

constexpr std::uint32_t kCqEntries = 4096;

/// A NIC may have decided to send what waits behind a window of another QP at the slowest rate, or answers late: rules
/// on what it knew then are that much laxer.
verbena::Duration departure_delay_max(const fabric::Topology& topology,
                                      const std::vector<fabric::NicSettings>& of_hosts) {
  std::uint64_t slowest = UINT64_MAX;
  for (const fabric::Cable& cable : topology.cables)
    if (const std::uint64_t rate = cable.parameters.rate_bits_per_second; rate != 0) slowest = std::min(slowest, rate);
  std::uint64_t window = nic::NicConfig{}.window_bytes;
  for (const fabric::NicSettings& nic : of_hosts)
    window = std::max<std::uint64_t>(window, nic.window_bytes.value_or(0));
  const double bits = 4 * 8 * static_cast<double>(window);
  const verbena::Duration queues{static_cast<std::int64_t>(bits * 1e9 / static_cast<double>(slowest))};
  verbena::Duration latency = queues;
  for (const fabric::NicSettings& nic : of_hosts)
    latency = std::max({latency, queues + nic.nak_latency, queues + nic.acknowledge_latency});
  return latency;
}

}  // namespace

WorldState::WorldState(const WorldOptions& options, fabric::Topology topology,
                       std::vector<fabric::NicSettings> of_hosts)
    : nics(static_cast<std::uint32_t>(options.nics.size()) * topology.rails),
      seed(options.seed),
      world(topology, configs_of(topology, of_hosts), {.seed = options.seed}),
      own(nics),
      settings(std::move(of_hosts)) {
  for (std::uint32_t host = 0; host < topology.hosts; ++host) {
    if (host >= nics) {
      sim::PacketControl(world).replace_nic(host, this);
      continue;
    }
    world.set_latencies(host, {settings[host].nak_latency, settings[host].acknowledge_latency});
    own[host].pd = *world.nic(host).allocate_pd();
    own[host].cq = *world.nic(host).create_cq(kCqEntries, host);
  }
  if (options.checks)
    checkers = std::make_unique<verbena::checkers::Checkers>(verbena::checkers::CheckerOptions{
        .all_atomics_visible = false, .departure_delay_max = departure_delay_max(topology, settings)});
  world.observe(this);
}

WorldState::~WorldState() {
  world.observe(nullptr);
}

std::optional<std::uint32_t> WorldState::vertex_named(std::string_view name) const {
  const auto& vertices = topology().vertices;
  const auto found = std::find_if(vertices.begin(), vertices.end(),
                                  [name](const fabric::Vertex& vertex) { return vertex.name == name; });
  if (found == vertices.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - vertices.begin());
}

Result<fabric::LinkId> WorldState::find(const Link& link) const {
  const auto from = vertex_named(link.from);
  const auto to = vertex_named(link.to);
  for (std::uint32_t i = 0; from && to && i < topology().cables.size(); ++i) {
    const fabric::Cable& cable = topology().cables[i];
    if (cable.a == *from && cable.b == *to) return fabric::LinkId{i, false};
    if (cable.b == *from && cable.a == *to) return fabric::LinkId{i, true};
  }
  return invalid("there is no cable between '" + link.from + "' and '" + link.to + "'");
}

Link WorldState::link_of(fabric::LinkId id) const {
  const fabric::Cable& cable = topology().cables[id.cable];
  return id.backward ? Link{name_of(cable.b), name_of(cable.a)} : Link{name_of(cable.a), name_of(cable.b)};
}

void WorldState::feed_checkers(const sim::ObservedFrame& frame) {
  const fabric::AtNic where = fabric::at_nic(frame, topology());
  if (where == fabric::AtNic::no) return;
  const auto packet = wire::parse_cut_frame(frame.frame);
  if (!packet) return;
  checkers->observe(
      {.time = frame.time,
       .packet = *packet,
       .seen = where == fabric::AtNic::arrives ? verbena::checkers::Seen::delivered : verbena::checkers::Seen::sent,
       .corrupted = frame.corrupted,
       .number = ++frames_seen});
}

void WorldState::observe(const sim::ObservedFrame& frame) {
  if (checkers && !checks_ended) feed_checkers(frame);
  Event event{};
  switch (frame.event) {
    case sim::FrameEvent::entered:
      return;
    case sim::FrameEvent::sent:
      event = Event::sent;
      break;
    case sim::FrameEvent::lost:
      event = Event::lost;
      break;
    case sim::FrameEvent::overflowed:
      event = Event::overflowed;
      break;
    case sim::FrameEvent::vanished:
      event = Event::vanished;
      break;
    case sim::FrameEvent::delivered:
      event = Event::delivered;
      break;
  }
  if (event == Event::sent || event == Event::lost)
    for (const auto& [cable, capture] : captures)
      if (cable == frame.link.cable) capture->write(frame.time, frame.link.backward, frame.frame, frame.comment);
  if (observer) observer({to_public(frame.time), link_of(frame.link), event, frame.frame, frame.comment});
}

void WorldState::arrived(verbena::Time /*now*/, std::span<const std::byte> frame) {
  const auto packet = wire::parse_frame(frame);
  if (!packet) return;
  for (End& end : ends)
    if (end.is_peer && end.qpn == packet->bth().dest_qp && sim::host_address(end.host) == packet->destination()) {
      end.arrived.emplace_back(frame.begin(), frame.end());
      return;
    }
}

fabric::Interceptor::Decision WorldState::intercept(verbena::Time now, fabric::LinkId link,
                                                    std::span<std::byte> frame) {
  fabric::Interceptor::Decision result;
  const auto found = interceptors.find(link);
  if (found != interceptors.end() && found->second) {
    if (const auto view = wire::parse_frame(frame)) {
      const Packet packet = packet_of(*view);
      const std::vector<std::byte> before(frame.begin(), frame.end());
      const libverbena::Decision decision = found->second(packet, frame);
      result.drop = decision.drop;
      result.duplicate = decision.duplicate;
      result.delay = to_internal(std::max(decision.delay, Duration(0)));
      result.has_changed = !std::equal(before.begin(), before.end(), frame.begin());
      if (result.drop || result.duplicate || result.delay.ns != 0 || result.has_changed)
        result.comment = result.drop ? "dropped by an interceptor" : "changed by an interceptor";
    }
  }
  if (script != nullptr && !result.drop) script->intercept(now, link, frame, result);
  return result;
}

void WorldState::watch(fabric::LinkId link, bool by_script) {
  const auto found = interceptors.find(link);
  const bool by_user = found != interceptors.end() && found->second;
  sim::PacketControl(world).intercept(link, by_script || by_user ? this : nullptr);
}

bool WorldState::is_idle() const {
  if (world.network().next_deadline()) return false;
  for (std::uint32_t host = 0; host < nics; ++host)
    if (const nic::Nic& nic = const_cast<sim::World&>(world).nic(host); nic.next_deadline() || nic.has_work())
      return false;
  return true;
}

bool WorldState::run_until(const std::function<bool()>& is_done, Duration within) {
  const verbena::Time limit = world.now() + to_internal(within);
  while (!is_done()) {
    if (world.step(limit)) continue;
    world.run_until(limit);
    return is_done();
  }
  return true;
}

Result<std::vector<std::byte>> WorldState::make_frame(const End& from, const Packet& packet) const {
  const wire::OpcodeInfo& info = wire::opcode_info(static_cast<wire::Opcode>(packet.opcode));
  if (!info.defined) return invalid("there is no opcode " + std::to_string(static_cast<unsigned>(packet.opcode)));
  if (std::max({packet.psn, packet.dest_qp, packet.aeth.value_or(Aeth{}).msn}) > wire::Psn::kMask)
    return invalid("psn, dest_qp and msn have 24 bits");
  if (packet.payload.size() > wire::kPayloadBytesMax || (!info.has_payload && !packet.payload.empty()))
    return invalid(to_string(packet.opcode) + " cannot have a payload of " + std::to_string(packet.payload.size()) +
                   " octets");
  const End& to = ends[*from.other];
  const auto version =
      fabric::version_between(fabric::wire_of(settings[from.host]), fabric::wire_of(settings[to.host]));
  const wire::FrameTemplate headers(wire::FramePath{.from = sim::host_mac(from.host),
                                                    .to = sim::host_mac(to.host),
                                                    .source = sim::host_address(from.host),
                                                    .destination = sim::host_address(to.host),
                                                    .encapsulation = &wire::encapsulation_of(version)});
  const wire::Bth bth{.opcode = static_cast<wire::Opcode>(packet.opcode),
                      .solicited = packet.solicited,
                      .migrated = true,
                      .pkey = packet.pkey,
                      .fecn = packet.fecn,
                      .becn = packet.becn,
                      .dest_qp = packet.dest_qp == 0 ? to.qpn : wire::Qpn(packet.dest_qp),
                      .ack_request = packet.ack_request,
                      .psn = wire::Psn(packet.psn)};
  std::vector<std::byte> frame(wire::kFrameBytesMax);
  wire::PacketBuilder builder(frame, headers, bth, packet.payload.size());
  if (info.has_xrceth) builder.append(wire::Xrceth{});
  if (info.has_deth)
    builder.append(wire::Deth{.qkey = packet.qkey.value_or(0),
                              .source_qp = wire::Qpn(packet.source_qp.value_or(from.qpn.value()))});
  if (info.has_reth) {
    const Reth reth = packet.reth.value_or(Reth{});
    builder.append(wire::Reth{reth.address, wire::Rkey{reth.rkey}, reth.length});
  }
  if (info.has_atomic_eth) {
    const AtomicEth atomic = packet.atomic.value_or(AtomicEth{});
    builder.append(wire::AtomicEth{atomic.address, wire::Rkey{atomic.rkey}, atomic.swap_or_add, atomic.compare});
  }
  if (info.has_aeth) {
    const Aeth aeth = packet.aeth.value_or(Aeth{});
    builder.append(wire::Aeth{aeth.syndrome, aeth.msn});
  }
  if (info.has_atomic_ack_eth) builder.append(wire::AtomicAckEth{packet.atomic_original.value_or(0)});
  if (info.has_immediate) builder.append(wire::ImmDt{packet.immediate.value_or(0)});
  if (info.has_invalidate) builder.append(wire::Ieth{wire::Rkey{packet.invalidated_rkey.value_or(0)}});
  builder.append_payload(packet.payload);
  frame.resize(builder.finish());
  return frame;
}

Error to_error(nic::VerbsError error, std::string_view what) {
  using enum nic::VerbsError;
  const auto of = [&](ErrorKind kind, const char* text) { return Error{kind, std::string(what) + ": " + text}; };
  switch (error) {
    case invalid_argument:
      return of(ErrorKind::invalid_argument, "invalid argument (EINVAL)");
    case no_memory:
      return of(ErrorKind::no_memory, "a limit is reached or a queue is full (ENOMEM)");
    case busy:
      return of(ErrorKind::busy, "still in use (EBUSY)");
    case not_supported:
      return of(ErrorKind::not_supported, "not supported (EOPNOTSUPP)");
    case not_permitted:
      return of(ErrorKind::not_permitted, "not permitted (EPERM)");
    case fault:
      return of(ErrorKind::other, "bad address (EFAULT)");
    case not_found:
      return of(ErrorKind::other, "not found (ENOENT)");
    case no_device:
      return of(ErrorKind::other, "the device is gone (EIO)");
  }
  return of(ErrorKind::other, "unknown error");
}

}  // namespace libverbena
