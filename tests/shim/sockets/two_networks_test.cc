// The sockets of nodes with two devices, the second with two ports: a network for each port. The test itself runs under
// the path shim of such a node (sysfs/two_devices.cc), and stands on one node after the other.
#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <utility>

namespace {

constexpr std::uint16_t kPort = 31870;

struct OnNode {
  explicit OnNode(const char* node) { setenv("VERBENA_NODE", node, 1); }
  ~OnNode() { setenv("VERBENA_NODE", "7", 1); }
};

struct Socket {
  explicit Socket(int type, int family = AF_INET) : fd(socket(family, type | SOCK_CLOEXEC, 0)) {
    BOOST_REQUIRE(fd >= 0);
    const int on = 1;  // past the connections of an earlier run
    if (type == SOCK_STREAM) BOOST_REQUIRE_EQUAL(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), 0);
  }
  struct Accepted {
    int fd;
  };
  explicit Socket(Accepted accepted) : fd(accepted.fd) { BOOST_REQUIRE(fd >= 0); }
  Socket(Socket&& other) noexcept : fd(std::exchange(other.fd, -1)) {}
  ~Socket() {
    if (fd >= 0) close(fd);
  }
  int fd;
};

sockaddr_in name(const std::string& address, std::uint16_t port = kPort) {
  sockaddr_in made{};
  made.sin_family = AF_INET;
  made.sin_port = htons(port);
  BOOST_REQUIRE_EQUAL(inet_pton(AF_INET, address.c_str(), &made.sin_addr), 1);
  return made;
}

std::string text_of(const sockaddr_storage& given) {
  char text[INET6_ADDRSTRLEN] = {};
  if (given.ss_family == AF_INET)
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(given).sin_addr, text, sizeof text);
  else
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6&>(given).sin6_addr, text, sizeof text);
  return text;
}

using AskName = int (*)(int, sockaddr*, socklen_t*);
std::string address_of(const Socket& socket, AskName ask = &getsockname) {
  sockaddr_storage found{};
  socklen_t bytes = sizeof found;
  BOOST_REQUIRE_EQUAL(ask(socket.fd, reinterpret_cast<sockaddr*>(&found), &bytes), 0);
  return text_of(found);
}

int bind_to(const Socket& socket, const sockaddr_in& to) {
  return bind(socket.fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0 ? 0 : errno;
}
int connect_to(const Socket& socket, const sockaddr_in& to) {
  return connect(socket.fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0 ? 0 : errno;
}
void send_to(const Socket& socket, const sockaddr_in& to, const std::string& text) {
  BOOST_REQUIRE_EQUAL(sendto(socket.fd, text.data(), text.size(), 0, reinterpret_cast<const sockaddr*>(&to), sizeof to),
                      static_cast<ssize_t>(text.size()));
}

struct Heard {
  std::string text;
  std::string from;
  sockaddr_in name;
};
/// The text is empty if nothing comes.
Heard hear(const Socket& socket, int patience_ms = 5000) {
  pollfd entry{socket.fd, POLLIN, 0};
  if (poll(&entry, 1, patience_ms) != 1) return {};
  char octets[16];
  sockaddr_storage from{};
  socklen_t bytes = sizeof from;
  const ssize_t got =
      recvfrom(socket.fd, octets, sizeof octets, MSG_DONTWAIT, reinterpret_cast<sockaddr*>(&from), &bytes);
  if (got < 0) return {};
  Heard heard{std::string(octets, static_cast<std::size_t>(got)), text_of(from), {}};
  std::memcpy(&heard.name, &from, sizeof heard.name);
  return heard;
}

Socket listener(const std::string& address) {
  Socket made(SOCK_STREAM);
  BOOST_REQUIRE_EQUAL(bind_to(made, name(address)), 0);
  BOOST_REQUIRE_EQUAL(listen(made.fd, 4), 0);
  return made;
}

/// And from whom it is.
std::pair<Socket, std::string> accept_from(const Socket& at) {
  pollfd arrived{at.fd, POLLIN, 0};
  BOOST_REQUIRE_EQUAL(poll(&arrived, 1, 10'000), 1);
  sockaddr_storage from{};
  socklen_t bytes = sizeof from;
  Socket made(Socket::Accepted{accept(at.fd, reinterpret_cast<sockaddr*>(&from), &bytes)});
  return {std::move(made), text_of(from)};
}

/// Who connects or sends to an address comes from this one.
void check_source(const std::string& to, const std::string& source) {
  const Socket server = listener(to);
  const Socket client(SOCK_STREAM);
  BOOST_REQUIRE_EQUAL(connect_to(client, name(to)), 0);
  BOOST_TEST(address_of(client) == source);
  BOOST_TEST(address_of(client, &getpeername) == to);
  BOOST_TEST(accept_from(server).second == source);

  const Socket hearer(SOCK_DGRAM);
  BOOST_REQUIRE_EQUAL(bind_to(hearer, name(to)), 0);
  const Socket sender(SOCK_DGRAM);
  send_to(sender, name(to), "once");
  BOOST_TEST(hear(hearer).from == source);
  const Socket connected(SOCK_DGRAM);
  BOOST_REQUIRE_EQUAL(connect_to(connected, name(to)), 0);
  BOOST_TEST(address_of(connected) == source);
  BOOST_TEST(address_of(connected, &getpeername) == to);
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_port_has_an_interface) {
  std::map<std::string, std::string> found;
  ifaddrs* list = nullptr;
  BOOST_REQUIRE_EQUAL(getifaddrs(&list), 0);
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next)
    if (one->ifa_addr != nullptr && one->ifa_addr->sa_family == AF_INET) {
      sockaddr_storage address{};
      std::memcpy(&address, one->ifa_addr, sizeof(sockaddr_in));
      found[one->ifa_name] = text_of(address);
    }
  freeifaddrs(list);
  BOOST_TEST(found["verbena0"] == "127.47.91.7");
  BOOST_TEST(found["verbena1"] == "127.47.92.7");
  BOOST_TEST(found["verbena1p2"] == "127.48.92.7");
}

BOOST_AUTO_TEST_CASE(source_address_is_that_of_the_peers_network) {
  const std::pair<const char*, const char*> kWays[] = {{"127.47.91.9", "127.47.91.7"},
                                                       {"127.47.92.9", "127.47.92.7"},
                                                       {"127.48.92.9", "127.48.92.7"},
                                                       {"127.47.93.9", "127.47.91.7"},  // there is no third device
                                                       {"127.47.92.7", "127.47.92.7"}};
  for (const auto& [to, source] : kWays) check_source(to, source);
}

BOOST_AUTO_TEST_CASE(port_on_all_addresses_is_found_at_each_of_them) {
  const Socket server = listener("0.0.0.0");
  const OnNode other("9");
  for (const char* to : {"127.47.91.7", "127.47.92.7", "127.48.92.7"})
    for (const bool waits : {true, false}) {
      std::string source = to;
      source.back() = '9';
      const Socket client(SOCK_STREAM);
      if (!waits) fcntl(client.fd, F_SETFL, O_NONBLOCK);
      const int result = connect_to(client, name(to));
      BOOST_TEST((result == 0 || (!waits && result == EINPROGRESS)), to);
      BOOST_TEST(accept_from(server).second == source);
      BOOST_TEST(address_of(client) == source);
    }
  const Socket six(SOCK_STREAM, AF_INET6);
  sockaddr_in6 mapped{};
  mapped.sin6_family = AF_INET6;
  mapped.sin6_port = htons(kPort);
  inet_pton(AF_INET6, "::ffff:127.47.92.7", &mapped.sin6_addr);
  BOOST_REQUIRE_EQUAL(connect(six.fd, reinterpret_cast<const sockaddr*>(&mapped), sizeof mapped), 0);
  BOOST_TEST(address_of(six) == "::ffff:127.47.92.9");
  BOOST_TEST(accept_from(server).second == "127.47.92.9");
  // Not at those of other nodes.
  const Socket stranger(SOCK_STREAM);
  BOOST_TEST(connect_to(stranger, name("127.47.92.8")) == ECONNREFUSED);
}

BOOST_AUTO_TEST_CASE(listener_at_the_address_itself_comes_first) {
  const Socket all = listener("0.0.0.0");
  const Socket second = listener("127.47.92.7");
  const OnNode other("9");
  const Socket client(SOCK_STREAM);
  BOOST_REQUIRE_EQUAL(connect_to(client, name("127.47.92.7")), 0);
  BOOST_TEST(address_of(client, &getpeername) == "127.47.92.7");
  accept_from(second);
}

BOOST_AUTO_TEST_CASE(datagrams_find_a_port_on_all_addresses_and_are_answered) {
  const Socket server(SOCK_DGRAM);
  BOOST_REQUIRE_EQUAL(bind_to(server, name("0.0.0.0")), 0);
  for (const std::string to : {"127.47.91.7", "127.47.92.7", "127.48.92.7"}) {
    std::string source = to;
    source.back() = '9';
    const Socket client(SOCK_DGRAM);
    {
      const OnNode other("9");
      send_to(client, name(to), "ask");
    }
    const Heard heard = hear(server);
    BOOST_TEST(heard.text == "ask");
    BOOST_TEST(heard.from == source);
    send_to(server, heard.name, "answer");
    const Heard answer = hear(client);
    BOOST_TEST(answer.text == "answer");
    BOOST_TEST(answer.from == to);
  }
}

BOOST_AUTO_TEST_CASE(connected_datagrams_are_answered_by_a_port_on_all_addresses) {
  const Socket server(SOCK_DGRAM);
  BOOST_REQUIRE_EQUAL(bind_to(server, name("0.0.0.0")), 0);
  for (const std::string to : {"127.47.91.7", "127.47.92.7", "127.48.92.7"}) {
    const Socket client(SOCK_DGRAM);
    {
      const OnNode other("9");
      BOOST_REQUIRE_EQUAL(connect_to(client, name(to)), 0);
    }
    BOOST_REQUIRE_EQUAL(send(client.fd, "ask", 3, 0), 3);
    const Heard heard = hear(server);
    BOOST_TEST(heard.text == "ask");
    BOOST_TEST(heard.from == "127.47.91.9");  // it hears its peer alone
    send_to(server, heard.name, "answer");
    BOOST_TEST(hear(client).text == "answer");
  }
}

BOOST_AUTO_TEST_CASE(datagram_goes_to_who_has_the_address_itself) {
  const Socket all(SOCK_DGRAM);
  BOOST_REQUIRE_EQUAL(bind_to(all, name("0.0.0.0")), 0);
  const Socket second(SOCK_DGRAM);
  BOOST_REQUIRE_EQUAL(bind_to(second, name("127.47.92.7")), 0);
  const OnNode other("9");
  const Socket client(SOCK_DGRAM);
  send_to(client, name("127.47.92.7"), "to one");
  BOOST_TEST(hear(second).text == "to one");
  send_to(client, name("127.48.92.7"), "to all");
  BOOST_TEST(hear(all).text == "to all");
  BOOST_TEST(hear(second, 0).text == "");
}

BOOST_AUTO_TEST_CASE(datagram_finds_who_has_the_port_at_all_of_the_machine) {
  setenv("VERBENA_WILDCARD", "machine", 1);
  const Socket all(SOCK_DGRAM);
  BOOST_CHECK_EQUAL(bind_to(all, name("0.0.0.0")), 0);
  unsetenv("VERBENA_WILDCARD");
  const OnNode other("9");
  const Socket client(SOCK_DGRAM);
  send_to(client, name("127.47.92.7"), "ask");
  BOOST_TEST(hear(all).text == "ask");
}
