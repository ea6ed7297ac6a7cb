// libverbena's worlds, through nothing but its public headers.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/libverbena/pair.h"

using namespace verbena::test;

namespace {

template <class T>
std::string error_of(const Result<T>& result) {
  return result.ok() ? "no error" : result.error().text;
}

bool is_intact(const Pair& pair, std::size_t octets, std::size_t at = 0) {
  return std::memcmp(pair.source.bytes().data(), pair.target.bytes().data() + at, octets) == 0;
}

/// A world in which much goes wrong, run to its end.
std::uint64_t trace_of(std::uint64_t seed) {
  Pair pair({}, QpType::rc, seed);
  pair.world.add_fault({"a", "b"}, "drop 5%").value();
  for (int i = 0; i < 40; ++i)
    pair.from
        .post_send({.opcode = SendOpcode::rdma_write, .local = {pair.source.slice()}, .remote = pair.target.remote()})
        .value();
  for (int i = 0; i < 40; ++i) BOOST_REQUIRE(pair.a.cq().next().value().status == Status::success);
  pair.world.run_until_idle().value();
  return pair.world.trace_hash();
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_no_world_can_be_made_of_is_said) {
  const auto wrong = [](const WorldOptions& options) { return error_of(World::make(options)); };
  BOOST_TEST(wrong({.nics = {"a", "b"}}) == "no error");
  BOOST_TEST(wrong({.nics = {"a", "a"}}).find("a") != std::string::npos);
  BOOST_TEST(wrong({.nics = {"a", "b c"}}).find("'b c' is no name") != std::string::npos);
  BOOST_TEST(wrong({.nics = {"a", "b"}, .cables = {{.a = "a", .b = "x"}}}) ==
             "a cable ends at 'x', which there is not");
  BOOST_TEST(wrong({.nics = {"a", "b"}, .switches = {"s"}, .cables = {{.a = "a", .b = "s"}}}) != "no error");
  BOOST_TEST(wrong({.nics = {"a", "b"}, .cables = {{.a = "a", .b = "b", .delay = -1ns}}}) ==
             "cable a-b: its delay is not between 0 and 60 s");
  BOOST_TEST(wrong({.nics = {"a", "b"}, .cables = {{.a = "a", .b = "b", .ecn = {.kmin_bytes = 2, .kmax_bytes = 1}}}}) ==
             "cable a-b: its kmin_bytes are more than its kmax_bytes");
  BOOST_TEST(wrong({}) != "no error");
}

BOOST_AUTO_TEST_CASE(each_operation_moves_its_octets) {
  Pair pair;
  pair.send(4096);
  BOOST_TEST(pair.b.cq().next().value().byte_count == 4096);
  BOOST_TEST(is_intact(pair, 4096));

  std::ranges::fill(pair.target.bytes(), std::byte{0});
  pair.from
      .post_send({.opcode = SendOpcode::rdma_write, .local = {pair.source.slice()}, .remote = pair.target.remote()})
      .value();
  BOOST_TEST(pair.a.cq().next().value().wr_id == 2);  // of the SEND
  BOOST_CHECK(pair.a.cq().next().value().status == Status::success);
  BOOST_TEST(is_intact(pair, 4096));

  std::ranges::fill(pair.source.bytes(), std::byte{0});
  pair.from.post_send({.opcode = SendOpcode::rdma_read, .local = {pair.source.slice()}, .remote = pair.target.remote()})
      .value();
  BOOST_CHECK(pair.a.cq().next().value().status == Status::success);
  BOOST_TEST(is_intact(pair, 4096));

  const std::uint64_t forty = 40;
  std::memcpy(pair.target.bytes().data(), &forty, 8);
  pair.from
      .post_send({.opcode = SendOpcode::fetch_and_add,
                  .local = {pair.source.slice(0, 8)},
                  .remote = pair.target.remote(),
                  .compare_or_add = 2})
      .value();
  BOOST_CHECK(pair.a.cq().next().value().status == Status::success);
  std::uint64_t word = 0;
  std::memcpy(&word, pair.target.bytes().data(), 8);
  BOOST_TEST(word == 42);
  std::memcpy(&word, pair.source.bytes().data(), 8);
  BOOST_TEST(word == 40);
  pair.world.run_until_idle().value();
  BOOST_TEST(pair.world.check_report().clean());
}

BOOST_AUTO_TEST_CASE(unreliable_services_lose_and_do_not_repeat) {
  for (const QpType type : {QpType::uc, QpType::ud}) {
    Pair pair({.psn = 5}, type);
    const std::uint32_t fault = pair.world.add_fault({"a", "b"}, "drop count=1").value();
    pair.send(256);
    BOOST_CHECK(pair.a.cq().next().value().status == Status::success);
    pair.world.run_until_idle().value();
    BOOST_TEST(pair.b.cq().poll().empty());
    pair.world.remove_fault(fault).value();
    pair.send(256);
    BOOST_TEST(pair.b.cq().next().value().byte_count == (type == QpType::ud ? 256 + 40 : 256));
    BOOST_TEST(is_intact(pair, 256, type == QpType::ud ? 40 : 0));
  }
}

BOOST_AUTO_TEST_CASE(the_same_seed_gives_the_same_packets_and_another_one_others) {
  BOOST_TEST(trace_of(1) == trace_of(1));
  BOOST_TEST(trace_of(1) != trace_of(2));
}

BOOST_AUTO_TEST_CASE(a_cable_has_the_rate_and_the_delay_that_it_is_given) {
  Pair pair;
  pair.world.set_cable_delay({"a", "b"}, 1ms).value();
  pair.world.set_cable_rate({"a", "b"}, 0).value();
  pair.send();
  BOOST_TEST(pair.b.cq().next().value().time.count() == 1'000'000);
  BOOST_TEST(pair.a.cq().next().value().time.count() == 2'000'000);
  pair.world.set_cable_delay({"a", "b"}, 0ns).value();
  pair.world.set_cable_rate({"a", "b"}, 1'000'000'000).value();
  const Time begin = pair.world.now();
  pair.send(1000);
  const Time took = pair.b.cq().next().value().time - begin;
  BOOST_TEST(took.count() == (1000 + 14 + 20 + 8 + 12 + 4) * 8);
  BOOST_TEST(error_of(pair.world.set_cable_delay({"a", "b"}, -1ns)) == "a delay and its jitter are between 0 and 60 s");
  BOOST_TEST(error_of(pair.world.set_cable_rate({"a", "b"}, UINT64_MAX)) == "a rate is at most 100 Tbit/s");
}

BOOST_AUTO_TEST_CASE(a_switch_marks_when_its_queue_is_longer_than_it_was_told) {
  for (const std::uint32_t kmax_bytes : {0U, 10'000U}) {
    World world = World::make({.nics = {"a", "b"},
                               .switches = {"s"},
                               .cables = {{.a = "a", .b = "s"},
                                          {.a = "b",
                                           .b = "s",
                                           .rate_bits_per_second = 1'000'000'000,
                                           .ecn = {.kmin_bytes = kmax_bytes, .kmax_bytes = kmax_bytes}}}})
                      .value();
    int marked = 0;
    world.observe([&marked](const Sighting& sighting) {
      constexpr std::size_t kTypeOfService = 14 + 1;
      if (sighting.event == Event::delivered && sighting.link.to == "b")
        marked += std::to_integer<int>(sighting.frame[kTypeOfService] & std::byte{3}) == 3 ? 1 : 0;
    });
    const Nic a = world.nic("a").value();
    const Nic b = world.nic("b").value();
    const Qp qp = a.create_qp().value();
    world.connect(qp, b.create_qp().value(), {.traffic_class = 2}).value();
    const Mr source = a.register_memory(65536).value();
    const Remote target = b.register_memory(65536).value().remote();
    qp.post_send({.opcode = SendOpcode::rdma_write, .local = {source.slice()}, .remote = target}).value();
    BOOST_CHECK(a.cq().next().value().status == Status::success);
    BOOST_TEST((marked != 0) == (kmax_bytes != 0));
  }
}

BOOST_AUTO_TEST_CASE(over_a_dead_cable_a_request_fails_and_the_qp_is_in_error) {
  Pair pair({.timeout = 8, .retry_count = 1});
  pair.world.set_cable_up({"b", "a"}, false).value();
  pair.send();
  BOOST_CHECK(pair.a.cq().next().value().status == Status::retry_exceeded);
  BOOST_CHECK(pair.from.state() == QpState::error);
  BOOST_CHECK(pair.to.state() == QpState::rts);
  BOOST_TEST(pair.a.counter("link_downed").value() == 1);
  BOOST_TEST(!pair.a.counter("no_such_counter").has_value());
}

BOOST_AUTO_TEST_CASE(an_interceptor_drops_copies_delays_and_changes) {
  Pair pair;
  int seen = 0;
  pair.world
      .intercept({"a", "b"},
                 [&](const Packet& packet, std::span<std::byte> frame) {
                   ++seen;
                   BOOST_CHECK(packet.opcode == Opcode::rc_send_only && packet.psn == 100);
                   if (seen == 1) return Decision{.drop = true};
                   if (seen == 2) frame[frame.size() - 5] ^= std::byte{1};  // and its ICRC is wrong
                   if (seen == 3) {
                     frame[frame.size() - 5] ^= std::byte{1};
                     repair_icrc(frame);
                     return Decision{.duplicate = true, .delay = 1ms};
                   }
                   return Decision{};
                 })
      .value();
  std::vector<std::string> comments;
  pair.world.observe([&](const Sighting& sighting) {
    if (!sighting.comment.empty() && sighting.event != Event::delivered) comments.emplace_back(sighting.comment);
  });
  pair.send();
  BOOST_CHECK(pair.b.cq().next().value().status == Status::success);
  pair.world.run_until_idle().value();
  BOOST_TEST(seen == 3);
  BOOST_TEST(!is_intact(pair, 64));
  BOOST_TEST(is_intact(pair, 63));
  BOOST_TEST(pair.b.counter("rx_dropped_icrc").value() == 1);
  BOOST_TEST(pair.b.counter("duplicate_request").value() == 1);
  BOOST_TEST(comments.size() == 4);
  BOOST_TEST(comments.front() == "dropped by an interceptor");
  BOOST_TEST(comments.back() == "changed by an interceptor");
  pair.world.intercept({"a", "b"}, nullptr).value();
  pair.send();
  BOOST_CHECK(pair.b.cq().next().value().status == Status::success);
  BOOST_TEST(seen == 3);
}

BOOST_AUTO_TEST_CASE(a_fault_that_cannot_be_read_or_has_no_place_is_refused) {
  Pair pair;
  BOOST_TEST(error_of(pair.world.add_fault({"a", "b"}, "dorp 1%")).find("dorp") != std::string::npos);
  BOOST_TEST(error_of(pair.world.add_fault({"a", "b"}, "drop 1% dir=rx")).find("dir=") != std::string::npos);
  BOOST_TEST(error_of(pair.world.add_fault({"a", "x"}, "drop")) == "there is no cable between 'a' and 'x'");
  BOOST_TEST(error_of(pair.world.remove_fault(7)) == "there is no fault 7");
}

BOOST_AUTO_TEST_CASE(what_the_verbs_refuse_comes_back_with_their_errno) {
  Pair pair;
  const Qp other = pair.a.create_qp().value();
  BOOST_TEST(error_of(pair.world.connect(other, pair.to)) == "connect: an end is connected already");
  BOOST_TEST(error_of(pair.world.connect(other, pair.a.create_qp().value())) ==
             "connect: both ends are on the same NIC");
  const Qp free = pair.b.create_qp().value();
  const auto refused = pair.world.connect(other, free, {.path_mtu = 1000});
  BOOST_CHECK(refused.error().kind == ErrorKind::invalid_argument);
  BOOST_TEST(error_of(pair.world.connect(other, free, {.psn = 1 << 24})) == "connect: a PSN has 24 bits");
  BOOST_TEST(error_of(other.post_send({})).find("post_send: invalid argument (EINVAL)") == 0);
  BOOST_CHECK(pair.a.create_cq(1 << 30).error().kind == ErrorKind::invalid_argument);
  BOOST_CHECK(!pair.a.register_memory(0));
  BOOST_CHECK(!pair.a.create_qp({.send_cq = pair.b.cq()}));
  for (int i = 0; i < 1000; ++i)
    if (const auto posted = pair.from.post_send({.local = {pair.source.slice()}}); !posted) {
      BOOST_CHECK(posted.error().kind == ErrorKind::no_memory);
      return;
    }
  BOOST_ERROR("a queue without an end");
}

BOOST_AUTO_TEST_CASE(waiting_ends_when_the_time_is_over) {
  Pair pair;
  pair.world.run_until_idle().value();
  BOOST_TEST(pair.world.now().count() == 0);
  BOOST_CHECK(pair.b.cq().next(3ms).error().kind == ErrorKind::timed_out);
  BOOST_TEST(pair.world.now().count() == 3'000'000);
  BOOST_CHECK(pair.world.run_until([] { return false; }, 1ms).error().kind == ErrorKind::timed_out);
  BOOST_TEST(pair.world.now().count() == 4'000'000);
  BOOST_CHECK(pair.world.run_until({}).error().kind == ErrorKind::invalid_argument);
  pair.from.post_send({.local = {pair.source.slice()}}).value();  // no receive: it is tried for ever
  BOOST_CHECK(pair.world.run_until_idle(5ms).error().kind == ErrorKind::timed_out);
  BOOST_TEST(pair.world.now().count() == 9'000'000);
  pair.to.post_receive(1, pair.target.slice()).value();
  pair.world.run_until_idle().value();
  BOOST_TEST(pair.a.cq().poll().size() == 1);
}

BOOST_AUTO_TEST_CASE(a_peer_cannot_send_what_has_no_place_in_a_packet) {
  Lone lone;
  const auto sends = [&](const Packet& packet) { return error_of(lone.peer.send(packet)); };
  BOOST_TEST(sends({.opcode = Opcode{0x3f}}) == "there is no opcode 63");
  BOOST_TEST(sends({.payload = std::vector<std::byte>(4097)}) == "send-only cannot have a payload of 4097 octets");
  for (const Packet& packet : {Packet{.psn = 1 << 24}, Packet{.dest_qp = 1 << 24},
                               Packet{.opcode = Opcode::rc_acknowledge, .aeth = Aeth{kAck, 1 << 24}}})
    BOOST_TEST(sends(packet) == "psn, dest_qp and msn have 24 bits");
  BOOST_CHECK(lone.world.run_until_idle());
  BOOST_TEST(lone.world.now().count() == 0);
}

BOOST_AUTO_TEST_CASE(a_peer_that_breaks_the_rules_is_reported) {
  Lone lone;
  lone.qp.post_receive(1, lone.memory.slice()).value();
  lone.peer.send({.opcode = Opcode::rc_send_only, .psn = 100, .ack_request = true}).value();
  BOOST_CHECK(lone.peer.next().value().opcode == Opcode::rc_acknowledge);
  BOOST_TEST(lone.peer.next(1ms).error().text == "no packet has come within the time given");
  // It answers a request that was never made.
  lone.peer.send({.opcode = Opcode::rc_acknowledge, .psn = 105, .aeth = Aeth{kAck, 3}}).value();
  lone.world.run_for(1ms);
  const CheckReport report = lone.world.check_report();
  BOOST_REQUIRE(!report.clean());
  BOOST_TEST(report.violations.front().find("IBTA") != std::string::npos);
  BOOST_TEST(std::ranges::any_of(report.rules, [](const auto& rule) { return rule.violations != 0; }));
  BOOST_TEST(lone.world.check_report().violations.size() == report.violations.size());
}

BOOST_AUTO_TEST_CASE(a_packet_is_read_as_it_was_sent) {
  Lone lone;
  Packet sent{.opcode = Opcode::rc_write_only, .psn = 100, .solicited = true, .ack_request = true};
  sent.reth = Reth{.address = 0x123456789a, .rkey = 0xdeadbeef, .length = 3};
  sent.payload = {std::byte{1}, std::byte{2}, std::byte{3}};
  std::vector<std::byte> frame;
  lone.world.observe([&](const Sighting& sighting) {
    if (sighting.link.from == "p" && frame.empty()) frame.assign(sighting.frame.begin(), sighting.frame.end());
  });
  lone.peer.send(sent).value();
  lone.world.run_for(1us);
  const Packet read = read_packet(frame).value();
  BOOST_CHECK(read.opcode == sent.opcode && read.payload == sent.payload && read.solicited && read.ack_request);
  BOOST_TEST(read.psn == 100);
  BOOST_TEST(read.dest_qp == lone.qp.number());
  BOOST_TEST(read.reth->address == sent.reth->address);
  BOOST_TEST(read.reth->rkey == sent.reth->rkey);
  BOOST_TEST(read.destination == lone.a.address());
  BOOST_TEST(read.icrc_is_right);
  BOOST_TEST(describe(frame).value().find("RDMA WRITE Only") != std::string::npos);
  BOOST_TEST(error_of(read_packet(std::span(frame).first(20))).find("no RoCE v2 packet") == 0);
  BOOST_CHECK(!lone.peer.send({.opcode = static_cast<Opcode>(0x1f)}));
  BOOST_CHECK(!lone.peer.send({.opcode = Opcode::rc_acknowledge, .payload = sent.payload}));
  BOOST_CHECK(!lone.peer.send_frame(std::vector<std::byte>(5000)));
}

BOOST_AUTO_TEST_CASE(a_capture_holds_what_was_sent_with_what_became_of_it) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("libverbena." + std::to_string(getpid()) + ".pcapng");
  {
    Pair pair;
    BOOST_TEST(error_of(pair.world.capture({"a", "b"}, "/nonexistent/x.pcapng")) ==
               "cannot write '/nonexistent/x.pcapng'");
    pair.world.capture({"a", "b"}, path.string()).value();
    pair.world.add_fault({"a", "b"}, "drop count=1").value();
    pair.send();
    BOOST_CHECK(pair.b.cq().next().value().status == Status::success);
    pair.world.finish_captures().value();
  }
  std::ifstream file(path, std::ios::binary);
  const std::string octets((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::filesystem::remove(path);
  BOOST_TEST(octets.substr(0, 4) == "\x0a\x0d\x0d\x0a");
  BOOST_TEST(octets.find("a>b") != std::string::npos);
  BOOST_TEST(octets.find("verbena: dropped by fault 'drop count=1'") != std::string::npos);
}
