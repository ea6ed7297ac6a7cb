// The static rate of a path: on InfiniBand no packet leaves earlier than the rate lets it (IBA volume 1, 9.11.1);
// Ethernet has none.
#include "wire/static_rate.h"

#include <infiniband/verbs.h>

#include <boost/test/unit_test.hpp>

#include "tests/support/endpoint.h"
#include "tests/support/narrow_port.h"

using namespace verbena;
using namespace verbena::test;
using enum CompletionStatus;

namespace {

constexpr std::uint32_t kBytes = 100'000;
constexpr std::uint8_t kRate10 = IBV_RATE_10_GBPS;

WorldOptions infiniband() {
  const wire::WireKind& wire = *wire::find_wire_kind("infiniband");
  return {.wires = {wire, wire}};
}

struct RatedPair {
  RatedPair(const WorldOptions& options, std::uint8_t rate_of_a, std::uint8_t rate_of_b = 0)
      : world(options), a(world, 1, {.static_rate = rate_of_a}), b(world, 2, {.static_rate = rate_of_b}) {
    a.connect(2, b.qpn());
    b.connect(1, a.qpn());
  }
  /// How long it takes from the first packet that a node sends with data to the last.
  Duration takes(SendOpcode opcode, unsigned sender) {
    const Sge source = from.sge();
    a.post({.wr_id = 1,
            .opcode = opcode,
            .sges = {&source, 1},
            .operand = {.remote = {.address = to.address(), .rkey = to.rkey()}}});
    world.run_to_rest();
    check_statuses(a.poll_sent(), {success});
    Time first = kNever, last{};
    for (const Traced& traced : world.trace()) {
      if (traced.from != sender || traced.payload_bytes == 0) continue;
      first = std::min(first, traced.at);
      last = std::max(last, traced.at);
    }
    BOOST_REQUIRE(first != kNever);
    return last - first;
  }
  World world;
  Endpoint a;
  Endpoint b;
  Buffer from{a.nic(), a.pd, kBytes};
  Buffer to{b.nic(), b.pd, kBytes};
};

/// What so many octets take at 10 Gb/s: 0.8 ns each.
constexpr Duration at_10_gbps(std::uint64_t bytes) {
  return nanoseconds(static_cast<std::int64_t>(bytes * 8 / 10));
}
constexpr Duration kSlow = at_10_gbps(kBytes - 1024);  // up to where the last packet begins, headers aside
constexpr Duration kQuarter = at_10_gbps(kBytes / 4);

}  // namespace

BOOST_AUTO_TEST_CASE(codes_are_those_of_the_verbs) {
  // <infiniband/verbs.h> numbers them as PathRecord does.
  const std::pair<ibv_rate, std::uint64_t> kSome[] = {{IBV_RATE_MAX, 0},
                                                      {IBV_RATE_2_5_GBPS, 2'500},
                                                      {IBV_RATE_5_GBPS, 5'000},
                                                      {IBV_RATE_10_GBPS, 10'000},
                                                      {IBV_RATE_120_GBPS, 120'000},
                                                      {IBV_RATE_14_GBPS, 14'062},
                                                      {IBV_RATE_25_GBPS, 25'781},
                                                      {IBV_RATE_100_GBPS, 103'125},
                                                      {IBV_RATE_28_GBPS, 28'125},
                                                      {IBV_RATE_400_GBPS, 425'000},
                                                      {IBV_RATE_1200_GBPS, 1'275'000}};
  for (const auto& [code, mbps] : kSome) BOOST_TEST(wire::static_rate_bits_per_second(code) == mbps * 1'000'000);
  BOOST_TEST(!wire::is_static_rate(1));
  BOOST_TEST(!wire::is_static_rate(25));
}

BOOST_AUTO_TEST_CASE(requests_keep_to_the_rate_of_their_path) {
  const Duration slow = RatedPair(infiniband(), kRate10).takes(SendOpcode::rdma_write, 1);
  BOOST_TEST(slow.ns >= kSlow.ns);
  BOOST_TEST(slow.ns < kSlow.ns * 11 / 10);
  BOOST_TEST(RatedPair(infiniband(), 0, kRate10).takes(SendOpcode::rdma_write, 1).ns < kSlow.ns / 2);
}

BOOST_AUTO_TEST_CASE(data_of_reads_keep_to_the_rate_of_the_responder) {
  const Duration slow = RatedPair(infiniband(), 0, kRate10).takes(SendOpcode::rdma_read, 2);
  BOOST_TEST(slow.ns >= kSlow.ns);
  BOOST_TEST(slow.ns < kSlow.ns * 11 / 10);
  BOOST_TEST(RatedPair(infiniband(), kRate10).takes(SendOpcode::rdma_read, 2).ns < kSlow.ns / 2);
}

BOOST_AUTO_TEST_CASE(what_a_path_held_back_goes_by_the_next_one) {
  RatedPair pair(infiniband(), 0, kRate10);
  const Sge into = pair.from.sge();
  pair.a.post({.opcode = SendOpcode::rdma_read,
               .sges = {&into, 1},
               .operand = {.remote = {.address = pair.to.address(), .rkey = pair.to.rkey()}}});
  pair.world.run_for(kQuarter);
  BOOST_REQUIRE(pair.a.poll_sent().empty());
  BOOST_REQUIRE(pair.b.modify({.state = QpState::sqd}, kQpState).ok());
  QpAttributes other = pair.b.rtr_attributes(1, pair.a.qpn());
  other.state = QpState::sqd;
  other.address_vector.static_rate = 0;
  BOOST_REQUIRE(pair.b.modify(other, kQpState | kQpAv).ok());
  pair.world.run_for(kQuarter);
  check_statuses(pair.a.poll_sent(), {success});
}

BOOST_AUTO_TEST_CASE(a_rate_above_that_of_the_port_holds_nothing_back) {
  const Duration free = RatedPair(infiniband(), 0).takes(SendOpcode::rdma_write, 1);
  BOOST_TEST(RatedPair(infiniband(), IBV_RATE_100_GBPS).takes(SendOpcode::rdma_write, 1).ns == free.ns);
}

BOOST_AUTO_TEST_CASE(ethernet_has_no_static_rate) {
  BOOST_TEST(RatedPair({}, kRate10).takes(SendOpcode::rdma_write, 1).ns < kSlow.ns / 2);
}

BOOST_AUTO_TEST_CASE(datagrams_keep_to_the_rate_of_their_address_handle) {
  World world(infiniband());
  Endpoint a(world, 1, {.type = QpType::ud});
  Endpoint b(world, 2, {.type = QpType::ud});
  a.connect(2, b.qpn());
  b.connect(1, a.qpn());
  Buffer from(a.nic(), a.pd, 1024);
  AddressVector slow_path = a.own_path_to(2);
  slow_path.static_rate = kRate10;
  const AhHandle slow = Endpoint::take(a.nic().create_ah(a.pd, slow_path));
  const AhHandle fast = Endpoint::take(a.nic().create_ah(a.pd, a.own_path_to(2)));
  const Sge source = from.sge();
  constexpr int kDatagrams = 20;
  const auto span_of = [&](AhHandle first, AhHandle second) {
    world.clear_trace();
    for (int number = 0; number < kDatagrams; ++number)
      a.post({.opcode = SendOpcode::send,
              .sges = {&source, 1},
              .address_handle = number % 2 == 0 ? first : second,
              .remote_qpn = b.qpn(),
              .remote_qkey = 0x11111111});
    world.run_to_rest();
    BOOST_REQUIRE(world.trace().size() == static_cast<std::size_t>(kDatagrams));
    return world.trace().back().at - world.trace().front().at;
  };
  const Duration all_slow = at_10_gbps(1024 * (kDatagrams - 1));
  BOOST_TEST(span_of(slow, slow).ns >= all_slow.ns);
  BOOST_TEST(span_of(fast, fast).ns < all_slow.ns / 4);
  const Duration half = span_of(slow, fast);  // each other one waits, behind all that the ones before it took
  BOOST_TEST(half.ns >= all_slow.ns * 9 / 20);
  BOOST_TEST(half.ns < all_slow.ns * 6 / 10);
}

BOOST_AUTO_TEST_CASE(a_nic_that_comes_late_keeps_the_rate_on_the_whole) {
  RatedPair pair({}, 0);
  Nic& nic = pair.a.nic();
  BOOST_REQUIRE(nic.limit_rate(pair.a.qp, {.kbps = 10'000'000}).ok());
  const Sge source = pair.from.sge();
  pair.a.post({.opcode = SendOpcode::rdma_write,
               .sges = {&source, 1},
               .operand = {.remote = {.address = pair.to.address(), .rkey = pair.to.rkey()}}});
  // A packet takes less than 1 us, and a thread that sleeps looks every 5 us.
  constexpr Duration kSleep = microseconds(5);
  NarrowPort port(1000);
  Time now = pair.world.now();
  const Time end = now + microseconds(60);
  std::size_t at_most = 0;
  for (std::size_t sent = 0; now < end; now = now + kSleep) {
    nic.on_deadline(now);
    nic.transmit(now, port, 64);
    at_most = std::max(at_most, port.psns.size() - sent);
    sent = port.psns.size();
  }
  constexpr std::size_t kPacket = 1024 + 58;
  constexpr auto kWanted = static_cast<std::size_t>(microseconds(55).ns) * 10 / 8 / kPacket;
  BOOST_TEST(port.psns.size() >= kWanted);
  BOOST_TEST(port.psns.size() <= kWanted + 2);
  BOOST_TEST(at_most <= 7u);
}

BOOST_AUTO_TEST_CASE(a_code_that_is_none_is_refused) {
  World world(infiniband());
  for (const int code : {1, 25, 255}) {
    Endpoint end(world, 1, {.static_rate = static_cast<std::uint8_t>(code)});
    end.to_init();
    BOOST_TEST(!end.modify(end.rtr_attributes(2, wire::Qpn(7)), end.rtr_mask()).ok());
  }
}
