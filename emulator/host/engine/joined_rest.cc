#include "emulator/host/engine/joined_rest.h"

#include <array>
#include <mutex>

#include "emulator/host/engine/engine.h"
#include "emulator/host/engine/engine_fork.h"
#include "emulator/host/node/identity.h"
#include "emulator/host/os/clock.h"

namespace verbena::host {
namespace {

static_assert(RestSet::kWordsMax >= kDevicesMax * kPortsMax);
static_assert(RestSet::kDescriptorsMax >= 2 * kDevicesMax * kPortsMax);

/// Which engines one thread polls in vain. One that has gone since may stand here, or another one in its place: over
/// who is not polled a thread rests in vain, and no more.
class Polled {
 public:
  void note(const Engine& engine, Time now) {
    Entry* oldest = &entries_[0];
    for (Entry& entry : entries_) {
      if (entry.engine == &engine) return void(entry.at = now);
      if (entry.at < oldest->at) oldest = &entry;
    }
    *oldest = {&engine, now};
  }
  bool is_polled(const Engine& engine, Time now) const {
    for (const Entry& entry : entries_)
      if (entry.engine == &engine) return now - entry.at <= JoinedRest::kByTurns;
    return false;
  }
  bool are_several(Time now) const {
    std::size_t count = 0;
    for (const Entry& entry : entries_)
      if (entry.engine != nullptr && now - entry.at <= JoinedRest::kByTurns) ++count;
    return count > 1;
  }

 private:
  struct Entry {
    const Engine* engine = nullptr;
    Time at{};
  };
  std::array<Entry, kDevicesMax> entries_{};
};
constinit thread_local Polled g_polled;

}  // namespace

JoinedRest::Joined JoinedRest::join(Engine& other, VainPolls::Decision& decision) {
  if (!other.lock_.try_lock_briefly()) return Joined::kept_out;
  const std::lock_guard guard(other.lock_, std::adopt_lock);
  const auto prepare = [&](Time now) { return other.pass_.deadline_of_rest(now); };
  return other.vain_polls_.join(other.pass_.clock(), prepare, decision) ? Joined::rests : Joined::has_work;
}

bool JoinedRest::rest(Engine& engine, VainPolls::Decision& decision) {
  const Time now = clock_now();
  g_polled.note(engine, now);
  if (decision.rest == PollYield::Kind::none) return false;
  std::array<Engine*, kDevicesMax> joined;
  std::size_t count = 0;
  bool has_work = false;
  if (g_polled.are_several(now)) [[unlikely]] {
    ForkRegistry::each([&](Engine& other) {
      if (has_work || &other == &engine || count == joined.size() || !g_polled.is_polled(other, now)) return;
      const Joined how = join(other, decision);
      has_work = how == Joined::has_work;
      if (how == Joined::kept_out) decision.by.add_blind();  // another thread is inside, which may need the core
      if (how == Joined::rests) joined[count++] = &other;
    });
  }
  // Each of them stays for as long as somebody rests over it.
  for (std::size_t i = 0; i < count; ++i) joined[i]->after_unlock(false);
  if (!has_work) engine.vain_polls_.rest(decision);
  for (std::size_t i = 0; i < count; ++i) leave(*joined[i]);
  leave(engine);
  return true;
}

void JoinedRest::leave(Engine& other) {
  other.vain_polls_.finish();
}

void JoinedRest::part_with(Engine& engine) {
  ForkRegistry::remove(engine);
  engine.vain_polls_.await_all();
}

}  // namespace verbena::host
