#include "emulator/host/management.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace verbena::host {
namespace {

/// What the manager sends counts as what the NIC sends.
class CountingPort final : public nic::TransmitPort {
 public:
  CountingPort(nic::TransmitPort& port, nic::Counters& counters) : port_(port), counters_(counters) {}
  std::span<std::byte> reserve(const nic::Destination& to, std::size_t bytes) override {
    return port_.reserve(to, bytes);
  }
  void commit(std::size_t bytes) override {
    counters_.add(nic::Counter::tx_packets);
    counters_.add(nic::Counter::tx_bytes, bytes);
    port_.commit(bytes);
  }
  void cancel() override { port_.cancel(); }

 private:
  nic::TransmitPort& port_;
  nic::Counters& counters_;
};

}  // namespace

void Management::management_datagram(Time now, const wire::PacketView& packet) {
  const auto addressee = cm::ConnectionManager::addressee(packet);
  if (!addressee) return;
  if (addressee->connection != 0) {
    if (cm::slot_of_id(addressee->connection) != cm_.config().slot) return;
  } else if (addressee->service_id != 0 && !cm_.listens(addressee->service_id)) {
    Stranger stranger;
    if (strangers_.size() == kStrangersMax || packet.frame().size() > stranger.frame.size()) return;
    stranger.service_id = addressee->service_id;
    stranger.refuse_at = now + kPatience;
    stranger.bytes = packet.frame().size();
    std::ranges::copy(packet.frame(), stranger.frame.begin());
    strangers_.push_back(stranger);
    return touch();
  }
  cm_.receive(now, packet);
  touch();
}

void Management::refuse(Time now, const Stranger& stranger) {
  if (const auto packet = wire::parse_frame({stranger.frame.data(), stranger.bytes})) cm_.receive(now, *packet);
  touch();
}

std::size_t Management::step(Time now, Link& link, nic::Counters& counters) {
  cm_.on_deadline(now);
  CountingPort port(link, counters);
  const std::size_t sent = cm_.transmit(now, port, kBudget);
  due_ = cm_.has_work() ? now + kBackPressureRetry : cm_.next_deadline();
  if (!calls_roll_ && cm_.has_new_peer()) roll_call_at_ = now;
  if (roll_call_at_ > now) due_ = std::min(due_, roll_call_at_);
  // Those that are due already are about to be settled.
  if (!strangers_.empty() && strangers_.front().refuse_at > now) due_ = std::min(due_, strangers_.front().refuse_at);
  return sent;
}

bool Management::settle(SpinLock& lock, Time now) {
  const bool has_refused = settle_strangers(lock, now);
  return call_roll(lock, now) || has_refused;
}

/// Requests for services that nobody here listened for until now.
bool Management::settle_strangers(SpinLock& lock, Time now) {
  std::vector<Stranger> strangers;
  lock.lock();
  while (has_strangers(now)) {
    strangers.push_back(strangers_.front());
    strangers_.pop_front();
  }
  lock.unlock();
  std::erase_if(strangers, [&](const Stranger& it) {
    const auto listener = directory_.find_listener(cm_.config().address, it.service_id);
    return listener && *listener != cm_.config().slot;
  });
  if (strangers.empty()) return false;
  const std::scoped_lock guard(lock);
  for (const Stranger& stranger : strangers) refuse(now, stranger);
  return true;
}

/// Who of the processes at the other ends is there still.
bool Management::call_roll(SpinLock& lock, Time now) {
  std::map<cm::PeerProcess, std::optional<PresenceWatch>> watches;
  std::vector<cm::PeerProcess> peers;
  {
    const std::scoped_lock guard(lock);
    if (roll_call_at_ > now) return false;
    roll_call_at_ = kNever;
    calls_roll_ = true;
    watches.swap(watches_);
    for (const auto& [peer, connections] : cm_.peers()) peers.push_back(peer);
  }
  std::vector<cm::PeerProcess> gone;
  for (const cm::PeerProcess& peer : peers) {
    const auto known = watches.find(peer);
    // Whoever is not found here at first either stands elsewhere, or was faster to go than we to look.
    const bool is_new = known == watches.end();
    auto watch = is_new ? directory_.watch(peer.address, peer.slot) : std::move(known->second);
    if (watch ? watch->is_gone() : is_new && peers_ == Peers::all_here) {
      gone.push_back(peer);
      watch.reset();  // whoever has its place now is somebody else
    }
    if (is_new)
      watches.emplace(peer, std::move(watch));
    else
      known->second = std::move(watch);
  }
  std::erase_if(watches, [&](const auto& it) { return !std::ranges::binary_search(peers, it.first); });
  const std::scoped_lock guard(lock);
  for (const cm::PeerProcess& peer : gone) cm_.peer_gone(now, peer);
  watches_.swap(watches);
  calls_roll_ = false;
  roll_call_at_ = cm_.peers().empty() ? kNever : now + kRollCallEvery;
  touch();
  return true;
}

void Management::device_removed() {
  cm_.device_removed();
  strangers_.clear();
  roll_call_at_ = kNever;
  touch();
}

void Management::abandon() {
  presence_.release();
  watches_.clear();
}

}  // namespace verbena::host
