// Bell: a descriptor that a sleeping thread waits for, and others that make it readable, of which each can be given to
// another process. Nobody can make whoever rings block, be ended by a signal or stay unheard, nor keep the sleeper from
// hearing the others, nor make it wait for anything but rings.
//
// Solely that. An eventfd would be the usual means, but all who have it share its flags and its count: any of them can
// make its next writer block. Here the sleeper has a datagram socket of its own, which it shows to nobody, and each
// ringer has a socket that is connected to it; the flags of a send() are its own (MSG_DONTWAIT). The socket has a name
// that the kernel chooses, so that other users of the network namespace may wake the sleeper in vain, and no more:
// descriptors that they pass with a ring are refused, or let go of elsewhere (unwanted_descriptors.h). By system calls:
// the path shim's hooks are not meant.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <atomic>

#include "emulator/host/os/descriptor.h"

namespace verbena::host {

class Bell {
 public:
  Bell() = default;
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;
  ~Bell();
  /// False: the kernel has no socket to give (errno).
  bool open();
  /// Readable when somebody has rung since acknowledge().
  int descriptor() const { return socket_.get(); }
  void acknowledge();
  /// To be given away; invalid: there is no descriptor left.
  Descriptor make_ringer() const;

  /// Whether a descriptor that somebody has given us can be rung without harm: a datagram socket of this machine.
  static bool is_ringer(int descriptor);
  /// Never blocks, and keeps errno. It has been rung already, or nobody is there any more: then nothing is done.
  static void ring(int ringer);

 private:
  void acknowledge_warily();

  Descriptor socket_;
  bool is_barred_ = false;               // against descriptors
  std::atomic<bool> is_emptied_{false};  // by a thread, now
  sockaddr_un name_{};
  socklen_t name_bytes_ = 0;
};

}  // namespace verbena::host
