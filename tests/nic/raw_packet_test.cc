// Raw packets: steering by rules, defaults, sniffers, counters, VLAN stripping, and receive-side scaling.
#include <boost/test/unit_test.hpp>

#include "tests/support/endpoint.h"

using namespace verbena;
using namespace verbena::test;
using enum CompletionStatus;

namespace {

const QpOptions kRaw{.type = QpType::raw_packet};
constexpr std::array<std::uint8_t, 6> kGroupMac{0x01, 0x50, 0x56, 0x19, 0x20, 0xa7};

/// Ethernet, IPv4, UDP: 60 octets; `tag` puts a VLAN tag in.
std::vector<std::uint8_t> frame_to(const std::array<std::uint8_t, 6>& mac, std::uint8_t source, bool tagged = false) {
  std::vector<std::uint8_t> frame(mac.begin(), mac.end());
  frame.insert(frame.end(), {2, 0, 0, 0, 0, 9});
  if (tagged) frame.insert(frame.end(), {0x81, 0x00, 0x60, 0x05});
  frame.insert(frame.end(), {0x08, 0x00});
  frame.insert(frame.end(), {0x45, 0, 0, 46, 0, 0, 0x40, 0, 64, 17, 0, 0, 1, 1, 1, source, 2, 2, 2, 2});
  frame.insert(frame.end(), {0x04, 0xd2, 0x16, 0x2e, 0, 26, 0, 0});
  frame.resize(frame.size() + 18, 0x5a);
  return frame;
}

struct Raw {
  Raw() : a(world, 1, kRaw), b(world, 2, kRaw), from(a.nic(), a.pd, 256), into(b.nic(), b.pd, 4096) {
    ready(a, a.qp);
    ready(b, b.qp);
  }
  void ready(Endpoint& end, QpHandle qp) {
    QpAttributes attributes;
    for (const auto& [state, mask] : {std::pair{QpState::init, kQpState | kQpPort},
                                      {QpState::rtr, std::uint32_t{kQpState}},
                                      {QpState::rts, std::uint32_t{kQpState}}}) {
      attributes.state = state;
      BOOST_REQUIRE(end.nic().modify_qp(qp, attributes, mask, world.now()).ok());
    }
  }
  void send(const std::vector<std::uint8_t>& frame) {
    std::ranges::copy(std::as_bytes(std::span(frame)), from.bytes().begin());
    const Sge sge = from.sge(0, frame.size());
    a.post({.sges = {&sge, 1}});
    world.run_to_rest();
    check_statuses(a.poll_sent(), {success});
  }
  FlowHandle flow(const FlowInit& init) { return Endpoint::take(b.nic().create_flow(b.qp, init)); }
  static FlowInit to_group() {
    FlowInit init;
    init.value.destination_mac = kGroupMac;
    init.mask.destination_mac.fill(0xff);
    return init;
  }

  World world;
  Endpoint a, b;
  Buffer from, into;
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_rule_takes_what_it_names_and_nothing_else) {
  Raw raw;
  raw.b.receive(1, {raw.into.sge(0, 100), raw.into.sge(100, 100)});
  raw.b.receive(2, {raw.into.sge(200, 200)});
  FlowInit init = Raw::to_group();
  init.value.ip_version = 4;
  init.value.source = {1, 1, 1, 7};
  init.mask.ip_version = 0xff;
  std::fill_n(init.mask.source.begin(), 4, std::uint8_t{0xff});
  init.tag = 77;
  const FlowHandle flow = raw.flow(init);
  raw.send(frame_to(kGroupMac, 8));
  BOOST_TEST(raw.b.poll_received().empty());
  BOOST_TEST(raw.b.counters().get(Counter::rx_dropped_no_rule) == 1u);
  const auto frame = frame_to(kGroupMac, 7);
  raw.send(frame);
  const auto received = raw.b.poll_received();
  BOOST_TEST_REQUIRE(received.size() == 1u);
  BOOST_TEST(received[0].byte_count == frame.size());
  BOOST_TEST(received[0].flow_tag == 77u);
  BOOST_TEST(same_bytes(raw.into.bytes().first(frame.size()), std::as_bytes(std::span(frame))));
  BOOST_CHECK(raw.b.nic().destroy_qp(raw.b.qp).error() == VerbsError::busy);
  BOOST_TEST(raw.b.nic().destroy_flow(flow).ok());
  raw.send(frame);
  BOOST_TEST(raw.b.poll_received().empty());
}

BOOST_AUTO_TEST_CASE(the_first_rule_takes_a_frame_unless_it_lets_it_go_on) {
  Raw raw;
  Endpoint second(raw.b, kRaw);
  raw.ready(second, second.qp);
  for (std::uint64_t i = 0; i < 4; ++i) {
    raw.b.receive(10 + i, {raw.into.sge(0, 200)});
    second.receive(20 + i, {raw.into.sge(200, 200)});
  }
  FlowInit low = Raw::to_group();
  low.priority = 5;
  raw.flow(low);
  FlowInit high;
  high.value.ip_version = 4;
  high.mask.ip_version = 0xff;
  const FlowHandle first = Endpoint::take(second.nic().create_flow(second.qp, high));
  raw.send(frame_to(kGroupMac, 1));
  auto received = raw.b.poll_received();
  BOOST_TEST_REQUIRE(received.size() == 1u);
  BOOST_TEST(received[0].wr_id == 20u);
  BOOST_TEST(second.nic().destroy_flow(first).ok());
  high.goes_on = true;
  Endpoint::take(second.nic().create_flow(second.qp, high));
  raw.send(frame_to(kGroupMac, 1));
  BOOST_TEST(raw.b.poll_received().size() == 2u);
}

BOOST_AUTO_TEST_CASE(defaults_come_last_and_leave_other_nodes_frames_alone) {
  Raw raw;
  for (std::uint64_t i = 0; i < 4; ++i) raw.b.receive(i, {raw.into.sge(0, 200)});
  raw.flow({.type = FlowType::all_default});
  raw.send(frame_to({2, 7, 7, 7, 7, 7}, 1));  // of nobody
  BOOST_TEST(raw.b.poll_received().empty());
  raw.send(frame_to(node_mac(2).octets, 1));
  raw.send(frame_to(kGroupMac, 1));
  BOOST_TEST(raw.b.poll_received().size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_sniffer_sees_connections_too_and_counters_count) {
  Raw raw;
  const auto counters = Endpoint::take(raw.b.nic().create_flow_counters());
  for (std::uint64_t i = 0; i < 8; ++i) raw.b.receive(i, {raw.into.sge(0, 2000)});
  raw.flow({.type = FlowType::sniffer, .counters = counters});
  Endpoint client(raw.world, 1), server(raw.world, 2);
  client.connect(2, server.qpn());
  server.connect(1, client.qpn());
  Buffer memory(client.nic(), client.pd, 64), target(server.nic(), server.pd, 64);
  const Sge sge = memory.sge();
  client.post({.opcode = SendOpcode::rdma_write,
               .sges = {&sge, 1},
               .operand = {.remote = {.address = target.address(), .rkey = target.rkey()}}});
  raw.world.run_to_rest();
  check_statuses(client.poll_sent(), {success});
  const auto seen = raw.b.poll_received();
  BOOST_TEST_REQUIRE(seen.size() == 1u);
  const auto count = Endpoint::take(raw.b.nic().read_flow_counters(counters));
  BOOST_TEST(count.packets == 1u);
  BOOST_TEST(count.bytes == seen[0].byte_count);
  BOOST_CHECK(raw.b.nic().destroy_flow_counters(counters).error() == VerbsError::busy);
}

BOOST_AUTO_TEST_CASE(a_sniffer_sees_an_icrc_that_was_deferred) {
  Raw raw;
  raw.b.receive(1, {raw.into.sge(0, 2000)});
  raw.flow({.type = FlowType::sniffer});
  const auto whole = make_frame(1, 2, {.psn = 5, .payload = std::vector<std::byte>(100, std::byte{7})});
  auto frame = whole;
  std::fill(frame.end() - wire::kIcrcBytes, frame.end(), std::byte{0});
  raw.b.nic().receive(raw.world.now(), frame, wire::IcrcState::deferred);
  const auto seen = raw.b.poll_received();
  BOOST_TEST_REQUIRE(seen.size() == 1u);
  BOOST_TEST_REQUIRE(seen[0].byte_count == whole.size());
  BOOST_TEST(std::memcmp(raw.into.bytes().data(), whole.data(), whole.size()) == 0);
}

BOOST_AUTO_TEST_CASE(own_groups_come_back_and_tags_are_stripped) {
  Raw raw;
  QpInit init{.pd = raw.b.pd,
              .type = QpType::raw_packet,
              .send_cq = raw.b.send_cq,
              .recv_cq = raw.b.recv_cq,
              .capabilities = kRaw.capabilities,
              .signal_all = true,
              .strips_vlan = true};
  raw.b.qp = Endpoint::take(raw.b.nic().create_qp(init));
  raw.ready(raw.b, raw.b.qp);
  raw.flow(Raw::to_group());
  raw.b.receive(1, {raw.into.sge(0, 200)});
  const auto frame = frame_to(kGroupMac, 3, true);
  Buffer own(raw.b.nic(), raw.b.pd, 256);
  std::ranges::copy(std::as_bytes(std::span(frame)), own.bytes().begin());
  const Sge sge = own.sge(0, frame.size());
  raw.b.post({.sges = {&sge, 1}});
  raw.world.run_to_rest();
  const auto received = raw.b.poll_received();
  BOOST_TEST_REQUIRE(received.size() == 1u);
  BOOST_TEST(received[0].immediate == 0x6005u);
  const auto bare = frame_to(kGroupMac, 3);
  BOOST_TEST(received[0].byte_count == bare.size());
  BOOST_TEST(same_bytes(raw.into.bytes().first(bare.size()), std::as_bytes(std::span(bare))));
}

BOOST_AUTO_TEST_CASE(what_is_no_frame_completes_in_error_and_a_small_buffer_too) {
  Raw raw;
  const Sge tiny = raw.from.sge(0, 13);
  raw.a.post({.sges = {&tiny, 1}});
  raw.world.run_to_rest();
  check_statuses(raw.a.poll_sent(), {local_length_error});
  raw.flow(Raw::to_group());
  raw.b.receive(1, {raw.into.sge(0, 20)});
  Raw other;  // a's QP is in send queue error now
  other.flow(Raw::to_group());
  other.b.receive(1, {other.into.sge(0, 20)});
  other.send(frame_to(kGroupMac, 3));
  check_statuses(other.b.poll_received(), {local_length_error});
}

BOOST_AUTO_TEST_CASE(the_toeplitz_hash_is_that_of_the_published_vectors) {
  // Microsoft, "Verifying the RSS hash calculation": 66.9.149.187:2794 -> 161.142.100.80:1766.
  ReceiveHash hash{.key = {0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
                           0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
                           0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa},
                   .fields = 0b11};
  FlowFields fields;
  fields.ip_version = 4;
  fields.source = {66, 9, 149, 187};
  fields.destination = {161, 142, 100, 80};
  fields.transport = 6;
  fields.source_port = {2794 >> 8, 2794 & 0xff};
  fields.destination_port = {1766 >> 8, 1766 & 0xff};
  BOOST_TEST(receive_hash(hash, fields) == 0x323e8fc2u);
  hash.fields = 0b110011;
  BOOST_TEST(receive_hash(hash, fields) == 0x51ccc178u);
}

BOOST_AUTO_TEST_CASE(flows_spread_over_the_work_queues_and_stay_on_theirs) {
  Raw raw;
  Nic& nic = raw.b.nic();
  std::vector<WorkQueueHandle> queues;
  std::vector<CqHandle> cqs;
  for (int i = 0; i < 4; ++i) {
    cqs.push_back(Endpoint::take(nic.create_cq(64, 0)));
    queues.push_back(
        Endpoint::take(nic.create_work_queue({.pd = raw.b.pd, .cq = cqs.back(), .max_wr = 64, .max_sge = 1})));
    const Sge sge = raw.into.sge();
    BOOST_CHECK(nic.post_work_queue_receive(queues.back(), {1, {&sge, 1}}).error() == VerbsError::invalid_argument);
    BOOST_TEST(nic.modify_work_queue(queues.back(), WorkQueueState::ready).ok());
    for (std::uint64_t k = 0; k < 64; ++k) BOOST_TEST(nic.post_work_queue_receive(queues.back(), {k, {&sge, 1}}).ok());
  }
  BOOST_CHECK(nic.create_indirection_table(std::span(queues).first(3)).error() == VerbsError::invalid_argument);
  const auto table = Endpoint::take(nic.create_indirection_table(queues));
  BOOST_CHECK(nic.destroy_work_queue(queues[0]).error() == VerbsError::busy);
  QpInit init{.pd = raw.b.pd, .type = QpType::raw_packet, .indirection_table = table};
  for (std::size_t i = 0; i < init.hash.key.size(); ++i) init.hash.key[i] = static_cast<std::uint8_t>(i * 37 + 11);
  init.hash.fields = 0b11;
  const QpHandle spread = Endpoint::take(nic.create_qp(init));
  BOOST_CHECK(nic.destroy_indirection_table(table).error() == VerbsError::busy);
  const FlowHandle flow = Endpoint::take(nic.create_flow(spread, Raw::to_group()));
  std::array<std::size_t, 4> first{}, second{};
  for (auto* counts : {&first, &second}) {
    for (std::uint8_t source = 0; source < 32; ++source) raw.send(frame_to(kGroupMac, source));
    for (std::size_t i = 0; i < cqs.size(); ++i) (*counts)[i] = raw.b.poll(cqs[i]).size();
  }
  BOOST_TEST((first == second));
  BOOST_TEST(std::ranges::count_if(first, [](std::size_t n) { return n != 0; }) > 1);
  BOOST_TEST(first[0] + first[1] + first[2] + first[3] == 32u);
  BOOST_TEST(nic.destroy_flow(flow).ok());
  BOOST_TEST(nic.destroy_qp(spread).ok());
  BOOST_TEST(nic.destroy_indirection_table(table).ok());
  BOOST_TEST(nic.modify_work_queue(queues[1], WorkQueueState::error).ok());
  check_statuses({raw.b.poll(cqs[1]).at(0)}, {flushed});
  for (const auto queue : queues) BOOST_TEST(nic.destroy_work_queue(queue).ok());
}

BOOST_AUTO_TEST_CASE(work_queue_and_raw_qp_slots_are_freed_by_polling) {
  Raw raw;
  Nic& nic = raw.b.nic();
  const WorkQueueHandle queue =
      Endpoint::take(nic.create_work_queue({.pd = raw.b.pd, .cq = raw.b.recv_cq, .max_wr = 2, .max_sge = 1}));
  BOOST_TEST(nic.modify_work_queue(queue, WorkQueueState::ready).ok());
  const auto table = Endpoint::take(nic.create_indirection_table({&queue, 1}));
  QpInit init{.pd = raw.b.pd, .type = QpType::raw_packet, .indirection_table = table};
  const QpHandle spread = Endpoint::take(nic.create_qp(init));
  (void)Endpoint::take(nic.create_flow(spread, Raw::to_group()));
  raw.flow(Raw::to_group());
  const Sge sge = raw.into.sge();
  const auto taken = [&] {
    std::uint32_t count = 0;
    while (nic.post_work_queue_receive(queue, {count, {&sge, 1}}).ok()) BOOST_TEST_REQUIRE(++count < 100u);
    return count;
  };
  const auto taken_by_queue_pair = [&] {
    std::uint32_t count = 0;
    while (raw.b.try_receive(count, {&sge, 1}).ok()) BOOST_TEST_REQUIRE(++count < 1000u);
    return count;
  };
  BOOST_TEST(taken() == 2u);
  taken_by_queue_pair();
  raw.send(frame_to(kGroupMac, 7));
  BOOST_TEST(taken() + taken_by_queue_pair() == 0u);
  check_statuses(raw.b.poll_received(), {success, success});
  BOOST_TEST(taken() == 1u);
  BOOST_TEST(taken_by_queue_pair() == 1u);
  BOOST_TEST(nic.modify_work_queue(queue, WorkQueueState::error).ok());
  BOOST_TEST(taken() == 0u);
  check_statuses(raw.b.poll_received(), {flushed, flushed});
  BOOST_TEST(taken() == 2u);
  BOOST_TEST(nic.modify_work_queue(queue, WorkQueueState::reset).ok());
  BOOST_TEST(nic.modify_work_queue(queue, WorkQueueState::ready).ok());
  BOOST_TEST(raw.b.poll_received().empty());
  BOOST_TEST(taken() == 2u);
}
