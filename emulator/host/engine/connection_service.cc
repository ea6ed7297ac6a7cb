#include "emulator/host/engine/connection_service.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "wire/infiniband.h"

namespace verbena::host {
namespace {

/// What the manager sends counts as what the NIC sends.
class CountingPort final : public nic::TransmitPort {
 public:
  CountingPort(nic::TransmitPort& port, nic::Counters& counters)
      : TransmitPort(port.icrc_wanted()), port_(port), counters_(counters) {}
  std::span<std::byte> reserve(const nic::Destination& to, std::size_t bytes) override {
    return port_.reserve(to, bytes);
  }
  void commit(std::size_t bytes, wire::IcrcState icrc) override {
    counters_.add(nic::Counter::tx_packets);
    counters_.add(nic::Counter::tx_bytes, bytes);
    port_.commit(bytes, icrc);
  }
  void cancel() override { port_.cancel(); }

 private:
  nic::TransmitPort& port_;
  nic::Counters& counters_;
};

}  // namespace

void ConnectionService::management_datagram(Time now, const wire::PacketView& packet) {
  const auto addressee = cm::addressee_of(packet);
  if (!addressee) return;
  if (addressee->connection != 0) {
    if (cm::slot_of_id(addressee->connection) != config_.slot) return;
  } else if (addressee->service_id != 0 && cm_.listeners().find(addressee->service_id, addressee->asker) == nullptr) {
    UnclaimedRequest unclaimed;
    if (unclaimed_.size() == kUnclaimedMax || !unclaimed.frame.fits(packet)) return;
    unclaimed.service_id = addressee->service_id;
    unclaimed.asker = addressee->asker;
    unclaimed.refuse_at = now + kPatience;
    unclaimed.frame.keep(packet);
    unclaimed_.push_back(unclaimed);
    return note_activity();
  } else if (keep_if_stale(packet)) {
    return note_activity();
  }
  cm_.receive(now, packet);
  note_activity();
}

/// Of each kind the first is told with those that have come since.
void ConnectionService::key_refused(const wire::PacketView& packet, bool is_qkey) {
  if (carrier_ == nullptr) return;
  KeyReport& report = reports_[is_qkey ? 1 : 0];
  if (report.packets++ != 0) return;
  report.trap = is_qkey ? wire::kTrapBadQkey : wire::kTrapBadPkey;
  report.details = wire::bad_key_details(packet, is_qkey);
  has_reports_ = true;
  note_activity();
}

void ConnectionService::carry_reports(FairLock& lock) {
  std::array<KeyReport, 2> reports;
  {
    const std::scoped_lock guard(lock);
    if (!std::exchange(has_reports_, false)) return;
    reports = std::exchange(reports_, {});
  }
  for (const KeyReport& report : reports)
    if (report.packets != 0) carrier_->report(report);
}

/// With what stands behind its ICRC.
void ConnectionService::KeptFrame::keep(const wire::PacketView& packet) {
  const std::span<const std::byte> trailer = wire::trailer_of(packet);
  bytes = packet.frame().size() + trailer.size();
  std::ranges::copy(trailer, std::ranges::copy(packet.frame(), octets.begin()).out);
}

void ConnectionService::take(Time now, const KeptFrame& frame) {
  if (const auto packet = wire::parse_on(config_.path_address.medium(), {frame.octets.data(), frame.bytes}))
    cm_.receive(now, *packet);
  note_activity();
}

/// The request is kept until a probe has told whether its sender's predecessor lives.
bool ConnectionService::keep_if_stale(const wire::PacketView& packet) {
  StaleRequest stale;
  if (stale_.size() == kUnclaimedMax || !stale.frame.fits(packet)) return false;
  const auto peer = cm_.sender_if_stale(packet);
  if (!peer) return false;
  cm_.peers().suspect(*peer);
  stale.peer = *peer;
  stale.frame.keep(packet);
  stale_.push_back(stale);
  return true;
}

void ConnectionService::recheck_stale(Time now, FramePort& port) {
  if (is_probing_ || cm_.peers().has_joined()) return;  // not until they have been looked after
  for (const StaleRequest& stale : stale_)
    for (EndedPeer& ended : ended_)
      if (ended.peer == stale.peer) ended.told_at = now;
  tell_gone(now, port);
  for (StaleRequest& stale : stale_)
    if (stale.until == Time{}) stale.until = std::max(now, words_travel_until_);
  // The predecessor's connection is over once its program has answered the last word; else both are stale (12.9.8.3.1).
  const auto waits = [&](const StaleRequest& stale) {
    if (stale.until <= now) return false;
    const auto packet = wire::parse_on(config_.path_address.medium(), {stale.frame.octets.data(), stale.frame.bytes});
    return packet && cm_.sender_if_stale(*packet).has_value();
  };
  for (; !stale_.empty() && !waits(stale_.front()); stale_.pop_front()) take(now, stale_.front().frame);
}

std::size_t ConnectionService::step(Time now, FramePort& port, nic::Counters& counters, Arrived arrived) {
  if (arrived == Arrived::all_taken) {
    tell_gone(now, port);
    recheck_stale(now, port);
  }
  cm_.on_deadline(now);
  CountingPort counted(port, counters);
  const std::size_t sent = cm_.outbox().transmit(counted, kBudget);
  due_ = !cm_.outbox().empty() ? now + kBackPressureRetry : cm_.next_deadline();
  if (!ended_.empty()) due_ = std::min(due_, ended_.front().told_at);
  if (!is_probing_ && cm_.peers().has_joined()) probe_at_ = now;
  if (!stale_.empty() && !is_probing_ && !cm_.peers().has_joined())
    due_ = std::min(due_, stale_.front().until > now ? now + kStaleLook : now);  // again when all is taken
  if (!to_carry_.empty()) due_ = now;
  if (probe_at_ > now) due_ = std::min(due_, probe_at_);
  // Those that are due already are about to be.
  if (!unclaimed_.empty() && unclaimed_.front().refuse_at > now) due_ = std::min(due_, unclaimed_.front().refuse_at);
  return sent;
}

bool ConnectionService::recheck(FairLock& lock, Time now) {
  carry_last_words(lock);
  carry_reports(lock);
  const bool has_refused = recheck_unclaimed(lock, now);
  return probe_peers(lock, now) || has_refused;
}

/// Requests for services that nobody here listened for until now.
bool ConnectionService::recheck_unclaimed(FairLock& lock, Time now) {
  struct Due {
    UnclaimedRequest unclaimed;
    bool listens = false;  // we do, for the other IP version
  };
  std::vector<Due> unclaimed;
  lock.lock();
  while (has_unclaimed(now)) {
    unclaimed.push_back({unclaimed_.front(), cm_.listeners().has(unclaimed_.front().service_id)});
    unclaimed_.pop_front();
  }
  lock.unlock();
  std::erase_if(unclaimed, [&](const Due& due) {
    const UnclaimedRequest& it = due.unclaimed;
    const auto is_other = [&](wire::IpVersions who) {
      const auto listener = directory_.find_listener(config_.address, it.service_id, who);
      return listener && *listener != config_.slot;
    };
    // Whoever listens for its IP version takes it; else who listens for the other one turns it down.
    return is_other(it.asker) || (!due.listens && is_other(wire::kAnyIpVersion));
  });
  if (unclaimed.empty()) return false;
  const std::scoped_lock guard(lock);
  for (const Due& due : unclaimed) take(now, due.unclaimed.frame);
  return true;
}

/// Who of the processes at the other ends is there still.
bool ConnectionService::probe_peers(FairLock& lock, Time now) {
  Watches watches;
  cm::PeerProcesses::Probe probe;
  std::vector<cm::PeerProcess> peers;
  {
    const std::scoped_lock guard(lock);
    if (probe_at_ > now) return false;
    probe_at_ = kNever;
    is_probing_ = true;
    watches.swap(watches_);
    probe = cm_.peers().begin_probe();
    for (const auto& [peer, connections] : cm_.peers().all()) peers.push_back(peer);
  }
  const bool all = now >= all_called_at_;
  if (all) all_called_at_ = now + kProbeEvery;
  std::erase_if(watches, [&](const auto& it) { return !std::ranges::binary_search(peers, it.first); });
  std::vector<EndedPeer> ended;
  for (const cm::PeerProcess& peer : peers) {
    if (!all && !probe.joined.contains(peer)) continue;
    if (auto found = look_after(peer, watches, probe.number)) ended.push_back(*found);
  }
  const std::scoped_lock guard(lock);
  const Time told_at = now + kDrainDelay;
  for (const EndedPeer& found : ended) ended_.push_back({found.peer, found.before, told_at});
  watches_.swap(watches);
  is_probing_ = false;
  probe_at_ = cm_.peers().all().empty() ? kNever : all_called_at_;
  note_activity();
  return true;
}

std::optional<ConnectionService::EndedPeer> ConnectionService::look_after(const cm::PeerProcess& peer, Watches& watches,
                                                                          std::uint32_t probe) const {
  const auto known = watches.find(peer);
  if (known == watches.end()) {
    auto sighting = directory_.watch(peer.address, peer.slot);
    if (sighting.is_unknown) return std::nullopt;
    // Not found at the first look: its process runs on another machine, or has ended before this look.
    if (!sighting.watch && peers_ == Peers::all_here) return EndedPeer{peer, probe, {}};
    watches.emplace(peer, std::move(sighting.watch));
    return std::nullopt;
  }
  if (!known->second) known->second = directory_.watch(peer.address, peer.slot).watch;
  if (!known->second || !known->second->is_gone()) return std::nullopt;
  auto successor = directory_.watch(peer.address, peer.slot);
  if (successor.is_unknown) return std::nullopt;
  known->second = std::move(successor.watch);
  // Another process has the slot now: connections made since the last probe are that one's.
  if (known->second) return EndedPeer{peer, probe - 1, {}};
  watches.erase(known);
  return EndedPeer{peer, probe, {}};
}

/// They travel as frames do; what of them arrives ends connections.
void ConnectionService::tell_gone(Time now, FramePort& port) {
  std::vector<ToCarry> words;
  std::erase_if(ended_, [&](const EndedPeer& ended) {
    if (ended.told_at > now) return false;
    for (cm::LastWord& word : cm_.last_words(ended.peer, ended.before)) words.push_back({ended.peer, std::move(word)});
    return true;
  });
  if (!words.empty()) words_travel_until_ = now + kLastWordsPatience;
  for (ToCarry& it : words) {
    if (carrier_ != nullptr) {
      to_carry_.push_back(std::move(it));
    } else if (!port.take_in(now, it.word)) {
      if (const auto packet = wire::parse_on(config_.path_address.medium(), it.word)) management_datagram(now, *packet);
    }
  }
}

void ConnectionService::carry_last_words(FairLock& lock) {
  std::vector<ToCarry> words;
  {
    const std::scoped_lock guard(lock);
    words.swap(to_carry_);
  }
  for (const ToCarry& it : words) carrier_->carry(it.from.slot, it.word);
}

void ConnectionService::device_removed() {
  cm_.device_removed();
  unclaimed_.clear();
  stale_.clear();
  ended_.clear();
  to_carry_.clear();
  reports_ = {};
  has_reports_ = false;
  probe_at_ = kNever;
  note_activity();
}

void ConnectionService::abandon() {
  presence_.release();
  watches_.clear();
  stale_.clear();
  ended_.clear();
}

}  // namespace verbena::host
