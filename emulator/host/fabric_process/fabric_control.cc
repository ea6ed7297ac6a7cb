#include "emulator/host/fabric_process/fabric_control.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "emulator/host/fabric_client/fabric_codec.h"
#include "emulator/host/os/descriptor_passing.h"
#include "emulator/host/os/name_holder.h"
#include "emulator/host/os/same_user.h"
#include "emulator/host/os/unwanted_descriptors.h"

namespace verbena::host {
namespace {

constexpr int kQuestionsWaitingMax = 64;
constexpr int kQuestionsAtOnce = 16;

std::string kernel_error(const char* what) {
  return std::string(what) + ": " + std::strerror(errno);
}

/// To a command of another version as well: a refusal is plain text in all of them.
std::string not_understood(const CodecError& error) {
  if (!error.is_of_another_version) return "that request cannot be read: " + error.text;
  return "this fabric is served by another version of Verbena, which speaks " + std::string(kFabricProtocol) +
         ": ask it with the command that started it, or end it and start it anew";
}

}  // namespace

Result<std::unique_ptr<FabricControl>, std::string> FabricControl::open(std::string_view fabric) {
  if (!is_fabric_name(fabric)) return Failure{"fabric name must be " + fabric_name_rule()};
  if (const char* const why = why_no_peer_is_trusted()) return Failure{std::string(why)};
  std::unique_ptr<FabricControl> control(new FabricControl);
  control->listener_ = Descriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  control->epoll_ = Descriptor(epoll_create1(EPOLL_CLOEXEC));
  if (!control->listener_ || !control->epoll_) return Failure{kernel_error("cannot open a control socket")};
  const int listener = control->listener_.get();
  bar_descriptors(listener);
  const AbstractName at = fabric_control_address(fabric);
  if (!at.bind(listener)) {
    if (errno == EADDRINUSE)
      return Failure{"fabric '" + std::string(fabric) + "' is served by another process already" +
                     describe_name_holder(at)};
    return Failure{kernel_error("cannot bind a control socket")};
  }
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = listener;
  if (listen(listener, kQuestionsWaitingMax) != 0 ||
      epoll_ctl(control->epoll_.get(), EPOLL_CTL_ADD, listener, &event) != 0)
    return Failure{kernel_error("cannot listen on a control socket")};
  return control;
}

FabricControl::~FabricControl() {
  close_listener(listener_.release());
}

void FabricControl::service(const std::function<FabricAnswer(const FabricRequest&)>& answer,
                            const std::function<bool()>& is_done) {
  std::array<epoll_event, kQuestionsAtOnce> events{};
  const int count = epoll_wait(epoll_.get(), events.data(), kQuestionsAtOnce, 0);
  for (int i = 0; i < count; ++i) {
    const int descriptor = events[static_cast<std::size_t>(i)].data.fd;
    if (descriptor == listener_.get())
      accept_all();
    else if (!serve(descriptor, answer))
      drop(descriptor);
  }
  if (held_.empty() || !is_done()) return;
  for (const Held& held : std::exchange(held_, {}))
    if (!send_fabric_answer(held.client, held.answer)) drop(held.client);
}

void FabricControl::accept_all() {
  for (std::size_t i = 0; i < kClientsMax; ++i) {
    auto [client, is_last] = reception_.next_of_own_user(listener_.get(), "a question to the fabric is not heard");
    if (is_last) return;
    if (!client) continue;
    if (clients_.size() >= kClientsMax) drop(oldest_first_.front());  // who wants something asks at once
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = client.get();
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, client.get(), &event) != 0) continue;
    oldest_first_.push_back(client.get());
    clients_.emplace(client.get(), std::move(client));
  }
}

/// False: the client is done with.
bool FabricControl::serve(int client, const std::function<FabricAnswer(const FabricRequest&)>& answer) {
  if (!clients_.contains(client)) return true;
  std::array<char, kFabricRequestBytesMax> question;
  const MessageWithDescriptors got = receive_with_descriptors(client, std::as_writable_bytes(std::span(question)));
  if (got.bytes < 0) return errno == EAGAIN || errno == EINTR;
  if (got.bytes == 0 || !got.is_whole || got.descriptor_count != 0) return false;
  const auto request = decode_request({question.data(), static_cast<std::size_t>(got.bytes)});
  held_.push_back({client, request ? answer(*request) : FabricAnswer(Failure{not_understood(request.error())})});
  return true;
}

void FabricControl::drop(int client) {
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, client, nullptr);
  std::erase(oldest_first_, client);
  std::erase_if(held_, [client](const Held& held) { return held.client == client; });
  clients_.erase(client);
}

}  // namespace verbena::host
