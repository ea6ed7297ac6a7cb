#include "emulator/host/service_directory.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "emulator/host/node_directory.h"
#include "wire/assert.h"

namespace verbena::host {
namespace {

AbstractName make_name(const std::string& fabric, const wire::Gid& node, const char* rest) {
  const AbstractName name("verbena-cm/%u/%s/%s/%s", static_cast<unsigned>(::geteuid()), fabric.c_str(),
                          address_text(node).c_str(), rest);
  VERBENA_ASSERT(name.fits());
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

template <class NameOf>
std::optional<std::uint8_t> first_slot(int probe, NameOf&& name_of) {
  for (std::uint32_t slot = 0; slot < kSlots; ++slot)
    if (name_of(slot).is_held(probe)) return static_cast<std::uint8_t>(slot);
  return std::nullopt;
}

}  // namespace

HeldName ServiceDirectory::announce() const {
  HeldName name = make_name(fabric_, address_, presence_part(slot_).text).hold();
  // Whoever watches sends, and is told EPIPE as long as we live: nothing ever waits here.
  if (name.held()) ::shutdown(name.descriptor(), SHUT_RD);
  return name;
}

std::optional<PresenceWatch> ServiceDirectory::watch(const wire::Gid& node, std::uint8_t slot) const {
  HeldName socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.held() || !make_name(fabric_, node, presence_part(slot).text).is_held(socket.descriptor()))
    return std::nullopt;
  return PresenceWatch(std::move(socket));
}

bool PresenceWatch::is_gone() const {
  // The socket stays connected to that one of then; once it is closed the kernel says so, whoever has its name now.
  const ssize_t sent = ::send(descriptor_.descriptor(), nullptr, 0, MSG_DONTWAIT | MSG_NOSIGNAL);
  return sent < 0 && (errno == ECONNREFUSED || errno == ECONNRESET || errno == ENOTCONN || errno == EDESTADDRREQ);
}

bool names_listener(std::string_view name) {
  if (!name.starts_with("@verbena-cm/")) return false;  // how the kernel prints a leading zero octet
  const std::size_t slot = name.rfind('/');
  const std::size_t service = name.rfind('/', slot - 1);
  // A claim has an address in this place, a presence the word "node".
  const std::string_view digits = name.substr(service + 1, slot - service - 1);
  return !digits.empty() && digits.find_first_not_of("0123456789abcdef") == digits.npos;
}

std::optional<ServiceClaim> ServiceDirectory::claim(std::uint64_t service, int& error) const {
  ServiceClaim claim;
  claim.service = make_name(fabric_, address_, service_part(service).text).hold();
  error = claim.service.held() ? 0 : errno;
  if (error != 0) return std::nullopt;
  return claim;
}

HeldName ServiceDirectory::serve(std::uint64_t service) const {
  return make_name(fabric_, address_, owner_part(service, slot_).text).hold();
}

std::optional<std::uint8_t> ServiceDirectory::find_listener(const wire::Gid& node, std::uint64_t service) const {
  const int probe = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return std::nullopt;
  std::optional<std::uint8_t> listener;
  if (make_name(fabric_, node, service_part(service).text).is_held(probe))
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
