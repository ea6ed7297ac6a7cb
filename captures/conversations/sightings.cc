#include "captures/conversations/sightings.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace verbena::captures {

namespace {

constexpr std::int64_t kApartMaxNs = 100'000'000;      // between two places, by two clocks
constexpr std::int64_t kMirrorApartMaxNs = 1'000'000;  // within a switch
constexpr unsigned kFramesLookedAt = 8;                // with the same octets
constexpr std::size_t kCopiesMax = 8;                  // by as many mirror ports
constexpr std::uint64_t kCopiedLeast = 10;
constexpr std::uint32_t kLookBackMax = 1024;  // packets between a frame and its copy
constexpr std::int32_t kNearPsns = 4096;      // of one flow; another's are hardly so near

std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 29;
}

std::uint64_t mixed(std::uint64_t hash, std::span<const std::byte> octets) {
  for (; octets.size() >= 8; octets = octets.subspan(8)) {
    std::uint64_t word = 0;
    std::memcpy(&word, octets.data(), 8);
    hash = mixed(hash, word);
  }
  std::uint64_t rest = octets.size();
  for (const std::byte octet : octets) rest = rest << 8 | std::to_integer<std::uint64_t>(octet);
  return mixed(hash, rest);
}

/// Of all that is the same wherever the frame passes: who sent it to whom, and what follows the UDP header or the GRH.
/// Of a cut packet only the BTH: files that are merged may have been cut at several lengths.
std::uint64_t key_of(const Packet& packet, const wire::PacketView& view) {
  std::uint64_t hash = mixed(view.network().entropy(), view.payload_bytes());
  for (const wire::Gid& gid : {view.source(), view.destination()})
    hash = mixed(hash, std::as_bytes(std::span<const std::uint8_t>(gid.octets)));
  const wire::Bth bth = view.bth();
  hash = mixed(hash, std::uint64_t{bth.dest_qp.value()} << 32 | bth.psn.value());
  hash = mixed(hash, static_cast<std::uint64_t>(bth.opcode) << 2 | std::uint64_t{bth.ack_request} << 1 |
                         std::uint64_t{bth.solicited});
  if (!packet.is_whole() || !view.is_whole()) return hash;
  if (view.opcode().has_aeth) hash = mixed(hash, std::uint64_t{view.aeth().syndrome} << 32 | view.aeth().msn);
  return mixed(mixed(hash, view.icrc()), view.payload());
}

struct Place {
  std::uint32_t interface = 0;
  wire::Direction direction{};
  std::uint8_t hop_limit = 0;
  std::uint16_t vlan = 0;
  std::string_view layers;
  wire::Ethernet ethernet;

  static Place of(const Packet& packet, const wire::PacketView& view) {
    const auto vlan = view.vlan();
    return {packet.captured.interface,
            packet.captured.direction,
            view.network().hop_limit(),
            static_cast<std::uint16_t>(vlan ? vlan->vlan_id + 1 : 0),
            packet.layers,
            view.ethernet()};
  }
};

SeenAgain compare(const Place& a, const Place& b) {
  const bool knows_both = a.direction != wire::Direction::unknown && b.direction != wire::Direction::unknown;
  if (knows_both && a.direction != b.direction) return SeenAgain::arrival;
  if (a.interface != b.interface) return SeenAgain::elsewhere;
  const bool is_same = a.hop_limit == b.hop_limit && a.vlan == b.vlan && a.layers == b.layers &&
                       a.ethernet.source == b.ethernet.source && a.ethernet.destination == b.ethernet.destination;
  return is_same ? SeenAgain::no : SeenAgain::mirrored;
}

bool is_in_time(SeenAgain how, Duration apart) {
  const std::int64_t most = how == SeenAgain::mirrored || how == SeenAgain::no ? kMirrorApartMaxNs : kApartMaxNs;
  return apart.ns <= most && apart.ns >= -most;
}

/// Nothing: only IPv4 has one.
std::optional<std::uint16_t> ip_id_of(const wire::PacketView& view) {
  if (view.network().header() != wire::NetworkHeader::ipv4) return std::nullopt;
  return view.ip().v4().identification;
}

bool has_same_ip_id(const wire::PacketView& a, const wire::PacketView& b) {
  const auto id_a = ip_id_of(a);
  const auto id_b = ip_id_of(b);
  return !id_a || !id_b || *id_a == *id_b;
}

/// A fault of Verbena has copied it.
bool says_duplicated(const Packet& packet) {
  return packet.captured.comment.starts_with(wire::kNotePrefix) &&
         packet.captured.comment.find("duplicated") != std::string_view::npos;
}

using Way = std::pair<wire::Gid, wire::Gid>;

Way way_of(const wire::PacketView& view) {
  return {view.source(), view.destination()};
}

/// What tells a mirror port's copy of a frame from the frame sent again: a mirror port shows the copy before the frame
/// can have been answered; nobody sends again sooner than an answer takes, nor with the same IP identification.
class CopyEvidence {
 public:
  explicit CopyEvidence(const Capture& capture)
      : capture_(capture), requests_(std::bit_ceil(std::min(capture.packets().size() + 1, kRequestsKept))) {
    for (const Packet& packet : capture.packets()) note(packet, packet.view());
  }

  bool is_copy(std::uint32_t before, std::uint32_t later) const {
    const wire::PacketView view = capture_.packets()[later].view();
    const Flow& flow = flows_.at(way_of(view));
    // Hosts that never fragment may leave it at 0, or at any one number.
    const bool has_ids = flow.new_ids * 2 >= flow.new_psns;
    if (has_ids && ip_id_of(view).value_or(0) != 0) return true;
    bool is_next = true;
    for (std::uint32_t i = later - 1; i != before; --i) {
      if (later - i > kLookBackMax) return false;
      const wire::PacketView other = capture_.packets()[i].view();
      if (other.source() == view.source() && other.bth().dest_qp == view.bth().dest_qp)
        is_next = is_next && other.bth().psn == view.bth().psn;
      else if (is_answered(view, other))
        return false;
    }
    const Duration apart = capture_.packets()[later].time - capture_.packets()[before].time;
    return is_next || (flow.soonest_answer && apart < *flow.soonest_answer);
  }

 private:
  static constexpr std::size_t kRequestsKept = std::size_t{1} << 20;
  struct Flow {
    std::uint64_t new_psns = 0;
    std::uint64_t new_ids = 0;
    std::optional<wire::Psn> psn;  // of its last packet
    std::uint16_t id = 0;
    std::size_t number = 0;                  // among flows, from 1
    std::optional<Duration> soonest_answer;  // from either end, as the capture sees it
  };
  struct Request {
    std::size_t flow = 0;
    std::uint32_t psn = 0;
    Time at;
  };

  Flow& flow_of(const Way& way) {
    Flow& flow = flows_[way];
    if (flow.number == 0) flow.number = flows_.size();
    return flow;
  }
  /// The place of the request with this PSN: of all flows together, so that it is the packets that memory grows with.
  Request& request_of(const Flow& flow, std::uint32_t psn) {
    return requests_[mixed(flow.number, psn) % requests_.size()];
  }

  /// Between a frame and the same again: the other end has got the request, or this end answers once more because the
  /// other has asked again.
  static bool is_answered(const wire::PacketView& frame, const wire::PacketView& between) {
    if (!(between.source() == frame.destination()) || !(between.destination() == frame.source())) return false;
    const bool is_request = frame.opcode().is_request;
    if (between.opcode().is_request == is_request) return false;
    const std::int32_t ahead = is_request ? wire::distance(frame.bth().psn, between.bth().psn)
                                          : wire::distance(between.bth().psn, frame.bth().psn);
    return ahead >= 0 && ahead < kNearPsns;
  }

  void note(const Packet& packet, const wire::PacketView& view) {
    Flow& flow = flow_of(way_of(view));
    const wire::Psn psn = view.bth().psn;
    const std::uint16_t id = ip_id_of(view).value_or(0);
    if (flow.psn && !(*flow.psn == psn)) {
      ++flow.new_psns;
      if (id != flow.id) ++flow.new_ids;
    }
    flow.psn = psn;
    flow.id = id;
    const auto is_of = [&](const Request& request, const Flow& sender) {
      return request.flow == sender.number && request.psn == psn.value();
    };
    if (view.opcode().is_request) {
      Request& request = request_of(flow, psn.value());
      if (!is_of(request, flow)) request = {flow.number, psn.value(), packet.time};
      return;
    }
    Flow& asked = flow_of({view.destination(), view.source()});
    const Request& request = request_of(asked, psn.value());
    if (!is_of(request, asked)) return;
    const Duration took = packet.time - request.at;
    for (Flow* end : {&flow, &asked})
      if (!end->soonest_answer || took < *end->soonest_answer) end->soonest_answer = took;
  }

  const Capture& capture_;
  std::map<Way, Flow> flows_;
  std::vector<Request> requests_;  // the latest at each place
};

}  // namespace

Sightings::Sightings(const Capture& capture) : sightings_(capture.packets().size()) {
  std::unordered_map<std::uint64_t, std::uint32_t> latest;
  for (std::uint32_t i = 0; i < capture.packets().size(); ++i) {
    const Packet& packet = capture.packets()[i];
    sightings_[i].first = i;
    if (packet.was_dropped()) continue;  // nobody sees it once more
    const wire::PacketView view = packet.view();
    look_at(capture, i, view, latest.try_emplace(key_of(packet, view), kNone).first->second);
  }
  refuse_rare_ones(capture);
  find_copies(capture);
  frames_.clear();
  alike_.clear();
}

/// The oldest frame that has not been seen at this place is the one that has got here.
void Sightings::look_at(const Capture& capture, std::uint32_t number, const wire::PacketView& view,
                        std::uint32_t& latest) {
  const Packet& packet = capture.packets()[number];
  const Place place = Place::of(packet, view);
  std::uint32_t found = kNone;
  SeenAgain how = SeenAgain::no;
  bool is_alike = false;
  unsigned looked_at = 0;
  for (std::uint32_t at = latest; at != kNone && looked_at < kFramesLookedAt; at = frames_[at].previous, ++looked_at) {
    const Frame& frame = frames_[at];
    SeenAgain as = SeenAgain::mirrored;
    bool is_new = frame.places < kPlacesMax;
    for (std::size_t i = 0; i < frame.places && is_new; ++i) {
      const Packet& other = capture.packets()[frame.packets[i]];
      const wire::PacketView other_view = other.view();
      const SeenAgain one = compare(Place::of(other, other_view), place);
      is_new = one != SeenAgain::no && is_in_time(one, packet.time - other.time);
      if (one == SeenAgain::no && at == latest)
        is_alike = has_same_ip_id(view, other_view) && is_in_time(one, packet.time - other.time) &&
                   !says_duplicated(packet) && !says_duplicated(other);
      as = std::min(as, one);
    }
    if (!is_new) continue;
    found = at;
    how = as;
  }
  if (found != kNone) {
    Frame& frame = frames_[found];
    sightings_[number] = {how, frame.packets[0]};
    frame.packets[frame.places++] = number;
    return;
  }
  if (is_alike) alike_.emplace_back(number, frames_[latest].packets[0]);
  Frame made;
  made.packets[0] = number;
  made.places = 1;
  made.previous = latest;
  latest = static_cast<std::uint32_t>(frames_.size());
  frames_.push_back(made);
}

/// A host with two ports may send a frame again by the other one. Where two interfaces see the same frames, they see
/// many, and it does not matter which of them sees a frame first.
void Sightings::refuse_rare_ones(const Capture& capture) {
  std::map<std::uint32_t, std::uint64_t> seen;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> shared;
  const auto interface_of = [&](std::uint32_t packet) { return capture.packets()[packet].captured.interface; };
  for (const Frame& frame : frames_) {
    std::array<std::uint32_t, kPlacesMax> interfaces{};
    std::transform(frame.packets.begin(), frame.packets.begin() + frame.places, interfaces.begin(), interface_of);
    std::sort(interfaces.begin(), interfaces.begin() + frame.places);
    const auto end = std::unique(interfaces.begin(), interfaces.begin() + frame.places);
    for (auto a = interfaces.begin(); a != end; ++a) {
      ++seen[*a];
      for (auto b = a + 1; b != end; ++b) ++shared[{*a, *b}];
    }
  }
  for (std::uint32_t i = 0; i < sightings_.size(); ++i) {
    if (sightings_[i].how != SeenAgain::elsewhere) continue;
    const auto [a, b] = std::minmax({interface_of(sightings_[i].first), interface_of(i)});
    if (a != b && shared[{a, b}] * 4 < std::min(seen[a], seen[b])) sightings_[i] = {SeenAgain::no, i};
  }
}

/// Each begins with a frame, and goes on with what may be its copies.
std::vector<Sightings::Chain> Sightings::chains(const Capture& capture) const {
  const CopyEvidence evidence(capture);
  std::vector<Chain> made;
  std::vector<std::uint32_t> chain_of(sightings_.size(), kNone);
  for (const auto& [later, before] : alike_) {
    if (!evidence.is_copy(before, later)) continue;
    if (chain_of[before] == kNone) {
      chain_of[before] = static_cast<std::uint32_t>(made.size());
      made.push_back({before});
    }
    chain_of[later] = chain_of[before];
    made[chain_of[later]].push_back(later);
  }
  return made;
}

/// Where nearly every frame of one way is there several times, alike in all, mirror ports show it: coming and going, or
/// each of several ports. What is sent again, or copied by the network, is never everything.
void Sightings::find_copies(const Capture& capture) {
  if (alike_.empty()) return;
  struct Copies {
    std::uint64_t frames = 0;
    std::array<std::uint64_t, kCopiesMax + 1> at_least{};  // frames that are there so many times
    std::size_t most() const {
      std::size_t times = kCopiesMax;
      while (times > 1 && (at_least[times] < kCopiedLeast || at_least[times] * 10 < frames * 9)) --times;
      return times;
    }
  };
  std::map<Way, Copies> ways;
  const auto copies_of = [&](std::uint32_t packet) -> Copies& {
    return ways[way_of(capture.packets()[packet].view())];
  };
  const std::vector<Chain> all = chains(capture);
  for (std::uint32_t i = 0; i < sightings_.size(); ++i)
    if (sightings_[i].how == SeenAgain::no) ++copies_of(i).frames;
  for (const Chain& chain : all) {
    Copies& copies = copies_of(chain.front());
    copies.frames -= chain.size() - 1;
    for (std::size_t times = 2; times <= std::min(chain.size(), kCopiesMax); ++times) ++copies.at_least[times];
  }
  for (const Chain& chain : all) {
    const std::size_t times = copies_of(chain.front()).most();
    for (std::size_t i = 0; i < chain.size(); ++i)
      if (i % times != 0) sightings_[chain[i]] = {SeenAgain::mirrored, chain[i - i % times]};
  }
  for (Sighting& sighting : sightings_)
    if (sightings_[sighting.first].how != SeenAgain::no) sighting.first = sightings_[sighting.first].first;
}

}  // namespace verbena::captures
