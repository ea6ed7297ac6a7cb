#include "emulator/host/node/node_directory.h"

#include <arpa/inet.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <utility>

#include "emulator/host/os/name_holder.h"
#include "emulator/host/os/same_user.h"
#include "wire/assert.h"

namespace verbena::host {
namespace {
constexpr int kBacklog = 256;  // as many processes as may call at once before we accept; above SOMAXCONN is cut
constexpr std::uint32_t kNodeNetwork = 0x7f2f5b00;  // 127.47.91.0

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}
}  // namespace

std::optional<wire::Gid> link_local_of(const wire::Gid& node) {
  if (!node.is_ipv4()) return std::nullopt;
  const auto& octets = node.octets;
  const auto mac = node_mac(node).octets;
  // The universal/local bit is inverted, ff:fe stands in the middle.
  return wire::Gid{{0xfe, 0x80, 0, 0, 0, 0, 0, 0, static_cast<std::uint8_t>(mac[0] ^ 2), mac[1], octets[12], 0xff, 0xfe,
                    octets[13], octets[14], octets[15]}};
}

wire::Gid node_of(const wire::Gid& address) {
  if (!address.is_link_local()) return address;
  const auto& octets = address.octets;
  wire::Gid node = wire::Gid::from_ipv4(0);
  node.octets[12] = octets[10];
  for (std::size_t i = 13; i < 16; ++i) node.octets[i] = octets[i];
  return link_local_of(node) == address ? node : address;
}

wire::MacAddress node_mac(const wire::Gid& address) {
  const auto octets = node_of(address).octets;
  return {{0x02, 0x56, octets[12], octets[13], octets[14], octets[15]}};
}

std::string address_text(const wire::Gid& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const bool ipv4 = address.is_ipv4();
  const char* done =
      inet_ntop(ipv4 ? AF_INET : AF_INET6, address.octets.data() + (ipv4 ? 12 : 0), text.data(), text.size());
  VERBENA_ASSERT(done != nullptr);
  return text.data();
}

std::optional<wire::Gid> parse_node(std::string_view text) {
  if (text.empty() || text.size() >= INET6_ADDRSTRLEN) return std::nullopt;
  const std::string name(text);
  if (std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; })) {
    if (name.size() > 3) return std::nullopt;
    const auto node = static_cast<std::uint32_t>(std::stoul(name));
    if (node < 1 || node > kNodesMax) return std::nullopt;
    return node_address(node);
  }
  in_addr ipv4{};
  if (inet_pton(AF_INET, name.c_str(), &ipv4) == 1) {
    const wire::Gid gid = wire::Gid::from_ipv4(ntohl(ipv4.s_addr));
    if (ipv4.s_addr == INADDR_ANY || gid.is_multicast()) return std::nullopt;
    return gid;
  }
  wire::Gid gid;
  if (inet_pton(AF_INET6, name.c_str(), gid.octets.data()) != 1) return std::nullopt;
  if (gid == wire::Gid{} || gid.is_multicast()) return std::nullopt;
  return gid;
}

wire::Gid node_address(std::uint32_t node) {
  VERBENA_ASSERT(node >= 1 && node <= kNodesMax);
  return wire::Gid::from_ipv4(kNodeNetwork | node);
}

std::optional<std::uint32_t> node_number(const wire::Gid& address) {
  const std::uint32_t node = address.octets[15];
  if (node < 1 || node > kNodesMax || address != node_address(node)) return std::nullopt;
  return node;
}

bool is_fabric_name(std::string_view name) {
  return !name.empty() && name.size() <= kFabricNameBytesMax && name != "." && name != ".." &&
         std::all_of(name.begin(), name.end(), is_name_character);
}

std::string fabric_name_rule() {
  return "1 to " + std::to_string(kFabricNameBytesMax) + " letters, digits, '.', '_' or '-'";
}

SeatAddress seat_address(const SeatName& seat) {
  VERBENA_ASSERT(is_fabric_name(seat.fabric));
  const std::string text = "verbena/" + std::to_string(own_user()) + "/" + std::string(seat.fabric) + "/" +
                           address_text(seat.address) + "/" + std::to_string(seat.slot);
  SeatAddress result;
  VERBENA_ASSERT(text.size() + 1 <= sizeof result.name.sun_path);
  result.name.sun_family = AF_UNIX;
  // A leading zero octet makes the name abstract (unix(7)).
  std::memcpy(result.name.sun_path + 1, text.data(), text.size());
  result.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return result;
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
    const auto address = parse_node(std::string_view(rest).substr(0, slash));
    std::uint8_t slot = 0;
    const char* const end = rest.data() + rest.size();
    const auto [stopped, error] = std::from_chars(rest.data() + slash + 1, end, slot);
    if (address && error == std::errc() && stopped == end && slot < kSlots) seats.push_back({*address, slot});
  }
  return seats;
}

Result<NodeDirectory, std::string> NodeDirectory::join(std::string_view fabric, const wire::Gid& address) {
  if (!is_fabric_name(fabric)) return Failure{"fabric name must be " + fabric_name_rule()};
  const int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener < 0) return Failure{std::string("cannot open a unix socket: ") + std::strerror(errno)};
  NodeDirectory seat(listener, 0);
  for (std::uint32_t slot = 0; slot < kSlots; ++slot) {
    const SeatAddress at = seat_address({fabric, address, static_cast<std::uint8_t>(slot)});
    if (bind(listener, reinterpret_cast<const sockaddr*>(&at.name), at.bytes) == 0) {
      if (listen(listener, kBacklog) != 0)
        return Failure{std::string("cannot listen on a unix socket: ") + std::strerror(errno)};
      seat.slot_ = static_cast<std::uint8_t>(slot);
      return seat;
    }
    if (errno != EADDRINUSE) return Failure{std::string("cannot bind a unix socket: ") + std::strerror(errno)};
  }
  const SeatAddress first = seat_address({fabric, address, 0});
  return Failure{"node " + address_text(address) + " of fabric '" + std::string(fabric) + "' already has " +
                 std::to_string(kSlots) + " processes" + describe_name_holder(first.name, first.bytes)};
}

NodeDirectory::~NodeDirectory() {
  if (listener_ >= 0) close(listener_);
}
NodeDirectory::NodeDirectory(NodeDirectory&& other) noexcept
    : listener_(std::exchange(other.listener_, -1)), slot_(other.slot_) {}
NodeDirectory& NodeDirectory::operator=(NodeDirectory&& other) noexcept {
  std::swap(listener_, other.listener_);
  std::swap(slot_, other.slot_);
  return *this;
}

}  // namespace verbena::host
