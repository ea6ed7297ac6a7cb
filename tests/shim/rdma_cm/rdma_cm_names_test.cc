// rdma_cm through librdmacm by names of the family AF_IB, on a port of InfiniBand: GIDs, P_Keys and service IDs, as the
// kernel's cma takes them.
#include <infiniband/ib.h>

#include <cstring>
#include <vector>

#include "tests/shim/rdma_cm/rdma_cm_fixture.h"

using namespace rdma_cm_test;

namespace {

constexpr std::uint64_t kSpaceMask = ~std::uint64_t{0xffff};
constexpr std::uint16_t kPkey = 0xffff;
constexpr std::size_t kHeaderBytes = 36;  // with IP addresses, in front of private data

ibv_gid own_gid() {
  int devices = 0;
  ibv_context** const list = rdma_get_devices(&devices);
  BOOST_REQUIRE(devices > 0);
  ibv_gid gid{};
  BOOST_REQUIRE_EQUAL(ibv_query_gid(list[0], 1, 0, &gid), 0);
  rdma_free_devices(list);
  return gid;
}

/// Port 0: whichever.
sockaddr_ib name_of(const ibv_gid& gid, std::uint16_t port, std::uint16_t pkey = kPkey,
                    std::uint64_t space = RDMA_PS_TCP) {
  sockaddr_ib name{};
  name.sib_family = AF_IB;
  name.sib_pkey = htons(pkey);
  std::memcpy(name.sib_addr.sib_raw, gid.raw, sizeof gid.raw);
  name.sib_sid = htobe64(space << 16 | port);
  name.sib_sid_mask = htobe64(port == 0 ? kSpaceMask : ~std::uint64_t{0});
  return name;
}

/// 0 or errno.
int bind(const Id& id, sockaddr_ib name) {
  return rdma_bind_addr(id.id, reinterpret_cast<sockaddr*>(&name)) == 0 ? 0 : errno;
}
int resolve(const Id& id, sockaddr_ib name) {
  return rdma_resolve_addr(id.id, nullptr, reinterpret_cast<sockaddr*>(&name), 2000) == 0 ? 0 : errno;
}
int bind_and_listen(const Id& id, const sockaddr_ib& name) {
  if (const int error = bind(id, name); error != 0) return error;
  return rdma_listen(id.id, 8) == 0 ? 0 : errno;
}

sockaddr_ib as_name(const sockaddr* name) {
  BOOST_REQUIRE_EQUAL(name->sa_family, AF_IB);
  sockaddr_ib found;
  std::memcpy(&found, name, sizeof found);
  return found;
}

void prepare_by_name(Channel& channel, Id& id, const sockaddr_ib& to) {
  BOOST_REQUIRE_EQUAL(resolve(id, to), 0);
  BOOST_REQUIRE_EQUAL(channel.take(RDMA_CM_EVENT_ADDR_RESOLVED), 0);
  BOOST_REQUIRE_EQUAL(rdma_resolve_route(id.id, 2000), 0);
  BOOST_REQUIRE_EQUAL(channel.take(RDMA_CM_EVENT_ROUTE_RESOLVED), 0);
  id.make_qp();
}

void connect_with(Id& id, const std::vector<std::uint8_t>& data) {
  rdma_conn_param parameters{};
  parameters.retry_count = 7;
  parameters.private_data = data.data();
  parameters.private_data_len = static_cast<std::uint8_t>(data.size());
  BOOST_REQUIRE_EQUAL(rdma_connect(id.id, &parameters), 0);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_connection_between_GIDs_has_names_and_all_private_data) {
  const ibv_gid gid = own_gid();
  Channel passive;
  Channel active;
  Id listener(passive);
  Id client(active);
  BOOST_REQUIRE_EQUAL(bind_and_listen(listener, name_of(gid, 7400)), 0);
  prepare_by_name(active, client, name_of(gid, 7400));
  std::vector<std::uint8_t> data(92, 7);  // all that a REQ has room for
  connect_with(client, data);
  rdma_cm_event* const request = passive.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
  Id server(request->id);
  BOOST_CHECK_EQUAL(request->param.conn.private_data_len, data.size());
  data[0] = 0;  // cma_format_hdr writes there
  BOOST_CHECK(std::memcmp(request->param.conn.private_data, data.data(), data.size()) == 0);
  BOOST_CHECK_EQUAL(rdma_ack_cm_event(request), 0);
  const sockaddr_ib here = as_name(rdma_get_local_addr(server.id));
  const sockaddr_ib there = as_name(rdma_get_peer_addr(server.id));
  BOOST_CHECK(std::memcmp(here.sib_addr.sib_raw, gid.raw, sizeof gid.raw) == 0);
  BOOST_CHECK(std::memcmp(there.sib_addr.sib_raw, gid.raw, sizeof gid.raw) == 0);
  BOOST_CHECK_EQUAL(be64toh(here.sib_sid), std::uint64_t{RDMA_PS_TCP} << 16 | 7400);
  BOOST_CHECK_EQUAL(ntohs(here.sib_pkey), kPkey);
  BOOST_CHECK_EQUAL(ntohs(as_name(rdma_get_local_addr(client.id)).sib_pkey), kPkey);
  server.make_qp();
  BOOST_REQUIRE_EQUAL(rdma_accept(server.id, nullptr), 0);
  BOOST_CHECK_EQUAL(active.take(RDMA_CM_EVENT_ESTABLISHED), 0);
  BOOST_CHECK_EQUAL(passive.take(RDMA_CM_EVENT_ESTABLISHED), 0);
}

BOOST_AUTO_TEST_CASE(what_a_name_may_be_bound_to) {
  const ibv_gid gid = own_gid();
  Channel channel;
  ibv_gid other = gid;
  other.raw[15] ^= 1;
  Id id(channel);
  BOOST_CHECK_EQUAL(bind(id, name_of(other, 7401)), ENODEV);
  BOOST_CHECK_EQUAL(bind(id, name_of(gid, 7401, kPkey, RDMA_PS_UDP)), EPROTONOSUPPORT);
  BOOST_REQUIRE_EQUAL(bind(id, name_of(gid, 0)), 0);
  const std::uint64_t chosen = be64toh(as_name(rdma_get_local_addr(id.id)).sib_sid);
  BOOST_CHECK_EQUAL(chosen & kSpaceMask, std::uint64_t{RDMA_PS_TCP} << 16);
  BOOST_CHECK((chosen & 0xffff) != 0);
  BOOST_CHECK_EQUAL(ntohs(rdma_get_src_port(id.id)), chosen & 0xffff);
  BOOST_CHECK_EQUAL(rdma_listen(id.id, 8), 0);
  Id second(channel);
  BOOST_CHECK_EQUAL(bind(second, name_of(gid, static_cast<std::uint16_t>(chosen))), EADDRINUSE);
  BOOST_CHECK_EQUAL(second.bind("0.0.0.0", static_cast<std::uint16_t>(chosen)), EADDRNOTAVAIL);
  BOOST_CHECK_EQUAL(bind(second, name_of({}, static_cast<std::uint16_t>(chosen))), EADDRNOTAVAIL);
}

BOOST_AUTO_TEST_CASE(where_a_GID_leads) {
  const ibv_gid gid = own_gid();
  Channel channel;
  ibv_gid nobody = gid;
  ibv_gid elsewhere = gid;
  nobody.raw[11] ^= 1;
  elsewhere.raw[7] ^= 1;
  BOOST_CHECK_EQUAL(resolve(Id(channel), name_of(elsewhere, 7402)), ENODEV);
  BOOST_CHECK_EQUAL(resolve(Id(channel), name_of(gid, 7402, 0x8123)), ENODEV);  // a P_Key that the port does not have
  Id id(channel);
  BOOST_REQUIRE_EQUAL(resolve(id, name_of(nobody, 7402)), 0);
  BOOST_CHECK_EQUAL(channel.take(RDMA_CM_EVENT_ADDR_RESOLVED), 0);
  BOOST_REQUIRE_EQUAL(rdma_resolve_route(id.id, 2000), 0);
  BOOST_CHECK_EQUAL(channel.take(RDMA_CM_EVENT_ROUTE_ERROR), -EINVAL);
  Id unheard(channel);  // to itself, where nobody listens
  prepare_by_name(channel, unheard, name_of({}, 7402));
  connect_with(unheard, {});
  BOOST_CHECK_EQUAL(channel.take(RDMA_CM_EVENT_REJECTED), 8);
}

BOOST_AUTO_TEST_CASE(a_listener_by_name_hears_IP_too_and_not_the_other_way) {
  const ibv_gid gid = own_gid();
  Channel passive;
  Channel active;
  Id by_name(passive);
  Id by_address(passive);
  BOOST_REQUIRE_EQUAL(bind_and_listen(by_name, name_of({}, 7403)), 0);
  BOOST_REQUIRE_EQUAL(by_address.bind("::", 7404), 0);
  BOOST_REQUIRE_EQUAL(rdma_listen(by_address.id, 8), 0);
  Id asker(active);
  prepare(active, asker, 7403);
  asker.make_qp();
  connect_with(asker, {1, 2, 3});
  rdma_cm_event* const request = passive.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
  BOOST_CHECK(request->listen_id == by_name.id);
  const auto* const data = static_cast<const std::uint8_t*>(request->param.conn.private_data);
  BOOST_CHECK_EQUAL(data[1] >> 4, 4);  // the header as it came
  BOOST_CHECK_EQUAL(data[kHeaderBytes + 2], 3);
  const Id server(request->id);
  BOOST_CHECK_EQUAL(rdma_ack_cm_event(request), 0);
  Id refused(active);
  prepare_by_name(active, refused, name_of(gid, 7404));
  connect_with(refused, {});
  BOOST_CHECK_EQUAL(active.take(RDMA_CM_EVENT_REJECTED), 28);
}
