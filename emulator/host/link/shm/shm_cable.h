// ShmCable: the link between processes of one machine without a fabric in between: a channel of its own to every peer
// that is sent to, and to itself.
//
// Solely responsible for whom a frame is for, and for handing it over. Frames to groups are flooded (group_flood.h).
// Tested by: tests/host/link/shm/shm_link_test.cc
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "emulator/host/config/engine_config.h"
#include "emulator/host/link/shm/group_flood.h"
#include "emulator/host/link/shm/shm_link.h"

namespace verbena::host {

class ShmCable final : public ShmLink, public PeerAnswers {
 public:
  /// The error is one line for the user.
  static Result<std::unique_ptr<ShmCable>, std::string> open(const EngineConfig& config);

  std::span<std::byte> reserve(const nic::Destination& destination, std::size_t bytes) override;
  void commit(std::size_t bytes, wire::IcrcState icrc) override;
  void cancel() override { floods_ = false; }
  void publish() override;
  std::size_t receive(Time now, FrameSink& sink, std::size_t budget) override;
  std::optional<Time> next_deadline() const override;
  /// Peers are rung directly when they do not move: nobody stands between, for whom to leave the core.
  bool blocks_peer_cpu() override { return false; }
  /// Nobody stands between, whose turns an acknowledgement would cost.
  bool wants_one_answer_for_all() const override { return false; }

  void tell_answered(Time by) override { peers().page().has_looked(by); }
  void tell_rest(bool owes) override { peers().page().rests(owes ? Time{} : kNever); }
  void look() override;
  bool has_answered(const nic::Destination& peer, Time since, Time now) override;

 private:
  using ShmLink::ShmLink;

  GroupFlood flood_{peers()};
  bool floods_ = false;  // what is reserved goes to every peer
};

Result<OpenedLink, std::string> open_shm_link(const EngineConfig& config);

}  // namespace verbena::host
