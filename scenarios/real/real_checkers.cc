#include "scenarios/real/real_checkers.h"

#include <nlohmann/json.hpp>

#include "wire/opcode.h"
#include "wire/packet_view.h"

namespace verbena::scenarios {
namespace {

using Json = nlohmann::json;

constexpr Duration kDepartureDelayMax = seconds(3600);
constexpr std::uint32_t kAttemptsMax = 1000;  // to find the other half of a stream

}  // namespace

RealCheckers::RealCheckers(fabric::Topology topology)
    : topology_(std::move(topology)), checkers_({.departure_delay_max = kDepartureDelayMax}) {}

void RealCheckers::observe(const fabric::ObservedFrame& frame) {
  const fabric::AtNic where = fabric::at_nic(frame, topology_);
  if (where == fabric::AtNic::no) return;
  const bool arrives = where == fabric::AtNic::arrives;
  const auto packet = wire::parse_cut_on(topology_.medium, frame.frame);
  if (!packet) return;  // cut by a fault
  if (++frames_ == 1) begin_ = frame.time;
  if (!arrives) learn(*packet);
  checkers_.observe({.time = frame.time,
                     .packet = *packet,
                     .seen = arrives ? checkers::Seen::delivered : checkers::Seen::sent,
                     .corrupted = frame.corrupted,
                     .number = frames_});
}

void RealCheckers::learn(const wire::PacketView& packet) {
  const wire::Transport transport = wire::transport_of(packet.bth().opcode);
  if (transport != wire::Transport::rc) return;
  const std::size_t number = stream_of(packet);
  if (number == kNone) return;
  Stream& stream = streams_[number];
  const wire::OpcodeInfo& info = packet.opcode();
  if (info.is_request)
    stream.requests.note(packet);
  else if (stream.attempts < kAttemptsMax && !is_answered_by(stream, packet.bth().psn))
    pair(number, packet.bth().psn);
}

bool RealCheckers::is_answered_by(const Stream& responses, wire::Psn psn) const {
  return responses.peer != kNone && streams_[responses.peer].requests.may_be_answered_by(psn);
}

std::size_t RealCheckers::stream_of(const wire::PacketView& packet) {
  const StreamKey key{packet.source(), packet.destination(), packet.bth().dest_qp.value()};
  const auto found = index_.find(key);
  if (found != index_.end()) return found->second;
  if (streams_.size() == kStreamsMax) return kNone;
  const std::size_t number = streams_.size();
  index_.emplace(key, number);
  Stream& stream = streams_.emplace_back();
  stream.source = packet.source();
  stream.destination = packet.destination();
  stream.qpn = packet.bth().dest_qp;
  by_addresses_[{stream.source, stream.destination}].push_back(number);
  return number;
}

void RealCheckers::pair(std::size_t responses, wire::Psn psn) {
  Stream& stream = streams_[responses];
  ++stream.attempts;
  const auto candidates = by_addresses_.find({stream.destination, stream.source});
  if (candidates == by_addresses_.end()) return;
  std::size_t found = kNone;
  for (const std::size_t number : candidates->second) {
    const Stream& candidate = streams_[number];
    if (candidate.peer != kNone || number == responses || !candidate.requests.may_be_answered_by(psn)) continue;
    if (found != kNone) return;  // either may be meant
    found = number;
  }
  if (found == kNone) return;
  Stream& requests = streams_[found];
  stream.peer = found;
  stream.attempts = 0;
  requests.peer = responses;
  connect(requests);
}

void RealCheckers::connect(const Stream& one) {
  const Stream& other = streams_[one.peer];
  checkers::CheckedConnection connection;
  connection.ends[0].address = one.source;
  connection.ends[0].qpn = other.qpn;
  connection.ends[1].address = one.destination;
  connection.ends[1].qpn = one.qpn;
  checkers_.connect(connection);
}

std::string RealCheckers::verdict() {
  Outcome outcome;
  const CheckerReports reports = reports_of(checkers_, begin_, outcome);
  Json json{{"total", outcome.violations_total}, {"rows", Json::array()}, {"violations", Json::array()}};
  for (const CheckerReports::Row& row : reports.rows) json["rows"].push_back({row.name, row.reports});
  for (const ReportedViolation& violation : outcome.violations)
    json["violations"].push_back({violation.time.ns, violation.checker, violation.clause, violation.text});
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

CheckerReports RealCheckers::read(const std::string& verdict, Outcome& outcome) {
  CheckerReports reports;
  const Json json = Json::parse(verdict, nullptr, false);
  if (json.is_discarded()) return reports;
  reports.ran = true;
  for (const Json& row : json.at("rows")) reports.rows.push_back({row.at(0), row.at(1)});
  outcome.violations_total = json.at("total");
  for (const Json& violation : json.at("violations"))
    outcome.violations.push_back(
        {Duration{violation.at(0).get<std::int64_t>()}, violation.at(1), violation.at(2), violation.at(3)});
  if (!outcome.violations.empty()) reports.first = outcome.violations.front().text;
  return reports;
}

}  // namespace verbena::scenarios
