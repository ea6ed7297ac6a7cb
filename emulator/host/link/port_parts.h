// PortParts: what the links of a NIC's several ports can do beside frames, as the parts of one link (LinkParts).
//
// Solely responsible for making one answer of several: what one port's peers are told, those of the others are told as
// well. A part that one of the links lacks is lacking, but for groups, which each link may have for itself. Who rests
// over a poll is woken by whichever link has frames (CoreRest), and leaves its core to nobody in particular
// (DirectedYield). fork() is of the whole link (ports_link.h).
// Tested by: tests/host/link/ports_link_test.cc
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "emulator/host/link/link.h"

namespace verbena::host {

class PortParts final : private PeerScheduling,
                        private PeerAnswers,
                        private CoreRest,
                        private Relay,
                        private GroupMembership {
 public:
  explicit PortParts(std::vector<LinkParts> ports) : ports_(std::move(ports)) {}

  /// Of the link as a whole; they live as long as this.
  LinkParts parts() {
    LinkParts made;
    if (all_have(&LinkParts::scheduling)) made.scheduling = this;
    if (all_have(&LinkParts::answers)) made.answers = this;
    if (all_have(&LinkParts::relay)) made.relay = this;
    if (all_have(&LinkParts::core_rest)) made.core_rest = this;
    made.groups = this;
    made.last_words = ports_.front().last_words;  // the first port's; the others have their own (OpenedPort)
    return made;
  }

 private:
  template <class Part>
  bool all_have(Part* LinkParts::* part) const {
    return std::ranges::all_of(ports_, [&](const LinkParts& port) { return port.*part != nullptr; });
  }
  template <class Part, class Call>
  void tell(Part* LinkParts::* part, Call&& call) const {
    for (const LinkParts& port : ports_)
      if (port.*part != nullptr) call(*(port.*part));
  }
  template <class Part, class Question>
  bool any(Part* LinkParts::* part, Question&& question) const {
    return std::ranges::any_of(ports_, [&](const LinkParts& port) { return question(*(port.*part)); });
  }

  // -- PeerScheduling --
  void stops_polling() override {
    tell(&LinkParts::scheduling, [](PeerScheduling& port) { port.stops_polling(); });
  }
  void sleeps_on_cpu() override {
    tell(&LinkParts::scheduling, [](PeerScheduling& port) { port.sleeps_on_cpu(); });
  }
  void note_activity() override {
    tell(&LinkParts::scheduling, [](PeerScheduling& port) { port.note_activity(); });
  }
  bool blocks_peer_cpu() override {
    return any(&LinkParts::scheduling, [](PeerScheduling& port) { return port.blocks_peer_cpu(); });
  }
  bool shares_core() override {
    return any(&LinkParts::scheduling, [](PeerScheduling& port) { return port.shares_core(); });
  }
  /// Whoever wants something the most.
  Neighbour neighbour() override {
    Neighbour found = Neighbour::nobody;
    tell(&LinkParts::scheduling, [&](PeerScheduling& port) { found = std::max(found, port.neighbour()); });
    return found;
  }
  void wake_neighbour() override {
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      PeerScheduling& port = *ports_[next_neighbour_++ % ports_.size()].scheduling;
      if (port.neighbour() == Neighbour::nobody) continue;
      port.wake_neighbour();
      return;
    }
  }
  bool wants_one_answer_for_all() const override {
    return any(&LinkParts::scheduling, [](const PeerScheduling& port) { return port.wants_one_answer_for_all(); });
  }

  // -- PeerAnswers --
  void tell_answered(Time by) override {
    tell(&LinkParts::answers, [&](PeerAnswers& port) { port.tell_answered(by); });
  }
  void tell_rest(bool owes) override {
    tell(&LinkParts::answers, [&](PeerAnswers& port) { port.tell_rest(owes); });
  }
  void look() override {
    tell(&LinkParts::answers, [](PeerAnswers& port) { port.look(); });
  }
  bool has_answered(const nic::Destination& peer, Time since, Time now) override {
    const std::size_t port = peer.headers != nullptr ? peer.headers->port() : 1;
    return ports_[std::min(port, ports_.size()) - 1].answers->has_answered(peer, since, now);
  }

  // -- CoreRest --
  bool begin_rest(RestSet& by) override {
    for (std::size_t begun = 0; begun < ports_.size(); ++begun) {
      if (ports_[begun].core_rest->begin_rest(by)) continue;
      while (begun-- > 0) ports_[begun].core_rest->finish_rest();
      return false;
    }
    return true;
  }
  void finish_rest() override {
    tell(&LinkParts::core_rest, [](CoreRest& port) { port.finish_rest(); });
  }
  void end_rest() override { ports_.front().core_rest->end_rest(); }  // who rests waits for all

  // -- Relay --
  Time delivered_by(Time now) override {
    Time by = now;
    tell(&LinkParts::relay, [&](Relay& port) { by = std::min(by, port.delivered_by(now)); });
    return by;
  }

  // -- GroupMembership: a NIC leaves out what arrives by a port where it has no member.
  void join(const wire::Gid& group) override {
    tell(&LinkParts::groups, [&](GroupMembership& port) { port.join(group); });
  }
  void leave(const wire::Gid& group) override {
    tell(&LinkParts::groups, [&](GroupMembership& port) { port.leave(group); });
  }

  const std::vector<LinkParts> ports_;
  std::size_t next_neighbour_ = 0;  // whose turn it is in wake_neighbour()
};

}  // namespace verbena::host
