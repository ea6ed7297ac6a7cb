// rdma_cm over both ports of a device in a fabric, until the device goes: each ID and the context are told once.
#include <algorithm>
#include <string>
#include <vector>

#include "tests/shim/rdma_cm/rdma_cm_fixture.h"
#include "tests/shim/served_fabric.h"

using namespace rdma_cm_test;

namespace {
// In a fabric the ports are the rails of the node.
const std::string kAddresses[] = {"127.47.91.1", "127.47.92.1"};

std::vector<rdma_cm_id*> removed(Channel& channel, std::size_t count) {
  std::vector<rdma_cm_id*> ids;
  for (std::size_t i = 0; i < count; ++i) {
    rdma_cm_event* const event = channel.expect(RDMA_CM_EVENT_DEVICE_REMOVAL);
    ids.push_back(event->id);
    BOOST_CHECK_EQUAL(rdma_ack_cm_event(event), 0);
  }
  std::ranges::sort(ids);
  return ids;
}
std::vector<rdma_cm_id*> sorted(std::vector<rdma_cm_id*> ids) {
  std::ranges::sort(ids);
  return ids;
}
}  // namespace

BOOST_AUTO_TEST_CASE(both_ports_connect_and_each_id_is_told_once_of_removal) {
  const verbs_test::ServedFabric fabric(2);
  Channel active;
  Channel passive;
  Channel bound;
  Id wildcard(passive);
  BOOST_REQUIRE_EQUAL(wildcard.listen(7374), 0);
  Id first(bound);
  Id second(bound);
  BOOST_REQUIRE_EQUAL(listen_at(first, kAddresses[0], 7375), 0);
  BOOST_REQUIRE_EQUAL(listen_at(second, kAddresses[1], 7375), 0);
  Request one(active, passive, kAddresses[0], 7374);
  Request two(active, passive, kAddresses[1], 7374);
  for (Request* const pair : {&one, &two}) {
    pair->server.make_qp();
    BOOST_REQUIRE_EQUAL(rdma_accept(pair->server.id, nullptr), 0);
    BOOST_CHECK_EQUAL(active.take(RDMA_CM_EVENT_ESTABLISHED), 0);
    BOOST_CHECK_EQUAL(passive.take(RDMA_CM_EVENT_ESTABLISHED), 0);
    BOOST_TEST(unsigned{pair->server.id->port_num} == (pair == &one ? 1u : 2u));
  }
  BOOST_CHECK(one.client.id->verbs == two.client.id->verbs);

  fabric.remove_device();  // both of its ports are told
  BOOST_CHECK(removed(active, 2) == sorted({one.client.id, two.client.id}));
  BOOST_CHECK(removed(passive, 2) == sorted({one.server.id, two.server.id}));
  BOOST_CHECK(removed(bound, 2) == sorted({first.id, second.id}));
  ibv_context* const context = one.client.id->verbs;
  std::size_t fatal = 0;
  while (is_readable(context->async_fd)) fatal += verbs_test::event_of(context) == IBV_EVENT_DEVICE_FATAL ? 1 : 0;
  BOOST_TEST(fatal == 1u);
  for (const Channel* channel : {&active, &passive, &bound}) BOOST_TEST(!is_readable(channel->descriptor()));
}
