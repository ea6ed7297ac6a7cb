#include "emulator/host/link/shm/process_page.h"

#include <sched.h>

#include <algorithm>

namespace verbena::host {
namespace {
/// A line that peers look at stays in their caches as long as nothing in it changes.
void store_if_new(std::uint32_t& word, std::uint32_t value) {
  const std::atomic_ref<std::uint32_t> shared(word);
  if (shared.load(std::memory_order_relaxed) != value) shared.store(value, std::memory_order_relaxed);
}
}  // namespace

std::uint32_t present_core() {
  return static_cast<std::uint32_t>(sched_getcpu() + 1);
}

Time relayed_by(const ProcessPages& pages) {
  ProcessPage& page = *pages.told;
  const Time by{std::atomic_ref(page.looked_at).load(std::memory_order_acquire)};
  // Whoever hands it a frame says for which sleep it rings, and then it has something to do.
  if (!doorbell_of(page).is_armed(std::atomic_ref(pages.wake->rung).load(std::memory_order_acquire))) return by;
  return std::max(by, Time{std::atomic_ref(page.rests_until).load(std::memory_order_acquire)});
}

void note_rung(WakePage& page, std::uint32_t asleep) {
  std::atomic_ref(page.rung).store(asleep, std::memory_order_seq_cst);
}

Time answered_by(ProcessPage& page, bool has_taken_all) {
  // In this order: who takes frames has said that it is awake before, and so what is read here is of a later sleep.
  if (has_taken_all && doorbell_of(page).is_asleep() &&
      std::atomic_ref(page.rests_until).load(std::memory_order_acquire) != 0)
    return kNever;
  return Time{std::atomic_ref(page.looked_at).load(std::memory_order_acquire)};
}

void OwnPage::has_looked(Time at) {
  std::atomic_ref(page_.looked_at).store(at.ns, std::memory_order_release);
}

void OwnPage::rests(Time until) {
  const std::atomic_ref shared(page_.rests_until);
  if (shared.load(std::memory_order_relaxed) != until.ns) shared.store(until.ns, std::memory_order_release);
}

void OwnPage::is_awake() {
  const std::atomic_ref until(page_.rests_until);
  if (until.load(std::memory_order_relaxed) != 0) until.store(0, std::memory_order_release);
}

void OwnPage::hold(const wire::Gid& nic, std::uint64_t dscps) const {
  std::atomic_ref(page_.held_dscps[held_place(nic)]).store(dscps, std::memory_order_relaxed);
}

void OwnPage::serves() {
  store_if_new(page_.core, present_core());
}

void OwnPage::polls() {
  const std::atomic_ref<std::uint64_t> polls(page_.polls);
  polls.store(polls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

void OwnPage::stops_polling() {
  store_if_new(page_.sleeps_per_message, 1);
  polls_since_sleep_ = 0;
}

void OwnPage::thread_sleeps() {
  store_if_new(page_.thread_core, present_core());
}

void OwnPage::disarm() {
  doorbell().disarm();
  if (++polls_since_sleep_ == kPollsOfOneAwake)
    std::atomic_ref<std::uint32_t>(page_.sleeps_per_message).store(0, std::memory_order_relaxed);
  polls();
}

}  // namespace verbena::host
