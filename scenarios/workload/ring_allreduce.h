// RingAllreduce: the members of a ring sum a vector: reduce-scatter, then all-gather, each step a message to the next.
//
// Solely the algorithm with its true data dependence: a member sends a chunk only after it has received and added what
// that chunk depends on. Every element of every member's result is verified. `count` is the number of rounds.
// (Patarasuk and Yuan 2009.)
// Tested by: tests/scenarios/virtual/verbs_test.cc
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "scenarios/workload/connection.h"
#include "scenarios/workload/ledger.h"
#include "scenarios/workload/traffic.h"

namespace verbena::scenarios {

class RingAllreduce final : public Traffic {
 public:
  struct Member {
    HostAgent& agent;
    const NicSettings& settings;
  };
  struct Plan {
    std::uint64_t first_index = 0;  // of its connections in the run
    std::uint64_t seed = 0;
    bool payload = true;
  };
  RingAllreduce(sim::World& world, Ledger& ledger, const Plan& plan, const std::vector<Member>& members);

  void start(Time now) override;
  void host_crashed(sim::HostId host) override;
  void host_restarted(sim::HostId host, Time now) override;
  bool finished() const override;
  bool settled() const override;
  std::optional<nic::QpState> state(bool target_side) const override;
  void tell(std::vector<PairOutcome>& into) const override;
  void check_end(Time) override {}

  static std::uint64_t memory_octets(const Workload& workload);

 private:
  struct Rank final : EndOwner {
    Rank(RingAllreduce& owner, std::uint32_t index) : ring(owner), number(index) {}
    void sent(const nic::Completion& completion, Time now) override { ring.sent(*this, completion, now); }
    void received(const nic::Completion& completion, Time now) override { ring.received(*this, completion, now); }
    void woken(Time now) override { ring.advance(*this, now); }

    RingAllreduce& ring;
    std::uint32_t number;
    std::uint64_t round = 0;
    std::uint32_t steps_sent = 0;      // of this round
    std::uint32_t steps_received = 0;  // and added or copied
    std::uint64_t arrived = 0;         // receives completed, of all rounds
    std::uint64_t posted = 0;
    std::uint64_t completed = 0;
    std::uint64_t receives_posted = 0;
    bool in_round = false;
    bool done = false;
    std::uint64_t succeeded = 0;
    std::optional<PairOutcome::Failure> first_failure;
    std::deque<Time> since;  // of outstanding messages
  };
  std::uint32_t size() const { return static_cast<std::uint32_t>(ranks_.size()); }
  std::uint32_t steps() const { return 2 * (size() - 1); }
  Connection& to_next(const Rank& rank) { return *connections_[rank.number]; }
  Connection& from_previous(const Rank& rank) { return *connections_[(rank.number + size() - 1) % size()]; }

  void connect(Time now);
  void connect_later(Time now, Duration delay);
  bool begin_round(Rank& rank, Time now);
  void advance(Rank& rank, Time now);
  bool take_step(Rank& rank);
  bool send_step(Rank& rank, Time now);
  void post_receives(Rank& rank);
  void finish_round(Rank& rank, Time now);
  void sent(Rank& rank, const nic::Completion& completion, Time now);
  void received(Rank& rank, const nic::Completion& completion, Time now);
  std::uint32_t chunk_sent(const Rank& rank, std::uint32_t step) const;
  std::span<std::byte> chunk(Rank& rank, std::uint32_t number);
  std::uint32_t first_value(std::uint32_t rank, std::uint64_t round) const;
  std::uint32_t value_step(std::uint64_t round) const;

  sim::World& world_;
  Ledger& ledger_;
  const Workload& workload_;
  Plan plan_;
  std::uint64_t chunk_octets_ = 0;
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::vector<std::unique_ptr<Connection>> connections_;  // [i]: from rank i to the next
  std::uint64_t rounds_allowed_ = 0;
  Time begin_;
  bool started_ = false;
  bool broken_ = false;
  bool connect_pending_ = false;
};

}  // namespace verbena::scenarios
