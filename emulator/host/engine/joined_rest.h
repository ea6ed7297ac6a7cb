// JoinedRest: the rest of a thread that polls the engines of several devices by turns.
//
// Who rests over a poll of one engine is to be woken by the frames of the others as well. Solely responsible for
// knowing which engines the calling thread polls, each in vain for long, and for one sleep that any of them ends.
// Whether to rest is each engine's decision (vain_polls.h); what ends the sleep, each link's (link/core_rest.h). A
// thread that polls one engine only takes no lock here.
// Tested by: tests/host/engine/joined_rest_test.cc
#pragma once

#include <cstdint>

#include "emulator/host/engine/vain_polls.h"

namespace verbena::host {

class Engine;

class JoinedRest {
 public:
  /// The calling thread has polled the engine in vain for long: what was decided there is done, outside of all locks.
  /// True: it has rested, or another engine has something for it; poll again.
  static bool rest(Engine& engine, VainPolls::Decision& decision);
  /// The engine goes: no thread begins to rest over it any more, and those that do wake up.
  static void part_with(Engine& engine);

  enum class Joined : std::uint8_t { rests, has_work, kept_out };
  /// The rest that was decided is over this engine as well, and no longer than it has nothing to do. rests: leave()
  /// follows. Else nothing has begun.
  static Joined join(Engine& other, VainPolls::Decision& decision);
  static void leave(Engine& other);

  // A thread that rests over one engine comes to the others' turn less often, but within this.
  static constexpr Duration kByTurns = milliseconds(20);
};

}  // namespace verbena::host
