// ShmLink's view of its peers: who sleeps, who has to be rung, and who needs the core that we run on.
#include <sched.h>

#include <algorithm>
#include <utility>

#include "emulator/host/link/shm/shm_link.h"

namespace verbena::host {

void ShmLink::recheck(Time now) {
  for (std::size_t i = unconfirmed_.size(); i-- > 0;) {
    ShmChannel& channel = *unconfirmed_[i];
    if (channel.recheck_at == Time{}) {
      channel.recheck_at = now + channel.patience;
      continue;
    }
    if (now < channel.recheck_at || channel.holds_doorbell || has_left_frames_ || !recheck_channel(channel, now))
      continue;
    channel.unconfirmed = false;
    unconfirmed_[i] = unconfirmed_.back();
    unconfirmed_.pop_back();
  }
}

/// After frames were published: rings, at once or when all are gathered.
void ShmLink::wake_if_asleep(ShmChannel& channel) {
  // A page that comes after this look finds the frame here already: whoever sets it rings (ShmControl::on_answer).
  ProcessPage* const page = channel.peer_page.load(std::memory_order_seq_cst);
  if (page == nullptr) return;
  const bool lends = role_ == ShmRole::port && is_lent(channel);
  if (!lends && !doorbell_of(*page).is_armed()) return;
  // Not for frames that it has taken between the hand-over and this look.
  if (has_taken_all(channel)) return;
  if (lends || (role_ == ShmRole::port && rests_behind_us(channel)))
    hold_doorbell(channel);
  else
    channel.rung = wake(channel);
}

/// False: somebody else has rung, or it has woken by itself.
bool ShmLink::wake(ShmChannel& channel) {
  const bool was_lent = role_ == ShmRole::port && give_core_back(channel);
  ProcessPage* const page = channel.peer_page.load(std::memory_order_acquire);
  if (!doorbell_of(*page).take()) return was_lent;
  ++statistics_.wakes;
  ring(channel);
  return true;
}

void ShmLink::hold_doorbell(ShmChannel& channel) {
  if (std::exchange(channel.holds_doorbell, true)) return;
  held_doorbells_.push_back(&channel);
}

void ShmLink::ring_held_doorbells() {
  for (ShmChannel* channel : held_doorbells_) {
    channel->holds_doorbell = false;
    if (!has_taken_all(*channel)) channel->rung = wake(*channel);
  }
  held_doorbells_.clear();
}

/// Before a sleep: each that needs no looking after spares a timer.
void ShmLink::forget_drained() {
  std::erase_if(unconfirmed_, [](ShmChannel* channel) {
    channel->tx.read_tail();
    if (channel->tx.drained()) channel->unconfirmed = false;
    return !channel->unconfirmed;
  });
}

bool ShmLink::recheck_channel(ShmChannel& channel, Time now) {
  const std::uint64_t tail = channel.tx.read_tail();
  if (channel.tx.drained()) {
    channel.patience = std::min(std::max(channel.patience, kPatienceMin) * 2, kPatienceMax);
    channel.tail_seen = tail;
    rewind_if_slow(channel, now);
    return true;
  }
  ProcessPage* page = channel.peer_page.load(std::memory_order_acquire);
  const std::uint64_t polls = polls_of(channel);
  // Who was rung is its thread's care, whatever its application does.
  const bool moves = tail != channel.tail_seen || (!channel.rung && polls != channel.polls_seen);
  channel.tail_seen = tail;
  channel.polls_seen = polls;
  if (moves) {
    channel.patience = std::clamp(channel.patience, kPatienceMin, kPatienceMax);
    channel.backoff = false;
  } else {
    const bool waits_behind_us = rests_behind_us(channel);
    if (waits_behind_us) yields_.store(true, std::memory_order_relaxed);
    channel.patience = channel.backoff || waits_behind_us ? std::min(channel.patience * 2, kBackoffMax) : kBackoffMin;
    channel.backoff = true;
    if (page != nullptr && role_ != ShmRole::uplink) {
      ++statistics_.kicks;
      ring(channel);
    }
  }
  channel.recheck_at = now + channel.patience;
  return false;
}

/// Little traffic need not go round the whole ring and make its memory resident.
void ShmLink::rewind_if_slow(ShmChannel& channel, Time now) {
  const std::uint64_t written = channel.tx.position() - channel.lap_position;
  if (channel.dirty || written < kLapBytes) return;
  if (now - channel.lap_at > kLapTime) channel.tx.rewind();
  channel.lap_position = channel.tx.position();
  channel.lap_at = now;
}

std::optional<Time> ShmLink::next_deadline() const {
  std::optional<Time> earliest;
  // A fabric process looks into its rings before it sleeps, and does nothing but look; the processes need looking after
  // unless they were asleep and have been rung.
  if (role_ == ShmRole::uplink) return earliest;
  const auto own_core = static_cast<std::uint32_t>(sched_getcpu() + 1);
  for (const ShmChannel* channel : unconfirmed_) {
    if (role_ == ShmRole::port && channel->rung) continue;
    Time at = channel->recheck_at == Time{} ? last_now_ + channel->patience : channel->recheck_at;
    // Whoever was kept from this core by the caller goes on when that one sleeps. A timer for it would cost more than
    // all the rest of the turn.
    if (core_of(*channel) == own_core) at = std::max(at, last_now_ + kPatienceBehindUs);
    if (!earliest || at < *earliest) earliest = at;
  }
  return earliest;
}

bool ShmLink::arm() {
  const bool armed = arm_unless_waiting([](const ShmChannel&) { return SIZE_MAX; });
  if (has_left_frames_) ring_for_left_frames();
  return armed;
}

bool ShmLink::arm_in_turn(PeerSink& sink) {
  sleeps_on_cpu();
  count_polls_beside();
  return arm_unless_waiting([&](const ShmChannel& channel) { return sink.turn(routes_[channel.route].peer); });
}

template <class Turn>
bool ShmLink::arm_unless_waiting(Turn&& turn) {
  forget_drained();
  return doorbell_of(control_->page()).arm([&] {
    return control_->has_changes() || std::any_of(channels_.begin(), channels_.end(), [&](const auto& channel) {
             return channel->rx.waiting() && turn(*channel) != 0;
           });
  });
}

void ShmLink::disarm() {
  ProcessPage& page = control_->page();
  doorbell_of(page).disarm();
  if (++polls_since_sleep_ == kPollsOfOneAwake)
    std::atomic_ref<std::uint32_t>(page.sleeps_per_message).store(0, std::memory_order_relaxed);
  note_activity();
}

void ShmLink::note_activity() {
  const std::atomic_ref<std::uint64_t> polls(control_->page().polls);
  polls.store(polls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

/// Processes and their threads may have to share a core.
void ShmLink::tell_core() {
  const std::atomic_ref<std::uint32_t> core(control_->page().core);
  const auto present = static_cast<std::uint32_t>(sched_getcpu() + 1);
  if (core.load(std::memory_order_relaxed) != present) core.store(present, std::memory_order_relaxed);
}

/// Plus one; 0: the peer has not said.
std::uint32_t ShmLink::core_of(const ShmChannel& channel) {
  ProcessPage* const page = channel.peer_page.load(std::memory_order_acquire);
  return page == nullptr ? 0 : std::atomic_ref<std::uint32_t>(page->core).load(std::memory_order_relaxed);
}

std::uint64_t ShmLink::polls_of(const ShmChannel& channel) {
  ProcessPage* const page = channel.peer_page.load(std::memory_order_acquire);
  return page == nullptr ? 0 : std::atomic_ref<std::uint64_t>(page->polls).load(std::memory_order_relaxed);
}

void ShmLink::stops_polling() {
  const std::atomic_ref<std::uint32_t> sleeps_per_message(control_->page().sleeps_per_message);
  if (sleeps_per_message.load(std::memory_order_relaxed) == 0) sleeps_per_message.store(1, std::memory_order_relaxed);
  polls_since_sleep_ = 0;
}

bool ShmLink::sleeps_per_message(const ShmChannel& channel) {
  ProcessPage* const page = channel.peer_page.load(std::memory_order_acquire);
  return page != nullptr &&
         std::atomic_ref<std::uint32_t>(page->sleeps_per_message).load(std::memory_order_relaxed) != 0;
}

void ShmLink::sleeps_on_cpu() {
  const std::atomic_ref<std::uint32_t> core(control_->page().thread_core);
  const auto present = static_cast<std::uint32_t>(sched_getcpu() + 1);
  if (core.load(std::memory_order_relaxed) != present) core.store(present, std::memory_order_relaxed);
}

/// The scheduler does not always let a thread that is woken go first.
bool ShmLink::rests_behind_us(const ShmChannel& channel) {
  ProcessPage* const page = channel.peer_page.load(std::memory_order_acquire);
  return page != nullptr && std::atomic_ref<std::uint32_t>(page->thread_core).load(std::memory_order_relaxed) ==
                                static_cast<std::uint32_t>(sched_getcpu() + 1);
}

bool ShmLink::blocks_peer_cpu() {
  if (unconfirmed_.empty() || role_ == ShmRole::direct) return false;
  const auto own = static_cast<std::uint32_t>(sched_getcpu() + 1);
  if (own == 0) return false;
  for (ShmChannel* channel : unconfirmed_) {
    if (core_of(*channel) != own) continue;
    channel->tx.read_tail();
    if (!channel->tx.drained()) return true;
  }
  return false;
}

bool ShmLink::keeps_a_peer_from_its_core() const {
  const auto own = static_cast<std::uint32_t>(sched_getcpu() + 1);
  return std::any_of(channels_.begin(), channels_.end(), [own](const auto& channel) {
    ProcessPage* const page = channel->peer_page.load(std::memory_order_acquire);
    return page != nullptr && core_of(*channel) == own && !doorbell_of(*page).is_armed();
  });
}

bool ShmLink::shares_core() {
  const auto own = static_cast<std::uint32_t>(sched_getcpu() + 1);
  return std::any_of(channels_.begin(), channels_.end(), [&](const auto& channel) {
    return core_of(*channel) == own && !(routes_[channel->route].peer == control_->own_name());
  });
}

CoreLoads ShmLink::find_loads(Time now) {
  constexpr std::int64_t kPollEveryNs = 10'000;  // whoever polls more rarely than that sleeps or computes
  const std::int64_t elapsed_ns = (now - loads_since_).ns;
  loads_since_ = now;
  CoreLoads loads;
  for (const auto& channel : channels_) {
    const std::uint64_t polls = polls_of(*channel);
    const std::uint64_t since = polls - std::exchange(channel->polls_counted, polls);
    const std::uint64_t octets = channel->rx.position() - std::exchange(channel->rx_counted, channel->rx.position());
    const std::uint32_t core = core_of(*channel) - 1;
    if (core >= CPU_SETSIZE) continue;
    loads.octets[core] += octets;
    if (since > static_cast<std::uint64_t>(elapsed_ns / kPollEveryNs)) CPU_SET(core, &loads.polled_on);
  }
  return loads;
}

}  // namespace verbena::host
