// ConnectionService: what it tells of processes that have ended, beside what they have sent, and who has their slot
// since.
#include "emulator/host/engine/connection_service.h"

#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/host/link/in_process_link.h"
#include "tests/cm/manager_pair.h"

using namespace verbena;
using namespace verbena::host;
using cm::ConnectionManager;
using cm::EventType;
using Arrived = ConnectionService::Arrived;

namespace {

const wire::Gid kNode = wire::Gid::from_ipv4(0x7f2f5b01);
constexpr std::uint8_t kOwnSlot = 1;
constexpr std::uint8_t kPeerSlot = 3;
constexpr std::uint16_t kConsumerDefined = static_cast<std::uint16_t>(cm::RejectReason::consumer_defined);

ServiceDirectory directory_of(std::uint8_t slot) {
  return ServiceDirectory("management-test-" + std::to_string(getpid()), slot, kNode);
}

cm::Config config_of(std::uint8_t slot, std::uint32_t first_id) {
  cm::Config config;
  config.address = kNode;
  config.slot = slot;
  config.first_id = first_id;
  return config;
}

/// A management, and on the far end of its cable the manager of whichever process is asked to answer.
struct Bench {
  explicit Bench(LastWordsCarrier* carrier = nullptr)
      : management(config_of(kOwnSlot, 100), directory_of(kOwnSlot), ConnectionService::Peers::all_here, carrier),
        ends(connect_in_process({.first = kNode,
                                 .second = wire::Gid::from_ipv4(0x7f2f5b02),
                                 .first_mac = {},
                                 .second_mac = {},
                                 .depth_frames = 64})) {
    management.manager().listeners().add(cm::test::kService, cm::test::kListener);
  }

  class ToManager final : public FrameSink {
   public:
    ToManager(ConnectionManager& manager, Time now) : manager_(manager), now_(now) {}
    void frame(std::span<const std::byte> frame, wire::IcrcState) override {
      manager_.receive(now_, *wire::parse_frame(frame));
    }

   private:
    ConnectionManager& manager_;
    Time now_;
  };

  void step(Arrived arrived = Arrived::all_taken) { management.step(now, *ends.first, counters, arrived); }

  /// What is due outside the lock, then within.
  void recheck() {
    if (management.has_questions(now)) management.recheck(lock, now);
    step();
  }

  /// All that both have to say, but for what `peer` says.
  void send_to(ConnectionManager& peer) {
    step();
    ends.first->publish();
    // The cable loops what is for the own address back.
    ToManager sink(peer, now);
    ends.first->receive(now, sink, 64);
  }
  void hear(ConnectionManager& peer) {
    cm::test::Port port;
    peer.outbox().transmit(port, 64);
    for (const auto& frame : port.frames) management.management_datagram(now, *wire::parse_frame(frame));
  }

  static cm::RequestInit request_init(std::uint32_t qpn) {
    cm::RequestInit init;
    init.context = 1;
    init.service_id = cm::test::kService;
    init.path.address = kNode;
    init.path.packet_lifetime = 16;
    init.offer.qpn = wire::Qpn(qpn);
    return init;
  }

  /// A connection that `client` asks for and that is taken, with this context.
  void connect(ConnectionManager& client, std::uint32_t qpn, std::uint64_t context) {
    auto init = request_init(qpn);
    init.path.slot = kOwnSlot;
    client.request(now, init);
    hear(client);
    step();
    recheck();
    const auto request = management.manager().events().poll();
    BOOST_REQUIRE(request.has_value());
    BOOST_CHECK(request->type == EventType::request);
    BOOST_TEST(management.manager().adopt(request->connection, context, wire::Psn(1)));
    BOOST_TEST(management.manager().reply(now, request->connection, {.qpn = wire::Qpn(qpn + 1)}, {}));
    send_to(client);
    const auto reply = client.events().poll();
    BOOST_REQUIRE(reply.has_value());
    BOOST_TEST(client.ready(now, reply->connection, {}));
    hear(client);
    const auto ready = management.manager().events().poll();
    BOOST_REQUIRE(ready.has_value());
    BOOST_CHECK(ready->type == EventType::ready);
  }

  /// A process connects, from QP 0x20 and with the context 500, and ends; the name of the next one in its slot.
  HeldName connect_and_succeed() {
    HeldName presence = directory_of(kPeerSlot).announce();
    ConnectionManager first(config_of(kPeerSlot, 500));
    connect(first, 0x20, 500);
    recheck();
    presence.release();
    return directory_of(kPeerSlot).announce();
  }

  /// The contexts of the connections that are told to have ended.
  std::vector<std::uint64_t> ended() {
    std::vector<std::uint64_t> found;
    while (const auto event = management.manager().events().poll())
      if (event->type == EventType::disconnected) found.push_back(event->context);
    return found;
  }

  Time now{1'000'000'000};
  FairLock lock;
  nic::Counters counters;
  ConnectionService management;
  std::pair<std::unique_ptr<Link>, std::unique_ptr<Link>> ends;
};

const std::vector<std::uint64_t> kNone;

}  // namespace

BOOST_AUTO_TEST_CASE(message_of_an_ended_process_is_heard_before_its_end) {
  Bench bench;
  ConnectionManager peer(config_of(kPeerSlot, 500));
  peer.listeners().add(cm::test::kService, 0);
  auto init = Bench::request_init(0x17);
  init.path.slot = kPeerSlot;
  bench.management.manager().request(bench.now, init);
  bench.send_to(peer);
  const auto request = peer.events().poll();
  BOOST_REQUIRE(request.has_value());
  constexpr std::string_view kWhy = "no entry";
  peer.adopt(request->connection, 1, wire::Psn(1));
  peer.reject(bench.now, request->connection, cm::RejectReason::consumer_defined,
              cm::PrivateData::of(std::as_bytes(std::span(kWhy))));
  bench.recheck();  // and by then it is gone, with its rejection still under way
  BOOST_TEST(bench.management.manager().events().empty());
  bench.now = bench.now + ConnectionService::kDrainDelay;
  bench.step(Arrived::perhaps_more);
  BOOST_TEST(bench.management.manager().events().empty());
  bench.hear(peer);
  bench.step();
  const auto event = bench.management.manager().events().poll();
  BOOST_REQUIRE(event.has_value());
  BOOST_CHECK(event->type == EventType::rejected);
  BOOST_TEST(event->status == kConsumerDefined);
  BOOST_REQUIRE(event->private_data.bytes >= kWhy.size());
  BOOST_TEST(std::ranges::equal(event->private_data.view().first(kWhy.size()), std::as_bytes(std::span(kWhy))));
  BOOST_TEST(bench.management.manager().events().empty());
}

BOOST_AUTO_TEST_CASE(request_to_a_silently_ended_process_is_rejected_soon) {
  Bench bench;
  auto init = Bench::request_init(0x17);
  init.path.slot = kPeerSlot;
  bench.management.manager().request(bench.now, init);
  bench.step();
  bench.recheck();
  BOOST_TEST(bench.management.manager().events().empty());
  BOOST_CHECK(bench.management.due() <= bench.now + ConnectionService::kDrainDelay);
  bench.now = bench.now + ConnectionService::kDrainDelay;
  bench.step();
  const auto event = bench.management.manager().events().poll();
  BOOST_REQUIRE(event.has_value());
  BOOST_CHECK(event->type == EventType::rejected);
  BOOST_TEST(event->status == kConsumerDefined);
}

BOOST_AUTO_TEST_CASE(the_successor_of_a_process_that_ended_keeps_its_connections) {
  Bench bench;
  HeldName presence = bench.connect_and_succeed();
  BOOST_TEST(presence.held());
  ConnectionManager second(config_of(kPeerSlot, 600));
  bench.connect(second, 0x30, 600);
  bench.recheck();
  BOOST_TEST(bench.ended() == kNone);
  bench.now = bench.now + ConnectionService::kDrainDelay;
  bench.step();
  BOOST_TEST(bench.ended() == std::vector<std::uint64_t>{500});
  for (int look = 0; look < 4; ++look) {
    bench.now = bench.now + ConnectionService::kProbeEvery;
    bench.recheck();
  }
  BOOST_TEST(bench.ended() == kNone);
  presence.release();
  bench.now = bench.now + ConnectionService::kProbeEvery;
  bench.recheck();
  bench.now = bench.now + ConnectionService::kDrainDelay;
  bench.step();
  BOOST_TEST(bench.ended() == std::vector<std::uint64_t>{600});
}

BOOST_AUTO_TEST_CASE(qpn_of_an_ended_process_may_come_again_at_once) {
  Bench bench;
  HeldName presence = bench.connect_and_succeed();
  ConnectionManager second(config_of(kPeerSlot, 600));
  auto init = Bench::request_init(0x20);
  init.path.slot = kOwnSlot;
  second.request(bench.now, init);
  bench.hear(second);
  bench.step();
  bench.recheck();
  auto event = bench.management.manager().events().poll();
  BOOST_REQUIRE(event.has_value());
  BOOST_CHECK(event->type == EventType::disconnected);
  BOOST_TEST(event->context == 500u);
  BOOST_TEST(bench.management.manager().events().empty());  // not before its program has answered
  BOOST_TEST(bench.management.manager().disconnect(bench.now, event->connection));
  bench.step();
  event = bench.management.manager().events().poll();
  BOOST_REQUIRE(event.has_value());
  BOOST_CHECK(event->type == EventType::request);
  BOOST_CHECK(bench.management.manager().events().empty());
}

namespace {
/// Keeps what it is given.
struct Lost final : LastWordsCarrier {
  void heard(std::uint32_t) override {}
  void carry(std::uint8_t slot, std::span<const std::byte> frame) override {
    slots.push_back(slot);
    frames.emplace_back(frame.begin(), frame.end());
  }
  void report(const KeyReport& report) override { reports.push_back(report); }
  std::vector<std::uint8_t> slots;
  std::vector<std::vector<std::byte>> frames;
  std::vector<KeyReport> reports;
};
}  // namespace

BOOST_AUTO_TEST_CASE(delayed_last_word_ends_nothing_and_makes_a_request_stale) {
  Lost network;
  Bench bench(&network);
  HeldName presence = bench.connect_and_succeed();
  bench.now = bench.now + ConnectionService::kProbeEvery;
  bench.recheck();
  bench.now = bench.now + ConnectionService::kDrainDelay;
  bench.step();
  bench.recheck();
  BOOST_TEST(bench.ended() == kNone);
  BOOST_TEST(network.slots == std::vector<std::uint8_t>{kPeerSlot});
  BOOST_REQUIRE(network.frames.size() == 1u);
  const auto word = wire::parse_frame(network.frames[0]);
  BOOST_REQUIRE(word.ok());
  BOOST_CHECK(word->source() == kNode);

  bench.now = bench.now + ConnectionService::kLastWordsPatience;
  ConnectionManager second(config_of(kPeerSlot, 600));
  auto init = Bench::request_init(0x20);
  init.path.slot = kOwnSlot;
  second.request(bench.now, init);
  bench.hear(second);
  bench.step();
  bench.recheck();
  BOOST_TEST(bench.ended() == std::vector<std::uint64_t>{500});
  bench.send_to(second);
  const auto answer = second.events().poll();
  BOOST_REQUIRE(answer.has_value());
  BOOST_CHECK(answer->type == EventType::rejected);
  BOOST_TEST(answer->status == static_cast<std::uint16_t>(cm::RejectReason::stale_connection));
  BOOST_TEST(network.frames.size() == 1u);  // said once
}

BOOST_AUTO_TEST_CASE(of_a_process_that_lives_a_queue_pair_number_in_use_is_stale) {
  Bench bench;
  const auto presence = directory_of(kPeerSlot).announce();
  ConnectionManager peer(config_of(kPeerSlot, 500));
  bench.connect(peer, 0x20, 500);
  auto init = Bench::request_init(0x20);
  init.path.slot = kOwnSlot;
  peer.request(bench.now, init);
  bench.hear(peer);
  bench.step();
  bench.recheck();
  BOOST_TEST(bench.ended() == std::vector<std::uint64_t>{500});
  bench.send_to(peer);
  bool is_refused = false;
  while (const auto event = peer.events().poll())
    is_refused = is_refused || (event->type == EventType::rejected &&
                                event->status == static_cast<std::uint16_t>(cm::RejectReason::stale_connection));
  BOOST_TEST(is_refused);
}

BOOST_AUTO_TEST_CASE(request_for_an_ip_version_goes_to_its_own_listener) {
  constexpr std::uint64_t kOther = cm::test::kService + 1;
  for (const bool listens : {true, false}) {
    Bench bench;
    int error = 0;
    auto claim = directory_of(kPeerSlot).claim({kOther, IpVersion::ipv6, true}, error);
    BOOST_REQUIRE(claim.has_value());
    HeldName listener;
    if (listens) listener = directory_of(kPeerSlot).serve(kOther, IpVersion::ipv6);
    ConnectionManager client(config_of(kPeerSlot + 1, 500));
    auto init = Bench::request_init(0x17);
    init.service_id = kOther;
    init.private_data = cm::PrivateData::of(wire::IpAddressingHeaderLayout::emit({.ip_version = 4}));
    client.request(bench.now, init);
    bench.hear(client);
    bench.now = bench.now + ConnectionService::kPatience;
    bench.recheck();
    BOOST_TEST(bench.counters.get(nic::Counter::tx_packets) == (listens ? 0u : 1u));
  }
}

BOOST_AUTO_TEST_CASE(wrong_keys_are_reported_once_with_their_number) {
  Lost network;
  Bench bench(&network);
  const std::vector<std::byte> frame = [] {
    wire::FramePath path;
    path.encapsulation = &wire::kInfiniBand;
    path.from = {wire::Lid(1), 0};
    path.to = {wire::Lid(2), 0};
    path.source = wire::gid_of(wire::Lid(1));
    path.destination = wire::gid_of(wire::Lid(2));
    std::vector<std::byte> made(cm::frame_bytes_of(path));
    cm::write_frame(path, {wire::Psn(0)}, {}, made, wire::IcrcState::present);
    return made;
  }();
  const auto packet = wire::parse_on(wire::Medium::infiniband, frame);
  BOOST_REQUIRE(packet.ok());
  for (int i = 0; i < 3; ++i) bench.management.key_refused(*packet, true);
  BOOST_TEST((bench.management.due() == Time{}));
  bench.management.key_refused(*packet, false);
  bench.recheck();
  BOOST_REQUIRE(network.reports.size() == 2u);
  BOOST_TEST((network.reports[0].trap == wire::kTrapBadPkey && network.reports[0].packets == 1u));
  BOOST_TEST((network.reports[1].trap == wire::kTrapBadQkey && network.reports[1].packets == 3u));
  BOOST_TEST((network.reports[1].details.source == wire::Lid(1) && network.reports[1].details.key == wire::kGsiQkey));
  bench.recheck();
  BOOST_TEST(network.reports.size() == 2u);
}
