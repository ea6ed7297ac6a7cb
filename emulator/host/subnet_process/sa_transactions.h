// SaTransactions: requests to the subnet administrator that wait for their answers.
//
// Solely responsible for one request and its answer: the MAD, the way to the manager that the port knows, retries, and
// whose an answer is. What the records mean is the caller's. The errors are those of the kernel's ib_sa. No thread, no
// clock: time is an argument.
// Tested by: tests/host/fabric_process/sa_client_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "emulator/host/node/sa_messages.h"
#include "emulator/subnet/subnet.h"

namespace verbena::host {

class SaTransactions {
 public:
  static constexpr std::uint32_t kTries = 10;  // a request's time is divided among them, as ib_sa does it
  static constexpr std::size_t kWaitingMax = 65536;

  struct Request {
    std::uint8_t method = 0;
    std::uint16_t attribute = 0;
    std::uint64_t component_mask = 0;
    std::span<const std::byte> record;
    Duration timeout;  // in all
  };
  /// 0 and the record; or -ETIMEDOUT, -EINVAL (the answer has another status than success) and nothing.
  using Done = std::function<void(std::int32_t status, std::span<const std::byte> record)>;

  explicit SaTransactions(subnet::Subnet& subnet) : subnet_(subnet) {}

  /// `done` is called later, from receive() or advance(). Returns 0, -EAGAIN: the port is down, -ENOMEM: too many wait.
  std::int32_t ask(subnet::PortEnd from, const Request& request, Done done);
  /// False: it is no answer to what was asked here.
  bool receive(subnet::PortEnd at, const subnet::Datagram& datagram);
  std::optional<Time> next_deadline() const;
  /// It is so late. Sends again what has no answer, and gives up.
  void advance(Time now);

 private:
  struct Waiting {
    std::uint64_t transaction = 0;
    subnet::PortEnd from;
    std::vector<std::byte> mad;
    Duration interval;
    Time deadline;
    std::uint32_t tries_left = 0;
    Done done;
  };
  void send(const Waiting& one);

  subnet::Subnet& subnet_;
  std::vector<Waiting> waiting_;
  std::uint32_t transactions_ = 0;
  Time now_{};
};

}  // namespace verbena::host
