#include "emulator/host/node/service_directory.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "emulator/host/node/managed_port.h"
#include "emulator/host/node/node_directory.h"
#include "emulator/host/node/port_signal.h"
#include "emulator/host/os/name_owner.h"
#include "emulator/host/os/same_user.h"
#include "emulator/host/os/shortage.h"
#include "wire/assert.h"

namespace verbena::host {
namespace {

/// A GID is one of the port that has the address below it, and has its names.
AbstractName make_name(const std::string& fabric, const wire::Gid& node, const char* rest) {
  const AbstractName name("verbena-cm/%u/%s/%s/%s", own_user(), fabric.c_str(),
                          address_text(node_of_gid(fabric, node)).c_str(), rest);
  VERBENA_ASSERT(name.fits());
  return name;
}

constexpr const char* kAnyAddress = ".any";

/// The last part of a name.
struct Part {
  char text[32];
};
const char* suffix_of(IpVersion version) {
  switch (version) {
    case IpVersion::ipv4:
      return "";
    case IpVersion::ipv6:
      return ".6";
    case IpVersion::none:
      return ".ib";
  }
  return "";
}
Part service_part(std::uint64_t service, IpVersion version, const char* more = "") {
  Part part{};
  std::snprintf(part.text, sizeof part.text, "%llx%s%s", static_cast<unsigned long long>(service), suffix_of(version),
                more);
  return part;
}
Part owner_part(std::uint64_t service, IpVersion version, std::uint32_t slot) {
  Part part{};
  std::snprintf(part.text, sizeof part.text, "%llx%s/%u", static_cast<unsigned long long>(service), suffix_of(version),
                slot);
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
  const AbstractName wanted = make_name(fabric_, address_, presence_part(slot_).text);
  HeldName name = wanted.hold();
  if (!name.held() && errno == EADDRINUSE) is_squatted(wanted);
  // Whoever watches sends, and is told EPIPE as long as we live (AbstractName::hold).
  return name;
}

ServiceDirectory::Sighting ServiceDirectory::watch(const wire::Gid& node, std::uint8_t slot) const {
  HeldName socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.held()) {
    tell_if_no_descriptors("processes at the other ends of connections are not looked after");
    return {.watch = {}, .is_unknown = true};
  }
  if (!make_name(fabric_, node, presence_part(slot).text).is_held(socket.descriptor())) return {};
  return {.watch = PresenceWatch(std::move(socket))};
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
  std::string_view digits = name.substr(service + 1, slot - service - 1);
  for (const IpVersion version : {IpVersion::ipv6, IpVersion::none})
    if (const std::string_view suffix = suffix_of(version); digits.ends_with(suffix))
      digits.remove_suffix(suffix.size());
  const bool is_slot = name.size() != slot + 1 && name.find_first_not_of("0123456789", slot + 1) == name.npos;
  return is_slot && !digits.empty() && digits.find_first_not_of("0123456789abcdef") == digits.npos;
}

std::optional<ServiceClaim> ServiceDirectory::claim(const Claimed& claimed, int& error) const {
  const AbstractName any =
      make_name(fabric_, address_, service_part(claimed.service, claimed.version, kAnyAddress).text);
  ServiceClaim claim;
  const AbstractName wanted = make_name(fabric_, address_, service_part(claimed.service, claimed.version).text);
  claim.service = wanted.hold();
  error = claim.service.held() ? 0 : errno;
  if (error == EADDRINUSE) is_squatted(wanted);
  if (error == EADDRINUSE && (claimed.any_address || any.is_held())) error = EADDRNOTAVAIL;
  if (error != 0) return std::nullopt;
  if (claimed.any_address) claim.any = any.hold();
  return claim;
}

HeldName ServiceDirectory::serve(std::uint64_t service, IpVersion version) const {
  return make_name(fabric_, address_, owner_part(service, version, slot_).text).hold();
}

std::optional<std::uint8_t> ServiceDirectory::find_listener(const wire::Gid& node, std::uint64_t service,
                                                            wire::IpVersions who) const {
  const HeldName probe(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!probe.held()) return std::nullopt;
  for (const IpVersion version : wire::kIpVersions) {
    if (!includes(who, version)) continue;
    if (!make_name(fabric_, node, service_part(service, version).text).is_held(probe.descriptor())) continue;
    const auto listener = first_slot(probe.descriptor(), [&](std::uint32_t slot) {
      return make_name(fabric_, node, owner_part(service, version, slot).text);
    });
    if (listener) return listener;
  }
  return std::nullopt;
}

std::optional<std::uint8_t> ServiceDirectory::find_process(const wire::Gid& node, std::uint64_t service,
                                                           wire::IpVersions who) const {
  if (const auto listener = find_listener(node, service, who)) return listener;
  if (const auto listener = find_listener(node, service, wire::kAnyIpVersion)) return listener;
  const HeldName probe(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!probe.held()) return std::nullopt;
  return first_slot(probe.descriptor(),
                    [&](std::uint32_t slot) { return make_name(fabric_, node, presence_part(slot).text); });
}

bool ServiceDirectory::has_dead_port(const wire::Gid& node) const {
  return host::has_dead_port(fabric_.c_str(), node_of_gid(fabric_, node).octets);
}

bool ServiceDirectory::is_deserted(const wire::Gid& node) const {
  return !find_process(node, 0, {}) && !has_dead_port(node) && !has_dead_port(address_);
}

}  // namespace verbena::host
