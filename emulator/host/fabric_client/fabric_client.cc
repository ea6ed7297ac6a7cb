#include "emulator/host/fabric_client/fabric_client.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "emulator/host/fabric_client/fabric_codec.h"
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
constexpr std::size_t kWordsBytesMax = 16 * 1024;
constexpr char kAccepted = '+';
constexpr char kRefused = '-';

/// A file that nobody changes any more, or an invalid descriptor.
Descriptor sealed_file(std::string_view text) {
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

bool read_sealed_file(int file, std::string& into) {
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

/// Of what a user says in one command.
bool is_too_long(const FabricRequest& request) {
  const auto* const said = std::get_if<SayWords>(&request);
  if (said == nullptr) return false;
  std::size_t octets = 0;
  for (const std::string& word : said->words) octets += word.size() + 1;
  return octets > kWordsBytesMax;
}

FabricError of_another_version(const std::string& fabric) {
  return {true, "fabric '" + fabric + "' is served by another version of Verbena, which does not speak " +
                    std::string(kFabricProtocol) +
                    ": ask it with the command that started it, or end it and start it anew"};
}

/// Before there were versions, the protocol's word was taken for a word of `verbena fault`.
FabricError refusal(const std::string& fabric, std::string text) {
  if (text.starts_with("unknown word '" + std::string(kFabricProtocol))) return of_another_version(fabric);
  return {true, std::move(text)};
}

FabricError unreadable(const std::string& fabric, const CodecError& error) {
  if (error.is_of_another_version) return of_another_version(fabric);
  return {true, "fabric '" + fabric + "' gives an answer that cannot be read: " + error.text};
}

template <class Wanted>
Result<Wanted, FabricError> ask_for(std::string_view fabric, const FabricRequest& request) {
  auto reply = ask_fabric(fabric, request);
  if (!reply) return Failure{reply.error()};
  auto* const wanted = std::get_if<Wanted>(&*reply);
  if (wanted == nullptr) return Failure{unreadable(std::string(fabric), {false, "it answers something else"})};
  return std::move(*wanted);
}

}  // namespace

AbstractName fabric_control_address(std::string_view fabric) {
  return AbstractName("verbena/%u/%s/control", own_user(), std::string(fabric).c_str());
}

/// One octet, + or -, with the reply or the refusal's text as a file.
bool send_fabric_answer(int socket, const FabricAnswer& answer) {
  const Descriptor file = sealed_file(answer ? encode(*answer) : answer.error());
  if (!file) return false;
  const char kind = answer ? kAccepted : kRefused;
  const int descriptor = file.get();
  return send_with_descriptors(socket, std::as_bytes(std::span(&kind, 1)), {&descriptor, 1});
}

Result<FabricReply, FabricError> ask_fabric(std::string_view fabric, const FabricRequest& request) {
  const std::string name(fabric);
  if (!is_fabric_name(fabric)) return Failure{FabricError{false, "'" + name + "' is no name of a fabric"}};
  if (const char* const why = why_no_peer_is_trusted()) return Failure{FabricError{true, why}};
  const std::string question = encode(request);
  if (is_too_long(request) || question.size() > kFabricRequestBytesMax)
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
      !read_sealed_file(answer.descriptors[0].get(), text))
    return silent;
  if (kind != kAccepted) return Failure{refusal(name, std::move(text))};
  auto reply = decode_reply(text);
  if (!reply) return Failure{unreadable(name, reply.error())};
  return std::move(*reply);
}

Result<FabricHello, FabricError> greet_fabric(std::string_view fabric) {
  return ask_for<FabricHello>(fabric, AskHello{});
}

Result<FabricSnapshot, FabricError> look_at_fabric(std::string_view fabric) {
  return ask_for<FabricSnapshot>(fabric, AskSnapshot{});
}

}  // namespace verbena::host
