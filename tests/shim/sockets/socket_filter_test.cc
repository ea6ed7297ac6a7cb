// The socket filter, run by the kernel: which senders a socket does not hear.
#include "verbs-shim/sockets/socket_filter.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <cstdint>
#include <random>
#include <set>

#include "emulator/host/link/shm/shm_channel.h"

using verbena::host::Descriptor;
using verbena::host::NodeSet;
using namespace verbena::path;

namespace {

constexpr std::uint32_t kNodes = 0x7f2f5b00;
constexpr std::uint32_t kLoopback = 0x7f000001;

sockaddr_in name_of(std::uint32_t address, in_port_t port = 0) {
  return {.sin_family = AF_INET, .sin_port = port, .sin_addr = {htonl(address)}, .sin_zero = {}};
}

Descriptor bound(std::uint32_t address, int type = SOCK_DGRAM) {
  Descriptor made(socket(AF_INET, type | SOCK_CLOEXEC, 0));
  const sockaddr_in name = name_of(address);
  BOOST_REQUIRE(bind(made.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0);
  return made;
}

sockaddr_in name_of(const Descriptor& one) {
  sockaddr_in name{};
  socklen_t bytes = sizeof name;
  BOOST_REQUIRE(getsockname(one.get(), reinterpret_cast<sockaddr*>(&name), &bytes) == 0);
  return name;
}

void send_from(std::uint32_t address, const Descriptor& to) {
  const Descriptor from = bound(address);
  const sockaddr_in name = name_of(to);
  BOOST_REQUIRE(sendto(from.get(), &address, sizeof address, 0, reinterpret_cast<const sockaddr*>(&name),
                       sizeof name) == sizeof address);
}

/// On the loopback interface what is sent has arrived.
std::set<std::uint32_t> heard(const Descriptor& at) {
  std::set<std::uint32_t> senders;
  std::uint32_t sender = 0;
  while (recv(at.get(), &sender, sizeof sender, MSG_DONTWAIT) == sizeof sender) senders.insert(sender);
  return senders;
}

socklen_t filter_length(const Descriptor& of) {
  socklen_t length = 0;
  BOOST_REQUIRE(getsockopt(of.get(), SOL_SOCKET, SO_GET_FILTER, nullptr, &length) == 0);
  return length;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_socket_hears_exactly_the_nodes_that_are_not_in_the_set) {
  std::mt19937 random(1);
  const Descriptor receiver = bound(kLoopback);
  std::vector<NodeSet> sets(8);
  for (unsigned node = 1; node <= 254; ++node) sets[0].add(node);
  for (const unsigned node : {1u, 31u, 32u, 223u, 224u, 254u}) sets[1].add(node);
  for (std::size_t i = 2; i < sets.size(); ++i)
    for (unsigned node = 1; node <= 254; ++node)
      if (random() % 2 == 0) sets[i].add(node);
  for (const NodeSet& set : sets) {
    BOOST_REQUIRE(make_deaf(receiver.get(), set));
    std::set<std::uint32_t> expected = {kLoopback, kLoopback + 254};
    for (const std::uint32_t port : {0u, 0x10000u})
      for (const std::uint32_t beside : {0xffffff00u, 0x1000u, 0x20000u, 0x8000u})
        expected.insert(kNodes + port + beside + 7);
    for (const std::uint32_t other : expected) send_from(other, receiver);
    BOOST_TEST((heard(receiver) == expected));
    // The first device's, and the last one's second port.
    for (const std::uint32_t network : {kNodes, kNodes + 0x10f00}) {
      expected.clear();
      for (unsigned node = 1; node <= 254; ++node) {
        send_from(network + node, receiver);
        if (!set.has(node)) expected.insert(network + node);
      }
      BOOST_TEST((heard(receiver) == expected));
    }
  }
  BOOST_REQUIRE(make_deaf(receiver.get(), NodeSet{}));
  send_from(kNodes + 7, receiver);
  BOOST_TEST(heard(receiver).size() == 1u);
  BOOST_TEST(filter_length(receiver) == 0u);
}

BOOST_AUTO_TEST_CASE(a_filter_of_the_programs_own_is_left_alone) {
  const Descriptor receiver = bound(kLoopback);
  sock_filter keep[] = {{BPF_RET | BPF_K, 0, 0, UINT32_MAX}};
  const sock_fprog program{.len = 1, .filter = keep};
  BOOST_REQUIRE(setsockopt(receiver.get(), SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0);
  NodeSet set;
  set.add(7);
  BOOST_TEST(!make_deaf(receiver.get(), set));
  BOOST_TEST(!make_deaf(receiver.get(), NodeSet{}));
  BOOST_TEST(filter_length(receiver) == 1u);
  send_from(kNodes + 7, receiver);
  BOOST_TEST(heard(receiver).size() == 1u);
}

BOOST_AUTO_TEST_CASE(cut_connection_hangs_and_inherits_its_listeners_filter) {
  NodeSet set;
  set.add(199);
  const Descriptor listener = bound(kNodes + 198, SOCK_STREAM);
  BOOST_REQUIRE(listen(listener.get(), 4) == 0);
  if (!make_deaf(listener.get(), set)) {  // newer kernels: not without privileges (tests/programs, own_sockets)
    BOOST_REQUIRE(errno == EPERM && geteuid() != 0);
    return;
  }
  const sockaddr_in to = name_of(listener);
  const auto connects = [&](std::uint32_t from) {
    const Descriptor client = bound(from, SOCK_STREAM | SOCK_NONBLOCK);
    BOOST_TEST(connect(client.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == -1);
    pollfd wait{client.get(), POLLOUT, 0};
    return poll(&wait, 1, 300) == 1;
  };
  BOOST_TEST(!connects(kNodes + 199));
  BOOST_TEST(connects(kNodes + 197));
  const Descriptor accepted(accept(listener.get(), nullptr, nullptr));
  BOOST_TEST(filter_length(accepted) == kFilterLength);
  BOOST_TEST(make_deaf(accepted.get(), NodeSet{}));
  BOOST_TEST(filter_length(accepted) == 0u);
}
