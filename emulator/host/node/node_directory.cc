#include "emulator/host/node/node_directory.h"

#include <arpa/inet.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <set>
#include <utility>

#include "emulator/host/os/name_holder.h"
#include "emulator/host/os/same_user.h"
#include "emulator/host/os/unwanted_descriptors.h"
#include "wire/assert.h"

namespace verbena::host {
namespace {
constexpr int kBacklog = 256;  // as many processes as may call at once before we accept; above SOMAXCONN is cut

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}
}  // namespace

std::string address_text(const wire::Gid& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const bool ipv4 = address.is_ipv4();
  const char* done =
      inet_ntop(ipv4 ? AF_INET : AF_INET6, address.octets.data() + (ipv4 ? 12 : 0), text.data(), text.size());
  VERBENA_ASSERT(done != nullptr);
  return text.data();
}

bool is_fabric_name(std::string_view name) {
  return !name.empty() && name.size() <= kFabricNameBytesMax && name != "." && name != ".." &&
         std::all_of(name.begin(), name.end(), is_name_character);
}

std::string fabric_name_rule() {
  return "1 to " + std::to_string(kFabricNameBytesMax) + " letters, digits, '.', '_' or '-'";
}

AbstractName seat_address(const SeatName& seat) {
  VERBENA_ASSERT(is_fabric_name(seat.fabric));
  const AbstractName name("verbena/%u/%s/%s/%u", own_user(), std::string(seat.fabric).c_str(),
                          address_text(seat.address).c_str(), unsigned{seat.slot});
  VERBENA_ASSERT(name.fits());
  return name;
}

std::vector<SeatTaken> seats_taken(std::string_view fabric) {
  const std::string prefix = "@verbena/" + std::to_string(own_user()) + "/" + std::string(fabric) + "/";
  constexpr std::string_view kListening = " 00010000 ";  // __SO_ACCEPTCON: not the sockets that were accepted there
  std::vector<SeatTaken> seats;
  std::ifstream table("/proc/net/unix");
  for (std::string line; std::getline(table, line);) {
    const std::size_t at = line.find(prefix);
    if (at == std::string::npos || line.find(kListening) == std::string::npos) continue;
    const std::string rest = line.substr(at + prefix.size());
    const std::size_t slash = rest.rfind('/');
    if (slash == std::string::npos) continue;
    const auto address = parse_node(rest.substr(0, slash).c_str());
    std::uint8_t slot = 0;
    const char* const end = rest.data() + rest.size();
    const auto [stopped, error] = std::from_chars(rest.data() + slash + 1, end, slot);
    if (address && error == std::errc() && stopped == end && slot < kSlots) seats.push_back({*address, slot});
  }
  return seats;
}

std::vector<std::string> fabrics_present() {
  const std::string prefix = "@verbena/" + std::to_string(own_user()) + "/";
  std::set<std::string> names;
  std::ifstream table("/proc/net/unix");
  for (std::string line; std::getline(table, line);) {
    const std::size_t at = line.find(prefix);
    if (at == std::string::npos) continue;
    const std::string rest = line.substr(at + prefix.size());
    const std::string name = rest.substr(0, rest.find('/'));
    if (name.size() < rest.size() && is_fabric_name(name)) names.insert(name);
  }
  return {names.begin(), names.end()};
}

Result<NodeDirectory, std::string> NodeDirectory::join(std::string_view fabric, const wire::Gid& address,
                                                       const SlotRange& slots) {
  if (!is_fabric_name(fabric)) return Failure{"fabric name must be " + fabric_name_rule()};
  const int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener < 0) return Failure{std::string("cannot open a unix socket: ") + std::strerror(errno)};
  NodeDirectory seat(listener, 0);
  for (std::uint32_t slot = slots.first; slot <= slots.last; ++slot) {
    const AbstractName at = seat_address({fabric, address, static_cast<std::uint8_t>(slot)});
    if (at.bind(listener)) {
      if (listen(listener, kBacklog) != 0)
        return Failure{std::string("cannot listen on a unix socket: ") + std::strerror(errno)};
      seat.slot_ = static_cast<std::uint8_t>(slot);
      return seat;
    }
    if (errno != EADDRINUSE) return Failure{std::string("cannot bind a unix socket: ") + std::strerror(errno)};
  }
  return Failure{"node " + address_text(address) + " of fabric '" + std::string(fabric) + "' already has " +
                 std::to_string(kSlots) + " processes" + describe_name_holder(seat_address({fabric, address, 0}))};
}

NodeDirectory::~NodeDirectory() {
  if (listener_ < 0) return;
  if (owner_ == getpid())
    close_listener(listener_);
  else
    close(listener_);
}
NodeDirectory::NodeDirectory(NodeDirectory&& other) noexcept
    : listener_(std::exchange(other.listener_, -1)), slot_(other.slot_), owner_(other.owner_) {}
NodeDirectory& NodeDirectory::operator=(NodeDirectory&& other) noexcept {
  std::swap(listener_, other.listener_);
  std::swap(slot_, other.slot_);
  std::swap(owner_, other.owner_);
  return *this;
}

}  // namespace verbena::host
