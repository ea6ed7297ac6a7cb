// Id: an ID of /dev/infiniband/rdma_cm as a value: its addresses, what it holds and its state.
//
// Solely responsible for these values, for addresses in the forms that programs give and get, and for the form of an
// event. It does not know which IDs there are, nor which ports are free (id_table.h, ports.h).
// Tested by: tests/shim/rdma_cm/rdma_cm_commands_test.cc
#pragma once

#include <netinet/in.h>
// in.h comes first: the kernel's header defines the same addresses.
#include <infiniband/verbs.h>
#include <rdma/rdma_user_cm.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "emulator/cm/connection.h"
#include "emulator/host/node/service_directory.h"
#include "emulator/host/os/abstract_name.h"
#include "verbs-shim/rdma_cm/channel.h"

namespace verbena::shim::rdma_cm {

class DevicePort;

/// enum rdma_cm_event_type of librdmacm, which the uABI has as numbers only.
enum class UserEvent : std::uint32_t {
  address_resolved,
  address_error,
  route_resolved,
  route_error,
  connect_request,
  connect_response,
  connect_error,
  unreachable,
  rejected,
  established,
  disconnected,
  device_removal,
  multicast_join,
  multicast_error,
  address_change,
  timewait_exit,
};

/// What a name of the family AF_IB has beside its GID.
struct ServiceName {
  std::uint16_t pkey = 0;
  std::uint32_t flow_info = 0;  // the upper twelve bits are a traffic class
  std::uint64_t service = 0;
  std::uint64_t mask = 0;  // of `service`: what is told; the rest is chosen when it is bound
  std::uint64_t scope = 0;
};

struct Address {
  sa_family_t family = 0;  // 0: none yet
  wire::Gid gid;
  std::uint16_t port = 0;   // of AF_IB: the lowest bits of the service ID that are told
  std::uint32_t scope = 0;  // of IPv6: the interface of a link-local address
  ServiceName name{};       // of AF_IB
  /// 0.0.0.0 or ::, and the loopback address as well, as the kernel's rdma_cm has it: it is no device's.
  bool is_any() const;
  /// It is one of each interface's network.
  bool needs_scope() const { return family == AF_INET6 && gid.is_link_local(); }
};

struct MulticastGroup {
  std::uint32_t handle = 0;
  std::uint64_t uid = 0;
  std::uint32_t events_reported = 0;
  std::uint64_t request = 0;  // to the subnet administrator; 0: none, or the membership is lost
};

enum class IdState : std::uint8_t {
  idle,
  address_bound,
  address_resolved,
  route_query,
  route_resolved,
  connect,
  disconnect,
  listen,
  device_removed,  // can be destroyed only
};

/// What says that an ID listens at a device port.
struct Listening {
  const DevicePort* at;
  host::HeldName name;
};

struct Id {
  std::uint32_t handle = 0;
  std::uint64_t serial = 0;  // never used again, unlike the handle
  std::uint64_t uid = 0;
  std::shared_ptr<Channel> channel;
  std::uint16_t port_space = 0;
  std::uint8_t qp_type = 0;
  IdState state = IdState::idle;
  Address source;
  Address destination;
  DevicePort* device_port = nullptr;  // null: none yet, or bound to any address
  wire::PathAddress next_hop;
  // For each device port and IP version: what its port is held by, none if nobody can reach it; and where it listens.
  std::vector<std::shared_ptr<host::ServiceClaim>> claims;
  std::vector<Listening> listening;
  cm::ConnectionId connection = 0;
  std::uint64_t listener = 0;  // serial; of a request: where it came in
  std::uint32_t backlog = 0;   // of a listener: requests it still takes
  std::uint32_t events_reported = 0;
  std::uint32_t starting_psn = 0;  // at which the peer shall start to send
  std::uint32_t qkey = 0;
  bool srq = false;
  std::optional<std::uint8_t> traffic_class;  // RDMA_OPTION_ID_TOS; unset: what the port has by default
  std::optional<std::uint8_t> ack_timeout;    // RDMA_OPTION_ID_ACK_TIMEOUT; 0: none ever
  bool reuse_address = false;
  std::optional<bool> family_only;  // RDMA_OPTION_ID_AFONLY; unset: as its address family has it
  cm::Path path;
  std::uint64_t route_request = 0;  // to the subnet administrator
  std::vector<MulticastGroup> groups;
  bool is_datagram() const { return qp_type == IBV_QPT_UD; }
  /// Its address at the device port, as a GID of the port's table.
  wire::Gid own_gid() const;
  /// Of the other end, whose address is `destination`.
  wire::Gid peer_gid() const;
  /// Of its path, or until there is one as asker_of() has it.
  std::uint16_t pkey() const;
  /// The address by which its node is known to this process: that of its port, whatever names it.
  wire::Gid peer_node() const;
  bool owns_port() const { return !claims.empty(); }
};

/// Of one end of the ID.
std::uint64_t service_id(const Id& id, const Address& address);
/// The service ID that an ID of the port space may be bound to by this name of AF_IB, told but for the port: the
/// name's, or that of a port space where it says none (cma_select_ib_ps of the kernel). Nothing: it is another space's.
std::optional<ServiceName> name_in_space(std::uint16_t port_space, const ServiceName& name);
/// A name of AF_IB that is told but for its port has this one now (cma_bind_port).
void set_port(Address& address, std::uint16_t port);

/// The octets that a name of this family has; 0: it is none that an ID can have (rdma_addr_size of the kernel).
std::size_t bytes_of_family(const void* name, std::size_t room);
/// Family 0: no address that an ID can have.
Address address_from(const void* socket_address, std::size_t bytes);
void address_to(const Address& address, sockaddr_storage& into);
std::size_t bytes_of(const Address& address);
/// `from`: the own port, by which the path leaves.
void fill_ah(const cm::Path& path, const DevicePort& from, ib_uverbs_ah_attr& ah);

/// Tells the ID's channel that it is a member of the group, which has this path.
void report_joined(Id& id, const MulticastGroup& group, const cm::Path& path, std::uint32_t qkey);
/// That its membership has failed, or is lost. `status`: a negative errno value.
void report_lost(Id& id, const MulticastGroup& group, std::int32_t status);
/// Tells the ID's channel.
void report(Id& id, UserEvent type, std::int32_t status = 0);
void report(Id& reporter, const rdma_ucm_event_resp& response);

}  // namespace verbena::shim::rdma_cm
