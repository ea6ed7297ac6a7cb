// ShmLink: what a direct cable (shm_cable.h) and a plug in a fabric (shm_uplink.h) have in common: a link over shared
// memory of a process that has an address.
//
// Solely the parts of a link that do not depend on whom the process sends to, each a line or two over ShmPeers
// (shm_peers.h). Who is meant by a frame's destination, and how frames are handed over, is the derived class's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "emulator/host/config/engine_config.h"
#include "emulator/host/link/link.h"
#include "emulator/host/link/shm/shm_peers.h"

namespace verbena::host {

class ShmLink : public Link, public PeerScheduling, public CoreRest {
 public:
  std::uint8_t slot() const { return peers_->own_name().slot; }
  const ShmStatistics& statistics() const { return peers_->statistics(); }
  LinkParts parts() { return {.scheduling = this, .core_rest = this, .fork_guard = &peers_->fork_guard()}; }

  void commit(std::size_t bytes, wire::IcrcState icrc) override { peers_->outgoing().commit(bytes, icrc); }
  void cancel() override {}
  bool holds_back() const override { return false; }
  bool fetch(std::size_t) override { return false; }
  bool fetch_all() override { return true; }
  bool flush() override { return peers_->flush(); }
  void service() override { peers_->control().service(); }
  std::optional<Notice> take_notice() override { return peers_->control().take_notice(); }
  WaitDescriptors wait_descriptors() const override;
  void acknowledge_doorbell() override { peers_->control().acknowledge_doorbell(); }
  bool arm() override;
  void disarm() override { peers_->page().disarm(); }
  /// What stands for an address on an Ethernet that is not there; on InfiniBand the LID.
  std::optional<wire::PathAddress> resolve(const wire::Gid& address) override;

  void stops_polling() override { peers_->page().stops_polling(); }
  void sleeps_on_cpu() override { peers_->page().thread_sleeps(); }
  void note_activity() override { peers_->page().polls(); }
  bool shares_core() override;
  Neighbour neighbour() override;
  void wake_neighbour() override;

  bool begin_rest(RestSet& by) override;
  void finish_rest() override { own_rest().finish(); }
  void end_rest() override { own_rest().end(); }

 protected:
  ShmLink(std::unique_ptr<ShmPeers> peers, const EngineConfig& config)
      : Link(config.icrc),
        peers_(std::move(peers)),
        fabric_(config.fabric),
        is_infiniband_(fabric::wire_of(config.nic).is_infiniband) {}
  ShmPeers& peers() const { return *peers_; }
  const std::string& fabric() const { return fabric_; }

 private:
  GuardedRest own_rest() const { return rest_of({&peers_->page().words(), &peers_->page().wake()}); }

  const std::unique_ptr<ShmPeers> peers_;
  const std::string fabric_;
  const bool is_infiniband_;
  std::size_t next_neighbour_ = 0;  // whose turn it is in wake_neighbour()
};

/// The link, open at the node's address.
OpenedLink opened_shm_link(std::unique_ptr<ShmLink> link, LinkParts parts, const EngineConfig& config);

}  // namespace verbena::host
