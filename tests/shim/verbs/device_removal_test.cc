// A device that goes while a program uses it: what the program is told, what it can still do, and how it gets the
// device back.
#include <boost/test/unit_test.hpp>
#include <cerrno>

#include "tests/shim/served_fabric.h"
#include "tests/shim/verbs_fixture.h"

using namespace verbs_test;

namespace {

struct Pair {
  Pair() : a({.with_channel = true}), b({.with_channel = true}) { connect(a, b); }
  Endpoint a;
  Endpoint b;
};

/// One message from a to b.
void exchange(Pair& pair) {
  BOOST_REQUIRE_EQUAL(pair.b.post_receive(1, 0, 64), 0);
  ibv_sge sge = pair.a.sge(0, 8);
  ibv_send_wr request = pair.a.request(IBV_WR_SEND, &sge);
  BOOST_REQUIRE_EQUAL(pair.a.post(request), 0);
  BOOST_CHECK_EQUAL(next_completion(pair.b.cq).status, IBV_WC_SUCCESS);
  BOOST_CHECK_EQUAL(next_completion(pair.a.cq).status, IBV_WC_SUCCESS);
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_context_hears_of_it_and_what_was_posted_is_flushed) {
  const ServedFabric fabric;
  Pair pair;
  exchange(pair);
  BOOST_REQUIRE_EQUAL(pair.b.post_receive(2, 0, 64), 0);
  BOOST_REQUIRE_EQUAL(pair.b.post_receive(3, 0, 64), 0);
  BOOST_REQUIRE_EQUAL(ibv_req_notify_cq(pair.b.cq, 0), 0);
  fabric.remove_device();
  BOOST_CHECK_EQUAL(event_of(pair.a.context), IBV_EVENT_DEVICE_FATAL);
  BOOST_CHECK_EQUAL(event_of(pair.b.context), IBV_EVENT_DEVICE_FATAL);
  // Whoever sleeps for completions is woken.
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  BOOST_REQUIRE_EQUAL(ibv_get_cq_event(pair.b.channel, &cq, &context), 0);
  ibv_ack_cq_events(cq, 1);
  for (const std::uint64_t wr_id : {2, 3}) {
    const ibv_wc flushed = next_completion(pair.b.cq);
    BOOST_CHECK_EQUAL(flushed.wr_id, wr_id);
    BOOST_CHECK_EQUAL(flushed.status, IBV_WC_WR_FLUSH_ERR);
  }
  // Posting goes on as in the error state, and so do the completions.
  ibv_sge sge = pair.a.sge(0, 8);
  ibv_send_wr request = pair.a.request(IBV_WR_SEND, &sge);
  BOOST_CHECK_EQUAL(pair.a.post(request), 0);
  BOOST_CHECK_EQUAL(next_completion(pair.a.cq).status, IBV_WC_WR_FLUSH_ERR);
}

BOOST_AUTO_TEST_CASE(commands_are_refused_and_what_there_is_can_be_destroyed) {
  const ServedFabric fabric;
  Pair pair;
  fabric.remove_device();
  BOOST_CHECK_EQUAL(event_of(pair.a.context), IBV_EVENT_DEVICE_FATAL);
  const auto refused = [](const void* made) { return made == nullptr && errno == EIO; };
  BOOST_TEST(refused(ibv_alloc_pd(pair.a.context)));
  BOOST_TEST(refused(ibv_create_cq(pair.a.context, 8, nullptr, nullptr, 0)));
  BOOST_TEST(refused(ibv_reg_mr(pair.a.pd, pair.a.buffer.data(), 64, 0)));
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RESET;
  BOOST_CHECK_EQUAL(ibv_modify_qp(pair.a.qp, &attributes, IBV_QP_STATE), EIO);
  ibv_device_attr device{};
  BOOST_CHECK_EQUAL(ibv_query_device(pair.a.context, &device), EIO);
  ibv_port_attr port{};
  BOOST_CHECK_EQUAL(ibv_query_port(pair.a.context, 1, &port), EIO);
  // Nobody opens it as long as somebody has it open from before.
  ibv_device** const list = ibv_get_device_list(nullptr);
  BOOST_REQUIRE(list != nullptr && list[0] != nullptr);
  BOOST_CHECK(ibv_open_device(list[0]) == nullptr);
  BOOST_CHECK_EQUAL(errno, ENODEV);
  ibv_free_device_list(list);
  // The fixture destroys all objects, and requires that each of them can be.
}

BOOST_AUTO_TEST_CASE(it_is_back_for_whoever_has_let_go_of_it) {
  const ServedFabric fabric;
  for (int i = 0; i < 3; ++i) {
    Pair pair;
    exchange(pair);
    fabric.remove_device();
    BOOST_CHECK_EQUAL(event_of(pair.a.context), IBV_EVENT_DEVICE_FATAL);
  }
}

BOOST_AUTO_TEST_CASE(a_node_without_programs_has_none_to_tell) {
  const ServedFabric fabric;
  BOOST_CHECK_EQUAL(fabric.ask({"device-removal", "n1"}), "refused: no process that listens runs on n1");
  BOOST_CHECK_EQUAL(fabric.ask({"device-removal", "s1"}),
                    "refused: 's1' is not a node of this fabric, nor several with commas");
}
