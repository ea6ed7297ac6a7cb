// A port on all addresses, under the path shim: each node has its own, as machines have; what needs more of the real
// machine than the node's address gets it. The process stands on one node after the other: the environment says which.
#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

namespace {

struct OnNode {
  explicit OnNode(const char* node) { setenv("VERBENA_NODE", node, 1); }
  ~OnNode() { setenv("VERBENA_NODE", "7", 1); }
};

struct Socket {
  explicit Socket(int family, int type) : fd(socket(family, type | SOCK_CLOEXEC, 0)) {
    BOOST_REQUIRE(fd >= 0);
    if (type == SOCK_STREAM) set(SOL_SOCKET, SO_REUSEADDR, 1);  // past the connections of an earlier run
  }
  explicit Socket(int accepted) : fd(accepted) { BOOST_REQUIRE(fd >= 0); }
  Socket(Socket&& other) noexcept : fd(std::exchange(other.fd, -1)) {}
  ~Socket() {
    if (fd >= 0) close(fd);
  }
  void set(int level, int name, int value) const {
    BOOST_REQUIRE_EQUAL(setsockopt(fd, level, name, &value, sizeof value), 0);
  }
  int fd;
};

sockaddr_in ipv4(const std::string& address, std::uint16_t port) {
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(port);
  BOOST_REQUIRE_EQUAL(inet_pton(AF_INET, address.c_str(), &name.sin_addr), 1);
  return name;
}
sockaddr_in6 ipv6(const std::string& address, std::uint16_t port) {
  sockaddr_in6 name{};
  name.sin6_family = AF_INET6;
  name.sin6_port = htons(port);
  BOOST_REQUIRE_EQUAL(inet_pton(AF_INET6, address.c_str(), &name.sin6_addr), 1);
  return name;
}

/// 0 or errno.
template <class Name>
int bind_to(const Socket& socket, const Name& name) {
  return bind(socket.fd, reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0 ? 0 : errno;
}
template <class Name>
int connect_to(const Socket& socket, const Name& name) {
  return connect(socket.fd, reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0 ? 0 : errno;
}
template <class Name>
int send_to(const Socket& socket, const Name& name) {
  return sendto(socket.fd, "x", 1, 0, reinterpret_cast<const sockaddr*>(&name), sizeof name) == 1 ? 0 : errno;
}

/// "address:port" of its own.
std::string name_of(const Socket& socket) {
  sockaddr_storage name{};
  socklen_t bytes = sizeof name;
  BOOST_REQUIRE_EQUAL(getsockname(socket.fd, reinterpret_cast<sockaddr*>(&name), &bytes), 0);
  char text[INET6_ADDRSTRLEN];
  if (name.ss_family == AF_INET) {
    const auto& four = reinterpret_cast<const sockaddr_in&>(name);
    return std::string(inet_ntop(AF_INET, &four.sin_addr, text, sizeof text)) + ":" +
           std::to_string(ntohs(four.sin_port));
  }
  const auto& six = reinterpret_cast<const sockaddr_in6&>(name);
  return std::string(inet_ntop(AF_INET6, &six.sin6_addr, text, sizeof text)) + ":" +
         std::to_string(ntohs(six.sin6_port));
}

bool hears(const Socket& socket, int patience_ms = 5000) {
  pollfd entry{socket.fd, POLLIN, 0};
  char octets[16];
  return poll(&entry, 1, patience_ms) == 1 && recv(socket.fd, octets, sizeof octets, MSG_DONTWAIT) > 0;
}

constexpr int kPort = 31850;

Socket listener(std::uint16_t port, int family = AF_INET) {
  Socket socket(family, SOCK_STREAM);
  BOOST_REQUIRE_EQUAL(family == AF_INET ? bind_to(socket, ipv4("0.0.0.0", port)) : bind_to(socket, ipv6("::", port)),
                      0);
  BOOST_REQUIRE_EQUAL(listen(socket.fd, 4), 0);
  return socket;
}

Socket accepted_by(const Socket& listener) {
  pollfd arrived{listener.fd, POLLIN, 0};
  BOOST_REQUIRE_EQUAL(poll(&arrived, 1, 10'000), 1);
  return Socket(accept(listener.fd, nullptr, nullptr));
}

/// An address of this machine that is not on the loopback interface; nothing: it has none.
std::optional<std::string> address_outside() {
  ifaddrs* list = nullptr;
  std::optional<std::string> found;
  BOOST_REQUIRE_EQUAL(getifaddrs(&list), 0);
  for (const ifaddrs* one = list; one != nullptr && !found; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    char text[INET_ADDRSTRLEN];
    const auto& name = reinterpret_cast<const sockaddr_in&>(*one->ifa_addr);
    inet_ntop(AF_INET, &name.sin_addr, text, sizeof text);
    if (std::strncmp(text, "127.", 4) != 0) found = text;
  }
  freeifaddrs(list);
  return found;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_node_has_each_port) {
  for (const int family : {AF_INET, AF_INET6}) {
    const std::string before = family == AF_INET ? "" : "::ffff:";
    const Socket first = listener(kPort, family);
    BOOST_TEST(name_of(first) == before + "127.47.91.7:31850");
    const OnNode other("9");
    const Socket second = listener(kPort, family);
    BOOST_TEST(name_of(second) == before + "127.47.91.9:31850");
    // And one only.
    const Socket third(family, SOCK_STREAM);
    BOOST_TEST((family == AF_INET ? bind_to(third, ipv4("0.0.0.0", kPort)) : bind_to(third, ipv6("::", kPort))) ==
               EADDRINUSE);
    const Socket client(AF_INET, SOCK_STREAM);
    BOOST_REQUIRE_EQUAL(connect_to(client, ipv4("127.47.91.7", kPort)), 0);
    BOOST_TEST(name_of(client).starts_with("127.47.91.9:"));
    const Socket server = accepted_by(first);
    BOOST_TEST(name_of(server) == before + "127.47.91.7:31850");
  }
}

BOOST_AUTO_TEST_CASE(datagram_goes_to_its_node_though_both_reuse_the_port) {
  const Socket first(AF_INET, SOCK_DGRAM);
  const Socket second(AF_INET, SOCK_DGRAM);
  first.set(SOL_SOCKET, SO_REUSEADDR, 1);
  second.set(SOL_SOCKET, SO_REUSEADDR, 1);
  BOOST_REQUIRE_EQUAL(bind_to(first, ipv4("0.0.0.0", kPort)), 0);
  const OnNode other("9");
  BOOST_REQUIRE_EQUAL(bind_to(second, ipv4("0.0.0.0", kPort)), 0);
  BOOST_REQUIRE_EQUAL(send_to(second, ipv4("127.47.91.7", kPort)), 0);
  BOOST_TEST(hears(first));
  BOOST_TEST(!hears(second, 0));
}

BOOST_AUTO_TEST_CASE(bind_without_a_port_or_with_an_address_is_left_alone) {
  const Socket any_port(AF_INET, SOCK_STREAM);
  BOOST_REQUIRE_EQUAL(bind_to(any_port, ipv4("0.0.0.0", 0)), 0);
  BOOST_TEST(name_of(any_port).starts_with("0.0.0.0:"));
  const Socket loopback(AF_INET, SOCK_STREAM);
  BOOST_REQUIRE_EQUAL(bind_to(loopback, ipv4("127.0.0.1", kPort)), 0);
  BOOST_TEST(name_of(loopback) == "127.0.0.1:31850");
  const Socket six(AF_INET6, SOCK_STREAM);
  six.set(IPPROTO_IPV6, IPV6_V6ONLY, 1);
  BOOST_REQUIRE_EQUAL(bind_to(six, ipv6("::", kPort)), 0);
  BOOST_TEST(name_of(six) == ":::31850");
  const OnNode none("auto:3");
  const Socket launcher(AF_INET, SOCK_DGRAM);
  BOOST_REQUIRE_EQUAL(bind_to(launcher, ipv4("0.0.0.0", kPort)), 0);
  BOOST_TEST(name_of(launcher) == "0.0.0.0:31850");
}

BOOST_AUTO_TEST_CASE(the_environment_can_leave_it_to_the_kernel) {
  setenv("VERBENA_WILDCARD", "machine", 1);
  const Socket socket(AF_INET, SOCK_DGRAM);
  BOOST_CHECK_EQUAL(bind_to(socket, ipv4("0.0.0.0", kPort)), 0);
  unsetenv("VERBENA_WILDCARD");
  BOOST_TEST(name_of(socket) == "0.0.0.0:31850");
}

BOOST_AUTO_TEST_CASE(a_node_finds_its_own_listeners_at_127_0_0_1) {
  const Socket server = listener(kPort);
  for (const bool waits : {true, false}) {
    const Socket client(AF_INET, SOCK_STREAM);
    if (!waits) fcntl(client.fd, F_SETFL, O_NONBLOCK);
    const int result = connect_to(client, ipv4("127.0.0.1", kPort));
    BOOST_TEST((result == 0 || (!waits && result == EINPROGRESS)));
    accepted_by(server);
  }
  const Socket six(AF_INET6, SOCK_STREAM);
  BOOST_TEST(connect_to(six, ipv6("::1", kPort)) == 0);
  accepted_by(server);
  // Another node does not; and what listens at the real address comes first.
  const OnNode other("9");
  const Socket stranger(AF_INET, SOCK_STREAM);
  BOOST_TEST(connect_to(stranger, ipv4("127.0.0.1", kPort)) == ECONNREFUSED);
  const OnNode back("7");
  const Socket real(AF_INET, SOCK_STREAM);
  BOOST_REQUIRE_EQUAL(bind_to(real, ipv4("127.0.0.1", kPort)), 0);
  BOOST_REQUIRE_EQUAL(listen(real.fd, 1), 0);
  const Socket client(AF_INET, SOCK_STREAM);
  BOOST_REQUIRE_EQUAL(connect_to(client, ipv4("127.0.0.1", kPort)), 0);
  accepted_by(real);
}

BOOST_AUTO_TEST_CASE(group_member_or_broadcaster_has_all_addresses_at_any_time) {
  ip_mreq group{};
  inet_pton(AF_INET, "239.1.2.4", &group.imr_multiaddr);
  group.imr_interface.s_addr = htonl(INADDR_LOOPBACK);
  const auto join = [&](const Socket& socket) {
    BOOST_REQUIRE_EQUAL(setsockopt(socket.fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &group, sizeof group), 0);
  };
  const Socket before(AF_INET, SOCK_DGRAM);
  join(before);
  BOOST_REQUIRE_EQUAL(bind_to(before, ipv4("0.0.0.0", kPort)), 0);
  BOOST_TEST(name_of(before) == "0.0.0.0:31850");
  const Socket after(AF_INET, SOCK_DGRAM);
  after.set(SOL_SOCKET, SO_RCVBUF, 20'000);
  BOOST_REQUIRE_EQUAL(bind_to(after, ipv4("0.0.0.0", kPort + 1)), 0);
  BOOST_TEST(name_of(after) == "127.47.91.7:31851");
  join(after);
  BOOST_TEST(name_of(after) == "0.0.0.0:31851");
  int value = 0;
  socklen_t bytes = sizeof value;
  BOOST_REQUIRE_EQUAL(getsockopt(after.fd, SOL_SOCKET, SO_RCVBUF, &value, &bytes), 0);
  BOOST_TEST(value == 40'000);
  BOOST_TEST((fcntl(after.fd, F_GETFD) & FD_CLOEXEC) != 0);
  const Socket sender(AF_INET, SOCK_DGRAM);
  BOOST_REQUIRE_EQUAL(setsockopt(sender.fd, IPPROTO_IP, IP_MULTICAST_IF, &group.imr_interface, 4), 0);
  BOOST_REQUIRE_EQUAL(send_to(sender, ipv4("239.1.2.4", kPort + 1)), 0);
  BOOST_TEST(hears(after));

  const Socket broadcaster(AF_INET, SOCK_DGRAM);
  BOOST_REQUIRE_EQUAL(bind_to(broadcaster, ipv4("0.0.0.0", kPort + 2)), 0);
  broadcaster.set(SOL_SOCKET, SO_BROADCAST, 1);
  BOOST_TEST(name_of(broadcaster) == "0.0.0.0:31852");
  // Who has named the node's address keeps it.
  const Socket named(AF_INET, SOCK_DGRAM);
  BOOST_REQUIRE_EQUAL(bind_to(named, ipv4("127.47.91.7", kPort + 3)), 0);
  named.set(SOL_SOCKET, SO_BROADCAST, 1);
  BOOST_TEST(name_of(named) == "127.47.91.7:31853");
}

BOOST_AUTO_TEST_CASE(what_leaves_the_machine_comes_from_its_address) {
  const auto outside = address_outside();
  if (!outside) return;  // a machine with the loopback interface only has nothing to leave by
  const Socket datagrams(AF_INET, SOCK_DGRAM);
  BOOST_REQUIRE_EQUAL(bind_to(datagrams, ipv4("0.0.0.0", kPort)), 0);
  BOOST_TEST(send_to(datagrams, ipv4("192.0.2.1", 9)) == 0);
  const Socket server(AF_INET, SOCK_STREAM);
  BOOST_REQUIRE_EQUAL(bind_to(server, ipv4(*outside, kPort + 1)), 0);
  BOOST_REQUIRE_EQUAL(listen(server.fd, 1), 0);
  const Socket client(AF_INET, SOCK_STREAM);
  BOOST_REQUIRE_EQUAL(bind_to(client, ipv4("0.0.0.0", kPort + 2)), 0);
  BOOST_TEST(connect_to(client, ipv4(*outside, kPort + 1)) == 0);
  BOOST_TEST(name_of(client) == *outside + ":31852");
}
