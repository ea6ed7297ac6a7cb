#include "emulator/host/node/fabric_question.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "emulator/host/os/descriptor.h"
#include "emulator/host/os/same_user.h"

namespace verbena::host {
namespace {

constexpr std::size_t kAnswerBytesMax = std::size_t{64} << 20;
constexpr int kPatienceMs = 10'000;  // of a client; the server answers between two passes
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
constexpr char kWordEnd = '\0';
constexpr char kAccepted = '+';
constexpr char kRefused = '-';

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

}  // namespace

AbstractName fabric_control_address(std::string_view fabric) {
  return AbstractName("verbena/%u/%s/control", own_user(), std::string(fabric).c_str());
}

/// One octet, + or -, with the text as a file.
bool send_fabric_answer(int socket, bool accepted, std::string_view text) {
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

FabricWords fabric_words_of(std::string_view question) {
  FabricWords words;
  while (!question.empty()) {
    const std::size_t end = std::min(question.find(kWordEnd), question.size());
    words.emplace_back(question.substr(0, end));
    question.remove_prefix(std::min(end + 1, question.size()));
  }
  return words;
}

Result<std::string, FabricError> ask_fabric(std::string_view fabric, const FabricWords& words) {
  const std::string name(fabric);
  if (!is_fabric_name(fabric)) return Failure{FabricError{false, "'" + name + "' is no name of a fabric"}};
  std::string question;
  for (const std::string& word : words) (question += word) += kWordEnd;
  if (question.size() > kFabricQuestionBytesMax) return Failure{FabricError{true, "that is too long"}};

  const Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket || !fabric_control_address(fabric).connect(socket.get()) || !peer_is_same_user(socket.get()))
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
