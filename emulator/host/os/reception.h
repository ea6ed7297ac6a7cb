// Reception: accepts who calls at a listening unix socket, also when descriptors run out.
//
// Solely that. A caller that stayed in the queue for want of a descriptor would keep the listener readable for ever, so
// it is turned away: it calls again, and is let in once there are descriptors. That is said, once (shortage.h).
#pragma once

#include "emulator/host/os/descriptor.h"

namespace verbena::host {

class Reception {
 public:
  Reception();
  struct Caller {
    Descriptor socket;     // non-blocking, close-on-exec
    bool is_last = false;  // nobody else waits
  };
  /// `what` cannot be had while there is no descriptor, for the message.
  Caller next(int listener, const char* what);
  /// The same; other users are turned away, without waiting for what they have sent.
  Caller next_of_own_user(int listener, const char* what);

 private:
  Descriptor spare_;  // given up for a moment to turn a caller away
};

}  // namespace verbena::host
