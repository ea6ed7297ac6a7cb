#include "captures/conversations/conversations.h"

#include <algorithm>
#include <compare>
#include <map>

#include "captures/checkers/request_range.h"

namespace verbena::captures {

namespace {

constexpr std::uint32_t kNoQpn = UINT32_MAX;
constexpr std::size_t kNone = SIZE_MAX;

struct StreamKey {
  wire::Gid source;
  wire::Gid destination;
  std::uint32_t destination_qpn = 0;
  std::uint32_t source_qpn = kNoQpn;  // UD only
  constexpr auto operator<=>(const StreamKey&) const = default;
};

/// Packets that go one way.
struct Stream {
  StreamKey key;
  std::optional<wire::Transport> transport;  // unknown while only CNPs were seen
  std::size_t peer = kNone;
  checkers::RequestRange requests;
  bool has_responses = false;
  std::uint32_t path_mtu_bytes = 0;
  ClassMask classes = 0;
  std::vector<std::uint32_t> packets;
  std::vector<Conversation::Again> again;
};

bool is_reliable(const Stream& stream) {
  return stream.transport == wire::Transport::rc || stream.transport == wire::Transport::xrc;
}

class Pairing {
 public:
  void add(std::uint32_t index, const wire::PacketView& packet);
  void add_again(std::uint32_t index, const wire::PacketView& packet, const Sighting& sighting) {
    streams_[stream_of(packet)].again.push_back({index, sighting});
  }
  void pair_leftovers();
  std::vector<Conversation> conversations();

 private:
  std::size_t stream_of(const wire::PacketView& packet);
  void pair_by_response(std::size_t index, wire::Psn psn);
  void pair(std::size_t a, std::size_t b) {
    streams_[a].peer = b;
    streams_[b].peer = a;
  }
  bool is_leftover(const Stream& stream) const { return stream.peer == kNone && stream.transport.has_value(); }

  std::map<StreamKey, std::size_t> index_;
  std::vector<Stream> streams_;
  std::map<std::pair<wire::Gid, wire::Gid>, std::vector<std::size_t>> by_addresses_;
};

std::size_t Pairing::stream_of(const wire::PacketView& packet) {
  StreamKey key{packet.source(), packet.destination(), packet.bth().dest_qp.value(), kNoQpn};
  if (packet.opcode().has_deth) key.source_qpn = packet.deth().source_qp.value();
  const auto [at, is_new] = index_.try_emplace(key, streams_.size());
  if (is_new) {
    streams_.emplace_back().key = key;
    by_addresses_[{key.source, key.destination}].push_back(at->second);
    if (key.source_qpn != kNoQpn) {  // UD names both ends
      const auto back = index_.find({key.destination, key.source, key.source_qpn, key.destination_qpn});
      if (back != index_.end()) pair(at->second, back->second);
    }
  }
  return at->second;
}

void Pairing::pair_by_response(std::size_t index, wire::Psn psn) {
  const StreamKey& key = streams_[index].key;
  const auto candidates = by_addresses_.find({key.destination, key.source});
  if (candidates == by_addresses_.end()) return;
  std::size_t best = kNone;
  for (const std::size_t candidate : candidates->second) {
    const Stream& stream = streams_[candidate];
    if (stream.peer != kNone || !is_reliable(stream) || !stream.requests.may_be_answered_by(psn)) continue;
    // The one that is the fewest packets ahead, should several fit.
    if (best == kNone || stream.requests.ahead_of(psn) < streams_[best].requests.ahead_of(psn)) best = candidate;
  }
  if (best != kNone) pair(index, best);
}

void Pairing::add(std::uint32_t index, const wire::PacketView& packet) {
  const std::size_t number = stream_of(packet);
  Stream& stream = streams_[number];
  stream.packets.push_back(index);
  stream.classes = static_cast<ClassMask>(stream.classes | classes_of(packet));
  const wire::OpcodeInfo& info = packet.opcode();
  if (info.operation == wire::Operation::congestion_notification) return;
  if (!stream.transport) stream.transport = wire::transport_of(packet.bth().opcode);
  if (info.has_payload && (info.position == wire::Position::first || info.position == wire::Position::middle))
    stream.path_mtu_bytes = std::max(stream.path_mtu_bytes, static_cast<std::uint32_t>(packet.payload_bytes()));
  if (info.is_request) {
    stream.requests.note(packet);
  } else {
    stream.has_responses = true;
    if (stream.peer == kNone) pair_by_response(number, packet.bth().psn);
  }
}

void Pairing::pair_leftovers() {
  for (const auto& [addresses, forward] : by_addresses_) {
    const auto backward = by_addresses_.find({addresses.second, addresses.first});
    if (backward == by_addresses_.end() || addresses.first == addresses.second) continue;
    const auto only_leftover = [&](const std::vector<std::size_t>& among, wire::Transport transport) {
      std::size_t found = kNone;
      for (const std::size_t i : among) {
        if (!is_leftover(streams_[i]) || streams_[i].transport != transport || streams_[i].key.source_qpn != kNoQpn)
          continue;
        if (found != kNone) return kNone;
        found = i;
      }
      return found;
    };
    for (const auto transport : {wire::Transport::rc, wire::Transport::uc, wire::Transport::xrc}) {
      const std::size_t a = only_leftover(forward, transport);
      const std::size_t b = only_leftover(backward->second, transport);
      if (a != kNone && b != kNone) pair(a, b);
    }
  }
}

std::vector<Conversation> Pairing::conversations() {
  std::vector<Conversation> result;
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    const Stream& stream = streams_[i];
    if (stream.peer != kNone && stream.peer < i) continue;  // its peer has made it
    const Stream* peer = stream.peer == kNone || stream.peer == i ? nullptr : &streams_[stream.peer];
    Conversation made;
    made.transport = stream.transport.value_or(wire::Transport::cnp);
    made.packets = stream.packets;
    made.again = stream.again;
    made.path_mtu_bytes = stream.path_mtu_bytes;
    made.classes = stream.classes;
    End sender{stream.key.source, std::nullopt};
    End receiver{stream.key.destination, wire::Qpn(stream.key.destination_qpn)};
    if (stream.key.source_qpn != kNoQpn) sender.qpn = wire::Qpn(stream.key.source_qpn);
    if (stream.peer == i) sender.qpn = receiver.qpn;
    if (peer != nullptr) {
      sender.qpn = wire::Qpn(peer->key.destination_qpn);
      made.packets.insert(made.packets.end(), peer->packets.begin(), peer->packets.end());
      std::sort(made.packets.begin(), made.packets.end());
      made.again.insert(made.again.end(), peer->again.begin(), peer->again.end());
      std::ranges::sort(made.again, {}, &Conversation::Again::packet);
      made.path_mtu_bytes = std::max(made.path_mtu_bytes, peer->path_mtu_bytes);
      made.classes = static_cast<ClassMask>(made.classes | peer->classes);
    }
    made.ends = {sender, receiver};
    if (!stream.requests.any() && (peer == nullptr ? stream.has_responses : peer->requests.any()))
      std::swap(made.ends[0], made.ends[1]);  // the capture begins with an answer
    result.push_back(std::move(made));
  }
  std::sort(result.begin(), result.end(),
            [](const Conversation& a, const Conversation& b) { return a.packets.front() < b.packets.front(); });
  return result;
}

}  // namespace

ClassMask classes_of(const wire::PacketView& packet) {
  // What no switch reads has class 0.
  const bool is_read = !packet.network().places().is_hidden;
  const unsigned by_dscp = is_read ? packet.network().traffic_class() >> 5 : 0;
  const auto vlan = packet.vlan();
  return static_cast<ClassMask>(1u << by_dscp | (vlan ? 1u << vlan->priority : 0u));
}

unsigned Conversation::sender_of(const wire::PacketView& packet) const {
  if (ends[0].address != ends[1].address) return packet.source() == ends[0].address ? 0 : 1;
  return ends[1].qpn == packet.bth().dest_qp ? 0 : 1;
}

std::vector<Conversation> find_conversations(const Capture& capture) {
  Pairing pairing;
  const Sightings sightings(capture);
  for (std::uint32_t i = 0; i < capture.packets().size(); ++i) {
    const wire::PacketView view = capture.packets()[i].view();
    if (sightings.of(i).how == SeenAgain::no)
      pairing.add(i, view);
    else
      pairing.add_again(i, view, sightings.of(i));
  }
  pairing.pair_leftovers();
  std::vector<Conversation> found = pairing.conversations();
  for (Conversation& one : found)
    one.encapsulation = &capture.packets()[one.packets.front()].view().network().encapsulation();
  return found;
}

}  // namespace verbena::captures
