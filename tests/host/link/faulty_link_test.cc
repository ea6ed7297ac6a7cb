// Faults on a live link: what reaches the link below and the NIC above, and what a capture is told.
#include "emulator/host/link/faulty_link.h"

#include <boost/test/unit_test.hpp>
#include <string>

#include "emulator/fabric/link_model.h"
#include "tests/support/frames.h"

using namespace verbena;
using namespace verbena::host;
using test::rc;
using wire::OperationCode;

namespace {

Time test_time{0};
Time test_clock() {
  return test_time;
}

using Bytes = std::vector<std::byte>;

/// What is committed is kept; what lies in `waiting` is handed up. `room` frames fit.
class FakeLink final : public FramePort {
 public:
  std::span<std::byte> reserve(const nic::Destination& destination, std::size_t bytes) override {
    if (sent.size() >= room) return {};
    last_address = destination.address;
    last_qpn = destination.qpn;
    open.resize(bytes);
    return open;
  }
  void commit(std::size_t bytes, wire::IcrcState) override {
    open.resize(bytes);
    sent.push_back(open);
  }
  void cancel() override {}
  void publish() override { ++published; }
  std::size_t receive(Time, FrameSink& sink, std::size_t budget) override {
    std::size_t count = 0;
    for (; count < budget && !waiting.empty(); ++count) {
      sink.frame(waiting.front(), wire::IcrcState::verified);
      waiting.erase(waiting.begin());
    }
    return count;
  }
  std::optional<Time> next_deadline() const override { return std::nullopt; }
  bool holds_back() const override { return false; }

  std::size_t room = SIZE_MAX;
  int published = 0;
  wire::Gid last_address;
  wire::Qpn last_qpn;
  Bytes open;
  std::vector<Bytes> sent;
  std::vector<Bytes> waiting;
};

class Notes final : public CaptureTap {
 public:
  void record(Time, std::span<const std::byte> frame, wire::Direction direction, std::string_view comment) override {
    BOOST_CHECK(direction == wire::Direction::outbound);
    recorded.emplace_back(Bytes(frame.begin(), frame.end()), std::string(comment));
  }
  void annotate(std::string_view comment) override { annotated.emplace_back(comment); }
  std::vector<std::pair<Bytes, std::string>> recorded;
  std::vector<std::string> annotated;
};

class Arrived final : public FrameSink {
 public:
  void frame(std::span<const std::byte> frame, wire::IcrcState icrc) override {
    const auto packet = wire::parse_frame(frame);
    psns.push_back(packet ? packet->bth().psn.value() : UINT32_MAX);
    trusted.push_back(icrc == wire::IcrcState::verified);
  }
  std::vector<std::uint32_t> psns;
  std::vector<bool> trusted;
};

struct Bench {
  explicit Bench(std::initializer_list<std::string_view> faults) {
    test_time = Time{0};
    std::vector<fabric::FaultRule> rules;
    for (const auto text : faults) {
      const auto rule = fabric::parse_fault(text);
      BOOST_REQUIRE(rule.ok());
      rules.push_back(*rule);
    }
    link = make_faulty_link(*inner, rules, 5, "node1", &notes, &test_clock);
  }
  static Bytes frame(std::uint32_t psn) {
    return test::make_frame(1, 2, {.opcode = rc(OperationCode::send_only), .psn = psn, .dest_qp = wire::Qpn(0x22)});
  }
  bool send(std::uint32_t psn) {
    const Bytes bytes = frame(psn);
    std::uint32_t hint = 0;
    const auto room = link->reserve({test::node_gid(2), wire::Qpn(0x22), hint}, bytes.size() + 8);
    if (room.empty()) return false;
    BOOST_REQUIRE(room.size() >= bytes.size());
    std::copy(bytes.begin(), bytes.end(), room.begin());
    link->commit(bytes.size(), wire::IcrcState::present);
    return true;
  }
  std::vector<std::uint32_t> sent_psns() const {
    std::vector<std::uint32_t> psns;
    for (const Bytes& bytes : inner->sent) {
      const auto packet = wire::parse_frame(bytes);
      psns.push_back(packet ? packet->bth().psn.value() : UINT32_MAX);
    }
    return psns;
  }
  void pass(Time now) {
    test_time = now;
    link->receive(now, arrived, 100);
    link->publish();
  }

  Notes notes;
  Arrived arrived;
  std::unique_ptr<FakeLink> inner = std::make_unique<FakeLink>();
  std::unique_ptr<FramePort> link;
};

using Psns = std::vector<std::uint32_t>;
constexpr Time at_us(std::int64_t us) {
  return Time{us * 1000};
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_direction_without_rules_passes_straight_through) {
  Bench bench({"drop dir=rx"});
  BOOST_TEST(bench.send(3));
  BOOST_CHECK(bench.sent_psns() == Psns{3});
  BOOST_CHECK(bench.inner->last_address == test::node_gid(2));
  bench.inner->room = 1;
  BOOST_TEST(!bench.send(4));
}

BOOST_AUTO_TEST_CASE(a_dropped_frame_reaches_the_capture_and_not_the_link) {
  Bench bench({"drop psn=1"});
  for (std::uint32_t psn = 0; psn < 3; ++psn) BOOST_TEST(bench.send(psn));
  BOOST_CHECK(bench.sent_psns() == (Psns{0, 2}));
  BOOST_REQUIRE(bench.notes.recorded.size() == 1u);
  BOOST_CHECK(bench.notes.recorded[0].first == Bench::frame(1));
  BOOST_TEST(bench.notes.recorded[0].second == "verbena: dropped by fault 'drop psn=1'");
  BOOST_TEST(bench.notes.annotated.empty());
}

BOOST_AUTO_TEST_CASE(changed_frame_is_annotated_each_time_and_keeps_its_way) {
  Bench bench({"duplicate psn=0", "corrupt where=header psn=1"});
  for (std::uint32_t psn = 0; psn < 2; ++psn) bench.send(psn);
  BOOST_TEST(bench.inner->sent.size() == 3u);
  BOOST_CHECK(bench.inner->sent[0] == bench.inner->sent[1]);
  BOOST_CHECK(bench.inner->sent[2] != Bench::frame(1));
  BOOST_TEST(bench.notes.annotated.size() == 3u);
  BOOST_TEST(bench.notes.recorded.empty());
  BOOST_CHECK(bench.inner->last_address == test::node_gid(2));
  BOOST_CHECK(bench.inner->last_qpn == wire::Qpn(0x22));
}

BOOST_AUTO_TEST_CASE(delayed_frame_leaves_at_its_time_and_the_deadline_tells_it) {
  Bench bench({"delay by=10us psn=0"});
  bench.pass(at_us(100));
  BOOST_TEST(!bench.link->next_deadline().has_value());
  bench.send(0);
  bench.send(1);
  BOOST_CHECK(bench.sent_psns() == Psns{1});
  BOOST_REQUIRE(bench.link->next_deadline().has_value());
  BOOST_CHECK(*bench.link->next_deadline() == at_us(110));
  bench.pass(at_us(109));
  BOOST_CHECK(bench.sent_psns() == Psns{1});
  bench.pass(at_us(110));
  BOOST_CHECK(bench.sent_psns() == (Psns{1, 0}));
  BOOST_TEST(!bench.link->next_deadline().has_value());
}

BOOST_AUTO_TEST_CASE(back_pressure_below_keeps_frames_in_order_and_is_handed_on) {
  Bench bench({"reorder by=1 psn=0"});
  bench.inner->room = 1;
  BOOST_TEST(bench.send(0));
  BOOST_TEST(bench.send(1));  // releases 0 behind it, for which there is no room
  BOOST_CHECK(bench.sent_psns() == Psns{1});
  BOOST_TEST(!bench.send(2));
  BOOST_TEST(bench.link->next_deadline().has_value());
  bench.inner->room = SIZE_MAX;
  bench.link->publish();
  BOOST_CHECK(bench.sent_psns() == (Psns{1, 0}));
  BOOST_TEST(bench.send(2));
  BOOST_CHECK(bench.sent_psns() == (Psns{1, 0, 2}));
}

BOOST_AUTO_TEST_CASE(a_cancelled_frame_leaves_nothing_behind) {
  Bench bench({"drop psn=7"});
  std::uint32_t hint = 0;
  BOOST_TEST(!bench.link->reserve({test::node_gid(2), wire::Qpn(1), hint}, 100).empty());
  bench.link->cancel();
  bench.send(1);
  BOOST_CHECK(bench.sent_psns() == Psns{1});
}

BOOST_AUTO_TEST_CASE(received_frames_meet_the_rules_of_their_direction) {
  Bench bench({"drop dir=rx psn=1", "corrupt where=icrc dir=rx psn=3", "delay by=5us dir=rx psn=0"});
  for (std::uint32_t psn = 0; psn < 4; ++psn) bench.inner->waiting.push_back(Bench::frame(psn));
  bench.pass(at_us(1));
  BOOST_CHECK(bench.arrived.psns == (Psns{2, 3}));
  BOOST_CHECK(bench.arrived.trusted == (std::vector<bool>{true, false}));
  BOOST_TEST(bench.notes.annotated.size() == 3u);  // the link below records rx frames with these
  BOOST_TEST(bench.notes.recorded.empty());
  BOOST_CHECK(*bench.link->next_deadline() == at_us(6));
  bench.pass(at_us(6));
  BOOST_CHECK(bench.arrived.psns == (Psns{2, 3, 0}));
}

BOOST_AUTO_TEST_CASE(a_frame_that_is_due_keeps_a_thread_from_going_to_sleep) {
  Bench bench({"duplicate dir=rx"});
  bench.inner->waiting.push_back(Bench::frame(0));
  Arrived one;
  BOOST_TEST(bench.link->receive(at_us(1), one, 1) == 1u);
  BOOST_TEST(bench.link->holds_back());
  BOOST_TEST(bench.link->receive(at_us(1), one, 1) == 1u);
  BOOST_TEST(!bench.link->holds_back());
}

BOOST_AUTO_TEST_CASE(too_many_delayed_frames_are_lost_on_top_and_recorded) {
  Bench bench({"delay by=1s"});
  constexpr std::uint32_t kFrames = fabric::kPoolFramesDefault + 3;
  for (std::uint32_t psn = 0; psn < kFrames; ++psn) BOOST_TEST_REQUIRE(bench.send(psn));
  BOOST_TEST(bench.notes.recorded.size() == 3u);
  bench.pass(at_us(1'000'000));
  BOOST_TEST(bench.inner->sent.size() == fabric::kPoolFramesDefault);
}

BOOST_AUTO_TEST_CASE(frame_that_no_link_has_carried_meets_the_receive_rules) {
  Bench bench({"drop dir=rx psn=1"});
  for (const std::uint32_t psn : {0u, 1u, 2u}) BOOST_TEST(bench.link->take_in(test_time, Bench::frame(psn)));
  Arrived arrived;
  bench.link->receive(test_time, arrived, 8);
  BOOST_TEST((arrived.psns == std::vector<std::uint32_t>{0, 2}));
  Bench other({"drop dir=tx psn=0"});
  BOOST_TEST(!other.link->take_in(test_time, Bench::frame(0)));  // nothing keeps it: the caller hands it up
}
