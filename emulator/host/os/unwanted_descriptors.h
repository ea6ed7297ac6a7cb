// UnwantedDescriptors: nobody who can send to a unix socket of ours makes us wait by the descriptors that it passes.
//
// Solely that. A passed descriptor (SCM_RIGHTS) is closed by whoever lets go of it last. If that is us, we may wait:
// for a TCP socket with SO_LINGER, as long as its sender likes. It does not take a close(): recvmsg() without room for
// descriptors lets go of them as well, and so does the end of a socket that has them in its queue.
//
// Linux 6.16 can refuse them while they are being sent (bar_descriptors). Older kernels cannot, so there a message is
// looked at before it is received: MSG_PEEK says whether descriptors are with it, and lets go of none. Such a message,
// or the socket that it waits in, goes to a thread that has a descriptor table of its own and ends. What a thread's end
// closes does not linger (PF_EXITING, inet_release in net/ipv4/af_inet.c). Where threads may not have tables of their
// own (seccomp), it is that thread which waits. By system calls, and libc only: the path shim links it.
#pragma once

#include <atomic>
#include <utility>

#include "emulator/host/os/descriptor.h"

namespace verbena::host {

namespace detail {
/// For tests: false, this kernel is as those before 6.16 are.
inline std::atomic<bool> kernel_bars_descriptors{true};
}  // namespace detail

/// From now on nobody passes descriptors to `socket`, nor to whoever calls at it: send() fails with EPERM. False: this
/// kernel cannot.
bool bar_descriptors(int socket);

/// Whether descriptors are with the message that would be received next. One thread at a time receives.
enum class Credentials : bool { none, with_each_message };  // SO_PASSCRED
bool brings_descriptors(int socket, Credentials credentials = Credentials::none);
/// Takes that message, and lets go of what is with it, without waiting for it.
void drop_message_aside(int socket);

/// Closes `socket`, whatever is in its queue, without waiting for it. Keeps errno.
void close_aside(int socket);
inline void close_aside(Descriptor&& socket) {
  close_aside(socket.release());
}
/// The same for a listener: callers that nobody has accepted may have sent descriptors. If there are any, its name is
/// taken until that thread has ended.
void close_listener(int listener);

}  // namespace verbena::host
