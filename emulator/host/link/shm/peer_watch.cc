#include "emulator/host/link/shm/peer_watch.h"

#include <sched.h>

#include <algorithm>

namespace verbena::host {

PeerWatch::PeerWatch(DeferredWork& deferred, ShmStatistics& statistics, const Options& options)
    : deferred_(deferred), statistics_(statistics), options_(options) {
  watched_.reserve(kPeersExpected);
}

bool PeerWatch::is_asleep_over(ShmChannel& channel) {
  // A page that comes after this look finds the frame here already: whoever sets it rings (ShmControl::on_answer).
  ProcessPage* const page = channel.peer_page.load(std::memory_order_seq_cst);
  // Not for frames that it has taken between the hand-over and this look.
  return page != nullptr && doorbell_of(*page).is_armed(channel.rung) && !channel.has_taken_all();
}

bool PeerWatch::wake(ShmChannel& channel) {
  ProcessPage* const page = channel.peer_page.load(std::memory_order_acquire);
  if (page == nullptr || !doorbell_of(*page).take(channel.rung)) return false;
  note_rung(*channel.peer_pages().wake, channel.rung);
  ++statistics_.wakes;
  ring(channel);
  return true;
}

void PeerWatch::published(ShmChannel& channel, bool is_rung) {
  if (channel.waker.published(is_rung, [&] { return channel.peer_sleeps_on_our_cpu(); })) watched_.push_back(&channel);
}

void PeerWatch::look_at_all(Time now) {
  for (std::size_t i = watched_.size(); i-- > 0;) {
    ShmChannel& channel = *watched_[i];
    if (!channel.waker.is_due(now) || channel.holds_doorbell || !look_at(channel, now)) continue;
    watched_[i] = watched_.back();
    watched_.pop_back();
  }
}

/// Returns whether the peer has taken all.
bool PeerWatch::look_at(ShmChannel& channel, Time now) {
  PeerWaker::Sight sight;
  sight.tail = channel.tx.read_tail();
  sight.has_taken_all = channel.tx.drained();
  if (!sight.has_taken_all) sight.polls = channel.peer_polls();
  const PeerWaker::Found found = channel.waker.look(now, sight, [&] { return channel.peer_sleeps_on_our_cpu(); });
  switch (found) {
    case PeerWaker::Found::has_taken_all:
      channel.rewind_if_slow(now);
      return true;
    case PeerWaker::Found::moves:
      return false;
    case PeerWaker::Found::stuck:
      break;
    case PeerWaker::Found::stuck_on_our_cpu:
      yields_.store(true, std::memory_order_relaxed);
      break;
  }
  if (options_.rings_the_stuck && channel.peer_page.load(std::memory_order_acquire) != nullptr) {
    ++statistics_.kicks;
    ring(channel);
  }
  return false;
}

std::optional<Time> PeerWatch::next_deadline() const {
  std::optional<Time> earliest;
  const std::uint32_t own_core = present_core();
  for (const ShmChannel* channel : watched_) {
    if (options_.trusts_the_rung && channel->waker.is_rung()) continue;
    Time at = channel->waker.due(last_now_);
    // A peer that waits for the caller's core runs as soon as the caller sleeps. A timer for it would cost more than
    // all the rest of the turn.
    if (channel->peer_core() == own_core) at = std::max(at, last_now_ + kPatienceOnOurCpu);
    if (!earliest || at < *earliest) earliest = at;
  }
  return earliest;
}

void PeerWatch::forget_drained() {
  std::erase_if(watched_, [](ShmChannel* channel) {
    if (channel->has_taken_all()) channel->waker.needs_no_look();
    return !channel->waker.is_watched();
  });
}

void PeerWatch::remove(ShmChannel& channel) {
  std::erase(watched_, &channel);
}

bool PeerWatch::blocks_peer_cpu() {
  if (watched_.empty()) return false;
  const std::uint32_t own = present_core();
  return own != 0 && std::ranges::any_of(watched_, [own](ShmChannel* channel) {
           return channel->peer_core() == own && !channel->has_taken_all();
         });
}

void PeerWatch::yield_to_peers() {
  if (yields_.load(std::memory_order_relaxed) && yields_.exchange(false)) sched_yield();
}

}  // namespace verbena::host
