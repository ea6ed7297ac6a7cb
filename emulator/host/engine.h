// Engine: one NIC alive in a process: its lock, its link, its clock, its progress thread.
//
// Solely responsible for when the NIC runs. App threads run it to completion (post, poll); the progress thread serves
// passive targets and timers and sleeps in the kernel at 0 % CPU otherwise. It does not know the C ABI (verbs-shim) and
// no protocol (emulator/nic).
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "emulator/host/engine_config.h"
#include "emulator/host/link.h"
#include "emulator/nic/nic.h"

namespace verbena::host {

/// Receives what the NIC has to tell, outside the engine's lock, from whichever thread found it.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void async_event(const nic::AsyncEvent& event) = 0;
  virtual void completion_event(const nic::CompletionEvent& event) = 0;
};

class Engine {
 public:
  /// Joins the node: takes a process slot, opens the link, starts the progress thread (all signals blocked).
  /// The error is one line for the user, without a trailing newline.
  static Result<std::unique_ptr<Engine>, std::string> open(const EngineConfig& config, EventSink& events);
  ~Engine();

  const nic::NicConfig& nic_config() const;
  const nic::Counters& counters() const;

  /// Runs `call(nic, now)` under the lock, then sends what it gave rise to. For post_send, modify_qp, create_... .
  template <class Call>
  auto run(Call&& call);

  /// ibv_poll_cq: completions that wait, else one pass over the link. Never blocks.
  std::size_t poll_cq(nic::CqHandle cq, std::span<nic::Completion> into);

  /// One pass (see link.h). Returns whether anything was received or sent.
  bool progress();

  std::optional<wire::MacAddress> resolve(const wire::Gid& address);

  /// In the child after fork(): forgets threads and descriptors of the parent without touching what is shared with it.
  void abandon_after_fork();
};

}  // namespace verbena::host
