#include "emulator/host/service_directory.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <utility>

#include "emulator/host/node_directory.h"
#include "wire/assert.h"

namespace verbena::host {
namespace {

struct Name {
  sockaddr_un address{};
  socklen_t bytes = 0;
};

Name make_name(const std::string& fabric, const wire::Gid& node, const char* rest) {
  Name name;
  name.address.sun_family = AF_UNIX;
  // A leading zero octet makes the name abstract (unix(7)).
  const int text_bytes =
      std::snprintf(name.address.sun_path + 1, sizeof name.address.sun_path - 1, "verbena-cm/%u/%s/%s/%s",
                    static_cast<unsigned>(::geteuid()), fabric.c_str(), address_text(node).c_str(), rest);
  VERBENA_ASSERT(text_bytes > 0 && static_cast<std::size_t>(text_bytes) < sizeof name.address.sun_path - 1);
  name.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<std::size_t>(text_bytes));
  return name;
}

/// The last part of a name.
struct Part {
  char text[32];
};
Part service_part(std::uint64_t service) {
  Part part{};
  std::snprintf(part.text, sizeof part.text, "%llx", static_cast<unsigned long long>(service));
  return part;
}
Part owner_part(std::uint64_t service, std::uint32_t slot) {
  Part part{};
  std::snprintf(part.text, sizeof part.text, "%llx/%u", static_cast<unsigned long long>(service), slot);
  return part;
}
Part presence_part(std::uint32_t slot) {
  Part part{};
  std::snprintf(part.text, sizeof part.text, "node/%u", slot);
  return part;
}

/// -1 and errno: it is taken, or there is no descriptor.
int hold(const Name& name) {
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&name.address), name.bytes) == 0) return fd;
  const int error = errno;
  ::close(fd);
  errno = error;
  return -1;
}

/// Connecting a datagram socket tells whether the name exists, and nobody else of it.
bool exists(int probe, const Name& name) {
  return ::connect(probe, reinterpret_cast<const sockaddr*>(&name.address), name.bytes) == 0;
}

template <class NameOf>
std::optional<std::uint8_t> first_slot(int probe, NameOf&& name_of) {
  for (std::uint32_t slot = 0; slot < kSlots; ++slot)
    if (exists(probe, name_of(slot))) return static_cast<std::uint8_t>(slot);
  return std::nullopt;
}

}  // namespace

HeldName::HeldName(HeldName&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

HeldName& HeldName::operator=(HeldName&& other) noexcept {
  if (this != &other) {
    release();
    descriptor_ = std::exchange(other.descriptor_, -1);
  }
  return *this;
}

void HeldName::release() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

HeldName ServiceDirectory::announce() const {
  HeldName name(hold(make_name(fabric_, address_, presence_part(slot_).text)));
  // Whoever watches sends, and is told EPIPE as long as we live: nothing ever waits here.
  if (name.held()) ::shutdown(name.descriptor(), SHUT_RD);
  return name;
}

std::optional<PresenceWatch> ServiceDirectory::watch(const wire::Gid& node, std::uint8_t slot) const {
  HeldName socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.held() || !exists(socket.descriptor(), make_name(fabric_, node, presence_part(slot).text)))
    return std::nullopt;
  return PresenceWatch(std::move(socket));
}

bool PresenceWatch::is_gone() const {
  // The socket stays connected to that one of then; once it is closed the kernel says so, whoever has its name now.
  const ssize_t sent = ::send(descriptor_.descriptor(), nullptr, 0, MSG_DONTWAIT | MSG_NOSIGNAL);
  return sent < 0 && (errno == ECONNREFUSED || errno == ECONNRESET || errno == ENOTCONN || errno == EDESTADDRREQ);
}

std::optional<ServiceClaim> ServiceDirectory::claim(std::uint64_t service, int& error) const {
  ServiceClaim claim;
  claim.service = HeldName(hold(make_name(fabric_, address_, service_part(service).text)));
  error = claim.service.held() ? 0 : errno;
  if (error != 0) return std::nullopt;
  return claim;
}

HeldName ServiceDirectory::serve(std::uint64_t service) const {
  return HeldName(hold(make_name(fabric_, address_, owner_part(service, slot_).text)));
}

std::optional<std::uint8_t> ServiceDirectory::find_listener(const wire::Gid& node, std::uint64_t service) const {
  const int probe = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return std::nullopt;
  std::optional<std::uint8_t> listener;
  if (exists(probe, make_name(fabric_, node, service_part(service).text)))
    listener =
        first_slot(probe, [&](std::uint32_t slot) { return make_name(fabric_, node, owner_part(service, slot).text); });
  ::close(probe);
  return listener;
}

std::optional<std::uint8_t> ServiceDirectory::find_process(const wire::Gid& node, std::uint64_t service) const {
  if (const auto listener = find_listener(node, service)) return listener;
  const int probe = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return std::nullopt;
  const auto any =
      first_slot(probe, [&](std::uint32_t slot) { return make_name(fabric_, node, presence_part(slot).text); });
  ::close(probe);
  return any;
}

}  // namespace verbena::host
