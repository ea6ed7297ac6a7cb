// ShmUplink: the link of a process on a fabric that a fabric process serves: one channel, to that one, for all frames,
// those to itself included.
//
// Solely responsible for what is special about it: its frames leave the process as the fabric process takes them, its
// port has a signal or not, it may yield its core (directed_yield.h), and what comes has been in the hands of the
// fabric process.
// Tested by: tests/host/fabric_process/uplink_test.cc
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "emulator/host/config/engine_config.h"
#include "emulator/host/link/shm/directed_yield.h"
#include "emulator/host/link/shm/shm_link.h"

namespace verbena::host {

class ShmUplink final : public ShmLink, public Relay, public LastWordsCarrier {
 public:
  /// The error is one line for the user; no fabric process is one.
  static Result<std::unique_ptr<ShmUplink>, std::string> open(const EngineConfig& config);

  UplinkYield& directed_yield() { return directed_yield_; }

  std::span<std::byte> reserve(const nic::Destination& destination, std::size_t bytes) override;
  void publish() override;
  std::size_t receive(Time now, FrameSink& sink, std::size_t budget) override;
  /// The fabric process looks into its rings before it sleeps, and does nothing but look: no timer is needed.
  std::optional<Time> next_deadline() const override { return std::nullopt; }
  bool arm() override;
  /// Gives the core away for a moment to a fabric process that is late.
  bool fetch_all() override;
  Time delivered_by(Time now) override;
  std::uint64_t published() override;
  bool has_sent(std::uint64_t published) override;
  bool has_signal() override;
  void carry(std::uint8_t slot, std::span<const std::byte> frame) override {
    peers().control().tell_fabric(last_word(slot, frame));
  }
  void report(const KeyReport& report) override { peers().control().tell_fabric(report_word(report)); }
  void heard(std::uint32_t sequence) override { peers().control().tell_fabric(heard_word(sequence)); }
  /// For the fabric process there are directed yields.
  Neighbour neighbour() override { return Neighbour::nobody; }
  void wake_neighbour() override {}
  bool blocks_peer_cpu() override { return peers().watch().blocks_peer_cpu(); }
  bool wants_one_answer_for_all() const override { return has_waiting_frames(peers()); }

  // Frames wait here for the port: as with a NIC's own buffer, short against the transport's timeouts.
  static constexpr std::size_t kDepthBytes = 256 * 1024;

 private:
  ShmUplink(std::unique_ptr<ShmPeers> peers, const EngineConfig& config)
      : ShmLink(std::move(peers), config), held_place_(held_place(node_of(config.address))) {}
  /// Null: it has none, or has gone.
  ProcessPage* fabric_page() const;
  const std::shared_ptr<ShmChannel>& port() const { return peers().routes().front().tx; }

  /// The fabric process says `by` (relayed_by): to whom it is to hand something on, it is a dead network.
  bool is_dead_relay(Time by, Time now);

  const std::size_t held_place_;
  UplinkYield directed_yield_{peers()};
  std::atomic<bool> is_late_{false};          // the fabric process, at the last delivered_by()
  StandStill relay_;                          // what the fabric process says, while it is late
  const ShmChannel* published_in_ = nullptr;  // by whose position published() was counted
};

/// The error is one line for the user.
Result<OpenedLink, std::string> open_fabric_link(const EngineConfig& config);

}  // namespace verbena::host
