#include "emulator/host/link/raw/raw_filter.h"

#include <sys/socket.h>

#include <algorithm>
#include <iterator>

#include "emulator/host/node/node_directory.h"
#include "wire/headers.h"
#include "wire/roce_v1.h"

namespace verbena::host {
namespace {

constexpr std::uint32_t kWholeFrame = 0xffffffff;
constexpr std::uint32_t kIp = wire::EthernetLayout::bytes;
constexpr std::uint32_t kIpv4GroupMask = 0xf0000000;
constexpr std::uint32_t kIpv4Groups = 0xe0000000;  // 224.0.0.0/4
constexpr std::uint32_t kIpv6GroupPrefix = 0xff;
constexpr std::uint32_t kUdpDestinationPort = 2;
constexpr std::uint32_t kQpnInBth = 5;

/// A straight line of tests: each goes on when it holds and rejects otherwise.
class FilterBuilder {
 public:
  void load_octet(std::uint32_t at) { add(BPF_LD | BPF_B | BPF_ABS, at); }
  void load_half(std::uint32_t at) { add(BPF_LD | BPF_H | BPF_ABS, at); }
  void load_word(std::uint32_t at) { add(BPF_LD | BPF_W | BPF_ABS, at); }
  void load_octet_behind_ip(std::uint32_t at) { add(BPF_LD | BPF_B | BPF_IND, kIp + at); }
  void load_half_behind_ip(std::uint32_t at) { add(BPF_LD | BPF_H | BPF_IND, kIp + at); }
  /// What is loaded relative to the end of the IP header takes its size from here.
  void take_ipv4_header_size() { add(BPF_LDX | BPF_B | BPF_MSH, kIp); }
  void set_ip_header_size(std::uint32_t bytes) { add(BPF_LDX | BPF_IMM, bytes); }
  void require_equal(std::uint32_t value) {
    rejections_.push_back(program_.size());
    add(BPF_JMP | BPF_JEQ | BPF_K, value);
  }
  void require_masked(std::uint32_t mask, std::uint32_t value) {
    add(BPF_ALU | BPF_AND | BPF_K, mask);
    require_equal(value);
  }
  /// Leaves out the tests up to the land() that is given the result.
  std::size_t skip_if_equal(std::uint32_t value) {
    add(BPF_JMP | BPF_JEQ | BPF_K, value);
    return program_.size() - 1;
  }
  void land(std::size_t skip) { program_[skip].jt = static_cast<std::uint8_t>(program_.size() - skip - 1); }
  void accept_if_equal(std::uint32_t value) {
    program_.push_back({BPF_JMP | BPF_JEQ | BPF_K, 0, 1, value});
    add(BPF_RET | BPF_K, kWholeFrame);
  }
  void accept_if_at_most(std::uint32_t value) {
    program_.push_back({BPF_JMP | BPF_JGT | BPF_K, 1, 0, value});
    add(BPF_RET | BPF_K, kWholeFrame);
  }
  std::vector<sock_filter> finish() {
    for (const std::size_t at : rejections_) program_[at].jf = static_cast<std::uint8_t>(program_.size() - at - 1);
    add(BPF_RET | BPF_K, 0);
    return program_;
  }

 private:
  void add(unsigned code, std::uint32_t value) { program_.push_back({static_cast<std::uint16_t>(code), 0, 0, value}); }
  std::vector<sock_filter> program_;
  std::vector<std::size_t> rejections_;
};

std::uint32_t word_of(const wire::Gid& address, std::size_t word) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | address.octets[word * 4 + i];
  return value;
}

}  // namespace

namespace {

/// The address, or any group, both as 16 octets of an IPv6 header or a GRH.
void require_destination(FilterBuilder& filter, const wire::Gid& address) {
  constexpr std::uint32_t kDestination = kIp + 24;
  filter.load_octet(kDestination);
  const std::size_t group = filter.skip_if_equal(kIpv6GroupPrefix);
  for (std::uint32_t word = 0; word < 4; ++word) {
    filter.load_word(kDestination + 4 * word);
    filter.require_equal(word_of(address, word));
  }
  filter.land(group);
}

/// The QPN stands so far behind the network header.
void accept_slot(FilterBuilder& filter, std::uint32_t qpn_at, std::uint8_t slot) {
  filter.load_octet_behind_ip(qpn_at);
  filter.accept_if_equal(slot);
  filter.accept_if_equal(kSlots);
  filter.require_equal(0);
  filter.load_half_behind_ip(qpn_at + 1);
  filter.accept_if_at_most(1);
}

std::vector<sock_filter> roce_v1_frames(const wire::Gid& address, std::uint8_t slot) {
  FilterBuilder filter;
  filter.load_half(kIp - 2);
  filter.require_equal(wire::kEtherTypeRoceV1);
  filter.load_octet(kIp + 6);
  filter.require_equal(wire::kGrhNextHeaderIba);
  require_destination(filter, address);
  filter.set_ip_header_size(wire::GrhLayout::bytes);
  accept_slot(filter, kQpnInBth, slot);
  return filter.finish();
}

std::vector<sock_filter> roce_v2_frames(const wire::Gid& address, std::uint8_t slot) {
  FilterBuilder filter;
  filter.load_half(kIp - 2);
  if (address.is_ipv4()) {
    filter.require_equal(wire::kEtherTypeIpv4);
    filter.load_octet(kIp + 9);
    filter.require_equal(wire::kIpProtocolUdp);
    filter.load_half(kIp + 6);
    filter.require_masked(0x3fff, 0);  // more fragments, fragment offset
    filter.load_word(kIp + 16);
    const std::size_t ours = filter.skip_if_equal(address.ipv4());
    filter.require_masked(kIpv4GroupMask, kIpv4Groups);
    filter.land(ours);
    filter.take_ipv4_header_size();
  } else {
    filter.require_equal(wire::kEtherTypeIpv6);
    filter.load_octet(kIp + 6);
    filter.require_equal(wire::kIpProtocolUdp);
    require_destination(filter, address);
    filter.set_ip_header_size(wire::Ipv6Layout::bytes);
  }
  filter.load_half_behind_ip(kUdpDestinationPort);
  filter.require_equal(wire::kRoceUdpPort);
  accept_slot(filter, wire::UdpLayout::bytes + kQpnInBth, slot);
  return filter.finish();
}

}  // namespace

std::vector<sock_filter> frames_of_process(const wire::Gid& address, std::uint8_t slot, const wire::WireKind& wire) {
  if (!wire.has_v1) return roce_v2_frames(address, slot);
  std::vector<sock_filter> program = roce_v1_frames(address, slot);
  if (!wire.has_v2) return program;
  // Each part returns, and its jumps are relative: what is not announced as RoCE v1 goes past its part.
  const auto v1_steps = static_cast<std::uint8_t>(program.size());
  program.insert(program.begin(), {{BPF_LD | BPF_H | BPF_ABS, 0, 0, kIp - 2},
                                   {BPF_JMP | BPF_JEQ | BPF_K, 0, v1_steps, wire::kEtherTypeRoceV1}});
  std::ranges::copy(roce_v2_frames(address, slot), std::back_inserter(program));
  return program;
}

std::vector<sock_filter> nothing_at_all() {
  return {{BPF_RET | BPF_K, 0, 0, 0}};
}

bool attach_filter(int socket, const std::vector<sock_filter>& program) {
  sock_fprog attached{};
  attached.len = static_cast<unsigned short>(program.size());
  attached.filter = const_cast<sock_filter*>(program.data());
  return ::setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &attached, sizeof attached) == 0;
}

}  // namespace verbena::host
