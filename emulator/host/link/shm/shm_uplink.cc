#include "emulator/host/link/shm/shm_uplink.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "emulator/host/node/port_signal.h"
#include "emulator/host/os/clock.h"

namespace verbena::host {
namespace {
constexpr std::uint32_t kPortRoute = 0;  // made first
constexpr Duration kTurn = microseconds(100);

/// `traffic_class`: that octet of an IP header.
bool is_among(std::uint64_t dscps, std::uint8_t traffic_class) {
  constexpr unsigned kDscpShift = 2;
  return (dscps >> (traffic_class >> kDscpShift) & 1) != 0;
}
}  // namespace

Result<std::unique_ptr<ShmUplink>, std::string> ShmUplink::open(const EngineConfig& config) {
  // There is no other destination that would starve behind this one: its frames wait as long as timers wait for a
  // fabric process that the machine does not run.
  auto peers = ShmPeers::open(config.fabric, config.address,
                              {.depth_bytes = kDepthBytes,
                               .stall_max = kRelayPatience,
                               .watch = {.rings_the_stuck = false},
                               .slots = config.slots});
  if (!peers) return Failure{peers.error()};
  const auto route = (*peers)->routes().route_to(kFabricPort);
  VERBENA_ASSERT(route == kPortRoute);
  // At once, not with the first frame: the fabric process has to know where frames for this process go.
  (*peers)->control().connect(kFabricPort);
  (*peers)->apply_changes();
  if ((*peers)->routes()[kPortRoute].tx == nullptr)
    return Failure{"no fabric process serves fabric '" + config.fabric + "'"};
  return std::unique_ptr<ShmUplink>(new ShmUplink(std::move(*peers), config));
}

std::span<std::byte> ShmUplink::reserve(const nic::Destination& destination, std::size_t bytes) {
  if (ProcessPage* const page = fabric_page(); page != nullptr)
    if (const std::uint64_t held = held_dscps_of(*page, held_place_); held != 0) [[unlikely]]
      if (destination.headers != nullptr && is_among(held, destination.headers->traffic_class())) return {};
  return peers().reserve(kPortRoute, bytes);
}

void ShmUplink::publish() {
  peers().outgoing().publish([this](ShmChannel& channel) {
    const bool is_left = directed_yield_.publish(channel);
    const bool is_rung = !is_left && PeerWatch::is_asleep_over(channel) && peers().watch().wake(channel);
    peers().watch().published(channel, is_rung);
  });
}

std::size_t ShmUplink::receive(Time now, FrameSink& sink, std::size_t budget) {
  const std::size_t count = peers().take_frames(sink, budget, [](const ShmChannel&) { return SIZE_MAX; });
  if (!directed_yield_.has_left_frames())
    peers().watch().look(now);
  else if (count == 0)
    directed_yield_.look_after_left_frames(now);
  return count;
}

bool ShmUplink::arm() {
  const bool is_armed = ShmLink::arm();
  if (directed_yield_.has_left_frames()) directed_yield_.ring_for_left_frames();
  return is_armed;
}

bool ShmUplink::fetch_all() {
  if (!is_late_.load(std::memory_order_relaxed)) return true;
  const timespec turn{.tv_sec = 0, .tv_nsec = kTurn.ns};
  nanosleep(&turn, nullptr);
  return true;
}

ProcessPage* ShmUplink::fabric_page() const {
  const std::shared_ptr<ShmChannel>& channel = port();
  if (channel == nullptr || channel->dead.load(std::memory_order_relaxed)) return nullptr;
  return channel->peer_page.load(std::memory_order_acquire);
}

bool ShmUplink::is_dead_relay(Time by, Time now) {
  if (by < now && by != Time{}) return relay_.look(static_cast<std::uint64_t>(by.ns), now, kRelayPatience);
  relay_.forget();
  return by == Time{};
}

Time ShmUplink::delivered_by(Time now) {
  const Time told = fabric_page() != nullptr ? relayed_by(port()->peer_pages()) : now;
  const Time by = is_dead_relay(told, now) ? now : std::min(told, now);
  is_late_.store(by < now - kTurn, std::memory_order_relaxed);
  return by;
}

std::uint64_t ShmUplink::published() {
  published_in_ = port().get();
  return published_in_ != nullptr ? published_in_->tx.position() : 0;
}

bool ShmUplink::has_sent(std::uint64_t published) {
  if (published_in_ == nullptr || port().get() != published_in_) return true;
  if (port()->tx.read_tail() >= published) return true;
  // What a dead network does not take is as lost as what it took.
  return fabric_page() != nullptr && is_dead_relay(relayed_by(port()->peer_pages()), clock_now());
}

bool ShmUplink::has_signal() {
  return peers().control().is_connected_to(kFabricPort) &&
         !has_dead_port(fabric().c_str(), peers().own_name().address.octets);
}

Result<OpenedLink, std::string> open_fabric_link(const EngineConfig& config) {
  auto link = ShmUplink::open(config);
  if (!link) return Failure{link.error()};
  LinkParts parts = (*link)->parts();
  parts.directed_yield = &(*link)->directed_yield();
  parts.relay = link->get();
  parts.last_words = link->get();
  return opened_shm_link(std::move(*link), parts, config);
}

}  // namespace verbena::host
