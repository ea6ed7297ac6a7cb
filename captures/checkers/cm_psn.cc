// cm-psn: after a REQ and its REP, each side's first request has the PSN that the other side has announced.
//
// A message of the connection manager says at which PSN its *receiver* shall start to send. What is announced holds
// from the REP on, until the connection ends or its first request was seen. Of a stream that was seen in part the first
// packets may be missing: what is a little ahead of the announced PSN is not judged there. Nor is another PSN that
// comes much later: a process that is killed ends its connections without a word, and its QP numbers soon are
// another's, who may have agreed on PSNs elsewhere.
#include <map>
#include <tuple>
#include <utility>

#include "captures/checkers/rule.h"
#include "wire/management.h"

namespace verbena::checkers {
namespace {

/// Packets that go to one QP, and from where.
struct CmStreamKey {
  wire::Gid source;
  wire::Gid destination;
  wire::Qpn destination_qpn;
  bool operator<(const CmStreamKey& other) const {
    return std::tuple(source, destination, destination_qpn.value()) <
           std::tuple(other.source, other.destination, other.destination_qpn.value());
  }
};

/// One side of a connection that is being made: what it wants to hear first.
struct Announced {
  wire::Qpn qpn;
  wire::Psn psn;
};

struct ConnectionKey {
  wire::Gid active;
  wire::Gid passive;
  std::uint32_t active_id = 0;
  auto operator<=>(const ConnectionKey&) const = default;
};

struct CmConnection {
  std::optional<Announced> request;  // nothing: the capture begins behind it
  std::uint32_t passive_id = 0;
  std::optional<Announced> reply;  // once it was seen, copies of it are nothing new, even behind the connection's end
};

struct Expected {
  wire::Psn psn;
  Time since;
  bool from_the_start = false;  // nothing of the stream can have been missed
};

template <class MessageLayout>
typename MessageLayout::Header parse(const wire::PacketView& packet) {
  return MessageLayout::parse(packet.payload().subspan(wire::MadHeaderLayout::bytes).first<MessageLayout::bytes>());
}

class CmPsn final : public Rule {
 public:
  RuleOutcome judge(const Observation& seen) override {
    if (seen.connection != nullptr) return judge_request(seen);
    const wire::PacketView& packet = seen.packet;
    // A message that is known never to have arrived has said nothing.
    const bool is_message = seen.info.has_deth && packet.bth().dest_qp == wire::kGsiQpn &&
                            packet.payload().size() == wire::kMadBytes && seen.sighting.seen != Seen::lost;
    if (!is_message) return not_concerned();
    const auto header = wire::MadHeaderLayout::parse(packet.payload().first<wire::MadHeaderLayout::bytes>());
    if (header.management_class != wire::kManagementClassCm || header.base_version != 1) return not_concerned();
    if (header.attribute == wire::CmAttribute::request) note_request(packet);
    if (header.attribute == wire::CmAttribute::reply) note_reply(packet, seen.time());
    const bool ends = header.attribute == wire::CmAttribute::reject ||
                      header.attribute == wire::CmAttribute::disconnect_request ||
                      header.attribute == wire::CmAttribute::disconnect_reply;
    if (ends) note_end(packet);
    return not_concerned();
  }

 private:
  RuleOutcome judge_request(const Observation& seen) {
    const wire::PacketView& packet = seen.packet;
    const auto found = expected_.find({packet.source(), packet.destination(), packet.bth().dest_qp});
    if (found == expected_.end()) return not_concerned();
    const Expected expected = found->second;
    const std::int32_t ahead = wire::distance(expected.psn, seen.psn);
    // What the same QPs said to each other before may still be on its way.
    const std::int32_t beyond_last = wire::distance(seen.flow->next, seen.psn);
    const bool is_old = seen.flow->started && beyond_last <= kRestartPackets && beyond_last >= -kRestartPackets;
    if (ahead != 0 && is_old) return unjudged();
    expected_.erase(found);
    if (ahead == 0) return holds();
    if (seen.time() - expected.since >= kRestartSilence) return unjudged();
    const bool sees_all = seen.views.departs && expected.from_the_start;
    if (!sees_all && ahead > 0 && ahead <= kRestartPackets) return unjudged();
    return broken("the first request has psn {}, and its peer has announced psn {}", seen.psn.value(),
                  expected.psn.value());
  }

  void note_request(const wire::PacketView& packet) {
    const auto request = parse<wire::CmRequestLayout>(packet);
    constexpr std::uint8_t kUnreliable = 1;  // of the transport service types: RC, UC; others send in one direction
    if (request.transport_service_type > kUnreliable) return;
    const ConnectionKey key{packet.source(), packet.destination(), request.local_id};
    const Announced announced{request.local_qpn, request.starting_psn};
    CmConnection& connection = connection_at(key);
    const bool is_again =
        connection.request && connection.request->qpn == announced.qpn && connection.request->psn == announced.psn;
    if (!is_again) connection = {announced, 0, std::nullopt};
  }

  void note_reply(const wire::PacketView& packet, Time now) {
    const auto reply = parse<wire::CmReplyLayout>(packet);
    if (reply.local_eecn != 0) return;  // XRC
    const wire::Gid& active = packet.destination();
    const wire::Gid& passive = packet.source();
    const ConnectionKey key{active, passive, reply.remote_id};
    CmConnection& connection = connection_at(key);
    if (connection.reply && connection.passive_id == reply.local_id) return;
    const bool from_the_start = connection.request.has_value();
    connection.passive_id = reply.local_id;
    connection.reply = {reply.local_qpn, reply.starting_psn};
    expected_[{active, passive, reply.local_qpn}] = {reply.starting_psn, now, from_the_start};
    if (connection.request)
      expected_[{passive, active, connection.request->qpn}] = {connection.request->psn, now, true};
  }

  /// Either side may end it, by both IDs, or before there is a second one.
  void note_end(const wire::PacketView& packet) {
    const auto pair = parse<wire::CmPairLayout>(packet);
    end({packet.source(), packet.destination(), pair.local_id}, pair.remote_id);
    end({packet.destination(), packet.source(), pair.remote_id}, pair.local_id);
  }
  void end(const ConnectionKey& key, std::uint32_t passive_id) {
    const auto found = connections_.find(key);
    if (found == connections_.end()) return;
    const CmConnection& connection = found->second;
    if (connection.reply && connection.passive_id != passive_id) return;
    if (connection.reply) expected_.erase({key.active, key.passive, connection.reply->qpn});
    if (connection.reply && connection.request) expected_.erase({key.passive, key.active, connection.request->qpn});
  }

  /// Bounded: of so many connections the old ones are over.
  CmConnection& connection_at(const ConnectionKey& key) {
    if (connections_.size() >= kConnectionsMax && !connections_.contains(key)) {
      connections_.clear();
      expected_.clear();
    }
    return connections_[key];
  }

  std::map<ConnectionKey, CmConnection> connections_;
  std::map<CmStreamKey, Expected> expected_;
};

}  // namespace

std::unique_ptr<Rule> make_cm_psn(const RegionTable&) {
  return std::make_unique<CmPsn>();
}

}  // namespace verbena::checkers
