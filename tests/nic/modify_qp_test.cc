// modify_qp against the table of Linux for a RoCE port (qp_state_table in verbs.c and modify_qp_mask in uverbs_cmd.c,
// which are IBTA 11.2.5.2 and the verbs man page with what those leave open): for every transition of every transport,
// every mask that lacks a required bit or has one too many fails and changes nothing.
#include <boost/test/unit_test.hpp>

#include "tests/support/endpoint.h"

using namespace verbena;
using namespace verbena::test;

namespace {

constexpr std::array kTypes{QpType::rc,         QpType::uc,       QpType::ud,
                            QpType::raw_packet, QpType::xrc_send, QpType::xrc_receive};
struct Row {
  QpState from, to;
  std::array<std::uint32_t, kTypes.size()> required, optional;
};

constexpr std::uint32_t kPath = kQpAv | kQpPathMtu | kQpDestQpn | kQpRqPsn;
constexpr std::uint32_t kResponder = kPath | kQpMaxDestReadAtomic | kQpMinRnrTimer;
constexpr std::uint32_t kRequester = kQpSqPsn | kQpTimeout | kQpRetryCount | kQpRnrRetry | kQpMaxReadAtomic;
constexpr std::uint32_t kInitial = kQpPkeyIndex | kQpPort | kQpAccessFlags;
constexpr std::uint32_t kInitialUd = kQpPkeyIndex | kQpPort | kQpQkey;
constexpr std::uint32_t kRtr = kQpAccessFlags | kQpPkeyIndex;
constexpr std::uint32_t kLive = kQpCurrentState | kQpAccessFlags | kQpPathMigrationState;
constexpr std::uint32_t kLiveRc = kLive | kQpMinRnrTimer;
constexpr std::uint32_t kLiveUd = kQpCurrentState | kQpQkey;
constexpr std::uint32_t kDrained = kQpAccessFlags | kQpPkeyIndex | kQpPathMigrationState;
constexpr std::uint32_t kDrainedPath = kDrained | kQpAv | kQpPort | kQpTimeout;
constexpr std::uint32_t kNotify = kQpEnableSqdAsync;
constexpr std::array<std::uint32_t, kTypes.size()> kNothing{};
using enum QpState;
// RC, UC, UD, raw packet, XRC send, XRC receive
const Row kTable[] = {
    {reset, init, {kInitial, kInitial, kInitialUd, kQpPort, kInitial, kInitial}, kNothing},
    {init, init, kNothing, {kInitial, kInitial, kInitialUd, kQpPort, kInitial, kInitial}},
    {init, rtr, {kResponder, kPath, 0, 0, kPath, kResponder}, {kRtr, kRtr, kQpPkeyIndex | kQpQkey, 0, kRtr, kRtr}},
    {rtr,
     rts,
     {kRequester, kQpSqPsn, kQpSqPsn, 0, kRequester, kQpSqPsn | kQpTimeout},
     {kLiveRc, kLive, kLiveUd, 0, kLive, kLiveRc}},
    {rts, rts, kNothing, {kLiveRc, kLive, kLiveUd, 0, kLive, kLiveRc}},
    {rts, sqd, kNothing, {kNotify, kNotify, kNotify, 0, kNotify, kNotify}},
    {sqd, rts, kNothing, {kLiveRc, kLive, kLiveUd, 0, kLive, kLiveRc}},
    {sqd,
     sqd,
     kNothing,
     {kDrainedPath | kQpRetryCount | kQpRnrRetry | kQpMaxReadAtomic | kQpMaxDestReadAtomic | kQpMinRnrTimer, kDrained,
      kQpPkeyIndex | kQpQkey, 0, kDrainedPath | kQpRetryCount | kQpRnrRetry | kQpMaxReadAtomic,
      kDrainedPath | kQpMaxDestReadAtomic | kQpMinRnrTimer}},
    {reset, reset, kNothing, kNothing},
    {init, reset, kNothing, kNothing},
    {rtr, reset, kNothing, kNothing},
    {rts, reset, kNothing, kNothing},
    {sqd, reset, kNothing, kNothing},
    {error, reset, kNothing, kNothing},
    {init, error, kNothing, kNothing},
    {rtr, error, kNothing, kNothing},
    {rts, error, kNothing, kNothing},
    {sqd, error, kNothing, kNothing},
    {error, error, kNothing, kNothing},
};
constexpr std::array kStates{reset, init, rtr, rts, sqd, error};
/// Bits that are dropped before anybody looks at them.
std::uint32_t ignored_of(QpType type) {
  if (type == QpType::xrc_send) return kQpMaxDestReadAtomic | kQpMinRnrTimer;
  if (type == QpType::xrc_receive) return kQpMaxReadAtomic | kQpRetryCount | kQpRnrRetry;
  return 0;
}
constexpr std::uint32_t kHighestBit = 20;  // kQpDestQpn; the rate limit stands apart

const Row* row_of(QpState from, QpState to) {
  for (const Row& row : kTable)
    if (row.from == from && row.to == to) return &row;
  return nullptr;
}

void bring_to(Endpoint& end, QpState state) {
  end.to_state(reset);
  if (state == reset) return;
  end.to_init();
  if (state == error) end.to_state(error);
  if (state == init || state == error) return;
  end.to_rtr(2, wire::Qpn(0x20077));
  if (state == rtr) return;
  end.to_rts();
  if (state == sqd) end.to_state(sqd);
}

/// Every value is a good one; only masks are at stake.
QpAttributes all_attributes(const Endpoint& end, QpState to) {
  QpAttributes attributes = end.rtr_attributes(2, wire::Qpn(0x20077));
  const QpAttributes rts_values = end.rts_attributes();
  attributes.sq_psn = rts_values.sq_psn;
  attributes.timeout = rts_values.timeout;
  attributes.retry_count = rts_values.retry_count;
  attributes.rnr_retry = rts_values.rnr_retry;
  attributes.max_read_atomic = rts_values.max_read_atomic;
  attributes.access = end.options().access;
  attributes.qkey = end.options().qkey;
  attributes.current_state = end.state();
  attributes.state = to;
  return attributes;
}

}  // namespace

BOOST_AUTO_TEST_CASE(transition_takes_only_what_it_requires_and_allows) {
  for (std::size_t type = 0; type < kTypes.size(); ++type) {
    World world;
    Endpoint end(world, 1, {.type = kTypes[type]});
    const std::uint32_t ignored = ignored_of(kTypes[type]);
    for (const QpState from : kStates) {
      for (const QpState to : kStates) {
        const Row* row = row_of(from, to);
        const std::uint32_t required = row != nullptr ? row->required[type] : 0;
        const std::uint32_t optional = row != nullptr ? row->optional[type] : 0;
        const auto attempt = [&](std::uint32_t mask, bool expected) {
          bring_to(end, from);
          const bool ok = end.modify(all_attributes(end, to), mask | kQpState).ok();
          BOOST_TEST(ok == expected, "type " << type << " from " << static_cast<int>(from) << " to "
                                             << static_cast<int>(to) << " mask 0x" << std::hex << mask);
          BOOST_CHECK(end.state() == (ok ? to : from));
        };
        attempt(required, row != nullptr);
        attempt(required | optional, row != nullptr);
        attempt(required | optional | ignored, row != nullptr);
        for (std::uint32_t bit = 1; bit <= kHighestBit; ++bit) {
          const std::uint32_t flag = 1u << bit;
          if ((required & flag) != 0)
            attempt(required & ~flag, false);
          else
            attempt(required | flag, row != nullptr && ((optional | ignored) & flag) != 0);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(queue_pair_comes_back_from_sqe_as_its_transport_allows) {
  struct Transport {
    QpType type;
    std::uint32_t optional;
  };
  for (const auto& [type, optional] : {Transport{QpType::uc, kQpCurrentState | kQpAccessFlags},
                                       Transport{QpType::ud, kLiveUd}, Transport{QpType::raw_packet, 0}}) {
    World world;
    Endpoint end(world, 1, {.type = type});
    const AhHandle ah = Endpoint::take(end.nic().create_ah(end.pd, Endpoint::path_to(2)));
    const auto to_sqe = [&] {
      bring_to(end, rts);
      const Sge nowhere{0x1000, 64, 0xdead00};
      end.post({.opcode = SendOpcode::send, .sges = {&nowhere, 1}, .address_handle = ah, .remote_qpn = end.qpn()});
      world.run_to_rest();
      BOOST_REQUIRE(end.state() == sqe);
    };
    for (std::uint32_t bit = 1; bit <= kHighestBit; ++bit) {
      const std::uint32_t flag = 1u << bit;
      to_sqe();
      BOOST_TEST(end.modify(all_attributes(end, rts), kQpState | flag).ok() == ((optional & flag) != 0));
    }
    to_sqe();
    BOOST_TEST(!end.modify(all_attributes(end, sqd), kQpState).ok());
    BOOST_TEST(end.modify(all_attributes(end, rts), kQpState | optional).ok());
    to_sqe();
    end.to_state(error);
  }
}

BOOST_AUTO_TEST_CASE(any_access_flags_will_do) {
  World world;
  Endpoint end(world, 1);
  QpAttributes attributes = end.init_attributes();
  attributes.access = UINT32_MAX;
  BOOST_TEST(end.modify(attributes, end.init_mask()).ok());
}

BOOST_AUTO_TEST_CASE(a_value_out_of_range_fails_and_changes_nothing) {
  World world;
  Endpoint end(world, 1);
  const auto refused = [&](QpState from, std::uint32_t mask, auto&& spoil) {
    bring_to(end, from);
    const QpState to = from == init ? rtr : rts;
    QpAttributes attributes = all_attributes(end, to);
    spoil(attributes);
    const QpAttributes before = Endpoint::take(end.nic().query_qp(end.qp));
    BOOST_TEST(!end.modify(attributes, mask).ok());
    const QpAttributes after = Endpoint::take(end.nic().query_qp(end.qp));
    BOOST_CHECK(after.state == from);
    BOOST_TEST(after.path_mtu_bytes == before.path_mtu_bytes);
    BOOST_CHECK(after.dest_qpn == before.dest_qpn);
    BOOST_TEST(after.timeout == before.timeout);
  };
  for (const std::uint32_t mtu : {0u, 128u, 300u, 8192u})
    refused(init, end.rtr_mask(), [&](QpAttributes& attributes) { attributes.path_mtu_bytes = mtu; });
  refused(init, end.rtr_mask(), [](QpAttributes& attributes) { attributes.min_rnr_timer = 32; });
  refused(init, end.rtr_mask(), [](QpAttributes& attributes) { attributes.max_dest_read_atomic = 200; });
  refused(init, end.rtr_mask(), [](QpAttributes& attributes) { attributes.address_vector.source_gid_index = 9; });
  refused(init, end.rtr_mask(), [](QpAttributes& attributes) { attributes.address_vector.port = 2; });
  refused(rtr, end.rts_mask(), [](QpAttributes& attributes) { attributes.timeout = 32; });
  refused(rtr, end.rts_mask(), [](QpAttributes& attributes) { attributes.retry_count = 8; });
  refused(rtr, end.rts_mask(), [](QpAttributes& attributes) { attributes.rnr_retry = 8; });
  refused(rtr, end.rts_mask(), [](QpAttributes& attributes) { attributes.max_read_atomic = 200; });
}

BOOST_AUTO_TEST_CASE(the_current_state_must_be_the_one_that_is_named) {
  World world;
  Endpoint end(world, 1);
  bring_to(end, rts);
  QpAttributes attributes = all_attributes(end, rts);
  attributes.current_state = sqd;
  BOOST_TEST(!end.modify(attributes, kQpState | kQpCurrentState).ok());
  attributes.current_state = rts;
  BOOST_TEST(end.modify(attributes, kQpState | kQpCurrentState).ok());
}

BOOST_AUTO_TEST_CASE(without_a_state_in_the_mask_the_state_stays) {
  World world;
  Endpoint end(world, 1);
  bring_to(end, rts);
  QpAttributes attributes;
  attributes.min_rnr_timer = 9;
  BOOST_TEST(end.modify(attributes, kQpMinRnrTimer).ok());
  BOOST_CHECK(end.state() == rts);
  BOOST_TEST(Endpoint::take(end.nic().query_qp(end.qp)).min_rnr_timer == 9);
}

BOOST_AUTO_TEST_CASE(work_is_accepted_only_where_the_state_allows_it) {
  World world;
  Endpoint end(world, 1);
  for (const QpState state : kStates) {
    bring_to(end, state);
    const bool may_send = state != reset && state != init && state != rtr;
    BOOST_TEST(end.try_post({.opcode = SendOpcode::send}).ok() == may_send, static_cast<int>(state));
    BOOST_TEST(end.try_receive(1, {}).ok() == (state != reset), static_cast<int>(state));
  }
}

BOOST_AUTO_TEST_CASE(reset_forgets_what_was_posted_and_what_had_completed) {
  World world;
  Endpoint end(world, 1);
  bring_to(end, rts);
  end.receive(1, {});
  end.post({.opcode = SendOpcode::send});
  end.to_state(error);
  BOOST_TEST(end.nic().query_cq(end.send_cq)->depth == 1u);
  end.to_state(reset);
  BOOST_TEST(end.poll_sent().empty());
  BOOST_TEST(end.poll_received().empty());
}

BOOST_AUTO_TEST_CASE(a_draining_queue_finishes_what_was_begun_and_keeps_the_rest) {
  Pair pair({.mtu = 256, .max_read_atomic = 1});
  const Sge sge = pair.a_buffer.sge(0, 1000);
  for (std::uint64_t i = 0; i < 3; ++i)
    pair.a.post({.wr_id = i,
                 .opcode = SendOpcode::rdma_read,
                 .sges = {&sge, 1},
                 .operand = {.remote = {.address = pair.b_buffer.address(), .rkey = pair.b_buffer.rkey()}}});
  pair.world.run_while_not([&] { return !pair.world.trace().empty(); });
  QpAttributes attributes;
  attributes.state = sqd;
  attributes.enable_sqd_async_notify = true;
  BOOST_TEST(pair.a.modify(attributes, kQpState | kQpEnableSqdAsync).ok());
  BOOST_TEST(Endpoint::take(pair.a.nic().query_qp(pair.a.qp)).sq_draining);
  pair.world.run_to_rest();
  check_statuses(pair.a.poll_sent(), {CompletionStatus::success});
  const auto events = pair.a.poll_events();
  BOOST_TEST_REQUIRE(events.size() == 1u);
  BOOST_CHECK(events[0] == AsyncEventType::sq_drained);
  BOOST_TEST(!Endpoint::take(pair.a.nic().query_qp(pair.a.qp)).sq_draining);
  pair.a.post({.wr_id = 3, .opcode = SendOpcode::rdma_write});
  pair.world.run_to_rest();
  BOOST_TEST(pair.a.poll_sent().empty());
  pair.a.to_state(rts);
  pair.world.run_to_rest();
  const auto sent = pair.a.poll_sent();
  BOOST_TEST_REQUIRE(sent.size() == 3u);
  for (std::uint64_t i = 0; i < 3; ++i) BOOST_TEST(sent[i].wr_id == i + 1);
}

BOOST_AUTO_TEST_CASE(draining_an_idle_queue_is_done_at_once) {
  Pair pair;
  QpAttributes attributes;
  attributes.state = sqd;
  attributes.enable_sqd_async_notify = true;
  BOOST_TEST(pair.a.modify(attributes, kQpState | kQpEnableSqdAsync).ok());
  BOOST_TEST(pair.a.poll_events().size() == 1u);
  pair.a.to_state(rts);
  pair.a.to_state(sqd);  // no notification asked for
  BOOST_TEST(pair.a.poll_events().empty());
}
