#include "verbs-shim/rdma_cm/sa_session.h"

#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <system_error>
#include <thread>
#include <utility>

#include "emulator/host/os/call_state.h"
#include "emulator/host/os/descriptor.h"
#include "emulator/host/os/signals_blocked.h"

namespace verbena::shim::rdma_cm {

/// Held by the session and by its thread.
struct SaSession::Connection {
  host::Descriptor socket;
  std::atomic<bool> is_over{false};
};

SaSession::~SaSession() {
  if (connection_ != nullptr) ::shutdown(connection_->socket.get(), SHUT_RDWR);
}

int SaSession::connect() {
  auto made = std::make_shared<Connection>();
  made->socket = host::Descriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!made->socket) return ENOMEM;
  if (!host::sa_address(fabric_.c_str()).connect(made->socket.get())) return ENODEV;
  const host::SignalsBlocked blocked;
  try {
    std::thread([made, fabric = fabric_, hear = hear_] {
      News news{.fabric = fabric};
      for (;;) {
        const ssize_t bytes = ::recv(made->socket.get(), &news.answer, sizeof news.answer, 0);
        if (bytes < 0 && errno == EINTR) continue;
        news.is_over = bytes != static_cast<ssize_t>(sizeof news.answer);
        made->is_over = news.is_over;
        const host::InsideCall inside;
        if (host::is_state_lost()) return;
        hear(news);
        if (news.is_over) return;
      }
    }).detach();
  } catch (const std::system_error&) {
    return ENOMEM;
  }
  connection_ = std::move(made);
  return 0;
}

int SaSession::ask(const host::SaRequest& request) {
  if (connection_ == nullptr || connection_->is_over)
    if (const int error = connect(); error != 0) return error;
  if (::send(connection_->socket.get(), &request, sizeof request, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return 0;
  return errno == EAGAIN ? EAGAIN : ENODEV;
}

void SaSession::abandon() {
  if (connection_ == nullptr) return;
  connection_->socket.reset();
  connection_.reset();
}

}  // namespace verbena::shim::rdma_cm
