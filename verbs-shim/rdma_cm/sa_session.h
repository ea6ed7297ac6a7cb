// SaSession: what a program asks the subnet administrator of a managed fabric, by the fabric process
// (emulator/host/node/sa_messages.h).
//
// Solely responsible for the socket and the thread that waits for answers: there is none before the first request. It
// knows no ID and no record. Requests are made under the lock of the device rdma_cm; answers come from the thread.
// Tested by: tests/programs/managed_cm.py
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "emulator/host/node/sa_messages.h"

namespace verbena::shim::rdma_cm {

class SaSession {
 public:
  /// An answer, or that the fabric has ended: then everything that was asked or joined there is over.
  struct News {
    std::string fabric;
    bool is_over = false;
    host::SaAnswer answer;
  };
  using Hear = std::function<void(const News&)>;

  SaSession(std::string fabric, Hear hear) : fabric_(std::move(fabric)), hear_(std::move(hear)) {}
  /// The groups that were joined are left.
  ~SaSession();
  SaSession(const SaSession&) = delete;
  SaSession& operator=(const SaSession&) = delete;

  const std::string& fabric() const { return fabric_; }
  /// Returns an errno value: ENODEV: the fabric's process is not there; ENOMEM: no socket or thread; EAGAIN: too much
  /// at a time.
  int ask(const host::SaRequest& request);
  /// In the child after fork(): the session is the parent's.
  void abandon();

 private:
  struct Connection;
  int connect();

  const std::string fabric_;
  const Hear hear_;
  std::shared_ptr<Connection> connection_;
};

}  // namespace verbena::shim::rdma_cm
