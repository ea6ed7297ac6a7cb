#include "tests/shim/verbs/every_verb.h"

#include <fcntl.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>

#include "tests/support/places.h"

namespace verbs_test {

ibv_qp_init_attr qp_attributes(ibv_cq* cq) {
  ibv_qp_init_attr attributes{};
  attributes.send_cq = attributes.recv_cq = cq;
  attributes.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
  attributes.qp_type = IBV_QPT_RC;
  return attributes;
}

ibv_qp_init_attr_ex xrc_qp_attributes(ibv_xrcd* xrcd) {
  ibv_qp_init_attr_ex attributes{};
  attributes.qp_type = IBV_QPT_XRC_RECV;
  attributes.comp_mask = IBV_QP_INIT_ATTR_XRCD;
  attributes.xrcd = xrcd;
  return attributes;
}

ibv_srq_init_attr_ex xrc_srq_attributes(ibv_pd* pd, ibv_cq* cq, ibv_xrcd* xrcd) {
  ibv_srq_init_attr_ex attributes{};
  attributes.attr = {.max_wr = 1, .max_sge = 1, .srq_limit = 0};
  attributes.srq_type = IBV_SRQT_XRC;
  attributes.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
  attributes.pd = pd;
  attributes.cq = cq;
  attributes.xrcd = xrcd;
  return attributes;
}

ibv_wq_init_attr wq_attributes(ibv_pd* pd, ibv_cq* cq) {
  ibv_wq_init_attr attributes{};
  attributes.wq_type = IBV_WQT_RQ;
  attributes.max_wr = attributes.max_sge = 1;
  attributes.pd = pd;
  attributes.cq = cq;
  return attributes;
}

ibv_flow_attr flow_attributes() {
  ibv_flow_attr attributes{};
  attributes.type = IBV_FLOW_ATTR_NORMAL;
  attributes.size = sizeof attributes;
  attributes.port = 1;
  return attributes;
}

OneOfEverything::OneOfEverything()
    : Endpoint({.with_channel = true, .with_srq = true, .send_operations = IBV_QP_EX_WITH_SEND}) {
  BOOST_REQUIRE_EQUAL(to_init(*this), 0);
  BOOST_REQUIRE_EQUAL(to_rtr(*this, *this), 0);
  ibv_ah_attr address = address_of(*this);
  ah = ibv_create_ah(pd, &address);
  mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
  ibv_alloc_dm_attr memory{.length = 64, .log_align_req = 0, .comp_mask = 0};
  dm = ibv_alloc_dm(context, &memory);
  BOOST_REQUIRE(dm != nullptr);
  dm_region = ibv_reg_dm_mr(pd, dm, 0, 8, IBV_ACCESS_ZERO_BASED);
  ibv_xrcd_init_attr domain{
      .comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = -1, .oflags = O_CREAT};
  xrcd = ibv_open_xrcd(context, &domain);
  ibv_srq_init_attr_ex of_domain = xrc_srq_attributes(pd, cq, xrcd);
  xrc_srq = ibv_create_srq_ex(context, &of_domain);
  ibv_qp_init_attr_ex receiving = xrc_qp_attributes(xrcd);
  xrc_qp = ibv_create_qp_ex(context, &receiving);
  ibv_td_init_attr threads{};
  td = ibv_alloc_td(context, &threads);
  ibv_parent_domain_init_attr both{};
  both.pd = pd;
  both.td = td;
  parent = ibv_alloc_parent_domain(context, &both);
  BOOST_REQUIRE((ah && mw && dm_region && xrcd && xrc_srq && xrc_qp && td && parent));
  make_ethernet_objects();
}

void OneOfEverything::make_ethernet_objects() {
  ibv_wq_init_attr queue = wq_attributes(pd, cq);
  wq = ibv_create_wq(context, &queue);
  ibv_rwq_ind_table_init_attr spread{.log_ind_tbl_size = 0, .ind_tbl = &wq, .comp_mask = 0};
  table = ibv_create_rwq_ind_table(context, &spread);
  ibv_counters_init_attr counting{};
  counters = ibv_create_counters(context, &counting);
  ibv_qp_init_attr raw_attributes = qp_attributes(cq);
  raw_attributes.qp_type = IBV_QPT_RAW_PACKET;
  raw = ibv_create_qp(pd, &raw_attributes);
  BOOST_REQUIRE(raw != nullptr);
  ibv_qp_attr init{};
  init.qp_state = IBV_QPS_INIT;
  init.port_num = 1;
  BOOST_REQUIRE_EQUAL(ibv_modify_qp(raw, &init, IBV_QP_STATE | IBV_QP_PORT), 0);
  ibv_flow_attr rule = flow_attributes();
  flow = ibv_create_flow(raw, &rule);
  BOOST_REQUIRE((wq && table && counters && flow));
}

OneOfEverything::~OneOfEverything() {
  BOOST_TEST(ibv_destroy_flow(flow) == 0);
  BOOST_TEST(ibv_destroy_qp(raw) == 0);
  BOOST_TEST(ibv_destroy_counters(counters) == 0);
  BOOST_TEST(ibv_destroy_rwq_ind_table(table) == 0);
  BOOST_TEST(ibv_destroy_wq(wq) == 0);
  BOOST_TEST(ibv_dealloc_pd(parent) == 0);
  BOOST_TEST(ibv_dealloc_td(td) == 0);
  BOOST_TEST(ibv_destroy_qp(xrc_qp) == 0);
  BOOST_TEST(ibv_destroy_srq(xrc_srq) == 0);
  BOOST_TEST(ibv_close_xrcd(xrcd) == 0);
  BOOST_TEST(ibv_dereg_mr(dm_region) == 0);
  BOOST_TEST(ibv_free_dm(dm) == 0);
  BOOST_TEST(ibv_dealloc_mw(mw) == 0);
  BOOST_TEST(ibv_destroy_ah(ah) == 0);
}

void check(const std::vector<Call>& calls) {
  for (const Call& call : calls) {
    BOOST_TEST_CONTEXT(call.verb << ": " << call.text) {
      errno = kBefore;
      const Answer answer = call.call();
      const int error = errno;
      BOOST_TEST(answer.failed == (call.error != 0));
      if (answer.error != 0) BOOST_TEST(answer.error == call.error);
      BOOST_TEST(error == (call.error != 0 ? call.error : kBefore));
    }
  }
}

std::set<std::string> all_verbs() {
  const std::regex through_boundary("verb<(?:&shim::)?(\\w+)[,>]");
  const std::regex refused("refuse\\(context\\.(\\w+)\\)");
  const std::regex exported("VERBENA_ABI [^(]*?(\\w+)\\(");
  std::set<std::string> verbs;
  for (const auto& entry : std::filesystem::directory_iterator(verbena::test::source_file("verbs-shim/verbs"))) {
    if (entry.path().extension() != ".cc") continue;
    std::ifstream file(entry.path());
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto add = [&](const std::regex& pattern) {
      for (std::sregex_iterator found(text.begin(), text.end(), pattern); found != std::sregex_iterator(); ++found)
        verbs.insert((*found)[1]);
    };
    add(through_boundary);
    add(refused);
    if (entry.path().filename() != "exports.cc") add(exported);
  }
  BOOST_TEST_REQUIRE(verbs.size() > 100u);
  return verbs;
}

void check_all_tried(const std::vector<Call>& calls, const std::set<std::string>& excused) {
  const std::set<std::string> all = all_verbs();
  std::set<std::string> tried;
  for (const Call& call : calls) tried.insert(call.verb);
  for (const std::string& verb : all) BOOST_TEST(tried.contains(verb) + excused.contains(verb) == 1, verb);
  for (const std::set<std::string>& named : {tried, excused})
    for (const std::string& verb : named) BOOST_TEST(all.contains(verb), verb << " is no verb of the shim");
}

}  // namespace verbs_test
