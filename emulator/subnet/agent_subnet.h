// SubnetAgent: what the subnet management agent of a node answers (IBTA vol 1, 14.2.5, 14.3).
//
// Solely the attributes: reading them, and taking what a manager sets. Subnet has the ways, and what a change of a
// port's state entails. It lives as long as one datagram.
// Tested by: tests/subnet/agents_test.cc
#pragma once

#include <optional>

#include "emulator/subnet/smp.h"
#include "emulator/subnet/subnet.h"

namespace verbena::subnet {

class SubnetAgent {
 public:
  SubnetAgent(Subnet& subnet, PortEnd at) : subnet_(subnet), node_(subnet.nodes_[at.node]), at_(at) {}

  /// The response; nothing: the agent does not answer, and it may be for a program.
  std::optional<Datagram> process(const Datagram& request);
  /// Whether the manager that represses a trap knows the key: it is as a Set (14.2.4).
  bool takes_repression(const Datagram& repression) { return is_key_right(Smp(repression.octets), true); }

 private:
  bool is_key_right(const Smp& smp, bool is_set);
  void refuse_key(const Smp& smp);
  /// The status; data() has the attribute then.
  std::uint16_t process_attribute(Smp& smp, const wire::AnyMadHeader& header, bool is_set);
  std::uint16_t node_info(Smp& smp);
  std::uint16_t switch_info(Smp& smp, bool is_set);
  std::uint16_t port_info(Smp& smp, std::uint32_t modifier, bool is_set);
  std::uint16_t set_port_info(Port& port, std::uint8_t number, const wire::PortInfo& wanted);
  void set_lanes_of(Port& port, std::uint8_t number, const wire::PortInfo& wanted);
  std::uint16_t set_state(std::uint8_t number, wire::PortState wanted);
  std::uint16_t guid_info(Smp& smp, std::uint32_t modifier, bool is_set);
  std::uint16_t pkey_table(Smp& smp, std::uint32_t modifier, bool is_set);
  std::uint16_t sl_to_vl(Smp& smp, std::uint32_t modifier, bool is_set);
  std::uint16_t vl_arbitration(Smp& smp, std::uint32_t modifier, bool is_set);
  std::uint16_t linear_forwarding(Smp& smp, std::uint32_t modifier, bool is_set);
  std::uint16_t multicast_forwarding(Smp& smp, std::uint32_t modifier, bool is_set);
  /// Tells the listener, if there is one.
  template <class Tell>
  void tell(Tell tell) {
    if (subnet_.listener_ != nullptr) tell(*subnet_.listener_);
  }
  /// Null: there is no such port.
  Port* port_of(std::uint32_t number);

  Subnet& subnet_;
  Node& node_;
  PortEnd at_;
};

}  // namespace verbena::subnet
