// UmadProgram: a program on a node of a managed fabric that asks agents by directed routes, or answers others, as the
// test plays it.
#pragma once

#include <arpa/inet.h>
#include <poll.h>
#include <rdma/ib_user_mad.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "emulator/host/node/managed_port.h"
#include "emulator/host/os/descriptor.h"
#include "emulator/host/os/descriptor_passing.h"
#include "emulator/host/subnet_process/umad_layout.h"
#include "emulator/subnet/smp.h"

namespace verbena::host::test {

class UmadProgram {
 public:
  UmadProgram(const std::string& fabric, std::uint32_t host, bool is_issm = false)
      : socket_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
    const UmadHello hello{host, 1, is_issm ? 1u : 0u};
    BOOST_REQUIRE(umad_address(fabric.c_str()).connect(socket_.get()));
    BOOST_REQUIRE(::send(socket_.get(), &hello, sizeof hello, 0) == sizeof hello);
  }
  /// The error, as the device's ioctl has it.
  int register_agent(std::uint8_t qp, std::uint8_t management_class, std::uint8_t version = 1,
                     std::uint32_t methods = 0) {
    ib_user_mad_reg_req wanted{};
    wanted.qpn = qp;
    wanted.mgmt_class = management_class;
    wanted.mgmt_class_version = version;
    std::memcpy(wanted.method_mask, &methods, sizeof methods);
    UmadIoctl ioctl;
    ioctl.request = static_cast<std::uint32_t>(IB_USER_MAD_REGISTER_AGENT);
    std::memcpy(ioctl.argument, &wanted, sizeof wanted);
    int pair[2];
    BOOST_REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
    const Descriptor own(pair[0]);
    const Descriptor theirs(pair[1]);
    const int passed[] = {theirs.get()};
    BOOST_REQUIRE(send_with_descriptors(socket_.get(), std::as_bytes(std::span(&ioctl, 1)), passed));
    UmadIoctlReply reply;
    BOOST_REQUIRE(recv(own.get(), &reply, sizeof reply, 0) == sizeof reply);
    std::memcpy(&wanted, reply.argument, sizeof wanted);
    agent_ = wanted.id;
    return reply.error;
  }
  /// The response; nothing: it has timed out.
  std::optional<std::vector<std::byte>> ask(const std::vector<std::uint8_t>& path, std::uint8_t method,
                                            std::uint16_t attribute, std::uint32_t modifier,
                                            std::span<const std::byte> data = {}) {
    constexpr std::uint32_t kTimeoutMs = 200;
    ib_user_mad_hdr header{};
    header.id = agent_;
    header.timeout_ms = kTimeoutMs;
    header.lid = htons(wire::kLidPermissive.value());
    std::vector<std::byte> message(sizeof header + wire::kMadBytes);
    std::memcpy(message.data(), &header, sizeof header);
    std::vector<std::byte> mad(wire::kMadBytes);
    subnet::Smp smp(mad);
    smp.set_header({.management_class = wire::kClassSubnetDirected,
                    .class_version = 1,
                    .method = method,
                    .transaction_id = ++transaction_,
                    .attribute = attribute,
                    .attribute_modifier = modifier});
    mad[7] = static_cast<std::byte>(path.size());
    for (std::size_t i = 32; i < 36; ++i) mad[i] = std::byte{0xff};
    for (std::size_t i = 0; i < path.size(); ++i) mad[wire::kSmpInitialPathAt + 1 + i] = std::byte{path[i]};
    std::ranges::copy(data, smp.data().begin());
    std::ranges::copy(mad, message.begin() + sizeof header);
    BOOST_REQUIRE(::send(socket_.get(), message.data(), message.size(), 0) == static_cast<ssize_t>(message.size()));
    BOOST_REQUIRE(recv(socket_.get(), message.data(), message.size(), 0) > 0);
    std::memcpy(&header, message.data(), sizeof header);
    if (header.status != 0) return std::nullopt;
    return std::vector<std::byte>(message.begin() + sizeof header, message.end());
  }
  /// The next message for it: the header, and the MAD. Empty: none within this time.
  std::vector<std::byte> receive(int wait_ms) {
    pollfd ready{socket_.get(), POLLIN, 0};
    std::vector<std::byte> message(sizeof(ib_user_mad_hdr) + wire::kMadBytes);
    if (poll(&ready, 1, wait_ms) != 1) return {};
    BOOST_REQUIRE(recv(socket_.get(), message.data(), message.size(), 0) == static_cast<ssize_t>(message.size()));
    return message;
  }
  /// To the sender of a message that was received.
  void respond(const std::vector<std::byte>& message) {
    BOOST_REQUIRE(::send(socket_.get(), message.data(), message.size(), 0) == static_cast<ssize_t>(message.size()));
  }
  template <class Layout>
  typename Layout::Header get(const std::vector<std::uint8_t>& path, std::uint16_t attribute, std::uint32_t modifier) {
    const auto answer = ask(path, wire::kMethodGet, attribute, modifier);
    BOOST_REQUIRE(answer.has_value());
    return subnet::Smp(*answer).read_data<Layout>();
  }
  /// Of the port of an adapter, or of a switch. What it is now is asked first; `change` alters it.
  template <class Change>
  void set_port(const std::vector<std::uint8_t>& path, std::uint32_t port, Change change) {
    auto info = get<wire::PortInfoLayout>(path, wire::kAttributePortInfo, port);
    info.state = wire::PortState::no_change;
    info.physical_state = wire::PortPhysicalState::no_change;
    change(info);
    const auto answer = ask(path, wire::kMethodSet, wire::kAttributePortInfo, port, wire::PortInfoLayout::emit(info));
    BOOST_REQUIRE(answer.has_value());
    BOOST_TEST((subnet::Smp(*answer).header().status & 0x7fff) == 0);
  }

 private:
  Descriptor socket_;
  std::uint32_t agent_ = 0;
  std::uint64_t transaction_ = 0;
};

}  // namespace verbena::host::test
