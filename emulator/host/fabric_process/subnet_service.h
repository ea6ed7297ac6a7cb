// SubnetService: the subnet of a managed fabric, for the managers and tools on its nodes, and the network that follows
// what they set.
//
// Solely responsible for the binding: what is set in the agents (emulator/subnet) goes into the network's tables
// (fabric/network_subnet.h) and to the processes of the nodes (node/managed_port.h, and a Notice); cables and switches
// that die in the network die for the agents; what ports have counted is told by the agents. Datagrams of management do
// not travel in the network: the agents have them at once. It has one descriptor and one deadline, and no thread.
// Tested by: tests/host/fabric_process/subnet_service_test.cc, tests/programs/managed.py
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "emulator/fabric/network_subnet.h"
#include "emulator/host/fabric_process/fabric_ports.h"
#include "emulator/host/fabric_process/subnet_topology.h"
#include "emulator/host/node/managed_port_file.h"
#include "emulator/host/subnet_process/sa_client.h"
#include "emulator/host/subnet_process/umad_server.h"
#include "emulator/subnet/subnet.h"

namespace verbena::host {

class SubnetService final : private subnet::Receiver, private subnet::Listener, private subnet::DataPath {
 public:
  /// The network of `ports` is managed; both outlive the service. The error is one line.
  static Result<std::unique_ptr<SubnetService>, std::string> open(const std::string& fabric, FabricPorts& ports,
                                                                  const SwitchPlans& switches);
  ~SubnetService() override;

  /// Readable when service() has something to do.
  int wait_descriptor() const { return epoll_.get(); }
  std::optional<Time> next_deadline() const;
  /// Answers what has been asked. Never blocks.
  void service(Time now);
  /// What the ports of the hosts have, by host.
  const ManagedPortFile& ports() const { return *file_; }
  /// What the nodes have, switches behind the hosts.
  const std::vector<subnet::Node>& agents() const { return subnet_.nodes(); }
  /// These are dead now, and all others are not.
  void mirror(Time now, const std::set<fabric::LinkId>& dead_links, const std::set<std::uint32_t>& dead_switches);
  /// The link at both ends of the cable has another rate now, and stays up.
  void set_link_rate(std::uint32_t cable, std::uint64_t bits_per_second);

 private:
  SubnetService(FabricPorts& ports, const SwitchPlans& switches);

  bool receive(subnet::PortEnd at, const subnet::Datagram& datagram) override;
  void changed(subnet::PortEnd port) override;
  void forwarding_changed(std::size_t node, std::uint32_t first, std::uint32_t lids) override;
  void groups_changed(std::size_t node, std::uint32_t first, std::uint32_t groups) override;
  void lanes_changed(subnet::PortEnd out, std::uint8_t in) override;
  void arbitration_changed(subnet::PortEnd port) override;
  void pkeys_changed(subnet::PortEnd port) override;
  void port_changed(subnet::PortEnd port, bool asks) override;
  void node_restarted(std::size_t node) override;
  subnet::PortTotals totals(subnet::PortEnd port) override;

  const subnet::Port& port_at(subnet::PortEnd end) const { return subnet_.nodes()[end.node].ports[end.port]; }
  bool is_host(std::size_t node) const { return node < topology_.hosts; }
  /// To the processes of the nodes whose ports have changed.
  void tell();

  FabricPorts& ports_;
  const fabric::Topology& topology_;
  fabric::NetworkSubnet network_;
  subnet::Subnet subnet_;
  Descriptor epoll_;  // of both that wait for programs
  std::unique_ptr<UmadServer> umad_;
  std::unique_ptr<SaClient> administration_;
  std::unique_ptr<ManagedPortFile> file_;
  Time now_{};
  struct Change {
    bool is_any = false;
    bool reregisters = false;
  };
  /// Of a host's port, for which a change ends its memberships.
  struct Membership {
    wire::Lid lid;
    bool is_active = false;
  };
  bool listen_for_programs(const std::string& fabric, std::string& error);
  void keep_memberships(subnet::PortEnd end, bool asks);
  std::vector<Change> changes_;          // of each host, since the last tell()
  std::vector<std::uint32_t> to_tell_;   // hosts with changes
  std::vector<Membership> memberships_;  // of each host
  std::vector<bool> dead_cables_;
  std::set<std::uint32_t> dead_switches_;
  std::vector<std::uint8_t> row_;  // of a table, while it is handed on
};

}  // namespace verbena::host
