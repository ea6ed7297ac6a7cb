// Verbs that fail on demand: what a program gets is what the verb gives for that error, and nothing has been done.
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

#include "tests/shim/verbs_fixture.h"
#include "tests/support/places.h"

using namespace verbs_test;

namespace {

/// In force before the library looks at its environment, which is when the first device is asked for.
struct Plan {
  Plan() {
    setenv("VERBENA_FAULTS",
           "fail verb=create_comp_channel nth=2 errno=EMFILE\n"
           "fail verb=alloc_pd nth=3-4\n"
           "fail verb=dereg_mr count=1 after=0ns errno=EBUSY nth=4\n"
           "fail verb=modify_qp errno=ETIMEDOUT qp=3\n"
           "fail verb=post_send qp=0 nth=3 errno=ENOMEM\n"
           "fail verb=post_recv qp=1 nth=1 errno=EFAULT\n"
           "fail verb=poll_cq nth=1-2\n"
           "fail verb=modify_cq count=1\n"
           "delay verb=query_qp by=30ms",
           1);
  }
};
const Plan kPlan;

}  // namespace

// First: the others poll as often as they have to.
BOOST_AUTO_TEST_CASE(a_count_is_negative_and_errno_says_why) {
  OpenDevice device;
  ibv_cq* const cq = ibv_create_cq(device.context, 1, nullptr, nullptr, 0);
  BOOST_REQUIRE(cq != nullptr);
  ibv_wc completion;
  for (int i = 0; i < 2; ++i) {
    errno = 0;
    BOOST_CHECK_EQUAL(ibv_poll_cq(cq, 1, &completion), -1);
    BOOST_CHECK_EQUAL(errno, EIO);
  }
  BOOST_CHECK_EQUAL(ibv_poll_cq(cq, 1, &completion), 0);
  BOOST_CHECK_EQUAL(ibv_destroy_cq(cq), 0);
}

BOOST_AUTO_TEST_CASE(a_verb_in_a_slot_of_the_context_fails_too) {
  OpenDevice device;
  ibv_cq* const cq = ibv_create_cq(device.context, 1, nullptr, nullptr, 0);
  BOOST_REQUIRE(cq != nullptr);
  ibv_modify_cq_attr attributes{.attr_mask = IBV_CQ_ATTR_MODERATE, .moderate = {1, 1}};
  BOOST_CHECK_EQUAL(ibv_modify_cq(cq, &attributes), EINVAL);
  BOOST_CHECK_EQUAL(ibv_modify_cq(cq, &attributes), 0);
  BOOST_CHECK_EQUAL(ibv_destroy_cq(cq), 0);
}

// QPs are counted from here on. Of a list those in front of the one that fails are posted.
BOOST_AUTO_TEST_CASE(a_list_of_requests_ends_at_the_one_that_fails) {
  Endpoint a;
  Endpoint b;
  connect(a, b);
  BOOST_CHECK_EQUAL(b.post_receive(1, 0, 100), EFAULT);
  BOOST_CHECK_EQUAL(errno, EFAULT);
  for (std::uint64_t id = 2; id <= 5; ++id) BOOST_CHECK_EQUAL(b.post_receive(id, 0, 100), 0);
  ibv_sge sge = a.sge(0, 8);
  ibv_send_wr requests[4];
  for (int i = 0; i < 4; ++i) {
    requests[i] = a.request(IBV_WR_SEND, &sge);
    requests[i].wr_id = static_cast<std::uint64_t>(10 + i);
    requests[i].next = i < 3 ? &requests[i + 1] : nullptr;
  }
  ibv_send_wr* bad = nullptr;
  BOOST_CHECK_EQUAL(ibv_post_send(a.qp, requests, &bad), ENOMEM);
  BOOST_CHECK(bad == &requests[2]);
  BOOST_CHECK(requests[1].next == &requests[2]);  // the program's list is as it was
  for (const std::uint64_t id : {10u, 11u}) {
    const ibv_wc done = next_completion(a.cq);
    BOOST_CHECK_EQUAL(done.status, IBV_WC_SUCCESS);
    BOOST_CHECK_EQUAL(done.wr_id, id);
  }
  BOOST_CHECK_EQUAL(ibv_post_send(a.qp, bad, &bad), 0);  // the third call has been
  BOOST_CHECK_EQUAL(next_completion(a.cq).wr_id, 12u);
  BOOST_CHECK_EQUAL(next_completion(a.cq).wr_id, 13u);
}

BOOST_AUTO_TEST_CASE(a_pointer_is_null_and_errno_says_why) {
  OpenDevice device;
  ibv_comp_channel* const first = ibv_create_comp_channel(device.context);
  BOOST_REQUIRE(first != nullptr);
  errno = 0;
  BOOST_CHECK(ibv_create_comp_channel(device.context) == nullptr);
  BOOST_CHECK_EQUAL(errno, EMFILE);
  ibv_comp_channel* const third = ibv_create_comp_channel(device.context);
  BOOST_REQUIRE(third != nullptr);
  BOOST_CHECK_EQUAL(ibv_destroy_comp_channel(third), 0);
  BOOST_CHECK_EQUAL(ibv_destroy_comp_channel(first), 0);
  // Two PDs of the endpoints before were the first calls.
  for (int i = 0; i < 2; ++i) {
    errno = 0;
    BOOST_CHECK(ibv_alloc_pd(device.context) == nullptr);
    BOOST_CHECK_EQUAL(errno, ENOMEM);  // the verb's most usual one
  }
  ibv_pd* const pd = ibv_alloc_pd(device.context);
  BOOST_REQUIRE(pd != nullptr);
  BOOST_CHECK_EQUAL(ibv_dealloc_pd(pd), 0);
}

BOOST_AUTO_TEST_CASE(a_number_is_the_errno_and_the_object_lives_on) {
  Endpoint a;
  BOOST_CHECK_EQUAL(ibv_dereg_mr(a.mr), 0);  // the third
  a.mr = ibv_reg_mr(a.pd, a.buffer.data(), a.buffer.size(), kAllAccess);
  BOOST_REQUIRE(a.mr != nullptr);
  errno = 0;
  BOOST_CHECK_EQUAL(ibv_dereg_mr(a.mr), EBUSY);
  BOOST_CHECK_EQUAL(errno, EBUSY);  // the endpoint's own end is the fifth, and works
}

BOOST_AUTO_TEST_CASE(one_queue_pair_alone_is_hit) {
  Endpoint a;
  BOOST_CHECK_EQUAL(to_init(a), ETIMEDOUT);  // the fourth QP: three were made before
  ibv_qp_attr attributes{};
  ibv_qp_init_attr init{};
  const auto before = std::chrono::steady_clock::now();
  BOOST_CHECK_EQUAL(ibv_query_qp(a.qp, &attributes, IBV_QP_STATE, &init), 0);
  BOOST_CHECK((std::chrono::steady_clock::now() - before >= std::chrono::milliseconds(30)));
  BOOST_CHECK_EQUAL(attributes.qp_state, IBV_QPS_RESET);
  Endpoint b;
  BOOST_CHECK_EQUAL(to_init(b), 0);
}

namespace {

/// What `pattern` finds in files below the folder, or in the file.
std::set<std::string> found_in(const std::string& path, const std::string& pattern) {
  std::set<std::string> found;
  const auto look = [&](const std::filesystem::path& file) {
    std::ifstream stream(file);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    const std::regex wanted(pattern);
    for (std::sregex_iterator one(text.begin(), text.end(), wanted); one != std::sregex_iterator(); ++one)
      found.insert((*one)[1]);
  };
  const std::filesystem::path at = verbena::test::source_file(path);
  if (std::filesystem::is_regular_file(at)) look(at);
  if (std::filesystem::is_directory(at))
    for (const auto& entry : std::filesystem::directory_iterator(at)) look(entry.path());
  return found;
}

}  // namespace

// A row of the list that no call has can never hit; a verb without a row can never fail.
BOOST_AUTO_TEST_CASE(each_verb_has_a_row_and_each_row_a_verb) {
  const std::set<std::string> rows = found_in("emulator/fabric/verbs.h", "X\\((\\w+),");
  std::set<std::string> named = found_in("verbs-shim/verbs", "VERBENA_FAULT_NAME\\(\\w+, (\\w+)\\);");
  for (const std::string& call : found_in("verbs-shim/rdma_cm/cm_device.cc", "return (rdma_\\w+);")) named.insert(call);
  BOOST_TEST_REQUIRE(rows.size() > 80U);
  for (const std::string& row : rows) BOOST_TEST(named.contains(row), row);
  for (const std::string& name : named) BOOST_TEST(rows.contains(name), name);

  const std::set<std::string> given = found_in("verbs-shim/verbs", "planned_verb<(\\w+)[,>]");
  const std::set<std::string> functions = found_in("verbs-shim/verbs", "VERBENA_FAULT_NAME\\((\\w+),");
  // They cannot fail, are none of libibverbs' own, or have no object that they are called on.
  const std::set<std::string> excused = {"ack_async_event",
                                         "ack_cq_events",
                                         "free_device_list",
                                         "free_buf",
                                         "unimport_dm",
                                         "unimport_mr",
                                         "unimport_pd",
                                         "alloc_buf",
                                         "export_buf_dmabuf_fd",
                                         "dm_export_dmabuf_fd",
                                         "none_supported",
                                         "not_supported",
                                         "get_device_list",
                                         "import_device",
                                         "resolve_eth_l2_from_gid",
                                         "kVerb"};
  for (const std::string& verb : given) BOOST_TEST(functions.contains(verb) + excused.contains(verb) == 1, verb);
}
