// The table of transport services, against what the opcode table says of the same transports, and against the NIC.
#include "emulator/nic/objects/service.h"

#include <boost/test/unit_test.hpp>
#include <initializer_list>

#include "tests/support/endpoint.h"

using namespace verbena;
using namespace verbena::test;

namespace {

template <class Call>
void for_each_packet(const Service& service, Call&& call) {
  for (unsigned code = 0; code < 0x20; ++code) {
    const auto& info = wire::opcode_info(wire::make_opcode(service.transport, static_cast<OperationCode>(code)));
    if (info.defined) call(info);
  }
}

constexpr std::initializer_list<QpType> kTypes{QpType::rc,         QpType::uc,       QpType::ud,
                                               QpType::raw_packet, QpType::xrc_send, QpType::xrc_receive};

}  // namespace

BOOST_AUTO_TEST_CASE(each_type_has_one_row_and_nothing_else_has) {
  BOOST_TEST(kServices.size() == kTypes.size());
  for (unsigned value = 0; value < 256; ++value) {
    const auto type = static_cast<QpType>(value);
    const bool is_known = std::find(kTypes.begin(), kTypes.end(), type) != kTypes.end();
    const Service* const service = find_service(type);
    BOOST_TEST((service != nullptr) == is_known);
    if (service != nullptr) BOOST_CHECK(service->type == type);
  }
}

BOOST_AUTO_TEST_CASE(a_service_without_a_transport_has_no_packets) {
  for_each_packet(*find_service(QpType::raw_packet), [](const wire::OpcodeInfo& info) { BOOST_ERROR(info.name); });
}

BOOST_AUTO_TEST_CASE(what_has_no_connection_names_its_sender_in_each_packet) {
  for (const Service& service : kServices)
    for_each_packet(service, [&](const wire::OpcodeInfo& info) {
      BOOST_TEST(info.has_deth == !service.is_connected, info.name);
      BOOST_TEST((service.is_connected || info.position == wire::Position::only), info.name);
    });
}

BOOST_AUTO_TEST_CASE(only_reliable_services_have_responses) {
  for (const Service& service : kServices) {
    bool has_responses = false;
    for_each_packet(service, [&](const wire::OpcodeInfo& info) { has_responses = has_responses || !info.is_request; });
    BOOST_TEST(has_responses == service.is_reliable);
  }
}

BOOST_AUTO_TEST_CASE(requests_of_a_service_with_an_srq_have_its_header) {
  const Service& service = *find_service(QpType::xrc_receive);
  BOOST_TEST(service.names_srq);
  for_each_packet(service, [](const wire::OpcodeInfo& info) { BOOST_TEST(info.has_xrceth == info.is_request); });
}

/// IBTA table 40 and annex A14.
BOOST_AUTO_TEST_CASE(posting_takes_what_the_table_says) {
  struct Row {
    QpType type;
    std::initializer_list<SendOpcode> taken;
  };
  using enum SendOpcode;
  const std::initializer_list<Row> rows{
      {QpType::rc,
       {send, send_with_immediate, send_with_invalidate, rdma_write, rdma_write_with_immediate, rdma_read,
        compare_and_swap, fetch_and_add, atomic_write, local_invalidate, bind_memory_window}},
      {QpType::uc,
       {send, send_with_immediate, rdma_write, rdma_write_with_immediate, local_invalidate, bind_memory_window}},
      {QpType::ud,
       {send, send_with_immediate, send_with_invalidate, rdma_write, rdma_write_with_immediate, rdma_read,
        compare_and_swap, fetch_and_add, atomic_write, local_invalidate, bind_memory_window}},
      {QpType::raw_packet, {send, send_with_immediate}},
      {QpType::xrc_send,
       {send, send_with_immediate, rdma_write, rdma_write_with_immediate, rdma_read, compare_and_swap, fetch_and_add,
        local_invalidate, bind_memory_window}},
      {QpType::xrc_receive, {}},
  };
  for (const Row& row : rows)
    for (unsigned code = 0; code < kSendOpcodesMax; ++code) {
      const auto opcode = static_cast<SendOpcode>(code);
      const bool is_taken = std::find(row.taken.begin(), row.taken.end(), opcode) != row.taken.end();
      BOOST_TEST(contains(find_service(row.type)->posted, opcode) == is_taken);
    }
}

BOOST_AUTO_TEST_CASE(a_qp_of_a_type_that_there_is_not_is_refused) {
  World world;
  Endpoint end(world, 1);
  for (const unsigned value : {0u, 1u, 5u, 7u, 11u, 255u}) {
    QpInit init{.pd = end.pd, .type = static_cast<QpType>(value), .send_cq = end.send_cq, .recv_cq = end.recv_cq};
    BOOST_CHECK(end.nic().create_qp(init).error() == VerbsError::invalid_argument);
  }
}

BOOST_AUTO_TEST_CASE(connection_does_not_hold_an_xrc_domain_named_beside_it) {
  World world;
  Endpoint end(world, 1);
  Nic& nic = end.nic();
  const XrcDomainHandle domain = Endpoint::take(nic.create_xrc_domain());
  const PdHandle pd = Endpoint::take(nic.allocate_pd());
  QpInit init{.pd = pd, .send_cq = end.send_cq, .recv_cq = end.recv_cq, .xrc_domain = domain};
  const QpHandle qp = Endpoint::take(nic.create_qp(init));
  BOOST_TEST(nic.destroy_xrc_domain(domain).ok());
  BOOST_TEST(nic.destroy_qp(qp).ok());
  BOOST_TEST(nic.deallocate_pd(pd).ok());
}
