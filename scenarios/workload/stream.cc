#include "scenarios/workload/stream.h"

#include <fmt/format.h>

#include <algorithm>

#include "scenarios/outcome/report_words.h"

namespace verbena::scenarios {
namespace {

constexpr Duration kPostAgain = microseconds(10);    // after a post that was refused
constexpr Duration kConnectAgain = milliseconds(1);  // what applications take to find each other again
constexpr std::uint64_t kNsPerSecond = 1'000'000'000;

nic::SendOpcode opcode_of(Verb verb) {
  switch (verb) {
    case Verb::send:
    case Verb::mixed:  // never of a message
      return nic::SendOpcode::send;
    case Verb::write:
      return nic::SendOpcode::rdma_write;
    case Verb::write_immediate:
      return nic::SendOpcode::rdma_write_with_immediate;
    case Verb::read:
      return nic::SendOpcode::rdma_read;
    case Verb::compare_swap:
      return nic::SendOpcode::compare_and_swap;
    case Verb::fetch_add:
      return nic::SendOpcode::fetch_and_add;
  }
  return nic::SendOpcode::send;
}

}  // namespace

ConnectionPlan Stream::connection_plan(const Workload& workload, const MessagePlan& messages, const StreamPlan& plan,
                                       const MessageLayout& layout) {
  return {.transport = workload.transport,
          .dscp = workload.dscp,
          .service_level = workload.service_level,
          .version = workload.version,
          .queue_depth = static_cast<std::uint32_t>(layout.depth),
          .receive_depth = messages.has_receives() ? static_cast<std::uint32_t>(layout.receive_depth) : 0,
          .initiator_octets = layout.initiator_octets,
          .target_octets = layout.target_octets,
          .index = plan.index,
          .seed = plan.seed};
}

std::uint64_t Stream::memory_octets(const Workload& workload, const MessagePlan& messages) {
  const MessageLayout layout(workload, messages);
  return layout.initiator_octets + layout.target_octets;
}

Stream::Stream(sim::World& world, Ledger& ledger, const StreamPlan& plan, Side from, Side to, SharedCounter* counter)
    : world_(world),
      ledger_(ledger),
      workload_(ledger.workload()),
      plan_(plan),
      messages_(workload_, plan.seed),
      layout_(workload_, messages_),
      initiator_(*this),
      target_(*this),
      connection_(world, connection_plan(workload_, messages_, plan, layout_), {from.agent, from.settings, initiator_},
                  {to.agent, to.settings, target_}, plan.payload),
      content_(connection_, ledger, messages_, layout_,
               {.name = plan.name, .seed = plan.seed, .enabled = plan.payload && workload_.check}, counter),
      counter_(counter),
      outstanding_(layout_.depth) {}

// -- Connecting -------------------------------------------------------------------------------------------------------

void Stream::start(Time now) {
  started_ = true;
  begin_ = now;
  connect(now);
}

void Stream::connect_later(Time now, Duration delay) {
  if (connect_pending_) return;
  connect_pending_ = true;
  world_.at(now + delay, [this](Time then) {
    connect_pending_ = false;
    connect(then);
  });
}

void Stream::connect(Time now) {
  if (connect_pending_) return;
  broken_ = true;
  const bool may_connect = connection_.initiator_agent().may_connect() && connection_.target_agent().may_connect();
  if (!may_connect) return;
  if ((counter_ != nullptr && !counter_->make_ready()) || !connection_.set_up(now)) {
    if (ledger_.journal().open()) ledger_.journal().line(now, plan_.name + " could not be set up");
    return connect_later(now, kConnectAgain);
  }
  broken_ = false;
  posted_ = completed_ = resume_from_;
  receives_posted_ = receives_completed_ = 0;
  receives_owed_.assign(messages_.has_receives() ? layout_.receive_depth : 0, now);
  pace_from_ = now;
  pace_first_ = posted_;
  wake_asked_ = Time{-1};
  content_.begin(posted_);
  post_receives(now);
  // Posting is left to the initiator's own turn: the world calls its application when its NIC has something to do.
  connection_.initiator_agent().wake_at(now, connection_.initiator_id());
}

void Stream::host_crashed(sim::HostId host) {
  if (host != connection_.initiator_agent().host()) return;
  broken_ = true;  // what was outstanding never completes
  completed_ = posted_;
  resume_from_ = 0;
  waiting_.clear();
}

void Stream::host_restarted(sim::HostId host, Time now) {
  if (!started_) return;
  if (host == connection_.initiator_agent().host()) {
    if (finished()) {
      --ledger_.outcome().pairs_finished;
      ledger_.outcome().finished.reset();
    }
    resume_from_ = failed_ = 0;
    begin_ = now;
    broken_ = true;
    counted_finished_ = false;
    return connect_later(now, Duration{0});
  }
  if (host != connection_.target_agent().host()) return;
  if (workload_.transport != Transport::rc && !broken_ && !counted_finished_) {
    // No QP of ours fails when the peer is gone: its application tells ours that it has begun anew.
    broken_ = true;
    resume_from_ = posted_;
  }
  reconnect_if_possible(now);
}

void Stream::reconnect_if_possible(Time now) {
  const bool may_connect = connection_.initiator_agent().may_connect() && connection_.target_agent().may_connect();
  if (broken_ && completed_ == posted_ && may_connect && !connection_.both_alive()) connect_later(now, kConnectAgain);
}

// -- Requests ---------------------------------------------------------------------------------------------------------

Time Stream::due(std::uint64_t message) const {
  const std::uint64_t after = message - pace_first_;
  const std::uint64_t rate = workload_.messages_per_second;
  const std::uint64_t ns = after / rate * kNsPerSecond + after % rate * kNsPerSecond / rate;
  return pace_from_ + Duration{static_cast<std::int64_t>(ns)};
}

bool Stream::wants_more(Time now) const {
  if (plan_.feed != nullptr) return !waiting_.empty() || !plan_.feed->is_over;
  if (workload_.count != 0) return posted_ < workload_.count;
  const Time then = workload_.messages_per_second == 0 ? now : std::max(now, due(posted_));
  return then < begin_ + workload_.duration;
}

void Stream::pump(Time now) {
  if (broken_ || !connection_.is_up()) return;
  if (plan_.feed != nullptr) return pump_flows(now);
  while (posted_ - completed_ < layout_.depth && wants_more(now)) {
    Time since = now;
    if (workload_.messages_per_second != 0) {
      since = due(posted_);
      if (since > now) {
        if (wake_asked_ != since) connection_.initiator_agent().wake_at(since, connection_.initiator_id());
        wake_asked_ = since;
        return;
      }
    }
    if (!post(posted_, since, now)) {
      connection_.initiator_agent().wake_at(now + kPostAgain, connection_.initiator_id());
      return;
    }
  }
  note_progress(now);
}

void Stream::pump_flows(Time now) {
  while (posted_ - completed_ < layout_.depth && !waiting_.empty()) {
    const bool is_used = posted_ != pace_first_;
    if (is_used && !workload_.reuses_qps) {
      resume_from_ = posted_;
      return connect(now);
    }
    if (!post(posted_, waiting_.front(), now)) {
      connection_.initiator_agent().wake_at(now + kPostAgain, connection_.initiator_id());
      return;
    }
    waiting_.pop_front();
  }
  note_progress(now);
}

void Stream::offer(Time due, Time now) {
  waiting_.push_back(due);
  pump(now);
}

void Stream::flows_over(Time now) {
  if (!broken_) note_progress(now);
}

bool Stream::post(std::uint64_t number, Time since, Time now) {
  const Message message = messages_.message(number);
  const ContentCheck::Operands operands = content_.posting(number, message, now);
  const nic::SendRequest request{
      .wr_id = number,
      .opcode = opcode_of(message.verb),
      .immediate = static_cast<std::uint32_t>(number),
      .operand = {.remote = {.compare_or_add = operands.compare_or_add, .swap = operands.swap}}};
  const Connection::Place local{layout_.slot(number), message.octets};
  nic::VerbsResult<void> posted;
  if (message.verb == Verb::fetch_add && counter_ != nullptr) {
    nic::SendRequest addition = request;
    addition.operand.remote.address = counter_->address();
    addition.operand.remote.rkey = counter_->rkey();
    posted = connection_.post_to(addition, local, now);
  } else {
    const bool swap = message.verb == Verb::compare_swap;
    posted = connection_.post(request, local, swap ? layout_.word_at : layout_.target_slot(number), now);
  }
  if (!posted) {
    if (ledger_.journal().open())
      ledger_.journal().line(now, fmt::format("{} message {}: the post was refused", plan_.name, number));
    return false;
  }
  outstanding_[number % layout_.depth] = {since, message};
  content_.posted(number, message);
  ledger_.posted();
  posted_ = number + 1;
  return true;
}

void Stream::request_completed(const nic::Completion& completion, Time now) {
  const std::uint64_t number = completed_;
  if (number == posted_ || completion.wr_id != work_request_id(connection_.initiator_id(), number)) {
    ledger_.damaged(now, fmt::format("{}: a completion of work request {} came when {} was next", plan_.name,
                                     completion.wr_id & 0xffffffffu, number));
    return;
  }
  const Outstanding& request = outstanding_[number % layout_.depth];
  const bool success = completion.status == nic::CompletionStatus::success;
  const nic::CompletionStatus status = ledger_.shown(completion.status, now);
  if (status != completion.status) ++failed_;
  if (status == nic::CompletionStatus::success)
    ++succeeded_;
  else if (!first_failure_)
    first_failure_ = {static_cast<std::uint8_t>(status), ledger_.since_begin(completion.time)};
  content_.completed(number, request.message, success, now);
  ++completed_;
  if (!success && !broken_) {
    broken_ = true;
    resume_from_ = number;
  }
  if (!success && plan_.feed != nullptr)
    waiting_.insert(waiting_.begin() + static_cast<std::ptrdiff_t>(number - resume_from_), request.since);
  if (ledger_.journal().open())
    ledger_.journal().line(now, fmt::format("{} {} {} {} {} after {}", plan_.name, name_of(request.message.verb),
                                            number, octets_text(request.message.octets), name_of(status),
                                            time_text(completion.time - request.since)));
  const Duration latency = completion.time - request.since;
  ledger_.completed({.time = completion.time,
                     .status = status,
                     .octets = request.message.octets,
                     .latency = latency,
                     .alone = plan_.message_time ? plan_.message_time->alone(request.message.octets) : Duration{}});
  if (broken_)
    reconnect_if_possible(now);
  else
    pump(now);
}

// -- Receives ---------------------------------------------------------------------------------------------------------

void Stream::post_receives(Time now) {
  HostAgent& agent = connection_.target_agent();
  while (!receives_owed_.empty()) {
    const Time earliest = std::max(receives_owed_.front(), agent.receives_held_until());
    if (earliest > now) return agent.wake_at(earliest, connection_.target_id());
    if (!connection_.post_receive(receives_posted_, {layout_.receive_slot(receives_posted_),
                                                     static_cast<std::uint32_t>(layout_.receive_octets)})) {
      if (agent.verbs().was_refused()) agent.wake_at(now + kPostAgain, connection_.target_id());
      return;
    }
    ++receives_posted_;
    receives_owed_.pop_front();
  }
}

void Stream::receive_completed(const nic::Completion& completion, Time now) {
  content_.received(receives_completed_, completion, now);
  ++receives_completed_;
  ledger_.completed({.time = completion.time, .status = completion.status, .is_receive = true});
  if (completion.status != nic::CompletionStatus::success) return;
  receives_owed_.push_back(now + workload_.receive_delay);
  if (receives_owed_.size() == 1) post_receives(now);
}

// -- The end ----------------------------------------------------------------------------------------------------------

bool Stream::finished() const {
  return counted_finished_ && failed_ == 0;
}

bool Stream::settled() const {
  if (counted_finished_) return true;
  return started_ && broken_ && completed_ == posted_ && !connect_pending_;
}

void Stream::note_progress(Time now) {
  if (counted_finished_ || completed_ != posted_ || wants_more(now)) return;
  counted_finished_ = true;
  WorkloadOutcome& outcome = ledger_.outcome();
  if (failed_ == 0) ++outcome.pairs_finished;
  if (outcome.pairs_finished == outcome.pairs) outcome.finished = ledger_.since_begin(now);
}

void Stream::tell(std::vector<PairOutcome>& into) const {
  PairOutcome& pair = into.emplace_back(connection_.pair());
  pair.succeeded = succeeded_;
  pair.finished = finished();
  pair.failure = first_failure_;
}

void Stream::check_end(Time now) {
  content_.check_end(now);
}

}  // namespace verbena::scenarios
