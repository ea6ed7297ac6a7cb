// CancellationShield: while it stands, pthread_cancel waits.
//
// Verbs are called by threads that are cancelled (rping's, for one). On hardware they enter the kernel by ioctl or not
// at all, and so end no thread but in the calls that wait for an event. What of ours calls the kernel while something
// is half done stands behind a shield; the calls that wait must not.
// Tested by: tests/host/os/cancellation_test.cc
#pragma once

#include <pthread.h>

namespace verbena::host {

class CancellationShield {
 public:
  CancellationShield() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~CancellationShield() { pthread_setcancelstate(before_, nullptr); }
  CancellationShield(const CancellationShield&) = delete;
  CancellationShield& operator=(const CancellationShield&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace verbena::host
