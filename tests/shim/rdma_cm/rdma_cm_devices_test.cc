// rdma_cm of a node with two devices: an ID has the device that the kernel's cma would give it, by the address that it
// is bound to, else by the route; listeners hear on theirs, or on all of them; what nothing needs stays closed.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "tests/shim/rdma_cm/rdma_cm_fixture.h"

using namespace rdma_cm_test;

namespace {

const std::string kFirst = "127.47.91.1";
const std::string kSecond = "127.47.92.1";
constexpr const char* kAny = "0.0.0.0";
constexpr int kFailed = 99;  // a child's exit status

std::string device_of(const rdma_cm_id* id) {
  return id->verbs != nullptr ? ibv_get_device_name(id->verbs->device) : "none";
}

std::string local_of(rdma_cm_id* id) {
  return text_of(rdma_get_local_addr(id));
}
std::string peer_of(rdma_cm_id* id) {
  return text_of(rdma_get_peer_addr(id));
}

int resolve_from(Id& id, const std::string& from, const std::string& to, std::uint16_t port) {
  sockaddr_in source = address(from.c_str(), 0);
  sockaddr_in destination = address(to.c_str(), port);
  return rdma_resolve_addr(id.id, reinterpret_cast<sockaddr*>(&source), reinterpret_cast<sockaddr*>(&destination),
                           2000) == 0
             ? 0
             : errno;
}

unsigned interface_of(const std::string& name) {
  unsigned index = 0;
  std::ifstream("/sys/class/net/" + name + "/ifindex") >> index;
  BOOST_REQUIRE_NE(index, 0);
  return index;
}

int bind_link_local(Id& id, const char* text, unsigned scope) {
  sockaddr_in6 name = address6(text, 7399);
  name.sin6_scope_id = scope;
  return rdma_bind_addr(id.id, reinterpret_cast<sockaddr*>(&name)) == 0 ? 0 : errno;
}

/// Whether a process of the fabric has a device open that has this address: it holds a seat there (node_directory.h).
bool is_open(const std::string& where) {
  std::ifstream sockets("/proc/net/unix");
  const std::string seat = std::string("/") + std::getenv("VERBENA_FABRIC") + "/" + where + "/";
  for (std::string line; std::getline(sockets, line);)
    if (line.find("@verbena/") != line.npos && line.find(seat) != line.npos) return true;
  return false;
}

/// What is open once a process of its own has done this: "", "1", "2" or "12".
template <class Action>
std::string opened_by(Action&& action) {
  const pid_t child = fork();
  BOOST_REQUIRE(child >= 0);
  if (child == 0) {
    try {
      Channel channel;
      Id id(channel);
      action(id);
      _exit(is_open(kFirst) + 2 * is_open(kSecond));
    } catch (...) {
      _exit(kFailed);
    }
  }
  int status = 0;
  BOOST_REQUIRE_EQUAL(waitpid(child, &status, 0), child);
  BOOST_REQUIRE(WIFEXITED(status));
  const int open = WEXITSTATUS(status);
  BOOST_REQUIRE_NE(open, kFailed);
  return std::string((open & 1) != 0 ? "1" : "") + ((open & 2) != 0 ? "2" : "");
}

}  // namespace

// The first two: this process has none of them open yet, and what a child opens is its own.
BOOST_AUTO_TEST_CASE(only_the_devices_that_an_id_needs_are_opened) {
  BOOST_TEST(opened_by([](Id&) {}) == "");
  BOOST_TEST(opened_by([](Id& id) { id.bind(kSecond, 7380); }) == "2");
  BOOST_TEST(opened_by([](Id& id) { listen_at(id, kFirst, 7381); }) == "1");
  BOOST_TEST(opened_by([](Id& id) { id.resolve("127.47.92.9", 7382); }) == "2");
  BOOST_TEST(opened_by([](Id& id) { id.bind("127.47.93.1", 7383); }) == "");
  BOOST_TEST(opened_by([](Id& id) { id.listen(7384); }) == "12");
  BOOST_TEST(opened_by([](Id&) { rdma_free_devices(rdma_get_devices(nullptr)); }) == "12");
}

BOOST_AUTO_TEST_CASE(a_process_that_exits_says_so_on_every_device) {
  constexpr std::uint16_t kPort = 7385;
  constexpr int kStatus = 7;
  int go[2];
  BOOST_REQUIRE_EQUAL(pipe(go), 0);
  const pid_t child = fork();
  BOOST_REQUIRE(child >= 0);
  if (child == 0) {
    try {
      char octet = 0;
      Channel channel;
      Id first(channel);
      Id second(channel);
      for (auto& [id, to] : {std::pair{&first, kFirst}, std::pair{&second, kSecond}}) {
        BOOST_REQUIRE_EQUAL(read(go[0], &octet, 1), 1);
        prepare(channel, *id, kPort, to);
        id->make_qp();
        BOOST_REQUIRE_EQUAL(connect(*id), 0);
        channel.take(RDMA_CM_EVENT_ESTABLISHED);
      }
      BOOST_REQUIRE_EQUAL(read(go[0], &octet, 1), 1);
      std::exit(kStatus);
    } catch (...) {
      _exit(kFailed);
    }
  }
  Channel channel;
  Id listener(channel);
  BOOST_REQUIRE_EQUAL(listener.listen(kPort), 0);
  rdma_cm_id* ids[2] = {};
  for (rdma_cm_id*& id : ids) {
    // By turns: what one device tells may come before what another one told earlier.
    BOOST_REQUIRE_EQUAL(write(go[1], "g", 1), 1);
    rdma_cm_event* const event = channel.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
    id = event->id;
    BOOST_CHECK_EQUAL(rdma_ack_cm_event(event), 0);
    ibv_qp_init_attr attributes{.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
                                .qp_type = IBV_QPT_RC};
    BOOST_REQUIRE_EQUAL(rdma_create_qp(id, nullptr, &attributes), 0);
    BOOST_REQUIRE_EQUAL(rdma_accept(id, nullptr), 0);
    BOOST_CHECK_EQUAL(channel.take(RDMA_CM_EVENT_ESTABLISHED), 0);
  }
  BOOST_TEST(device_of(ids[0]) != device_of(ids[1]));
  BOOST_REQUIRE_EQUAL(write(go[1], "g", 1), 1);
  for (int i = 0; i < 2; ++i) BOOST_CHECK_EQUAL(channel.take(RDMA_CM_EVENT_DISCONNECTED), 0);
  int status = 0;
  BOOST_REQUIRE_EQUAL(waitpid(child, &status, 0), child);
  BOOST_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == kStatus);
  for (rdma_cm_id* const id : ids) {
    rdma_destroy_qp(id);
    BOOST_CHECK_EQUAL(rdma_destroy_id(id), 0);
  }
  for (const int end : go) close(end);
}

BOOST_AUTO_TEST_CASE(an_id_has_the_device_whose_address_it_is_bound_to) {
  Channel channel;
  Id first(channel);
  Id second(channel);
  Id mapped(channel);
  Id loopback(channel);
  Id nobodys(channel);
  BOOST_CHECK_EQUAL(first.bind(kFirst, 0), 0);
  BOOST_CHECK_EQUAL(second.bind(kSecond, 0), 0);
  BOOST_CHECK_EQUAL(mapped.bind("::ffff:" + kSecond, 0), 0);
  BOOST_CHECK_EQUAL(loopback.bind("127.0.0.1", 0), 0);
  BOOST_TEST(device_of(first.id) == "verbena0");
  BOOST_TEST(device_of(second.id) == "verbena1");
  BOOST_TEST(device_of(mapped.id) == "verbena1");
  BOOST_TEST(loopback.id->verbs == nullptr);  // the loopback address is any address: cma_any_addr of the kernel
  BOOST_TEST(local_of(second.id) == kSecond);
  // An address of no interface, of another node, of a device that is not there, and an IPv6 one.
  for (const char* nowhere : {"10.1.2.3", "127.47.92.2", "127.47.93.1", "fd56::1"})
    BOOST_CHECK_EQUAL(nobodys.bind(nowhere, 0), EADDRNOTAVAIL);
}

BOOST_AUTO_TEST_CASE(link_local_address_needs_the_interface_of_its_device) {
  constexpr const char* kSecondsOwn = "fe80::56:7fff:fe2f:5c01";
  const unsigned first = interface_of("verbena0");
  const unsigned second = interface_of("verbena1");
  Channel channel;
  Id id(channel);
  BOOST_CHECK_EQUAL(bind_link_local(id, kSecondsOwn, 0), EINVAL);
  BOOST_CHECK_EQUAL(bind_link_local(id, kSecondsOwn, first), ENODEV);
  BOOST_CHECK_EQUAL(bind_link_local(id, kSecondsOwn, 4711), ENODEV);
  BOOST_CHECK_EQUAL(bind_link_local(id, "fe80::1", second), ENODEV);
  BOOST_CHECK_EQUAL(bind_link_local(id, kSecondsOwn, second), 0);
  BOOST_TEST(device_of(id.id) == "verbena1");
  BOOST_CHECK_EQUAL(reinterpret_cast<sockaddr_in6*>(rdma_get_local_addr(id.id))->sin6_scope_id, second);
  Id client(channel);
  sockaddr_in6 peer = address6("fe80::56:7fff:fe2f:5c02", 7399);
  peer.sin6_scope_id = second;
  BOOST_REQUIRE_EQUAL(rdma_resolve_addr(client.id, nullptr, reinterpret_cast<sockaddr*>(&peer), 2000), 0);
  BOOST_CHECK_EQUAL(channel.take(RDMA_CM_EVENT_ADDR_RESOLVED), 0);
  BOOST_TEST(device_of(client.id) == "verbena1");
}

BOOST_AUTO_TEST_CASE(a_connection_to_a_link_local_address_lives_and_ends) {
  const sockaddr_in6 own = [] {
    sockaddr_in6 name = address6("fe80::56:7fff:fe2f:5c01", 7400);
    name.sin6_scope_id = interface_of("verbena1");
    return name;
  }();
  const auto is_own = [&](const sockaddr* address) {
    const auto* const name = reinterpret_cast<const sockaddr_in6*>(address);
    return name->sin6_family == AF_INET6 && name->sin6_scope_id == own.sin6_scope_id &&
           std::equal(std::begin(name->sin6_addr.s6_addr), std::end(name->sin6_addr.s6_addr), own.sin6_addr.s6_addr);
  };
  for (const bool is_bound : {true, false}) {
    Channel active;
    Channel passive;
    Id listener(passive);
    sockaddr_in6 where = own;
    if (!is_bound) where = address6("::", 7400);
    BOOST_REQUIRE_EQUAL(rdma_bind_addr(listener.id, reinterpret_cast<sockaddr*>(&where)), 0);
    BOOST_REQUIRE_EQUAL(rdma_listen(listener.id, 4), 0);
    Id client(active);
    sockaddr_in6 to = own;
    BOOST_REQUIRE_EQUAL(rdma_resolve_addr(client.id, nullptr, reinterpret_cast<sockaddr*>(&to), 2000), 0);
    BOOST_CHECK_EQUAL(active.take(RDMA_CM_EVENT_ADDR_RESOLVED), 0);
    BOOST_REQUIRE_EQUAL(rdma_resolve_route(client.id, 2000), 0);
    BOOST_CHECK_EQUAL(active.take(RDMA_CM_EVENT_ROUTE_RESOLVED), 0);
    client.make_qp();
    BOOST_REQUIRE_EQUAL(connect(client), 0);
    rdma_cm_event* const request = passive.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
    BOOST_CHECK(request->listen_id == listener.id);
    Id server(request->id);
    BOOST_CHECK_EQUAL(rdma_ack_cm_event(request), 0);
    server.make_qp();
    BOOST_REQUIRE_EQUAL(rdma_accept(server.id, nullptr), 0);
    BOOST_CHECK_EQUAL(active.take(RDMA_CM_EVENT_ESTABLISHED), 0);
    BOOST_CHECK_EQUAL(passive.take(RDMA_CM_EVENT_ESTABLISHED), 0);
    for (const Id* const id : {&client, &server}) {
      BOOST_TEST(is_own(rdma_get_local_addr(id->id)));
      BOOST_TEST(is_own(rdma_get_peer_addr(id->id)));
      BOOST_TEST(device_of(id->id) == "verbena1");
      ibv_qp_attr attributes{};
      ibv_qp_init_attr init{};
      BOOST_REQUIRE_EQUAL(ibv_query_qp(id->id->qp, &attributes, IBV_QP_AV, &init), 0);
      BOOST_TEST(unsigned{attributes.ah_attr.grh.sgid_index} == 1u);
      BOOST_TEST(std::equal(std::begin(own.sin6_addr.s6_addr), std::end(own.sin6_addr.s6_addr),
                            attributes.ah_attr.grh.dgid.raw));
    }
    BOOST_CHECK_EQUAL(rdma_disconnect(client.id), 0);
    BOOST_CHECK_EQUAL(passive.take(RDMA_CM_EVENT_DISCONNECTED), 0);
    BOOST_CHECK_EQUAL(rdma_disconnect(server.id), 0);
    BOOST_CHECK_EQUAL(active.take(RDMA_CM_EVENT_DISCONNECTED), 0);
  }
}

BOOST_AUTO_TEST_CASE(a_client_leaves_by_the_device_of_the_route) {
  struct Row {
    std::string to;
    std::string device;
    std::string from;
  };
  // Neighbours in either network, the node itself, and who is in nobody's network.
  const Row rows[] = {{"127.47.91.9", "verbena0", kFirst}, {"127.47.92.9", "verbena1", kSecond},
                      {kFirst, "verbena0", kFirst},        {kSecond, "verbena1", kSecond},
                      {"127.47.93.9", "verbena0", kFirst}, {"127.0.0.1", "verbena0", kFirst}};
  Channel channel;
  for (const rdma_port_space space : {RDMA_PS_TCP, RDMA_PS_UDP})
    for (const Row& row : rows) {
      Id id(channel, space);
      BOOST_REQUIRE_EQUAL(id.resolve(row.to, 7390), 0);
      BOOST_CHECK_EQUAL(channel.take(RDMA_CM_EVENT_ADDR_RESOLVED), 0);
      BOOST_TEST(device_of(id.id) == row.device, row.to);
      BOOST_TEST(local_of(id.id) == row.from, row.to);
    }
  Id nowhere(channel);
  BOOST_REQUIRE_EQUAL(nowhere.resolve("10.1.2.3", 7390), 0);
  BOOST_CHECK_EQUAL(channel.take(RDMA_CM_EVENT_ADDR_ERROR), -ETIMEDOUT);
}

BOOST_AUTO_TEST_CASE(the_source_address_decides_before_the_route) {
  Channel channel;
  Id given(channel);
  Id bound(channel);
  Id wrong(channel);
  BOOST_REQUIRE_EQUAL(resolve_from(given, kSecond, "127.47.91.9", 7391), 0);
  BOOST_REQUIRE_EQUAL(bound.bind(kFirst, 0), 0);
  BOOST_REQUIRE_EQUAL(bound.resolve(kSecond, 7391), 0);
  for (int i = 0; i < 2; ++i) BOOST_CHECK_EQUAL(channel.take(RDMA_CM_EVENT_ADDR_RESOLVED), 0);
  BOOST_TEST(device_of(given.id) == "verbena1");
  BOOST_TEST(local_of(given.id) == kSecond);
  BOOST_TEST(device_of(bound.id) == "verbena0");
  BOOST_TEST(peer_of(bound.id) == kSecond);
  BOOST_CHECK_EQUAL(resolve_from(wrong, "127.47.93.1", "127.47.91.9", 7391), EADDRNOTAVAIL);
}

BOOST_AUTO_TEST_CASE(a_wildcard_listener_hears_on_every_device) {
  Channel active;
  Channel passive;
  Id listener(passive);
  BOOST_REQUIRE_EQUAL(listener.listen(7392), 0);
  BOOST_CHECK(listener.id->verbs == nullptr);
  const Request one(active, passive, kFirst, 7392);
  const Request two(active, passive, kSecond, 7392);
  const std::string devices[] = {device_of(one.server.id), device_of(two.server.id)};
  BOOST_TEST(devices[0] == "verbena0");
  BOOST_TEST(devices[1] == "verbena1");
  BOOST_TEST(local_of(two.server.id) == kSecond);
  BOOST_TEST(peer_of(two.server.id) == kSecond);
  BOOST_CHECK(one.listener == listener.id && two.listener == listener.id);
}

BOOST_AUTO_TEST_CASE(listeners_of_two_devices_share_a_port) {
  Channel active;
  Channel passive;
  Id first(passive);
  Id second(passive);
  Id wildcard(passive);
  Id again(passive);
  BOOST_REQUIRE_EQUAL(listen_at(first, kFirst, 7393), 0);
  BOOST_REQUIRE_EQUAL(listen_at(second, kSecond, 7393), 0);
  BOOST_CHECK_EQUAL(wildcard.bind(kAny, 7393), EADDRNOTAVAIL);
  BOOST_CHECK_EQUAL(again.bind(kSecond, 7393), EADDRINUSE);
  const Request one(active, passive, kFirst, 7393);
  const Request two(active, passive, kSecond, 7393);
  BOOST_CHECK(one.listener == first.id);
  BOOST_CHECK(two.listener == second.id);
  second.destroy();
  BOOST_CHECK_EQUAL(wildcard.bind(kAny, 7393), EADDRNOTAVAIL);  // of the first one still
  Id refused(active);
  prepare(active, refused, 7393, kSecond);
  refused.make_qp();
  BOOST_REQUIRE_EQUAL(connect(refused), 0);
  BOOST_CHECK_EQUAL(active.take(RDMA_CM_EVENT_REJECTED), 8);
}

BOOST_AUTO_TEST_CASE(a_connection_over_the_second_device_lives_and_ends) {
  Channel active;
  Channel passive;
  Id listener(passive);
  BOOST_REQUIRE_EQUAL(listener.listen(7394), 0);
  Request pair(active, passive, kSecond, 7394);
  pair.server.make_qp();
  BOOST_REQUIRE_EQUAL(rdma_accept(pair.server.id, nullptr), 0);
  BOOST_CHECK_EQUAL(active.take(RDMA_CM_EVENT_ESTABLISHED), 0);
  BOOST_CHECK_EQUAL(passive.take(RDMA_CM_EVENT_ESTABLISHED), 0);
  BOOST_CHECK_EQUAL(rdma_disconnect(pair.client.id), 0);
  BOOST_CHECK_EQUAL(passive.take(RDMA_CM_EVENT_DISCONNECTED), 0);
  BOOST_CHECK_EQUAL(rdma_disconnect(pair.server.id), 0);
  BOOST_CHECK_EQUAL(active.take(RDMA_CM_EVENT_DISCONNECTED), 0);
}

BOOST_AUTO_TEST_CASE(a_group_is_joined_on_the_device_that_an_id_has) {
  Channel channel;
  Id nowhere(channel, RDMA_PS_UDP);
  Id second(channel, RDMA_PS_UDP);
  sockaddr_in group = address("239.1.1.7", 0);
  auto* const name = reinterpret_cast<sockaddr*>(&group);
  BOOST_REQUIRE_EQUAL(nowhere.bind(kAny, 0), 0);
  BOOST_CHECK_EQUAL(rdma_join_multicast(nowhere.id, name, nullptr), -1);
  BOOST_CHECK_EQUAL(errno, EINVAL);
  BOOST_REQUIRE_EQUAL(second.bind(kSecond, 0), 0);
  BOOST_REQUIRE_EQUAL(rdma_join_multicast(second.id, name, nullptr), 0);
  BOOST_CHECK_EQUAL(channel.take(RDMA_CM_EVENT_MULTICAST_JOIN), 0);
  BOOST_TEST(device_of(second.id) == "verbena1");
  BOOST_CHECK_EQUAL(rdma_leave_multicast(second.id, name), 0);
}

BOOST_AUTO_TEST_CASE(librdmacm_lists_every_device) {
  int count = 0;
  ibv_context** const list = rdma_get_devices(&count);
  BOOST_REQUIRE(list != nullptr);
  BOOST_REQUIRE_EQUAL(count, 2);
  BOOST_TEST(std::string(ibv_get_device_name(list[0]->device)) == "verbena0");
  BOOST_TEST(std::string(ibv_get_device_name(list[1]->device)) == "verbena1");
  rdma_free_devices(list);
}
