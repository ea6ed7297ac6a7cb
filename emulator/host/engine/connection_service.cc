#include "emulator/host/engine/connection_service.h"

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
  } else if (addressee->service_id != 0 && !cm_.listens(addressee->service_id, addressee->asker)) {
    Stranger stranger;
    if (strangers_.size() == kStrangersMax || !stranger.frame.fits(packet)) return;
    stranger.service_id = addressee->service_id;
    stranger.asker = addressee->asker;
    stranger.refuse_at = now + kPatience;
    stranger.frame.keep(packet);
    strangers_.push_back(stranger);
    return touch();
  } else if (raises_doubt(packet)) {
    return touch();
  }
  cm_.receive(now, packet);
  touch();
}

void Management::KeptFrame::keep(const wire::PacketView& packet) {
  bytes = packet.frame().size();
  std::ranges::copy(packet.frame(), octets.begin());
}

void Management::take(Time now, const KeptFrame& frame) {
  if (const auto packet = wire::parse_frame({frame.octets.data(), frame.bytes})) cm_.receive(now, *packet);
  touch();
}

/// The request is kept until a roll call has told whether its sender's predecessor lives.
bool Management::raises_doubt(const wire::PacketView& packet) {
  Doubt doubt;
  if (doubts_.size() == kStrangersMax || !doubt.frame.fits(packet)) return false;
  const auto peer = cm_.doubt(packet);
  if (!peer) return false;
  doubt.peer = *peer;
  doubt.frame.keep(packet);
  doubts_.push_back(doubt);
  return true;
}

void Management::settle_doubts(Time now) {
  if (calls_roll_ || cm_.has_joined()) return;  // not until they have been looked after
  for (; !doubts_.empty(); doubts_.pop_front()) {
    const Doubt& doubt = doubts_.front();
    for (Gone& gone : gone_)
      if (gone.peer == doubt.peer) gone.told_at = now;
    tell_gone(now);
    take(now, doubt.frame);
  }
}

std::size_t Management::step(Time now, Link& link, nic::Counters& counters, Arrived arrived) {
  if (arrived == Arrived::all_taken) {
    tell_gone(now);
    settle_doubts(now);
  }
  cm_.on_deadline(now);
  CountingPort port(link, counters);
  const std::size_t sent = cm_.transmit(now, port, kBudget);
  due_ = cm_.has_work() ? now + kBackPressureRetry : cm_.next_deadline();
  if (!gone_.empty()) due_ = std::min(due_, gone_.front().told_at);
  if (!calls_roll_ && cm_.has_joined()) roll_call_at_ = now;
  if (!doubts_.empty() && !calls_roll_ && !cm_.has_joined()) due_ = now;  // to be settled when all is taken
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
  struct Due {
    Stranger stranger;
    bool listens = false;  // we do, for the other IP version
  };
  std::vector<Due> strangers;
  lock.lock();
  while (has_strangers(now)) {
    strangers.push_back({strangers_.front(), cm_.listens(strangers_.front().service_id)});
    strangers_.pop_front();
  }
  lock.unlock();
  std::erase_if(strangers, [&](const Due& due) {
    const Stranger& it = due.stranger;
    const auto is_other = [&](wire::IpVersions who) {
      const auto listener = directory_.find_listener(cm_.config().address, it.service_id, who);
      return listener && *listener != cm_.config().slot;
    };
    // Whoever listens for its IP version takes it; else who listens for the other one turns it down.
    return is_other(it.asker) || (!due.listens && is_other(wire::kBothIpVersions));
  });
  if (strangers.empty()) return false;
  const std::scoped_lock guard(lock);
  for (const Due& due : strangers) take(now, due.stranger.frame);
  return true;
}

/// Who of the processes at the other ends is there still.
bool Management::call_roll(SpinLock& lock, Time now) {
  Watches watches;
  cm::ConnectionManager::Roll roll;
  std::vector<cm::PeerProcess> peers;
  {
    const std::scoped_lock guard(lock);
    if (roll_call_at_ > now) return false;
    roll_call_at_ = kNever;
    calls_roll_ = true;
    watches.swap(watches_);
    roll = cm_.begin_roll();
    for (const auto& [peer, connections] : cm_.peers()) peers.push_back(peer);
  }
  const bool all = now >= all_called_at_;
  if (all) all_called_at_ = now + kRollCallEvery;
  std::erase_if(watches, [&](const auto& it) { return !std::ranges::binary_search(peers, it.first); });
  std::vector<Gone> gone;
  for (const cm::PeerProcess& peer : peers) {
    if (!all && !roll.joined.contains(peer)) continue;
    if (auto found = look_after(peer, watches, roll.number)) gone.push_back(*found);
  }
  const std::scoped_lock guard(lock);
  const Time told_at = now + kLastWords;
  for (const Gone& found : gone) gone_.push_back({found.peer, found.before, told_at});
  watches_.swap(watches);
  calls_roll_ = false;
  roll_call_at_ = cm_.peers().empty() ? kNever : all_called_at_;
  touch();
  return true;
}

std::optional<Management::Gone> Management::look_after(const cm::PeerProcess& peer, Watches& watches,
                                                       std::uint32_t roll) const {
  const auto known = watches.find(peer);
  if (known == watches.end()) {
    auto watch = directory_.watch(peer.address, peer.slot);
    // Whoever is not found here at first either stands elsewhere, or was faster to go than we to look.
    if (!watch && peers_ == Peers::all_here) return Gone{peer, roll, {}};
    watches.emplace(peer, std::move(watch));
    return std::nullopt;
  }
  if (!known->second) known->second = directory_.watch(peer.address, peer.slot);
  if (!known->second || !known->second->is_gone()) return std::nullopt;
  known->second = directory_.watch(peer.address, peer.slot);
  // Whoever has its place now is somebody else: what was made since the last roll call is theirs.
  if (known->second) return Gone{peer, roll - 1, {}};
  watches.erase(known);
  return Gone{peer, roll, {}};
}

void Management::tell_gone(Time now) {
  std::erase_if(gone_, [&](const Gone& gone) {
    const bool is_due = gone.told_at <= now;
    if (is_due) cm_.peer_gone(now, gone.peer, gone.before);
    return is_due;
  });
}

void Management::device_removed() {
  cm_.device_removed();
  strangers_.clear();
  doubts_.clear();
  gone_.clear();
  roll_call_at_ = kNever;
  touch();
}

void Management::abandon() {
  presence_.release();
  watches_.clear();
  doubts_.clear();
  gone_.clear();
}

}  // namespace verbena::host
