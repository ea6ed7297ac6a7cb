// SubnetProcess: a subnet (emulator/subnet) under the real clock, with programs of this machine on its adapters.
//
// Solely responsible for what the kernel's umad module does for them: registrations, which answer is whose, timeouts
// and retries; and for the files that sysfs has. One thread: serve() waits for programs, and for its
// end. The files lie in a folder of its own, which is removed at the end.
// Tested by: tests/programs/subnet.py
#pragma once

#include <poll.h>

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "emulator/host/subnet_process/umad_layout.h"
#include "emulator/subnet/subnet.h"

namespace verbena::host {

class SubnetProcess final : public subnet::Receiver {
 public:
  static constexpr std::size_t kAgentsMax = 32;  // of one descriptor, as the kernel has it

  /// An error is one line.
  static Result<std::unique_ptr<SubnetProcess>, std::string> start(const subnet::Topology& topology);
  ~SubnetProcess() override;
  SubnetProcess(const SubnetProcess&) = delete;
  SubnetProcess& operator=(const SubnetProcess&) = delete;

  /// What kSubnetVariable has to be for programs on this node.
  std::string folder_of(std::size_t node) const;
  /// Until the descriptor is readable, or its other end is closed.
  void serve(int end);

  void receive(subnet::PortEnd at, const subnet::Datagram& datagram) override;
  void changed(subnet::PortEnd port) override;

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
    int fd = -1;
    subnet::PortEnd port;
    bool is_known = false;  // has said which port it is
    bool is_issm = false;
    bool is_over = false;
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

  explicit SubnetProcess(const subnet::Topology& topology) : subnet_(topology, *this) {}
  std::string open();
  void write_host(std::size_t node);
  void write_port(subnet::PortEnd port);
  void write_text(const std::string& path, const std::string& text);
  void accept_session();
  void read_session(Session& session);
  void take_message(Session& session, std::vector<std::byte> message, int reply);
  void take_ioctl(Session& session, const UmadIoctl& ioctl, int reply);
  int register_agent(Session& session, Agent agent, std::uint32_t& id);
  bool is_taken(const Session& session, const Agent& agent) const;
  void send(Session& session, std::vector<std::byte> message);
  Agent* agent_for(Session& session, const subnet::Datagram& datagram);
  void deliver(Session& session, std::uint32_t agent, const subnet::Datagram& datagram);
  void push(Session& session, std::vector<std::byte> message);
  void flush(Session& session);
  void end_sessions();
  void expire(Time now);
  int milliseconds_to_wait() const;

  subnet::Subnet subnet_;
  std::string file_error_;  // the first file that could not be written
  std::string folder_;
  int listener_ = -1;
  std::vector<std::unique_ptr<Session>> sessions_;
  std::deque<Waiting> waiting_;
  std::vector<subnet::PortEnd> changed_;
  std::unordered_map<std::string, std::string> texts_;  // of all files
  std::uint32_t transactions_ = 0;
};

}  // namespace verbena::host
