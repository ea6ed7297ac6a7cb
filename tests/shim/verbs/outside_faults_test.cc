// Faults that a running fabric has for a program's verbs: they hold from when they are said, and end when they are
// removed.
#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <string>

#include "tests/shim/served_fabric.h"
#include "tests/shim/verbs_fixture.h"

using namespace verbs_test;

namespace {

namespace host = verbena::host;

struct Faults : ServedFabric {
  /// The fault's number.
  std::uint32_t add(const host::FabricWords& words) const {
    const auto reply = host::ask_fabric(std::getenv("VERBENA_FABRIC"), host::SayWords{words});
    BOOST_REQUIRE_MESSAGE(reply.ok(), (reply ? "" : reply.error().text));
    return std::get<host::FaultAdded>(*reply).number;
  }
  host::FaultRemoved remove(std::uint32_t number) const {
    const auto reply =
        host::ask_fabric(std::getenv("VERBENA_FABRIC"), host::SayWords{{"remove", std::to_string(number)}});
    BOOST_REQUIRE(reply.ok());
    return std::get<host::FaultRemoved>(*reply);
  }
  std::uint64_t hits(std::uint32_t number) const {
    const auto reply = host::ask_fabric(std::getenv("VERBENA_FABRIC"), host::AskSnapshot{});
    BOOST_REQUIRE(reply.ok());
    for (const auto& fault : std::get<host::FabricSnapshot>(*reply).faults) {
      BOOST_CHECK_EQUAL(fault.unheard, 0u);
      if (fault.number == number) return fault.hits;
    }
    return UINT64_MAX;
  }
};

bool can_register(const Endpoint& endpoint, int error = 0) {
  static char octets[64];
  errno = 0;
  ibv_mr* const mr = ibv_reg_mr(endpoint.pd, octets, sizeof octets, 0);
  if (mr == nullptr) return errno != error;
  BOOST_CHECK_EQUAL(ibv_dereg_mr(mr), 0);
  return true;
}

ibv_wc exchange(Endpoint& from, Endpoint& to) {
  BOOST_REQUIRE_EQUAL(to.post_receive(1, 0, 64), 0);
  ibv_sge sge = from.sge(0, 8);
  ibv_send_wr request = from.request(IBV_WR_SEND, &sge);
  BOOST_REQUIRE_EQUAL(from.post(request), 0);
  BOOST_CHECK_EQUAL(next_completion(to.cq).status, IBV_WC_SUCCESS);
  return next_completion(from.cq);
}

}  // namespace

// The answer of the command comes when the next call fails.
BOOST_AUTO_TEST_CASE(a_verb_fails_from_then_on_until_the_fault_is_removed) {
  const Faults fabric;
  Endpoint a;
  BOOST_CHECK(can_register(a));
  const std::uint32_t fault = fabric.add({"n1", "fail", "verb=reg_mr", "errno=EFAULT"});
  BOOST_CHECK(!can_register(a, EFAULT));
  BOOST_CHECK(!can_register(a, EFAULT));
  BOOST_CHECK_EQUAL(fabric.hits(fault), 2u);
  const host::FaultRemoved removed = fabric.remove(fault);
  BOOST_CHECK_EQUAL(removed.hits, 2u);
  BOOST_CHECK(removed.unit == verbena::fabric::HitUnit::call);
  BOOST_CHECK(can_register(a));
}

BOOST_AUTO_TEST_CASE(one_that_is_there_goes_on_as_others_come_and_go) {
  const Faults fabric;
  Endpoint a;
  const std::uint32_t third = fabric.add({"n1", "fail", "verb=reg_mr", "nth=3"});
  BOOST_CHECK(can_register(a));
  const std::uint32_t other = fabric.add({"add", "n1", "fail", "verb=alloc_pd"});
  BOOST_CHECK(can_register(a));
  fabric.remove(other);
  BOOST_CHECK(!can_register(a, ENOMEM));
  BOOST_CHECK(can_register(a));
  BOOST_CHECK_EQUAL(fabric.remove(third).hits, 1u);
  BOOST_CHECK_EQUAL(fabric.add({"n2", "fail", "verb=reg_mr"}), other + 1);  // another node's
  BOOST_CHECK(can_register(a));
  BOOST_CHECK_EQUAL(fabric.ask({"clear"}), "");
}

// The slots of a context and of extended objects that are there already.
BOOST_AUTO_TEST_CASE(the_data_path_of_open_contexts_fails_too) {
  const Faults fabric;
  Endpoint a({.send_operations = IBV_QP_EX_WITH_SEND});
  Endpoint b;
  connect(a, b);
  BOOST_CHECK_EQUAL(exchange(a, b).status, IBV_WC_SUCCESS);
  auto* const plain_post = a.context->ops.post_send;
  auto* const plain_poll = a.context->ops.poll_cq;
  const std::uint32_t posting = fabric.add({"n1", "fail", "verb=post_send", "errno=EIO"});
  BOOST_CHECK(a.context->ops.poll_cq == plain_poll);  // none speaks of it
  ibv_sge sge = a.sge(0, 8);
  ibv_send_wr request = a.request(IBV_WR_SEND, &sge);
  BOOST_CHECK_EQUAL(a.post(request), EIO);
  ibv_qp_ex* const building = ibv_qp_to_qp_ex(a.qp);
  ibv_wr_start(building);
  building->wr_id = 7;
  building->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_send(building);
  BOOST_CHECK_EQUAL(ibv_wr_complete(building), EIO);
  BOOST_CHECK_EQUAL(fabric.remove(posting).hits, 2u);
  BOOST_CHECK(a.context->ops.post_send == plain_post);  // and costs nothing any more
  const std::uint32_t polling = fabric.add({"n1", "fail", "verb=poll_cq", "count=1"});
  ibv_wc none;
  BOOST_CHECK_EQUAL(ibv_poll_cq(a.cq, 1, &none), -1);
  BOOST_CHECK_EQUAL(fabric.remove(polling).hits, 1u);
  BOOST_CHECK_EQUAL(exchange(a, b).status, IBV_WC_SUCCESS);
}

// Of a NIC that had no judge.
BOOST_AUTO_TEST_CASE(completions_fail_and_events_come_from_then_on) {
  const Faults fabric;
  Endpoint a;
  Endpoint b;
  connect(a, b);
  BOOST_CHECK_EQUAL(exchange(a, b).status, IBV_WC_SUCCESS);
  const std::uint32_t report =
      fabric.add({"n1", "completion", "of=send", "status=REM_OP_ERR", "only-report=yes", "count=1"});
  BOOST_CHECK_EQUAL(exchange(a, b).status, IBV_WC_REM_OP_ERR);
  BOOST_CHECK_EQUAL(exchange(a, b).status, IBV_WC_SUCCESS);
  const host::FaultRemoved removed = fabric.remove(report);
  BOOST_CHECK_EQUAL(removed.hits, 1u);
  BOOST_CHECK(removed.unit == verbena::fabric::HitUnit::completion);
  const std::uint32_t event = fabric.add({"n1", "async", "event=SM_CHANGE"});
  BOOST_CHECK_EQUAL(event_of(a.context), IBV_EVENT_SM_CHANGE);
  BOOST_CHECK_EQUAL(event_of(b.context), IBV_EVENT_SM_CHANGE);
  BOOST_CHECK_EQUAL(fabric.remove(event).hits, 1u);
}

// The fabric process ends, and its faults with it; the next one's are others.
BOOST_AUTO_TEST_CASE(faults_end_with_the_process_that_has_them) {
  Endpoint* a = nullptr;
  {
    const Faults fabric;
    a = new Endpoint;
    fabric.add({"n1", "fail", "verb=reg_mr"});
    BOOST_CHECK(!can_register(*a, ENOMEM));
  }
  BOOST_CHECK(wait_for([&] { return can_register(*a, ENOMEM); }));
  delete a;
  const Faults fabric;
  Endpoint b;
  BOOST_CHECK(can_register(b));
  fabric.add({"n1", "fail", "verb=reg_mr", "errno=EPERM"});
  BOOST_CHECK(!can_register(b, EPERM));
}

BOOST_AUTO_TEST_CASE(what_is_wrong_is_said_in_one_line) {
  const Faults fabric;
  BOOST_CHECK_EQUAL(fabric.ask({"n1", "fail", "verb=reg_mx"}).find("refused: fault 'fail verb=reg_mx'"), 0u);
  BOOST_CHECK_EQUAL(fabric.ask({"s1", "fail", "verb=reg_mr"}).find("refused: 's1' is no"), 0u);
  BOOST_CHECK_EQUAL(fabric.ask({"n3", "fail", "verb=reg_mr"}).find("refused: 'n3' is no"), 0u);
  BOOST_CHECK_EQUAL(fabric.ask({"ad", "n1", "fail", "verb=reg_mr"}).find("refused: unknown word 'ad'"), 0u);
}
