// Stream: messages of one verb (or mixed) from one host to another over one connection.
//
// Solely responsible for posting them as the workload wants (closed or open loop, by number or for a time), for
// receives at the target, and for connecting anew when a host has restarted. What is in messages and whether it has
// arrived is ContentCheck's.
// Tested by: tests/scenarios/virtual/verbs_test.cc
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "scenarios/workload/connection.h"
#include "scenarios/workload/content_check.h"
#include "scenarios/workload/ledger.h"
#include "scenarios/workload/message_plan.h"
#include "scenarios/workload/message_time.h"
#include "scenarios/workload/shared_counter.h"
#include "scenarios/workload/traffic.h"

namespace verbena::scenarios {

/// What a source of flows (flow_source.h) tells the streams that send them.
struct FlowFeed {
  bool is_over = false;  // no more come
};

struct StreamPlan {
  std::uint64_t index = 0;  // of the connection in the run
  std::uint64_t seed = 0;   // of its sizes, verbs and octets
  bool payload = true;
  std::string name;  // "n1->n2 qp 0", for reports
  /// Not null: messages are flows, which come by Stream::offer(); outlives the stream.
  const FlowFeed* feed = nullptr;
  std::optional<MessageTime> message_time{};  // of flows
};

class Stream final : public Traffic {
 public:
  struct Side {
    HostAgent& agent;
    const NicSettings& settings;
  };
  /// `counter`: of the target; null unless the workload adds.
  Stream(sim::World& world, Ledger& ledger, const StreamPlan& plan, Side from, Side to, SharedCounter* counter);

  void start(Time now) override;
  void host_crashed(sim::HostId host) override;
  void host_restarted(sim::HostId host, Time now) override;
  bool finished() const override;
  bool settled() const override;
  std::optional<nic::QpState> state(bool target_side) const override { return connection_.state(target_side); }
  void tell(std::vector<PairOutcome>& into) const override;
  void check_end(Time now) override;

  // -- Flows, called in the initiator's turn
  /// A flow that arrived at `due`.
  void offer(Time due, Time now);
  /// The feed is over.
  void flows_over(Time now);
  /// Flows that have come and are not done.
  std::uint64_t flows() const { return waiting_.size() + (posted_ - completed_); }

  /// Of all messages in memory: what the plan takes.
  static std::uint64_t memory_octets(const Workload& workload, const MessagePlan& messages);

 private:
  struct Initiator final : EndOwner {
    explicit Initiator(Stream& owner) : stream(owner) {}
    void sent(const nic::Completion& completion, Time now) override { stream.request_completed(completion, now); }
    void received(const nic::Completion&, Time) override {}
    void woken(Time now) override { stream.pump(now); }
    Stream& stream;
  };
  struct Target final : EndOwner {
    explicit Target(Stream& owner) : stream(owner) {}
    void sent(const nic::Completion&, Time) override {}
    void received(const nic::Completion& completion, Time now) override { stream.receive_completed(completion, now); }
    void woken(Time now) override { stream.post_receives(now); }
    Stream& stream;
  };
  struct Outstanding {
    Time since;
    Message message;
  };
  static ConnectionPlan connection_plan(const Workload& workload, const MessagePlan& messages, const StreamPlan& plan,
                                        const MessageLayout& layout);

  void connect(Time now);
  void connect_later(Time now, Duration delay);
  void reconnect_if_possible(Time now);
  bool wants_more(Time now) const;
  Time due(std::uint64_t message) const;
  void pump(Time now);
  void pump_flows(Time now);
  bool post(std::uint64_t number, Time since, Time now);
  void request_completed(const nic::Completion& completion, Time now);
  void receive_completed(const nic::Completion& completion, Time now);
  void post_receives(Time now);
  void note_progress(Time now);

  sim::World& world_;
  Ledger& ledger_;
  const Workload& workload_;
  StreamPlan plan_;
  MessagePlan messages_;
  MessageLayout layout_;
  Initiator initiator_;
  Target target_;
  Connection connection_;
  ContentCheck content_;
  SharedCounter* counter_;

  bool started_ = false;
  bool broken_ = false;           // the QP has failed, or a host is down
  bool connect_pending_ = false;  // will be tried at a time that is set
  bool counted_finished_ = false;
  Time begin_;      // of the posting, in this life of the initiator
  Time pace_from_;  // open loop: when message pace_first_ was due
  std::uint64_t pace_first_ = 0;
  Time wake_asked_{-1};
  std::uint64_t posted_ = 0;     // also the next message's number
  std::uint64_t completed_ = 0;  // the oldest outstanding message's number
  std::uint64_t succeeded_ = 0;
  std::optional<PairOutcome::Failure> first_failure_;
  std::uint64_t failed_ = 0;              // completed with a status that a fault wrote
  std::uint64_t resume_from_ = 0;         // the first message that the failing QP did not do
  std::vector<Outstanding> outstanding_;  // by number modulo depth
  std::uint64_t receives_posted_ = 0;
  std::uint64_t receives_completed_ = 0;
  std::deque<Time> receives_owed_;  // when each may be posted
  std::deque<Time> waiting_;        // flows: when each arrived that is not posted
};

}  // namespace verbena::scenarios
