#include "emulator/host/fabric_control.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "emulator/host/name_holder.h"
#include "emulator/host/node_directory.h"

namespace verbena::host {
namespace {

constexpr std::size_t kQuestionBytesMax = 16 * 1024;
constexpr std::size_t kAnswerBytesMax = std::size_t{64} << 20;
constexpr int kBacklog = 64;
constexpr int kEventsAtOnce = 16;
constexpr int kPatienceMs = 10'000;  // of a client; the server answers between two passes
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
constexpr char kWordEnd = '\0';
constexpr char kAccepted = '+';
constexpr char kRefused = '-';

std::string kernel_error(const char* what) {
  return std::string(what) + ": " + std::strerror(errno);
}

SeatAddress control_address(std::string_view fabric) {
  const std::string text = "verbena/" + std::to_string(getuid()) + "/" + std::string(fabric) + "/control";
  SeatAddress result;
  VERBENA_ASSERT(text.size() + 1 <= sizeof result.name.sun_path);
  result.name.sun_family = AF_UNIX;
  std::memcpy(result.name.sun_path + 1, text.data(), text.size());
  result.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return result;
}

/// A file that nobody changes any more, or an invalid descriptor.
Descriptor sealed_text(std::string_view text) {
  Descriptor file(memfd_create("verbena-answer", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file) return file;
  while (!text.empty()) {
    const ssize_t written = write(file.get(), text.data(), text.size());
    if (written <= 0) return Descriptor();
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  if (fcntl(file.get(), F_ADD_SEALS, kSeals) != 0) file.reset();
  return file;
}

bool read_sealed_text(int file, std::string& into) {
  struct stat status{};
  const int seals = fcntl(file, F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals || fstat(file, &status) != 0 ||
      status.st_size > static_cast<off_t>(kAnswerBytesMax))
    return false;
  into.resize(static_cast<std::size_t>(status.st_size));
  return pread(file, into.data(), into.size(), 0) == static_cast<ssize_t>(into.size());
}

/// One octet, + or -, with the text as a file.
bool send_answer(int socket, bool accepted, std::string_view text) {
  const Descriptor file = sealed_text(text);
  if (!file) return false;
  char kind = accepted ? kAccepted : kRefused;
  iovec piece{&kind, sizeof kind};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  const int descriptor = file.get();
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
}

FabricWords words_of(std::string_view question) {
  FabricWords words;
  while (!question.empty()) {
    const std::size_t end = std::min(question.find(kWordEnd), question.size());
    words.emplace_back(question.substr(0, end));
    question.remove_prefix(std::min(end + 1, question.size()));
  }
  return words;
}

}  // namespace

// -- The server
// ------------------------------------------------------------------------------------------------------------

Result<std::unique_ptr<FabricControl>, std::string> FabricControl::open(std::string_view fabric) {
  if (!is_fabric_name(fabric))
    return Failure{std::string("fabric name must be 1 to 40 letters, digits, '.', '_' or '-'")};
  std::unique_ptr<FabricControl> control(new FabricControl);
  control->listener_ = Descriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  control->epoll_ = Descriptor(epoll_create1(EPOLL_CLOEXEC));
  if (!control->listener_ || !control->epoll_) return Failure{kernel_error("cannot open a control socket")};
  const int listener = control->listener_.get();
  const SeatAddress at = control_address(fabric);
  if (bind(listener, reinterpret_cast<const sockaddr*>(&at.name), at.bytes) != 0) {
    if (errno == EADDRINUSE)
      return Failure{"fabric '" + std::string(fabric) + "' is served by another process already" +
                     describe_name_holder(at.name, at.bytes)};
    return Failure{kernel_error("cannot bind a control socket")};
  }
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = listener;
  if (listen(listener, kBacklog) != 0 || epoll_ctl(control->epoll_.get(), EPOLL_CTL_ADD, listener, &event) != 0)
    return Failure{kernel_error("cannot listen on a control socket")};
  return control;
}

void FabricControl::service(const std::function<FabricAnswer(const FabricWords&)>& answer,
                            const std::function<bool()>& is_done) {
  std::array<epoll_event, kEventsAtOnce> events{};
  const int count = epoll_wait(epoll_.get(), events.data(), kEventsAtOnce, 0);
  for (int i = 0; i < count; ++i) {
    const int descriptor = events[static_cast<std::size_t>(i)].data.fd;
    if (descriptor == listener_.get())
      accept_all();
    else if (!serve(descriptor, answer))
      drop(descriptor);
  }
  if (held_.empty() || !is_done()) return;
  for (const Held& held : std::exchange(held_, {}))
    if (!send_answer(held.client, held.answer.ok(), held.answer.ok() ? *held.answer : held.answer.error()))
      drop(held.client);
}

void FabricControl::accept_all() {
  for (std::size_t i = 0; i < kClientsMax; ++i) {
    Descriptor client(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!client) return;
    if (!peer_is_same_user(client.get())) continue;
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
bool FabricControl::serve(int client, const std::function<FabricAnswer(const FabricWords&)>& answer) {
  if (!clients_.contains(client)) return true;
  std::array<char, kQuestionBytesMax> question;
  const ssize_t got = recv(client, question.data(), question.size(), MSG_DONTWAIT | MSG_TRUNC);
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  if (got == 0 || got > static_cast<ssize_t>(question.size())) return false;
  held_.push_back({client, answer(words_of({question.data(), static_cast<std::size_t>(got)}))});
  return true;
}

void FabricControl::drop(int client) {
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, client, nullptr);
  std::erase(oldest_first_, client);
  std::erase_if(held_, [client](const Held& held) { return held.client == client; });
  clients_.erase(client);
}

// -- The client
// ------------------------------------------------------------------------------------------------------------

Result<std::string, FabricError> ask_fabric(std::string_view fabric, const FabricWords& words) {
  const std::string name(fabric);
  if (!is_fabric_name(fabric)) return Failure{FabricError{false, "'" + name + "' is no name of a fabric"}};
  std::string question;
  for (const std::string& word : words) (question += word) += kWordEnd;
  if (question.size() > kQuestionBytesMax) return Failure{FabricError{true, "that is too long"}};

  const Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const SeatAddress at = control_address(fabric);
  if (!socket || connect(socket.get(), reinterpret_cast<const sockaddr*>(&at.name), at.bytes) != 0 ||
      !peer_is_same_user(socket.get()))
    return Failure{FabricError{false, "no fabric '" + name + "' is running"}};
  const Failure silent{FabricError{true, "fabric '" + name + "' does not answer"}};
  if (send(socket.get(), question.data(), question.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(question.size()))
    return silent;

  pollfd readable{socket.get(), POLLIN, 0};
  if (poll(&readable, 1, kPatienceMs) != 1) return silent;
  char kind = 0;
  iovec piece{&kind, sizeof kind};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t got = recvmsg(socket.get(), &message, MSG_CMSG_CLOEXEC);
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (got != 1 || header == nullptr || header->cmsg_type != SCM_RIGHTS || header->cmsg_len != CMSG_LEN(sizeof(int)))
    return silent;
  int descriptor = -1;
  std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
  const Descriptor file(descriptor);
  std::string text;
  if (!read_sealed_text(file.get(), text)) return silent;
  if (kind != kAccepted) return Failure{FabricError{true, std::move(text)}};
  return text;
}

}  // namespace verbena::host
