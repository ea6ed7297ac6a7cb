// Management: a process's share in QP1 of its node.
//
// Solely responsible for which of the datagrams that reach the node's QP1 this process takes, and for running the
// communication manager (emulator/cm) under the engine's lock. Every process of a node may get every such datagram (the
// links do not know better): it takes those for its own connections, by the slot in the communication ID, and those for
// services that it or nobody listens for. It does not know what the connections are for (verbs-shim/rdma_cm).
#pragma once

#include <array>
#include <deque>
#include <optional>
#include <vector>

#include "emulator/cm/connection_manager.h"
#include "emulator/host/link.h"
#include "emulator/host/service_directory.h"
#include "emulator/host/spin_lock.h"
#include "emulator/nic/nic.h"

namespace verbena::host {

class Management final : public nic::ManagementSink {
 public:
  static constexpr std::size_t kStrangersMax = 64;
  static constexpr std::size_t kBudget = 64;  // datagrams a step
  static constexpr Duration kBackPressureRetry = microseconds(50);

  Management(const cm::Config& config, ServiceDirectory directory)
      : cm_(config), directory_(std::move(directory)), presence_(directory_.announce()) {}

  const ServiceDirectory& directory() const { return directory_; }

  // Under the engine's lock.
  cm::ConnectionManager& manager() { return cm_; }
  void management_datagram(Time now, const wire::PacketView& packet) override;
  /// When step() wants to be called.
  Time due() const { return due_; }
  /// Something was asked of the manager.
  void touch() { due_ = Time{}; }
  /// Runs timers and sends what is due. Returns how many datagrams left.
  std::size_t step(Time now, Link& link);
  bool has_strangers(Time now) const { return !strangers_.empty() && strangers_.front().refuse_at <= now; }

  // Programs listen, take one connection, and listen anew for the next one, which the peer may ask for a little sooner
  // (perftest does): a request waits so long for somebody to listen before it is refused.
  static constexpr Duration kPatience = milliseconds(50);

  /// Requests for services that nobody here listened for until now: outside the lock, since other processes have to be
  /// looked for; then back under it.
  template <class Lock>
  bool settle_strangers(Lock& lock, Time now) {
    std::vector<Stranger> strangers;
    lock.lock();
    while (has_strangers(now)) {
      strangers.push_back(strangers_.front());
      strangers_.pop_front();
    }
    lock.unlock();
    std::erase_if(strangers, [&](const Stranger& it) {
      const auto listener = directory_.find_listener(cm_.config().address, it.service_id);
      return listener && *listener != cm_.config().slot;
    });
    if (strangers.empty()) return false;
    lock.lock();
    for (const Stranger& stranger : strangers) refuse(now, stranger);
    lock.unlock();
    return true;
  }

  /// In the child after fork(): the names are the parent's.
  void abandon() { presence_.release(); }

 private:
  struct Stranger {
    std::uint64_t service_id = 0;
    Time refuse_at;
    std::size_t bytes = 0;
    std::array<std::byte, 512> frame;
  };
  void refuse(Time now, const Stranger& stranger);

  cm::ConnectionManager cm_;
  ServiceDirectory directory_;
  HeldName presence_;
  Time due_ = kNever;
  std::deque<Stranger> strangers_;
};

}  // namespace verbena::host
