// A NIC with two ports: its QPs are each on one of them, and send and receive by that one alone.
#include <array>
#include <boost/test/unit_test.hpp>
#include <map>
#include <vector>

#include "tests/support/endpoint.h"
#include "tests/support/frames.h"

using namespace verbena;
using namespace verbena::test;
using enum CompletionStatus;

namespace {

constexpr unsigned kSecondPort = 100;  // port 2 of node K has the address of a node 100 + K
const wire::Gid kGroup = wire::Gid::from_ipv4(0xefc00101);
constexpr std::array<std::uint8_t, 2> kBoth{1, 2};

unsigned node_at(unsigned node, std::uint8_t port) {
  return port == 1 ? node : kSecondPort + node;
}

NicConfig two_ports(unsigned node) {
  NicConfig config;
  config.qpn_base = wire::Qpn(node << 16);
  config.gids[0] = node_gid(node);
  config.gids[1] = node_gid(node_at(node, 2));
  config.gid_count = 2;
  config.port_count = 2;
  config.ports[0] = {.mac = node_mac(node)};
  config.ports[1] = {.mac = node_mac(node_at(node, 2)), .gids_begin = 1};
  return config;
}

/// Frames that a NIC has sent, by the port that they left by.
struct Departures final : TransmitPort {
  std::span<std::byte> reserve(const Destination& destination, std::size_t bytes) override {
    port = destination.headers->port();
    room.resize(bytes);
    return room;
  }
  void commit(std::size_t bytes, wire::IcrcState) override {
    frames.push_back({port, {room.begin(), room.begin() + static_cast<std::ptrdiff_t>(bytes)}});
  }
  void cancel() override {}

  struct Frame {
    std::uint8_t port;
    std::vector<std::byte> octets;
  };
  std::uint8_t port = 0;
  std::vector<std::byte> room;
  std::vector<Frame> frames;
};

struct Node {
  explicit Node(unsigned number)
      : number(number), nic(two_ports(number), memory, PortCounters({&counters[0], &counters[1]})) {
    pd = Endpoint::take(nic.allocate_pd());
    cq = Endpoint::take(nic.create_cq(64, 0));
    buffer.emplace(nic, pd, 4096);
  }

  QpHandle make_qp(QpType type = QpType::rc) {
    QpInit init{.pd = pd,
                .type = type,
                .send_cq = cq,
                .recv_cq = cq,
                .capabilities = QpOptions{}.capabilities,
                .signal_all = true};
    return Endpoint::take(nic.create_qp(init));
  }
  bool to_init(QpHandle qp, std::uint8_t port, QpType type = QpType::rc) {
    QpAttributes attributes;
    attributes.state = QpState::init;
    attributes.port = port;
    attributes.qkey = 1;
    attributes.access = kLocalWrite | kRemoteWrite;
    const std::uint32_t mask = type == QpType::raw_packet ? kQpState | kQpPort
                                                          : kQpState | kQpPkeyIndex | kQpPort |
                                                                (type == QpType::ud ? kQpQkey : kQpAccessFlags);
    return nic.modify_qp(qp, attributes, mask, now).ok();
  }
  static AddressVector path_to(unsigned node, std::uint8_t by_port, std::uint8_t to_port) {
    AddressVector path = Endpoint::path_to(node_at(node, to_port));
    path.port = by_port;
    return path;
  }
  bool to_rtr(QpHandle qp, const AddressVector& path, wire::Qpn peer) {
    QpAttributes attributes;
    attributes.state = QpState::rtr;
    attributes.address_vector = path;
    attributes.dest_qpn = peer;
    return nic
        .modify_qp(qp, attributes,
                   kQpState | kQpAv | kQpPathMtu | kQpDestQpn | kQpRqPsn | kQpMaxDestReadAtomic | kQpMinRnrTimer, now)
        .ok();
  }
  bool to_rts(QpHandle qp) {
    QpAttributes attributes;
    attributes.state = QpState::rts;
    attributes.timeout = 8;
    attributes.retry_count = 1;
    return nic
        .modify_qp(qp, attributes, kQpState | kQpSqPsn | kQpTimeout | kQpRetryCount | kQpRnrRetry | kQpMaxReadAtomic,
                   now)
        .ok();
  }
  bool to_ud(QpHandle qp, std::uint8_t port) {
    QpAttributes attributes;
    attributes.state = QpState::rtr;
    if (!to_init(qp, port, QpType::ud) || !nic.modify_qp(qp, attributes, kQpState, now).ok()) return false;
    attributes.state = QpState::rts;
    return nic.modify_qp(qp, attributes, kQpState | kQpSqPsn, now).ok();
  }
  void receive(QpHandle qp, std::uint64_t wr_id) {
    const Sge sge = buffer->sge(1024, 1024);
    BOOST_REQUIRE(nic.post_receive(qp, {wr_id, {&sge, 1}}).ok());
  }
  void send(QpHandle qp, SendRequest request = {}) {
    const Sge sge = buffer->sge(0, 64);
    request.sges = {&sge, 1};
    BOOST_REQUIRE(nic.post_send(qp, request, now).ok());
  }
  std::vector<Completion> poll() {
    std::array<Completion, 16> some;
    const std::size_t count = nic.poll_cq(cq, some);
    return {some.begin(), some.begin() + static_cast<std::ptrdiff_t>(count)};
  }

  unsigned number;
  Time now{};
  PlainMemory memory;
  std::uint64_t count(Counter counter, std::uint8_t port) const { return counters[port - 1].get(counter); }

  std::array<Counters, 2> counters;  // by port
  Nic nic;
  PdHandle pd;
  CqHandle cq;
  std::optional<Buffer> buffer;
};

/// Two nodes; port N of one is wired to port N of the other.
struct TwoNodes {
  /// Returns by which ports frames of either went.
  std::vector<unsigned> exchange() {
    std::vector<unsigned> ports;
    for (bool any = true; any;) {
      any = false;
      for (const auto& [from, to] : {std::pair(&a, &b), std::pair(&b, &a)}) {
        Departures departures;
        from->nic.transmit(from->now, departures, 64, Nic::Acknowledge::at_once);
        for (const auto& frame : departures.frames) {
          any = true;
          ports.push_back(frame.port);
          arrive(*to, frame.port, frame.octets);
        }
      }
    }
    return ports;
  }
  static void arrive(Node& at, std::uint8_t port, std::span<const std::byte> frame) {
    at.nic.set_arrival_port(port);
    at.nic.receive(at.now, frame);
  }
  void connect(QpHandle of_a, QpHandle of_b, std::uint8_t port) {
    BOOST_REQUIRE(a.to_init(of_a, port) && b.to_init(of_b, port));
    BOOST_REQUIRE(a.to_rtr(of_a, Node::path_to(2, port, port), b.nic.qpn(of_b)) && a.to_rts(of_a));
    BOOST_REQUIRE(b.to_rtr(of_b, Node::path_to(1, port, port), a.nic.qpn(of_a)) && b.to_rts(of_b));
  }

  Node a{1};
  Node b{2};
};

}  // namespace

BOOST_AUTO_TEST_CASE(connections_go_by_the_port_of_their_qp) {
  for (const std::uint8_t port : kBoth) {
    TwoNodes nodes;
    const QpHandle to = nodes.b.make_qp();
    const QpHandle from = nodes.a.make_qp();
    nodes.connect(from, to, port);
    nodes.b.receive(to, 7);
    nodes.a.send(from);
    for (const unsigned used : nodes.exchange()) BOOST_TEST(used == port);
    check_statuses(nodes.a.poll(), {success});
    check_statuses(nodes.b.poll(), {success});
  }
}

BOOST_AUTO_TEST_CASE(one_cq_has_completions_of_both_ports) {
  TwoNodes nodes;
  std::array<QpHandle, 2> from{nodes.a.make_qp(), nodes.a.make_qp()};
  std::array<QpHandle, 2> to{nodes.b.make_qp(), nodes.b.make_qp()};
  for (const std::uint8_t port : kBoth) {
    nodes.connect(from[port - 1], to[port - 1], port);
    nodes.b.receive(to[port - 1], port);
    nodes.a.send(from[port - 1]);
  }
  nodes.exchange();
  check_statuses(nodes.a.poll(), {success, success});
  check_statuses(nodes.b.poll(), {success, success});
}

BOOST_AUTO_TEST_CASE(frames_that_arrive_by_the_other_port_are_dropped) {
  TwoNodes nodes;
  const QpHandle to = nodes.b.make_qp();
  const QpHandle from = nodes.a.make_qp();
  nodes.connect(from, to, 2);
  nodes.b.receive(to, 7);
  nodes.a.send(from);
  Departures departures;
  nodes.a.nic.transmit({}, departures, 64, Nic::Acknowledge::at_once);
  BOOST_REQUIRE(departures.frames.size() == 1u);
  TwoNodes::arrive(nodes.b, 1, departures.frames[0].octets);
  BOOST_TEST(nodes.b.count(Counter::rx_dropped_wrong_destination, 1) == 1u);
  BOOST_TEST(nodes.b.count(Counter::rx_packets, 1) == 1u);
  BOOST_TEST(nodes.b.count(Counter::rx_packets, 2) == 0u);
  BOOST_TEST(nodes.b.poll().empty());
  TwoNodes::arrive(nodes.b, 2, departures.frames[0].octets);
  check_statuses(nodes.b.poll(), {success});
}

BOOST_AUTO_TEST_CASE(frames_for_a_qp_at_the_other_ports_address_are_dropped) {
  TwoNodes nodes;
  const QpHandle to = nodes.b.make_qp();
  const QpHandle from = nodes.a.make_qp();
  BOOST_REQUIRE(nodes.b.to_init(to, 1) && nodes.b.to_rtr(to, Node::path_to(1, 1, 1), nodes.a.nic.qpn(from)));
  BOOST_REQUIRE(nodes.a.to_init(from, 1) && nodes.a.to_rtr(from, Node::path_to(2, 1, 2), nodes.b.nic.qpn(to)));
  BOOST_REQUIRE(nodes.a.to_rts(from));
  nodes.b.receive(to, 7);
  nodes.a.send(from);
  Departures departures;
  nodes.a.nic.transmit({}, departures, 64, Nic::Acknowledge::at_once);
  TwoNodes::arrive(nodes.b, 2, departures.frames.at(0).octets);
  BOOST_TEST(nodes.b.poll().empty());
  BOOST_TEST(nodes.b.count(Counter::rx_dropped_wrong_destination, 2) == 1u);
  BOOST_TEST(nodes.b.count(Counter::rx_dropped_wrong_destination, 1) == 0u);
}

BOOST_AUTO_TEST_CASE(a_path_leaves_by_the_qps_port) {
  TwoNodes nodes;
  Node& a = nodes.a;
  const QpHandle qp = a.make_qp();
  BOOST_TEST(!a.to_init(qp, 0));
  BOOST_TEST(!a.to_init(qp, 3));
  BOOST_REQUIRE(a.to_init(qp, 2));
  BOOST_TEST(!a.to_rtr(qp, Node::path_to(2, 1, 1), wire::Qpn(0x20000)));
  AddressVector wrong = Node::path_to(2, 2, 2);
  wrong.source_gid_index = 1;
  BOOST_TEST(!a.to_rtr(qp, wrong, wire::Qpn(0x20000)));
  BOOST_TEST(a.to_rtr(qp, Node::path_to(2, 2, 2), wire::Qpn(0x20000)));
  BOOST_TEST(unsigned{Endpoint::take(a.nic.query_qp(qp)).port} == 2u);
}

BOOST_AUTO_TEST_CASE(a_drained_qp_may_go_to_the_other_port) {
  TwoNodes nodes;
  Node& a = nodes.a;
  const QpHandle qp = a.make_qp();
  nodes.connect(qp, nodes.b.make_qp(), 1);
  QpAttributes attributes;
  attributes.state = QpState::sqd;
  BOOST_REQUIRE(a.nic.modify_qp(qp, attributes, kQpState, {}).ok());
  attributes.address_vector = Node::path_to(2, 2, 2);
  attributes.port = 1;
  BOOST_TEST(!a.nic.modify_qp(qp, attributes, kQpAv | kQpPort, {}).ok());
  BOOST_TEST(a.nic.modify_qp(qp, attributes, kQpAv, {}).ok());
  BOOST_TEST(unsigned{Endpoint::take(a.nic.query_qp(qp)).port} == 2u);
  attributes.state = QpState::rts;
  BOOST_REQUIRE(a.nic.modify_qp(qp, attributes, kQpState, {}).ok());
  a.send(qp);
  Departures departures;
  a.nic.transmit({}, departures, 64, Nic::Acknowledge::at_once);
  BOOST_TEST(unsigned{departures.frames.at(0).port} == 2u);
  BOOST_TEST(a.count(Counter::tx_packets, 2) == 1u);
  BOOST_TEST(a.count(Counter::tx_packets, 1) == 0u);
}

BOOST_AUTO_TEST_CASE(datagrams_want_an_address_handle_of_their_port) {
  TwoNodes nodes;
  const QpHandle from = nodes.a.make_qp(QpType::ud);
  const QpHandle to = nodes.b.make_qp(QpType::ud);
  BOOST_REQUIRE(nodes.a.to_ud(from, 2) && nodes.b.to_ud(to, 2));
  nodes.b.receive(to, 7);
  const auto send = [&](std::uint8_t port) {
    const AhHandle ah = Endpoint::take(nodes.a.nic.create_ah(nodes.a.pd, Node::path_to(2, port, port)));
    nodes.a.send(from, {.address_handle = ah, .remote_qpn = nodes.b.nic.qpn(to), .remote_qkey = 1});
    return nodes.exchange();
  };
  BOOST_TEST(send(2) == std::vector<unsigned>{2}, boost::test_tools::per_element());
  check_statuses(nodes.a.poll(), {success});
  check_statuses(nodes.b.poll(), {success});
  BOOST_TEST(send(1).empty());
  check_statuses(nodes.a.poll(), {local_qp_operation_error});
}

BOOST_AUTO_TEST_CASE(a_group_has_members_by_port) {
  TwoNodes nodes;
  const QpHandle from = nodes.a.make_qp(QpType::ud);
  const std::array<QpHandle, 2> to{nodes.b.make_qp(QpType::ud), nodes.b.make_qp(QpType::ud)};
  const QpHandle beside = nodes.a.make_qp(QpType::ud);  // in the sender's NIC, at the other port
  BOOST_REQUIRE(nodes.a.to_ud(from, 2) && nodes.a.to_ud(beside, 1));
  BOOST_REQUIRE(nodes.a.nic.attach_group(beside, kGroup).ok());
  nodes.a.receive(beside, 9);
  for (const std::uint8_t port : kBoth) {
    BOOST_REQUIRE(nodes.b.to_ud(to[port - 1], port) && nodes.b.nic.attach_group(to[port - 1], kGroup).ok());
    nodes.b.receive(to[port - 1], port);
  }
  AddressVector path = Node::path_to(2, 2, 2);
  path.destination = kGroup;
  const AhHandle ah = Endpoint::take(nodes.a.nic.create_ah(nodes.a.pd, path));
  nodes.a.send(from, {.address_handle = ah, .remote_qpn = wire::kMulticastQpn, .remote_qkey = 1});
  nodes.exchange();
  const auto got = nodes.b.poll();
  BOOST_REQUIRE(got.size() == 1u);
  BOOST_TEST(got[0].wr_id == 2u);
  check_statuses(nodes.a.poll(), {success});  // its own, and none of the other port's
}

BOOST_AUTO_TEST_CASE(raw_packets_go_by_their_port_and_meet_its_rules) {
  TwoNodes nodes;
  const QpHandle from = nodes.a.make_qp(QpType::raw_packet);
  std::array<QpHandle, 2> to{nodes.b.make_qp(QpType::raw_packet), nodes.b.make_qp(QpType::raw_packet)};
  const auto open = [](Node& node, QpHandle qp, std::uint8_t port) {
    QpAttributes attributes;
    BOOST_REQUIRE(node.to_init(qp, port, QpType::raw_packet));
    for (const QpState state : {QpState::rtr, QpState::rts}) {
      attributes.state = state;
      BOOST_REQUIRE(node.nic.modify_qp(qp, attributes, kQpState, {}).ok());
    }
  };
  open(nodes.a, from, 2);
  BOOST_TEST(!nodes.b.nic.create_flow(to[0], {.type = FlowType::all_default, .port = 3}).ok());
  for (const std::uint8_t port : kBoth) {
    open(nodes.b, to[port - 1], port);
    BOOST_REQUIRE(nodes.b.nic.create_flow(to[port - 1], {.type = FlowType::all_default, .port = port}).ok());
    nodes.b.receive(to[port - 1], port);
  }
  const wire::MacAddress mac = node_mac(node_at(2, 2));
  std::ranges::copy(std::as_bytes(std::span(mac.octets)), nodes.a.buffer->bytes().begin());
  nodes.a.send(from);
  BOOST_TEST(nodes.exchange() == std::vector<unsigned>{2}, boost::test_tools::per_element());
  const auto got = nodes.b.poll();
  BOOST_REQUIRE(got.size() == 1u);
  BOOST_TEST(got[0].wr_id == 2u);
  BOOST_TEST(nodes.a.count(Counter::tx_packets, 2) == 1u);
  BOOST_TEST(nodes.a.count(Counter::tx_packets, 1) == 0u);
  BOOST_TEST(nodes.b.count(Counter::completions, 2) == 1u);
}

BOOST_AUTO_TEST_CASE(each_port_counts_what_goes_through_it) {
  for (const std::uint8_t port : kBoth) {
    const auto other = static_cast<std::uint8_t>(3 - port);
    TwoNodes nodes;
    const QpHandle to = nodes.b.make_qp();
    const QpHandle from = nodes.a.make_qp();
    nodes.connect(from, to, port);
    nodes.b.receive(to, 7);
    nodes.a.send(from);
    nodes.exchange();
    using Counted = std::pair<const Node*, Counter>;
    for (const auto& [node, counter] :
         {Counted{&nodes.a, Counter::tx_packets}, Counted{&nodes.a, Counter::rx_acknowledges},
          Counted{&nodes.a, Counter::completions}, Counted{&nodes.b, Counter::rx_packets},
          Counted{&nodes.b, Counter::rx_send_requests}, Counted{&nodes.b, Counter::tx_acknowledges},
          Counted{&nodes.b, Counter::completions}}) {
      BOOST_TEST(node->count(counter, port) == 1u, to_string(counter));
      BOOST_TEST(node->count(counter, other) == 0u, to_string(counter));
    }
    BOOST_TEST(nodes.a.count(Counter::tx_bytes, port) == nodes.b.count(Counter::rx_bytes, port));
    BOOST_TEST(nodes.a.count(Counter::tx_bytes, other) == 0u);
    BOOST_TEST(nodes.b.count(Counter::rx_bytes, other) == 0u);
  }
}

BOOST_AUTO_TEST_CASE(a_connection_that_ends_counts_at_its_port) {
  TwoNodes nodes;
  Node& a = nodes.a;
  const QpHandle from = a.make_qp();
  nodes.connect(from, nodes.b.make_qp(), 2);
  nodes.a.send(from);
  Departures lost;
  a.nic.transmit(a.now, lost, 64, Nic::Acknowledge::at_once);
  while (const auto due = a.nic.next_deadline()) {
    a.now = *due;
    a.nic.on_deadline(a.now);
    a.nic.transmit(a.now, lost, 64, Nic::Acknowledge::at_once);
  }
  check_statuses(a.poll(), {retry_exceeded});
  BOOST_TEST(a.count(Counter::local_ack_timeout_err, 2) == 2u);  // the last one ends it
  BOOST_TEST(a.count(Counter::tx_retransmitted_packets, 2) == 1u);
  BOOST_TEST(a.count(Counter::retry_exceeded_err, 2) == 1u);
  BOOST_TEST(a.count(Counter::completions, 2) == 1u);
  for (std::size_t i = 0; i < kCounters; ++i)
    BOOST_TEST(a.count(static_cast<Counter>(i), 1) == 0u, to_string(static_cast<Counter>(i)));
}

BOOST_AUTO_TEST_CASE(frames_that_no_qp_takes_count_where_they_arrive) {
  TwoNodes nodes;
  const auto frame = make_frame(101, 102, {.opcode = rc(OperationCode::send_only), .dest_qp = wire::Qpn(0x20077)});
  TwoNodes::arrive(nodes.b, 2, frame);
  BOOST_TEST(nodes.b.count(Counter::rx_dropped_no_qp, 2) == 1u);
  TwoNodes::arrive(nodes.b, 2, std::span(frame).first(20));
  BOOST_TEST(nodes.b.count(Counter::rx_dropped_malformed, 2) == 1u);
  auto damaged = frame;
  damaged.back() ^= std::byte{1};
  TwoNodes::arrive(nodes.b, 2, damaged);
  BOOST_TEST(nodes.b.count(Counter::rx_dropped_icrc, 2) == 1u);
  for (std::size_t i = 0; i < kCounters; ++i)
    BOOST_TEST(nodes.b.count(static_cast<Counter>(i), 1) == 0u, to_string(static_cast<Counter>(i)));
}

BOOST_AUTO_TEST_CASE(each_port_has_its_state_and_its_events) {
  TwoNodes nodes;
  Nic& nic = nodes.a.nic;
  nic.set_port_up(2, false);
  BOOST_TEST((nic.config().port(1).is_up && !nic.config().port(2).is_up));
  const auto event = nic.poll_event();
  BOOST_REQUIRE(event.has_value());
  BOOST_CHECK(event->type == AsyncEventType::port_error);
  BOOST_TEST(event->object == 2u);
  BOOST_TEST(nodes.a.count(Counter::link_downed, 2) == 1u);
  BOOST_TEST(nodes.a.count(Counter::async_events, 2) == 1u);
  BOOST_TEST(nodes.a.count(Counter::link_downed, 1) + nodes.a.count(Counter::async_events, 1) == 0u);
}

BOOST_AUTO_TEST_CASE(a_nics_gids_are_parted_by_port) {
  const NicConfig config = two_ports(1);
  BOOST_TEST((config.gids_of(1).size() == 1 && config.gids_of(1)[0].gid == node_gid(1)));
  BOOST_TEST((config.gids_of(2).size() == 1 && config.gids_of(2)[0].gid == node_gid(101)));
  BOOST_TEST((config.gids_of(0).empty() && config.gids_of(3).empty()));
  BOOST_TEST(NicConfig{.gid_count = 2}.gids_of(1).size() == 2u);
}

BOOST_AUTO_TEST_CASE(congestion_control_begins_at_the_rate_of_the_qps_port) {
  constexpr std::uint64_t kFast = 100'000'000'000;
  constexpr std::uint64_t kSlow = 10'000'000'000;
  NicConfig config = two_ports(1);
  config.congestion.policy = CongestionPolicy::dcqcn;
  config.congestion.line_rate_bits_per_second = kFast;
  config.ports[1].line_rate_bits_per_second = kSlow;
  BOOST_TEST(make_congestion_control(config.congestion_of(1))->line_rate() == kFast);
  BOOST_TEST(make_congestion_control(config.congestion_of(2))->line_rate() == kSlow);
}
