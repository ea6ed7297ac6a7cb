#include "emulator/host/node/fabric_question.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <span>
#include <utility>

#include "emulator/host/os/descriptor.h"
#include "emulator/host/os/descriptor_passing.h"
#include "emulator/host/os/name_holder.h"
#include "emulator/host/os/same_user.h"
#include "emulator/host/os/unwanted_descriptors.h"

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

/// Whoever holds the name may not accept: that is not waited for without end.
bool connect_patiently(const AbstractName& at, int socket) {
  constexpr timespec kPause{0, 1'000'000};
  for (int waited_ms = 0; !at.connect(socket); ++waited_ms) {
    if (errno != EAGAIN || waited_ms >= kPatienceMs) return false;  // EAGAIN: its queue is full
    nanosleep(&kPause, nullptr);
  }
  return true;
}

}  // namespace

AbstractName fabric_control_address(std::string_view fabric) {
  return AbstractName("verbena/%u/%s/control", own_user(), std::string(fabric).c_str());
}

/// One octet, + or -, with the text as a file.
bool send_fabric_answer(int socket, bool accepted, std::string_view text) {
  const Descriptor file = sealed_text(text);
  if (!file) return false;
  const char kind = accepted ? kAccepted : kRefused;
  const int descriptor = file.get();
  return send_with_descriptors(socket, std::as_bytes(std::span(&kind, 1)), {&descriptor, 1});
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
  if (const char* const why = why_no_peer_is_trusted()) return Failure{FabricError{true, why}};
  std::string question;
  for (const std::string& word : words) (question += word) += kWordEnd;
  if (question.size() > kFabricQuestionBytesMax)
    return Failure{FabricError{true, "that is too long: say it in several commands"}};

  Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const AbstractName at = fabric_control_address(fabric);
  if (!socket || !connect_patiently(at, socket.get()))
    return Failure{FabricError{false, "no fabric '" + name + "' is running"}};
  if (!peer_is_same_user(socket.get())) {
    close_aside(std::move(socket));
    return Failure{FabricError{false, "no fabric '" + name + "' of this user is running" + describe_name_holder(at)}};
  }
  const Failure silent{
      FabricError{true, "fabric '" + name + "' does not answer: if its process hangs, end it and start it anew"}};
  if (send(socket.get(), question.data(), question.size(), MSG_DONTWAIT | MSG_NOSIGNAL) !=
      static_cast<ssize_t>(question.size()))
    return silent;

  pollfd readable{socket.get(), POLLIN, 0};
  if (poll(&readable, 1, kPatienceMs) != 1) return silent;
  char kind = 0;
  const MessageWithDescriptors answer =
      receive_with_descriptors(socket.get(), std::as_writable_bytes(std::span(&kind, 1)));
  std::string text;
  if (answer.bytes != 1 || !answer.is_whole || answer.descriptor_count != 1 ||
      !read_sealed_text(answer.descriptors[0].get(), text))
    return silent;
  if (kind != kAccepted) return Failure{FabricError{true, std::move(text)}};
  return text;
}

std::string to_text(const FabricHello& hello) {
  std::string rates;
  for (const std::uint64_t rate : hello.port_rates) rates += (rates.empty() ? "" : ",") + std::to_string(rate);
  return std::to_string(hello.nodes) + " " + rates + " " + hello.stats_path;
}

FabricHello parse_hello(std::string_view text) {
  FabricHello hello;
  const char* const end = text.data() + text.size();
  // Each number ends in the character that is given; what comes behind that is the rest.
  const auto take_number = [&text, end](auto& into, std::string_view ends_in) {
    const auto [behind, error] = std::from_chars(text.data(), end, into);
    if (error != std::errc() || behind == end || ends_in.find(*behind) == ends_in.npos) return '\0';
    text.remove_prefix(static_cast<std::size_t>(behind - text.data()) + 1);
    return *behind;
  };
  if (take_number(hello.nodes, " ") == '\0') return {};
  for (char behind = ','; behind == ',';) {
    behind = take_number(hello.port_rates.emplace_back(), ", ");
    if (behind == '\0' || hello.port_rates.size() > hello.nodes) return {};
  }
  if (hello.port_rates.size() != hello.nodes) return {};
  hello.stats_path = text;
  return hello;
}

Result<FabricHello, FabricError> greet_fabric(std::string_view fabric) {
  const auto answer = ask_fabric(fabric, {"hello"});
  if (!answer) return Failure{answer.error()};
  return parse_hello(*answer);
}

}  // namespace verbena::host
