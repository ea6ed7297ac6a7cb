// What the tests through librdmacm share: a channel, IDs, and waiting for an event that must be the next.
//
// Only librdmacm's and the verbs' API are used here, as an application would. The IDs of one process reach each other
// by the node's own address.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <rdma/rdma_cma.h>

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

namespace rdma_cm_test {

/// How long a test waits for what must come: a guard against hanging, nothing is judged by it.
inline constexpr int kPatienceMs = 60'000;

inline sockaddr_in address(const char* text, std::uint16_t port) {
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(port);
  BOOST_REQUIRE_EQUAL(inet_pton(AF_INET, text, &name.sin_addr), 1);
  return name;
}

inline sockaddr_in6 address6(const std::string& text, std::uint16_t port) {
  sockaddr_in6 name{};
  name.sin6_family = AF_INET6;
  name.sin6_port = htons(port);
  BOOST_REQUIRE_EQUAL(inet_pton(AF_INET6, text.c_str(), &name.sin6_addr), 1);
  return name;
}

inline std::string own_address() {
  return std::string("127.47.91.") + std::getenv("VERBENA_NODE");
}

inline bool is_readable(int descriptor, int timeout_ms = 0) {
  pollfd entry{descriptor, POLLIN, 0};
  return poll(&entry, 1, timeout_ms) == 1 && entry.revents == POLLIN;
}

struct Channel {
  Channel() : channel(rdma_create_event_channel()) { BOOST_REQUIRE(channel != nullptr); }
  ~Channel() { close(); }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  void close() {
    if (channel != nullptr) rdma_destroy_event_channel(channel);
    channel = nullptr;
  }
  int descriptor() const { return channel->fd; }
  /// The next event, which must be this one; the caller acknowledges it.
  rdma_cm_event* expect(rdma_cm_event_type type) {
    BOOST_REQUIRE(is_readable(descriptor(), kPatienceMs));
    rdma_cm_event* event = nullptr;
    BOOST_REQUIRE_EQUAL(rdma_get_cm_event(channel, &event), 0);
    BOOST_REQUIRE_EQUAL(rdma_event_str(event->event), rdma_event_str(type));
    return event;
  }
  /// The same, for who wants to know its status only.
  int take(rdma_cm_event_type type) {
    rdma_cm_event* const event = expect(type);
    const int status = event->status;
    BOOST_CHECK_EQUAL(rdma_ack_cm_event(event), 0);
    return status;
  }
  rdma_event_channel* channel;
};

struct Id {
  explicit Id(Channel& channel, rdma_port_space space = RDMA_PS_TCP) {
    BOOST_REQUIRE_EQUAL(rdma_create_id(channel.channel, &id, this, space), 0);
  }
  explicit Id(rdma_cm_id* taken) : id(taken) {}
  ~Id() { destroy(); }
  Id(const Id&) = delete;
  Id& operator=(const Id&) = delete;
  void destroy() {
    if (id != nullptr && id->qp != nullptr) rdma_destroy_qp(id);
    if (id != nullptr) BOOST_CHECK_EQUAL(rdma_destroy_id(id), 0);
    id = nullptr;
  }
  /// 0 or errno.
  int bind(const std::string& to, std::uint16_t port) {
    if (to.find(':') != to.npos) {
      sockaddr_in6 name = address6(to, port);
      return rdma_bind_addr(id, reinterpret_cast<sockaddr*>(&name)) == 0 ? 0 : errno;
    }
    sockaddr_in name = address(to.c_str(), port);
    return rdma_bind_addr(id, reinterpret_cast<sockaddr*>(&name)) == 0 ? 0 : errno;
  }
  int listen(std::uint16_t port, int backlog = 8) {
    if (const int error = bind("0.0.0.0", port); error != 0) return error;
    return rdma_listen(id, backlog) == 0 ? 0 : errno;
  }
  int resolve(const std::string& to, std::uint16_t port) {
    if (to.find(':') != to.npos) {
      sockaddr_in6 name = address6(to, port);
      return rdma_resolve_addr(id, nullptr, reinterpret_cast<sockaddr*>(&name), 2000) == 0 ? 0 : errno;
    }
    sockaddr_in name = address(to.c_str(), port);
    return rdma_resolve_addr(id, nullptr, reinterpret_cast<sockaddr*>(&name), 2000) == 0 ? 0 : errno;
  }
  template <class Value>
  int set_option(int name, Value value) {
    return rdma_set_option(id, RDMA_OPTION_ID, name, &value, sizeof value) == 0 ? 0 : errno;
  }
  void make_qp() {
    ibv_qp_init_attr attributes{};
    attributes.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
    attributes.qp_type = IBV_QPT_RC;
    BOOST_REQUIRE_EQUAL(rdma_create_qp(id, nullptr, &attributes), 0);
  }
  rdma_cm_id* id = nullptr;
};

/// Addresses and route of a client, up to where it may connect.
inline void prepare(Channel& channel, Id& id, std::uint16_t port, const std::string& to = own_address()) {
  BOOST_REQUIRE_EQUAL(id.resolve(to, port), 0);
  channel.take(RDMA_CM_EVENT_ADDR_RESOLVED);
  BOOST_REQUIRE_EQUAL(rdma_resolve_route(id.id, 2000), 0);
  channel.take(RDMA_CM_EVENT_ROUTE_RESOLVED);
}

inline int connect(Id& id) {
  rdma_conn_param parameters{};
  parameters.retry_count = 7;
  return rdma_connect(id.id, &parameters) == 0 ? 0 : errno;
}

/// Two ends of a connection within the process, each with a channel of its own.
struct Connection {
  explicit Connection(std::uint16_t port, std::uint8_t type_of_service = 0, std::uint8_t ack_timeout = 0,
                      std::optional<std::uint8_t> server_ack_timeout = {})
      : listener(passive), client(active) {
    BOOST_REQUIRE_EQUAL(listener.listen(port), 0);
    if (type_of_service != 0) BOOST_CHECK_EQUAL(client.set_option(RDMA_OPTION_ID_TOS, type_of_service), 0);
    if (ack_timeout != 0) BOOST_CHECK_EQUAL(client.set_option(RDMA_OPTION_ID_ACK_TIMEOUT, ack_timeout), 0);
    prepare(active, client, port);
    client.make_qp();
    BOOST_REQUIRE_EQUAL(connect(client), 0);
    rdma_cm_event* const request = passive.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
    BOOST_CHECK(request->listen_id == listener.id);
    server.id = request->id;
    if (server_ack_timeout) BOOST_CHECK_EQUAL(server.set_option(RDMA_OPTION_ID_ACK_TIMEOUT, *server_ack_timeout), 0);
    BOOST_CHECK_EQUAL(rdma_ack_cm_event(request), 0);
    server.make_qp();
    BOOST_REQUIRE_EQUAL(rdma_accept(server.id, nullptr), 0);
  }
  void establish() {
    BOOST_CHECK_EQUAL(active.take(RDMA_CM_EVENT_ESTABLISHED), 0);
    BOOST_CHECK_EQUAL(passive.take(RDMA_CM_EVENT_ESTABLISHED), 0);
  }
  Channel active;
  Channel passive;
  Id listener;
  Id client;
  Id server{nullptr};
};

inline std::string text_of(const sockaddr* name) {
  char text[INET_ADDRSTRLEN] = {};
  BOOST_REQUIRE_EQUAL(name->sa_family, AF_INET);
  inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(name)->sin_addr, text, sizeof text);
  return text;
}

/// 0 or errno.
inline int listen_at(Id& id, const std::string& where, std::uint16_t port) {
  if (const int error = id.bind(where, port); error != 0) return error;
  return rdma_listen(id.id, 8) == 0 ? 0 : errno;
}

/// A request for `to`, as the listener's channel tells of it.
struct Request {
  Request(Channel& active, Channel& passive, const std::string& to, std::uint16_t port) : client(active) {
    prepare(active, client, port, to);
    client.make_qp();
    BOOST_REQUIRE_EQUAL(connect(client), 0);
    rdma_cm_event* const event = passive.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
    listener = event->listen_id;
    server.id = event->id;
    BOOST_CHECK_EQUAL(rdma_ack_cm_event(event), 0);
  }
  Id client;
  Id server{nullptr};
  rdma_cm_id* listener = nullptr;
};

}  // namespace rdma_cm_test
