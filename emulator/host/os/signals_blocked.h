// SignalsBlocked: as long as it lives, no signal reaches the calling thread. A thread that it starts meanwhile begins
// so, and stays so: the program's handlers are not for threads of ours.
//
// Solely that. libc only: the path shim includes it.
// Tested by: tests/host/engine/progress_thread_test.cc
#pragma once

#include <pthread.h>
#include <signal.h>

namespace verbena::host {

class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace verbena::host
