// Whether this thread is in a call of ours: what exit() in a signal handler has to know.
//
// Solely responsible for that one question. A handler that calls exit() never goes back to what it has interrupted. Was
// that one of our calls, then the locks that it holds stay held and what it was about stays half done: nothing of ours
// may be asked for any more, by what is said at exit or by whatever destructor still calls a verb. The C boundary
// (verbs-shim/verbs/boundary.h) counts the calls; what waits in the kernel inside of one says that it holds nothing.
// Tested by: tests/shim/rdma_cm/rdma_cm_exit_test.cc
#pragma once

#include <atomic>

namespace verbena::host {

namespace call_state {
// Not a call for each look: the library's share of static TLS has room for it, also behind dlopen.
[[gnu::tls_model("initial-exec")]] inline constinit thread_local unsigned depth = 0;
inline constinit std::atomic<bool> lost{false};

// A handler of this thread sees the count before what it stands for, and after it.
inline void enter() {
  depth = depth + 1;
  std::atomic_signal_fence(std::memory_order_seq_cst);
}
inline void leave() {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  depth = depth - 1;
}
}  // namespace call_state

class InsideCall {
 public:
  InsideCall() { call_state::enter(); }
  ~InsideCall() { call_state::leave(); }
  InsideCall(const InsideCall&) = delete;
  InsideCall& operator=(const InsideCall&) = delete;
};

/// In a call that waits for something without holding anything, or calls the application.
class OutsideCall {
 public:
  OutsideCall() : depth_(call_state::depth) { set(0); }
  ~OutsideCall() { set(depth_); }
  OutsideCall(const OutsideCall&) = delete;
  OutsideCall& operator=(const OutsideCall&) = delete;

 private:
  static void set(unsigned depth) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    call_state::depth = depth;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  unsigned depth_;
};

inline bool is_inside_call() {
  return call_state::depth != 0;
}

/// The process ends, and an interrupted call has left our state as nobody may find it: no call of ours does anything
/// any more, whatever it is asked.
inline bool is_state_lost() {
  return call_state::lost.load(std::memory_order_relaxed);
}
inline void lose_state() {
  call_state::lost.store(true, std::memory_order_relaxed);
}

}  // namespace verbena::host
