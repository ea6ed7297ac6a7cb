// SaClient: what the kernel's ib_sa module does for the programs of a managed fabric's nodes: it asks the subnet
// administrator for paths and memberships.
//
// Solely responsible for the programs' side: sessions, requests and answers, as sa_messages.h has them. One request and
// its answer is sa_transactions.h's, a membership sa_groups.h's. The thread is its owner's: who owns it waits for one
// descriptor and until next_deadline(), calls service(), and hands on what the subnet has for programs.
// Tested by: tests/host/fabric_process/sa_client_test.cc
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "emulator/host/os/descriptor.h"
#include "emulator/host/os/reception.h"
#include "emulator/host/subnet_process/sa_groups.h"
#include "emulator/host/subnet_process/sa_transactions.h"

namespace verbena::host {

class SaClient {
 public:
  /// `listener` is a bound SOCK_SEQPACKET that does not block. SaRequest::host is an index in subnet.nodes(), of an
  /// adapter. The subnet outlives the client. The error is one line.
  static Result<std::unique_ptr<SaClient>, std::string> open(subnet::Subnet& subnet, Descriptor listener);
  ~SaClient();
  SaClient(const SaClient&) = delete;
  SaClient& operator=(const SaClient&) = delete;

  /// Readable when service() has something to do.
  int wait_descriptor() const { return epoll_.get(); }
  /// Takes what programs ask. Never blocks.
  void service(Time now);
  std::optional<Time> next_deadline() const { return transactions_.next_deadline(); }
  /// It is so late.
  void advance(Time now) { transactions_.advance(now); }

  /// As subnet::Receiver has it. False: it is for another.
  bool receive(subnet::PortEnd at, const subnet::Datagram& datagram) { return transactions_.receive(at, datagram); }
  /// The port has gone down, has another LID, or its manager asks clients to register again: it is a member of nothing.
  void forget_groups(subnet::PortEnd port) { groups_.lose(port); }

 private:
  struct Session {
    std::uint64_t number = 0;
    Descriptor socket;
    bool is_over = false;
  };
  SaClient(subnet::Subnet& subnet, Descriptor listener);
  void accept_sessions();
  void read_session(Session& session);
  void take(const Session& session, const SaRequest& request);
  void get_path(const Session& session, const SaRequest& request, subnet::PortEnd from);
  void answer(std::uint64_t program, SaAnswer answer);
  void end_sessions();

  subnet::Subnet& subnet_;
  Descriptor listener_;
  Descriptor epoll_;
  Reception reception_;
  std::vector<std::unique_ptr<Session>> sessions_;
  std::uint64_t sessions_so_far_ = 0;
  SaTransactions transactions_;
  SaGroups groups_;
};

}  // namespace verbena::host
