// How long the communication manager waits for an answer, and what makes it wait longer: MRA; and LAP, which changes
// nothing.
#include <boost/test/unit_test.hpp>

#include "tests/cm/manager_pair.h"

using namespace verbena;
using namespace verbena::cm;
using namespace verbena::cm::test;

namespace {

constexpr std::uint8_t kLifetime = 16;  // of Pair's path
constexpr Duration kRoundTrip = exponential_time(kLifetime) * 2;
constexpr Duration kRepeat = exponential_time(Connection::kResponseTimeout) + kRoundTrip;
constexpr Duration kAfterReceipt = exponential_time(Exchange::kReceiptTimeout) + kRoundTrip;
constexpr Duration kAllRepeats = kRepeat * (Connection::kRetriesMax + 1);

/// Whoever is asked thinks about it: the request is taken on and not answered.
ConnectionId take_on(Pair& pair) {
  const auto asked = pair.passive.events().poll();
  BOOST_REQUIRE(asked.has_value());
  BOOST_CHECK(asked->type == EventType::request);
  BOOST_REQUIRE(pair.passive.adopt(asked->connection, 2, wire::Psn(1)));
  return asked->connection;
}

void expect_next(ConnectionManager& manager, Pair& pair, Time deadline) {
  BOOST_TEST(manager.next_deadline().ns == deadline.ns);
  pair.now = deadline;
  manager.on_deadline(pair.now);
}

std::size_t sent(ConnectionManager& manager) {
  Port port;
  return manager.outbox().transmit(port, 100);
}

wire::test::Bytes only_frame(ConnectionManager& manager) {
  Port port;
  BOOST_REQUIRE(manager.outbox().transmit(port, 100) == 1u);
  return port.frames.front();
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_receipt_for_the_request_extends_the_wait_once) {
  Pair pair;
  pair.active.request(pair.now, pair.request_init());
  pair.carry(pair.active, pair.passive);
  const ConnectionId asked = take_on(pair);
  BOOST_TEST(pair.passive.outbox().empty());
  expect_next(pair.active, pair, pair.now + kRepeat);
  pair.carry(pair.active, pair.passive);  // the request again: only then is it told that it has come
  BOOST_TEST(pair.passive.events().empty());
  pair.carry(pair.passive, pair.active);
  const Time extended = pair.now + kAfterReceipt;
  BOOST_TEST(pair.active.next_deadline().ns == extended.ns);
  pair.active.on_deadline(extended - nanoseconds(1));
  BOOST_TEST(pair.active.outbox().empty());
  expect_next(pair.active, pair, extended);
  BOOST_TEST(sent(pair.active) == 1u);
  BOOST_TEST(pair.active.next_deadline().ns == (pair.now + kRepeat).ns);
  // An answer that comes later than any repetition would have waited for is still the answer.
  BOOST_TEST(pair.passive.reply(pair.now, asked, {.qpn = wire::Qpn(0x18)}, {}));
  pair.run(pair.now + seconds(1));
  BOOST_TEST(Pair::count(pair.active_events, EventType::reply) == 1u);
  BOOST_TEST(Pair::count(pair.passive_events, EventType::ready) == 1u);
}

BOOST_AUTO_TEST_CASE(a_receipt_for_the_reply_extends_the_wait_of_the_other_side) {
  Pair pair;
  const ConnectionId id = pair.active.request(pair.now, pair.request_init());
  pair.carry(pair.active, pair.passive);
  const ConnectionId asked = take_on(pair);
  BOOST_REQUIRE(pair.passive.reply(pair.now, asked, {.qpn = wire::Qpn(0x18)}, {}));
  pair.carry(pair.passive, pair.active);  // and the active side does not say that it is ready
  expect_next(pair.passive, pair, pair.now + kRepeat);
  pair.carry(pair.passive, pair.active);
  pair.carry(pair.active, pair.passive);
  BOOST_TEST(pair.passive.next_deadline().ns == (pair.now + kAfterReceipt).ns);
  BOOST_TEST(pair.active.ready(pair.now, id, {}));
  pair.carry(pair.active, pair.passive);
  BOOST_TEST(pair.passive.next_deadline().ns == kNever.ns);
}

BOOST_AUTO_TEST_CASE(request_is_unreachable_after_its_last_repetitions_wait) {
  Pair pair;
  pair.active.request(pair.now, pair.request_init());
  std::size_t requests = 0;
  for (Time end = pair.now + kAllRepeats; pair.active.next_deadline() < end;) {
    requests += sent(pair.active);
    expect_next(pair.active, pair, pair.now + kRepeat);
    BOOST_TEST(pair.active.events().empty());
  }
  requests += sent(pair.active);
  BOOST_TEST(requests == 1u + Connection::kRetriesMax);
  expect_next(pair.active, pair, Time{} + kAllRepeats);
  const auto end = pair.active.events().poll();
  BOOST_REQUIRE(end.has_value());
  BOOST_CHECK(end->type == EventType::unreachable);
  BOOST_TEST(pair.active.events().empty());
}

BOOST_AUTO_TEST_CASE(a_reply_that_nobody_confirms_is_unreachable_after_as_long) {
  Pair pair;
  pair.active.request(pair.now, pair.request_init());
  pair.carry(pair.active, pair.passive);
  BOOST_REQUIRE(pair.passive.reply(pair.now, take_on(pair), {.qpn = wire::Qpn(0x18)}, {}));
  std::size_t replies = sent(pair.passive);
  for (unsigned repetition = 0; repetition < Connection::kRetriesMax; ++repetition) {
    expect_next(pair.passive, pair, pair.now + kRepeat);
    replies += sent(pair.passive);
  }
  BOOST_TEST(replies == 1u + Connection::kRetriesMax);
  BOOST_TEST(pair.passive.events().empty());
  expect_next(pair.passive, pair, Time{} + kAllRepeats);
  const auto end = pair.passive.events().poll();
  BOOST_REQUIRE(end.has_value());
  BOOST_CHECK(end->type == EventType::unreachable);
  BOOST_TEST(sent(pair.passive) == 1u);  // the REJ that takes it back
}

BOOST_AUTO_TEST_CASE(alternate_path_is_refused_and_the_connection_stays) {
  Pair pair;
  const ConnectionId id = pair.active.request(pair.now, pair.request_init());
  pair.run(pair.now + seconds(1));
  // LAP begins as DREQ does: MAD header, local and remote communication ID.
  constexpr std::size_t kAttributeAt = 14 + 20 + 8 + 12 + 8 + 16;
  pair.active.disconnect(pair.now, id);
  wire::test::Bytes frame = only_frame(pair.active);
  frame[kAttributeAt] = std::byte{0};
  frame[kAttributeAt + 1] = std::byte{0x19};
  const auto load = wire::parse_frame(frame);
  BOOST_REQUIRE(load.ok());
  for (int times = 0; times < 2; ++times) {
    pair.passive.receive(pair.now, *load);
    const wire::test::Bytes answer_frame = only_frame(pair.passive);
    const auto answer = wire::parse_frame(answer_frame);
    BOOST_REQUIRE(answer.ok());
    const auto asked = wire::MadHeaderLayout::parse(load->payload().first<wire::MadHeaderLayout::bytes>());
    const auto header = wire::MadHeaderLayout::parse(answer->payload().first<wire::MadHeaderLayout::bytes>());
    BOOST_CHECK(header.attribute == wire::CmAttribute::alternate_path_response);
    BOOST_TEST(header.transaction_id == asked.transaction_id);
    const auto response = wire::CmPathResponseLayout::parse(
        answer->payload().subspan<wire::MadHeaderLayout::bytes, wire::CmPathResponseLayout::bytes>());
    BOOST_TEST(response.local_id == pair.accepted);
    BOOST_TEST(response.remote_id == id);
    BOOST_TEST(response.status == 2u);  // alternate paths are not supported
    BOOST_TEST(pair.passive.events().empty());
    BOOST_TEST(pair.passive.agreement(pair.accepted) != nullptr);
    pair.active.receive(pair.now, *answer);  // never asked for, it changes nothing
    BOOST_TEST(pair.active.outbox().empty());
    BOOST_TEST(pair.active.events().empty());
  }
  pair.passive.destroy(pair.now, pair.accepted);
  static_cast<void>(sent(pair.passive));
  pair.run(pair.now + seconds(400));
  pair.passive.receive(pair.now, *load);
  BOOST_TEST(pair.passive.outbox().empty());  // of a connection that is gone
}
