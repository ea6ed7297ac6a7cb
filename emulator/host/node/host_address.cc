#include "emulator/host/node/host_address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>

#include "emulator/host/node/node_directory.h"

namespace verbena::host {
namespace {

constexpr unsigned kMappedBits = 96;
constexpr std::size_t kHostsMax = 1 << 16;  // lines of a file

std::optional<wire::Gid> gid_of(const sockaddr* address) {
  if (address == nullptr) return std::nullopt;
  if (address->sa_family == AF_INET) {
    sockaddr_in ipv4;
    std::memcpy(&ipv4, address, sizeof ipv4);
    return wire::Gid::from_ipv4(ntohl(ipv4.sin_addr.s_addr));
  }
  if (address->sa_family != AF_INET6) return std::nullopt;
  sockaddr_in6 ipv6;
  std::memcpy(&ipv6, address, sizeof ipv6);
  wire::Gid gid;
  std::memcpy(gid.octets.data(), &ipv6.sin6_addr, gid.octets.size());
  return gid;
}

std::optional<wire::Gid> parse_address(const std::string& text) {
  in_addr ipv4;
  if (inet_pton(AF_INET, text.c_str(), &ipv4) == 1) return wire::Gid::from_ipv4(ntohl(ipv4.s_addr));
  wire::Gid gid;
  if (inet_pton(AF_INET6, text.c_str(), gid.octets.data()) == 1) return gid;
  return std::nullopt;
}

std::string list_of(const std::vector<InterfaceAddress>& own) {
  std::string text;
  for (const InterfaceAddress& one : own)
    text += (text.empty() ? "" : ", ") + one.interface + " " + address_text(one.address);
  return text.empty() ? "none" : text;
}

bool begins_as(const wire::Gid& address, const wire::Gid& subnet, unsigned bits) {
  for (unsigned bit = 0; bit < bits; ++bit)
    if (((address.octets[bit / 8] ^ subnet.octets[bit / 8]) >> (7 - bit % 8) & 1) != 0) return false;
  return true;
}

Result<wire::Gid, std::string> in_subnet(std::string_view text, const std::vector<InterfaceAddress>& own) {
  const std::size_t slash = text.find('/');
  const auto subnet = parse_address(std::string(text.substr(0, slash)));
  if (!subnet) return Failure{std::string(text) + ": want an address and a number of bits, as 10.77.0.0/24"};
  const unsigned most = subnet->is_ipv4() ? 32 : 128;
  const std::string_view number = text.substr(slash + 1);
  unsigned bits = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), bits);
  if (error != std::errc{} || end != number.data() + number.size() || bits > most)
    return Failure{std::string(text) + ": the number of bits is one from 0 to " + std::to_string(most)};
  bits += subnet->is_ipv4() ? kMappedBits : 0;
  for (const InterfaceAddress& one : own)
    if (one.address.is_ipv4() == subnet->is_ipv4() && begins_as(one.address, *subnet, bits)) return one.address;
  return Failure{"this machine has no address in " + std::string(text) + "; it has " + list_of(own)};
}

Result<wire::Gid, std::string> of_interface(std::string_view name, const std::vector<InterfaceAddress>& own) {
  const InterfaceAddress* found = nullptr;
  bool exists = false;
  for (const InterfaceAddress& one : own) {
    if (one.interface != name) continue;
    exists = true;
    if (one.address.is_link_local() || (found != nullptr && !one.address.is_ipv4())) continue;
    if (found == nullptr || !found->address.is_ipv4()) found = &one;
  }
  if (found != nullptr) return found->address;
  return Failure{exists ? "interface " + std::string(name) + " has a link-local address only"
                        : "'" + std::string(name) + "' is no number from 1 to 254, no IP address, no subnet and no " +
                              "interface with an address; this machine has " + list_of(own)};
}

struct Freer {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};

/// What a line of a file of hosts begins with.
std::string host_of_line(std::string line) {
  line.resize(std::min(line.find('#'), line.size()));
  const std::size_t begin = line.find_first_not_of(" \t\r");
  if (begin == std::string::npos) return {};
  std::string word = line.substr(begin, line.find_first_of(" \t\r", begin) - begin);
  // MPICH's files say how many processes a host takes, as in name:4.
  if (!parse_address(word) && word.find(':') != std::string::npos) word.resize(word.find(':'));
  return word;
}

std::optional<wire::Gid> own_address_of(const std::string& host, const std::vector<InterfaceAddress>& own) {
  const auto has = [&](const wire::Gid& address) {
    return std::ranges::any_of(own, [&](const InterfaceAddress& one) { return one.address == address; });
  };
  if (const auto address = parse_address(host)) return has(*address) ? address : std::nullopt;
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;  // each address once
  addrinfo* list = nullptr;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &list) != 0) return std::nullopt;
  const std::unique_ptr<addrinfo, Freer> owner(list);
  for (const addrinfo* one = list; one != nullptr; one = one->ai_next) {
    const auto address = gid_of(one->ai_addr);
    const bool is_loopback = address && address->is_ipv4() && address->ipv4() >> 24 == 127;
    if (address && !is_loopback && has(*address)) return address;
  }
  return std::nullopt;
}

Result<wire::Gid, std::string> in_file(const std::string& path, const std::vector<InterfaceAddress>& own) {
  std::ifstream file(path);
  if (!file) return Failure{path + ": " + std::strerror(errno)};
  std::string line;
  std::size_t hosts = 0;
  for (std::size_t lines = 0; lines < kHostsMax && std::getline(file, line); ++lines) {
    const std::string host = host_of_line(line);
    if (host.empty()) continue;
    ++hosts;
    if (const auto address = own_address_of(host, own)) return *address;
  }
  return Failure{path + ": none of its " + std::to_string(hosts) + " hosts is this machine, which has " + list_of(own)};
}

}  // namespace

std::vector<InterfaceAddress> own_addresses() {
  std::vector<InterfaceAddress> own;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return own;
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next)
    if (const auto address = gid_of(one->ifa_addr); address && (one->ifa_flags & IFF_UP) != 0)
      own.push_back({one->ifa_name, *address});
  freeifaddrs(list);
  return own;
}

Result<wire::Gid, std::string> host_address(std::string_view text, const std::vector<InterfaceAddress>& own) {
  if (text.starts_with(kHostsPrefix)) return in_file(std::string(text.substr(kHostsPrefix.size())), own);
  if (text.find('/') != text.npos) return in_subnet(text, own);
  return of_interface(text, own);
}

}  // namespace verbena::host
