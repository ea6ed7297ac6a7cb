// UmadServer: what the kernel's umad module does for programs that stand on the adapters of a subnet.
//
// Solely responsible for the programs' side: sessions, registrations, which answer is whose, timeouts and retries. The
// subnet is its owner's, as is the thread: who owns it waits for one descriptor and until next_deadline(), calls
// service(), and hands on what the subnet has for programs. What passes on the sockets is said in umad_layout.h.
// Tested by: tests/programs/subnet.py
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "emulator/host/os/descriptor.h"
#include "emulator/host/os/reception.h"
#include "emulator/host/subnet_process/umad_layout.h"
#include "emulator/subnet/subnet.h"

namespace verbena::host {

class UmadServer {
 public:
  static constexpr std::size_t kAgentsMax = 32;  // of one descriptor, as the kernel has it

  /// `listener` is a bound SOCK_SEQPACKET that does not block. UmadHello::host is an index in subnet.nodes(). The
  /// subnet outlives the server. The error is one line.
  static Result<std::unique_ptr<UmadServer>, std::string> open(subnet::Subnet& subnet, Descriptor listener);
  ~UmadServer();
  UmadServer(const UmadServer&) = delete;
  UmadServer& operator=(const UmadServer&) = delete;

  /// Readable when service() has something to do.
  int wait_descriptor() const { return epoll_.get(); }
  /// Takes what programs have sent, and lets go on what is due in the subnet. Never blocks.
  void service(Time now);
  std::optional<Time> next_deadline() const;

  /// As subnet::Receiver has it.
  /// False: no program there has asked for it, or for what it is.
  bool receive(subnet::PortEnd at, const subnet::Datagram& datagram);

 private:
  struct Agent {
    std::uint32_t id = 0;
    std::uint32_t high_transaction = 0;
    std::uint8_t qp = 0;
    std::uint8_t management_class = 0;
    std::uint8_t class_version = 0;
    std::uint32_t oui = 0;
    std::array<std::uint32_t, 4> methods{};

    bool has_method(unsigned method) const { return (methods[method / 32 % 4] >> method % 32 & 1) != 0; }
  };
  struct Session {
    Descriptor socket;
    subnet::PortEnd port;
    bool is_known = false;  // has said which port it is
    bool is_issm = false;
    bool is_over = false;
    bool waits_for_room = false;  // epoll tells when the socket takes more
    std::vector<Agent> agents;
    std::deque<std::vector<std::byte>> unread;
  };
  /// A request without its response.
  struct Waiting {
    Session* session = nullptr;
    std::uint32_t agent = 0;
    std::uint64_t transaction = 0;
    std::uint8_t management_class = 0;
    std::vector<std::byte> header;  // of the program's message
    subnet::Datagram datagram;
    Duration timeout;
    Time deadline;
    std::uint32_t retries = 0;
  };

  UmadServer(subnet::Subnet& subnet, Descriptor listener) : subnet_(subnet), listener_(std::move(listener)) {}
  void accept_sessions();
  bool listens_to(Session& session, int operation, std::uint32_t events);
  void read_session(Session& session);
  void take_message(Session& session, std::vector<std::byte> message, const Descriptor& reply);
  void take_hello(Session& session, const std::vector<std::byte>& message);
  void take_ioctl(Session& session, const UmadIoctl& ioctl, const Descriptor& reply);
  int unregister_agent(Session& session, std::uint32_t id);
  int register_agent(Session& session, Agent agent, std::uint32_t& id);
  bool is_taken(const Session& session, const Agent& agent) const;
  void send(Session& session, const std::vector<std::byte>& message);
  Agent* agent_for(Session& session, const subnet::Datagram& datagram);
  void deliver(Session& session, std::uint32_t agent, const subnet::Datagram& datagram);
  void push(Session& session, std::vector<std::byte> message);
  void flush(Session& session);
  void end_sessions();
  void expire();

  subnet::Subnet& subnet_;
  Descriptor listener_;
  Descriptor epoll_;
  Reception reception_;
  std::vector<std::unique_ptr<Session>> sessions_;
  std::deque<Waiting> waiting_;
  std::vector<std::byte> room_;  // for one message
  Time now_{};
  std::uint32_t transactions_ = 0;
};

}  // namespace verbena::host
