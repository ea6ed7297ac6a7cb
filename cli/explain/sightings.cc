#include "cli/explain/sightings.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>
#include <unordered_map>

namespace verbena::explain {

namespace {

constexpr std::int64_t kApartMaxNs = 100'000'000;      // between two places, by two clocks
constexpr std::int64_t kMirrorApartMaxNs = 1'000'000;  // within a switch
constexpr unsigned kFramesLookedAt = 8;                // with the same octets
constexpr std::uint64_t kTwinsLeast = 10;

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

/// Of all that is the same wherever the frame passes: who sent it to whom, and what follows the UDP header. Of a cut
/// packet only the BTH: files that are merged may have been cut at several lengths.
std::uint64_t key_of(const Packet& packet, const wire::PacketView& view) {
  std::uint64_t hash = mixed(view.udp().source_port, view.payload_bytes());
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
            view.ip().hop_limit(),
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

bool has_same_ip_id(const wire::PacketView& a, const wire::PacketView& b) {
  return !a.ip().is_v4() || !b.ip().is_v4() || a.ip().v4().identification == b.ip().v4().identification;
}

}  // namespace

Sightings::Sightings(const Capture& capture) : sightings_(capture.packets().size()) {
  std::unordered_map<std::uint64_t, std::uint32_t> latest;
  for (std::uint32_t i = 0; i < capture.packets().size(); ++i) {
    const Packet& packet = capture.packets()[i];
    sightings_[i].first = i;
    const auto view = packet.view();
    if (!view || packet.was_dropped()) continue;  // nobody sees it once more
    look_at(capture, i, latest.try_emplace(key_of(packet, *view), kNone).first->second);
  }
  find_twins(capture);
  refuse_rare_ones(capture);
  frames_.clear();
  twins_.clear();
}

/// The oldest frame that has not been seen at this place is the one that has got here.
void Sightings::look_at(const Capture& capture, std::uint32_t number, std::uint32_t& latest) {
  const Packet& packet = capture.packets()[number];
  const auto view = packet.view();
  const Place place = Place::of(packet, *view);
  std::uint32_t found = kNone;
  SeenAgain how = SeenAgain::no;
  bool has_twin = false;
  unsigned looked_at = 0;
  for (std::uint32_t at = latest; at != kNone && looked_at < kFramesLookedAt; at = frames_[at].previous, ++looked_at) {
    const Frame& frame = frames_[at];
    SeenAgain as = SeenAgain::mirrored;
    bool is_new = frame.places < kPlacesMax;
    for (std::size_t i = 0; i < frame.places && is_new; ++i) {
      const Packet& other = capture.packets()[frame.packets[i]];
      const auto other_view = other.view();
      const SeenAgain one = compare(Place::of(other, *other_view), place);
      is_new = one != SeenAgain::no && is_in_time(one, packet.time - other.time);
      if (one == SeenAgain::no && at == latest)
        has_twin = !frame.is_twin && has_same_ip_id(*view, *other_view) && is_in_time(one, packet.time - other.time);
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
  if (has_twin) twins_.emplace_back(number, frames_[latest].packets[0]);
  Frame made;
  made.packets[0] = number;
  made.places = 1;
  made.is_twin = has_twin;
  made.previous = latest;
  latest = static_cast<std::uint32_t>(frames_.size());
  frames_.push_back(made);
}

/// Where nearly every frame of one way is there twice, at once and alike in all, a mirror port shows it coming and
/// going. What is sent again is never everything.
void Sightings::find_twins(const Capture& capture) {
  struct Way {
    std::uint64_t packets = 0;
    std::uint64_t twins = 0;
  };
  std::map<std::pair<wire::Gid, wire::Gid>, Way> ways;
  const auto way_of = [&](std::uint32_t packet) -> Way& {
    const auto view = capture.packets()[packet].view();
    return ways[{view->source(), view->destination()}];
  };
  if (twins_.empty()) return;
  for (std::uint32_t i = 0; i < sightings_.size(); ++i)
    if (sightings_[i].how == SeenAgain::no) ++way_of(i).packets;
  for (const auto& [later, first] : twins_) ++way_of(later).twins;
  for (const auto& [later, first] : twins_) {
    const Way& way = way_of(later);
    if (way.twins >= kTwinsLeast && way.twins * 20 >= way.packets * 9) sightings_[later] = {SeenAgain::mirrored, first};
  }
}

/// A host with two ports may send a frame again by the other one. Where two interfaces see the same frames, they see
/// many.
void Sightings::refuse_rare_ones(const Capture& capture) {
  std::map<std::uint32_t, std::uint64_t> packets;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> shared;
  const auto interface_of = [&](std::uint32_t packet) { return capture.packets()[packet].captured.interface; };
  const auto pair_of = [&](std::uint32_t packet) {
    return std::pair(interface_of(sightings_[packet].first), interface_of(packet));
  };
  for (std::uint32_t i = 0; i < sightings_.size(); ++i) {
    ++packets[interface_of(i)];
    if (sightings_[i].how == SeenAgain::elsewhere) ++shared[pair_of(i)];
  }
  for (std::uint32_t i = 0; i < sightings_.size(); ++i) {
    if (sightings_[i].how != SeenAgain::elsewhere) continue;
    const auto both = pair_of(i);
    if (shared[both] * 4 < std::min(packets[both.first], packets[both.second])) sightings_[i] = {SeenAgain::no, i};
  }
}

}  // namespace verbena::explain
