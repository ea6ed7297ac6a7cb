#include "scenarios/workload/ring_allreduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "emulator/fabric/chance.h"

namespace verbena::scenarios {
namespace {

constexpr Duration kRingConnectAgain = milliseconds(1);
constexpr Duration kRingPostAgain = microseconds(10);

std::uint64_t chunk_octets_of(const Workload& workload) {
  std::uint64_t octets = 0;
  for (const SizeChoice& choice : workload.sizes) octets = std::max<std::uint64_t>(octets, choice.most);
  const std::uint64_t members = std::max<std::uint64_t>(workload.from.size(), 1);
  return std::max<std::uint64_t>((octets + members - 1) / members + 3, 4) / 4 * 4;
}

}  // namespace

std::uint64_t RingAllreduce::memory_octets(const Workload& workload) {
  const std::uint64_t members = workload.from.size();
  return members * 3 * members * chunk_octets_of(workload);
}

RingAllreduce::RingAllreduce(sim::World& world, Ledger& ledger, const Plan& plan, const std::vector<Member>& members)
    : world_(world),
      ledger_(ledger),
      workload_(ledger.workload()),
      plan_(plan),
      chunk_octets_(chunk_octets_of(workload_)) {
  for (std::uint32_t i = 0; i < members.size(); ++i) ranks_.push_back(std::make_unique<Rank>(*this, i));
  for (std::uint32_t i = 0; i < members.size(); ++i) {
    const std::uint32_t next = (i + 1) % size();
    const ConnectionPlan connection{.transport = Transport::rc,
                                    .dscp = workload_.dscp,
                                    .service_level = workload_.service_level,
                                    .version = workload_.version,
                                    .queue_depth = steps(),
                                    .receive_depth = steps(),
                                    .initiator_octets = size() * chunk_octets_,
                                    .target_octets = steps() * chunk_octets_,
                                    .index = plan.first_index + i,
                                    .seed = plan.seed};
    connections_.push_back(std::make_unique<Connection>(
        world, connection, Connection::Side{members[i].agent, members[i].settings, *ranks_[i]},
        Connection::Side{members[next].agent, members[next].settings, *ranks_[next]}, plan.payload));
  }
}

// -- Connecting -------------------------------------------------------------------------------------------------------

void RingAllreduce::start(Time now) {
  started_ = true;
  begin_ = now;
  connect(now);
}

void RingAllreduce::connect_later(Time now, Duration delay) {
  if (connect_pending_) return;
  connect_pending_ = true;
  world_.at(now + delay, [this](Time then) {
    connect_pending_ = false;
    connect(then);
  });
}

void RingAllreduce::connect(Time now) {
  broken_ = true;
  for (const auto& connection : connections_)
    if (!connection->initiator_agent().may_connect()) return;
  for (const auto& connection : connections_)
    if (!connection->set_up(now)) return connect_later(now, kRingConnectAgain);
  broken_ = false;
  rounds_allowed_ = 0;
  ledger_.outcome().pairs_finished = 0;
  ledger_.outcome().finished.reset();
  for (const auto& rank : ranks_) {
    rank->round = rank->arrived = rank->posted = rank->completed = rank->receives_posted = 0;
    rank->steps_sent = rank->steps_received = 0;
    rank->in_round = rank->done = false;
    rank->since.clear();
    post_receives(*rank);
    HostAgent& agent = to_next(*rank).initiator_agent();
    agent.wake_at(now, to_next(*rank).initiator_id());
  }
}

void RingAllreduce::host_crashed(sim::HostId host) {
  for (const auto& connection : connections_)
    if (connection->initiator_agent().host() == host) broken_ = true;
}

void RingAllreduce::host_restarted(sim::HostId host, Time now) {
  if (!started_) return;
  for (const auto& connection : connections_)
    if (connection->initiator_agent().host() == host) return connect_later(now, kRingConnectAgain);
}

// -- The algorithm ----------------------------------------------------------------------------------------------------

/// Values are first + index * step modulo 2^32, so that the sum over all members is known at every index.
std::uint32_t RingAllreduce::first_value(std::uint32_t rank, std::uint64_t round) const {
  return static_cast<std::uint32_t>(fabric::mix_all({plan_.seed, rank, round}));
}
std::uint32_t RingAllreduce::value_step(std::uint64_t round) const {
  return static_cast<std::uint32_t>(fabric::mix_all({plan_.seed, round}));
}

std::span<std::byte> RingAllreduce::chunk(Rank& rank, std::uint32_t number) {
  return to_next(rank).initiator_memory().subspan(number * chunk_octets_, chunk_octets_);
}

/// Reduce-scatter passes on what was just added to; all-gather begins with the chunk that is then complete.
std::uint32_t RingAllreduce::chunk_sent(const Rank& rank, std::uint32_t step) const {
  const std::uint32_t n = size();
  return step < n - 1 ? (rank.number + n - step) % n : (rank.number + 1 + n - (step - (n - 1))) % n;
}

bool RingAllreduce::begin_round(Rank& rank, Time now) {
  if (rank.round >= rounds_allowed_) {  // the first to come decides for all
    const bool more = workload_.count != 0 ? rank.round < workload_.count : now < begin_ + workload_.duration;
    if (!more) return false;
    rounds_allowed_ = rank.round + 1;
  }
  rank.in_round = true;
  rank.steps_sent = rank.steps_received = 0;
  if (!plan_.payload) return true;
  std::uint32_t value = first_value(rank.number, rank.round);
  const std::uint32_t step = value_step(rank.round);
  const auto vector = to_next(rank).initiator_memory();
  for (std::size_t at = 0; at + 4 <= vector.size(); at += 4, value += step) std::memcpy(vector.data() + at, &value, 4);
  return true;
}

/// Takes the next step's chunk, if it has arrived.
bool RingAllreduce::take_step(Rank& rank) {
  if (rank.steps_received == steps() || rank.arrived <= rank.round * steps() + rank.steps_received) return false;
  const std::uint32_t step = rank.steps_received++;
  if (!plan_.payload) return true;
  const std::uint32_t previous = (rank.number + size() - 1) % size();
  const auto mine = chunk(rank, chunk_sent(*ranks_[previous], step));
  const auto landed = from_previous(rank).target_memory().subspan(step * chunk_octets_, chunk_octets_);
  if (step >= size() - 1) {
    std::memcpy(mine.data(), landed.data(), landed.size());
    return true;
  }
  for (std::size_t at = 0; at < mine.size(); at += 4) {
    std::uint32_t a = 0, b = 0;
    std::memcpy(&a, mine.data() + at, 4);
    std::memcpy(&b, landed.data() + at, 4);
    a += b;
    std::memcpy(mine.data() + at, &a, 4);
  }
  return true;
}

bool RingAllreduce::send_step(Rank& rank, Time now) {
  if (rank.steps_sent == steps() || rank.steps_sent > rank.steps_received) return false;
  const std::uint32_t step = rank.steps_sent;
  const bool send = workload_.verb == Verb::send;
  const nic::SendRequest request{
      .wr_id = rank.posted,
      .opcode = send ? nic::SendOpcode::send_with_immediate : nic::SendOpcode::rdma_write_with_immediate,
      .immediate = step};
  const Connection::Place local{chunk_sent(rank, step) * chunk_octets_, static_cast<std::uint32_t>(chunk_octets_)};
  if (!to_next(rank).post(request, local, step * chunk_octets_, now)) {
    to_next(rank).initiator_agent().wake_at(now + kRingPostAgain, to_next(rank).initiator_id());
    return false;
  }
  ++rank.steps_sent;
  ++rank.posted;
  rank.since.push_back(now);
  ledger_.posted();
  return true;
}

void RingAllreduce::post_receives(Rank& rank) {
  const std::uint64_t taken = rank.round * steps() + rank.steps_received;
  while (rank.receives_posted < taken + steps()) {
    const Connection::Place place{rank.receives_posted % steps() * chunk_octets_,
                                  static_cast<std::uint32_t>(chunk_octets_)};
    if (!from_previous(rank).post_receive(rank.receives_posted, place)) return;
    ++rank.receives_posted;
  }
}

void RingAllreduce::advance(Rank& rank, Time now) {
  if (broken_ || rank.done) return;
  bool moved = true;
  while (moved) {
    moved = false;
    if (!rank.in_round) {
      if (!begin_round(rank, now)) {
        rank.done = true;
        WorkloadOutcome& outcome = ledger_.outcome();
        if (++outcome.pairs_finished == outcome.pairs) outcome.finished = ledger_.since_begin(now);
        return;
      }
      moved = true;
    }
    while (take_step(rank)) moved = true;
    while (send_step(rank, now)) moved = true;
    post_receives(rank);
    // What is still on its way may have to be sent again from where the next round begins.
    if (rank.steps_received == steps() && rank.steps_sent == steps() && rank.completed == rank.posted) {
      finish_round(rank, now);
      moved = true;
    }
  }
}

void RingAllreduce::finish_round(Rank& rank, Time now) {
  rank.in_round = false;
  const std::uint64_t round = rank.round++;
  rank.steps_sent = rank.steps_received = 0;
  if (!plan_.payload || !workload_.check) return;
  std::uint32_t expected = 0;
  for (std::uint32_t i = 0; i < size(); ++i) expected += first_value(i, round);
  const std::uint32_t step = value_step(round) * size();
  const auto vector = to_next(rank).initiator_memory();
  for (std::size_t at = 0; at + 4 <= vector.size(); at += 4, expected += step) {
    std::uint32_t value = 0;
    std::memcpy(&value, vector.data() + at, 4);
    if (value == expected) continue;
    return ledger_.damaged(now, fmt::format("{} rank {} round {}: element {} is {} instead of {}", workload_.name,
                                            rank.number, round, at / 4, value, expected));
  }
  ledger_.verified(vector.size());
}

void RingAllreduce::sent(Rank& rank, const nic::Completion& completion, Time now) {
  if (rank.since.empty()) return;  // of an earlier connection
  const Time since = rank.since.front();
  rank.since.pop_front();
  ++rank.completed;
  const nic::CompletionStatus status = ledger_.shown(completion.status, now);
  if (status == nic::CompletionStatus::success)
    ++rank.succeeded;
  else if (!rank.first_failure)
    rank.first_failure = {static_cast<std::uint8_t>(status), ledger_.since_begin(completion.time)};
  ledger_.completed({.time = completion.time,
                     .status = status,
                     .octets = static_cast<std::uint32_t>(chunk_octets_),
                     .latency = completion.time - since});
  if (completion.status != nic::CompletionStatus::success) broken_ = true;
  advance(rank, now);
}

void RingAllreduce::received(Rank& rank, const nic::Completion& completion, Time now) {
  ledger_.completed({.time = completion.time, .status = completion.status, .is_receive = true});
  if (completion.status != nic::CompletionStatus::success) return;
  const auto step = static_cast<std::uint32_t>(rank.arrived % steps());
  if (completion.immediate != step)
    ledger_.damaged(now, fmt::format("{} rank {}: step {} arrived instead of {}", workload_.name, rank.number,
                                     completion.immediate, step));
  ++rank.arrived;
  advance(rank, now);
}

// -- The end ----------------------------------------------------------------------------------------------------------

bool RingAllreduce::finished() const {
  return std::all_of(ranks_.begin(), ranks_.end(), [](const auto& rank) { return rank->done; });
}

bool RingAllreduce::settled() const {
  if (finished()) return true;
  if (!started_ || !broken_ || connect_pending_) return false;
  for (std::size_t i = 0; i < ranks_.size(); ++i)
    if (connections_[i]->initiator_agent().is_running() && ranks_[i]->completed != ranks_[i]->posted) return false;
  return true;
}

void RingAllreduce::tell(std::vector<PairOutcome>& into) const {
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    PairOutcome& pair = into.emplace_back(connections_[i]->pair());
    pair.succeeded = ranks_[i]->succeeded;
    pair.finished = ranks_[i]->done;
    pair.failure = ranks_[i]->first_failure;
  }
}

/// The state that differs, if one does.
std::optional<nic::QpState> RingAllreduce::state(bool target_side) const {
  std::optional<nic::QpState> common = nic::QpState::rts;
  for (const auto& connection : connections_)
    if (const auto state = connection->state(target_side); state != common) return state;
  return common;
}

}  // namespace verbena::scenarios
