// Brings packets, connections and rules together: finds the flow, asks the rules, then takes note.
// Tested by: tests/captures/checkers/clean_test.cc
#include <algorithm>
#include <deque>
#include <unordered_map>
#include <utility>

#include "captures/checkers/congestion_table.h"
#include "captures/checkers/rule.h"
#include "wire/packet_text.h"

namespace verbena::checkers {

namespace {

/// Packets that go one way to one QP.
struct StreamKey {
  wire::Gid source;
  wire::Gid destination;
  std::uint32_t destination_qpn = 0;
  bool operator==(const StreamKey&) const = default;
};
struct StreamKeyHash {
  std::size_t operator()(const StreamKey& key) const {
    const GidHash hash;
    return (hash(key.source) * 31 + hash(key.destination)) * 0x9e3779b97f4a7c15u + key.destination_qpn;
  }
};
struct Place {
  std::uint32_t connection = 0;
  unsigned sender = 0;
};

struct RunningRule {
  const RuleRow* row = nullptr;
  std::unique_ptr<Rule> rule;
  CheckerTotals totals;
};

bool is_connected(wire::Transport transport) {
  return transport == wire::Transport::rc || transport == wire::Transport::uc;
}

std::uint32_t interests_of(const Observation& seen) {
  const std::uint32_t content = seen.info.is_request ? kRequestContent : kResponseContent;
  const std::uint32_t departs = seen.info.is_request ? kRequestDeparts : kResponseDeparts;
  const std::uint32_t arrives = seen.info.is_request ? kRequestArrives : kResponseArrives;
  return (seen.views.content ? content : 0) | (seen.views.departs ? departs : 0) | (seen.views.arrives ? arrives : 0);
}

std::string about(const wire::PacketView& packet) {
  return fmt::format("{} -> {}: {}: ", wire::to_text(packet.source()), wire::to_text(packet.destination()),
                     wire::to_text(packet));
}

}  // namespace

struct Checkers::State {
  explicit State(const CheckerOptions& checker_options) : options(checker_options) {
    for (const RuleRow& row : rule_table()) rules.push_back({&row, row.make(regions), {row.row}});
  }

  Place place_of(const wire::PacketView& packet, bool& is_known);
  Connection* add_connection(const CheckedConnection& info, std::uint32_t& index);
  void adopt(Place place, unsigned end, Connection& by);
  void ask(std::uint32_t interests, const Observation& seen);
  void report(RunningRule& rule, RuleOutcome outcome, const Observation* seen);
  void taint(Connection& connection);
  bool is_damaged(const CheckedPacket& sighting, Observation& seen);
  void observe(const CheckedPacket& sighting);
  void observe_connected(Observation& seen);

  CheckerOptions options;
  RegionTable regions;
  CongestionTable congestion;
  std::vector<RunningRule> rules;
  std::deque<Connection> connections;
  std::unordered_map<StreamKey, Place, StreamKeyHash> places;
  std::vector<Violation> violations;
  std::uint64_t violation_count = 0;
  std::uint64_t packet_count = 0;
  std::uint64_t ignored_count = 0;
  Time last_time;
};

Connection* Checkers::State::add_connection(const CheckedConnection& info, std::uint32_t& index) {
  if (connections.size() == kConnectionsMax) return nullptr;
  index = static_cast<std::uint32_t>(connections.size());
  Connection& connection = connections.emplace_back();
  connection.info = info;
  connection.flows[0].index = 2 * index;
  connection.flows[1].index = 2 * index + 1;
  start_connection(connection);
  return &connection;
}

/// What was seen of an end's requests before it was known to whom it talks.
void Checkers::State::adopt(Place place, unsigned end, Connection& by) {
  Connection& from = connections[place.connection];
  if (from.paired || by.info.ends[end].first_psn) return;
  CheckedStream& flow = by.flows[end];
  const CheckedStream fresh = std::exchange(flow, std::move(from.flows[0]));
  // It keeps its number, by which rules know what they have noted of it.
  from.flows[0].index = fresh.index;
  by.generation = std::max(by.generation, from.generation);
  flow.ack_timeout = fresh.ack_timeout;
  flow.rto_low = fresh.rto_low;
  if (fresh.mtu_bytes != 0) flow.mtu_bytes = fresh.mtu_bytes;
  by.sees_departs[end] = from.sees_departs[0];
  by.doubtful = by.doubtful || from.doubtful;
  by.tainted = by.tainted || from.tainted;
}

Place Checkers::State::place_of(const wire::PacketView& packet, bool& is_known) {
  const StreamKey key{packet.source(), packet.destination(), packet.bth().dest_qp.value()};
  is_known = true;
  const auto found = places.find(key);
  if (found != places.end()) return found->second;
  Place place;
  CheckedConnection unpaired;
  unpaired.ends = {CheckedEnd{key.source, std::nullopt, std::nullopt, {}},
                   CheckedEnd{key.destination, packet.bth().dest_qp, std::nullopt, {}}};
  is_known = add_connection(unpaired, place.connection) != nullptr;
  if (is_known) places.emplace(key, place);
  return place;
}

void Checkers::State::report(RunningRule& rule, RuleOutcome outcome, const Observation* seen) {
  const bool is_doubtful = seen != nullptr && seen->is_doubtful;
  switch (is_doubtful && outcome.kind != RuleOutcome::Kind::not_concerned ? RuleOutcome::Kind::unjudged
                                                                          : outcome.kind) {
    case RuleOutcome::Kind::not_concerned:
      return;
    case RuleOutcome::Kind::holds:
      ++rule.totals.judged;
      return;
    case RuleOutcome::Kind::unjudged:
      ++rule.totals.unjudged;
      return;
    case RuleOutcome::Kind::broken:
      break;
  }
  ++rule.totals.judged;
  ++rule.totals.violations;
  ++violation_count;
  if (violations.size() == kViolationsKept) return;
  Violation made{last_time, 0, rule.row->row.name, rule.row->row.clause, std::move(outcome.text)};
  if (seen != nullptr) {
    made.number = seen->sighting.number;
    made.text = about(seen->packet) + made.text;
  }
  violations.push_back(std::move(made));
}

void Checkers::State::ask(std::uint32_t interests, const Observation& seen) {
  for (RunningRule& rule : rules)
    if ((rule.row->interest & interests) != 0) report(rule, rule.rule->judge(seen), &seen);
}

/// What is left of its packets is ignored, its atomics as well.
void Checkers::State::taint(Connection& connection) {
  connection.tainted = true;
  options.all_atomics_visible = false;
}

/// Nobody takes such a packet. One that was changed although its ICRC is right will be taken for what it is not.
bool Checkers::State::is_damaged(const CheckedPacket& sighting, Observation& seen) {
  if (sighting.corrupted) {
    if (seen.connection != nullptr && (!options.verify_icrc || seen.packet.icrc_is_valid())) taint(*seen.connection);
    return true;
  }
  if (!options.verify_icrc || (!seen.views.content && !options.knows_all_damage)) return false;
  const wire::Integrity integrity = seen.packet.integrity();
  if (integrity == wire::Integrity::unknown) return false;
  seen.icrc_is_right = integrity == wire::Integrity::right;
  const bool is_right = seen.icrc_is_right && wire::trailer_integrity(seen.packet) != wire::Integrity::wrong;
  if (seen.views.content || !is_right) ask(kIcrc, seen);  // a right one counts once
  return !is_right;
}

void Checkers::State::observe(const CheckedPacket& sighting) {
  ++packet_count;
  last_time = sighting.time;
  const wire::PacketView& packet = sighting.packet;
  Observation seen{
      .sighting = sighting, .options = options, .packet = packet, .congestion = congestion, .info = packet.opcode()};
  seen.psn = packet.bth().psn;
  const bool departs = sighting.seen == Seen::sent || sighting.seen == Seen::lost;
  seen.views = {
      .content = sighting.seen != Seen::delivered, .departs = departs, .arrives = sighting.seen == Seen::delivered};
  const wire::Transport transport = wire::transport_of(packet.bth().opcode);
  if (is_connected(transport)) {
    bool is_known = false;
    const Place place = place_of(packet, is_known);
    if (is_known) {
      seen.connection = &connections[place.connection];
      seen.sender = place.sender;
      seen.connection->sees_departs[seen.sender] = seen.connection->sees_departs[seen.sender] || departs;
      seen.views.content = departs || !seen.connection->sees_departs[seen.sender];
    }
  }
  if (is_damaged(sighting, seen)) {
    ++ignored_count;
    return;
  }
  // Whoever sends a packet answers for it, whether or not all of it was kept.
  seen.is_doubtful = packet.integrity() == wire::Integrity::unknown && !departs && !options.trusts_cut_packets;
  if (transport == wire::Transport::ud)
    ask(kDatagram, seen);
  else if (transport == wire::Transport::cnp)
    ask(kCongestion, seen);
  else if (seen.connection == nullptr || seen.connection->tainted)
    ++ignored_count;
  else
    observe_connected(seen);
}

void Checkers::State::observe_connected(Observation& seen) {
  Connection& connection = *seen.connection;
  seen.flow = &connection.flows[seen.info.is_request ? seen.sender : 1 - seen.sender];
  if (seen.info.is_request) seen.span = span_of(seen.packet, *seen.flow);
  if (begins_anew(seen)) {
    start_connection(connection);
    connection.sees_departs[seen.sender] = seen.views.departs;
  }
  seen.is_doubtful = connection.doubtful = connection.doubtful || seen.is_doubtful;
  if (seen.span == 0) {  // a READ of many packets, and nobody has told of how many octets
    if (seen.flow->first_psn) taint(connection);
    ++ignored_count;
    return;
  }
  seen.message = seen.flow->log.find(seen.psn);
  ask(interests_of(seen), seen);
  take_note(seen);
}

// -- Checkers -------------------------------------------------------------------------------------------------------

Checkers::Checkers(const CheckerOptions& options) : state_(std::make_unique<State>(options)) {}
Checkers::~Checkers() = default;
Checkers::Checkers(Checkers&&) noexcept = default;

void Checkers::connect(const CheckedConnection& connection) {
  const auto& ends = connection.ends;
  if (!ends[0].qpn || !ends[1].qpn) return;
  const StreamKey there{ends[0].address, ends[1].address, ends[1].qpn->value()};
  const StreamKey back{ends[1].address, ends[0].address, ends[0].qpn->value()};
  const auto found = state_->places.find(there);
  const auto found_back = state_->places.find(back);
  Connection* made = nullptr;
  Place place;
  if (found != state_->places.end() && found_back != state_->places.end() &&
      found->second.connection == found_back->second.connection && found->second.sender == 0) {
    place = found->second;
    made = &state_->connections[place.connection];
    made->info = connection;
    start_connection(*made);
  } else {
    made = state_->add_connection(connection, place.connection);
    if (made == nullptr) return;
    if (found != state_->places.end()) state_->adopt(found->second, 0, *made);
    if (found_back != state_->places.end()) state_->adopt(found_back->second, 1, *made);
  }
  made->paired = true;
  // A QP connected with itself: which way a packet goes cannot be told.
  made->tainted = made->tainted || there == back;
  state_->places.insert_or_assign(there, Place{place.connection, 0});
  if (!(there == back)) state_->places.insert_or_assign(back, Place{place.connection, 1});
}

void Checkers::region(const CheckedRegion& region) {
  state_->regions.add(region);
}
void Checkers::forget_region(const wire::Gid& host, wire::Rkey rkey) {
  state_->regions.remove(host, rkey);
}
void Checkers::congestion(const CheckedCongestion& congestion) {
  state_->congestion.add(congestion);
}
void Checkers::restart(const wire::Gid& host) {
  state_->regions.remove_all(host);
  state_->congestion.restart(host);
}

void Checkers::observe(const CheckedPacket& packet) {
  state_->observe(packet);
}

void Checkers::finish() {
  for (RunningRule& rule : state_->rules)
    for (RuleOutcome& outcome : rule.rule->finish()) state_->report(rule, std::move(outcome), nullptr);
}

std::span<const Violation> Checkers::violations() const {
  return state_->violations;
}
std::uint64_t Checkers::violation_count() const {
  return state_->violation_count;
}
std::vector<CheckerTotals> Checkers::totals() const {
  std::vector<CheckerTotals> totals;
  for (const RunningRule& rule : state_->rules) totals.push_back(rule.totals);
  return totals;
}
std::uint64_t Checkers::packet_count() const {
  return state_->packet_count;
}
std::uint64_t Checkers::ignored_count() const {
  return state_->ignored_count;
}

std::vector<CheckerRow> all_checkers() {
  std::vector<CheckerRow> rows;
  for (const RuleRow& row : rule_table()) rows.push_back(row.row);
  return rows;
}

}  // namespace verbena::checkers
