// CmDevice: /dev/infiniband/rdma_cm as the kernel's ucma offers it (rdma/rdma_user_cm.h, ABI 4), for the distribution's
// own librdmacm.
//
// Solely responsible for the IDs: their addresses, ports, states and events, and the meaning of the write() commands.
// The connections behind them are the communication manager's (emulator/cm), descriptors are in channel.h, and which
// write() of the program is a command is found out by the path shim (verbs-shim/sysfs/rdma_cm.cc).
//
// One lock guards all, but for the list of channels, which has its own: to find out that a write() is no command must
// not wait for one. The manager's events come from whichever thread runs the NIC, maybe one that is in a command
// already: they go through an inbox that whoever holds the lock empties before it lets go.
// Tested by: tests/shim/rdma_cm/rdma_cm_commands_test.cc
#pragma once

#include <netinet/in.h>
// in.h comes first: the kernel's header defines the same addresses.
#include <infiniband/verbs.h>
#include <rdma/rdma_user_cm.h>

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "emulator/cm/connection.h"
#include "emulator/host/config/environment.h"
#include "emulator/host/engine/engine.h"
#include "emulator/host/os/drawn_numbers.h"
#include "verbs-shim/rdma_cm/channel.h"

namespace verbena::shim::rdma_cm {

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

struct Address {
  sa_family_t family = 0;  // 0: none yet
  wire::Gid gid;           // ::ffff:0.0.0.0 or :: stands for any
  std::uint16_t port = 0;
  bool is_any() const;
};

struct MulticastGroup {
  std::uint32_t handle = 0;
  std::uint64_t uid = 0;
  std::uint32_t events_reported = 0;
};

enum class IdState : std::uint8_t {
  idle,
  address_bound,
  address_resolved,
  route_resolved,
  connect,
  disconnect,
  listen,
  device_removed,  // can be destroyed only
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
  bool has_device = false;
  wire::MacAddress destination_mac;
  // By host::IpVersion: what its port is held by, none if nobody can reach it, and what says that it listens there.
  std::array<std::shared_ptr<host::ServiceClaim>, 2> claims;
  std::array<host::HeldName, 2> listening;
  cm::ConnectionId connection = 0;
  std::uint64_t listener = 0;  // serial; of a request: where it came in
  std::uint32_t backlog = 0;   // of a listener: requests it still takes
  std::uint32_t events_reported = 0;
  std::uint32_t starting_psn = 0;  // at which the peer shall start to send
  std::uint32_t qkey = 0;
  bool srq = false;
  std::uint8_t traffic_class = 0;
  std::optional<std::uint8_t> ack_timeout;  // RDMA_OPTION_ID_ACK_TIMEOUT; 0: none ever
  bool reuse_address = false;
  std::optional<bool> family_only;  // RDMA_OPTION_ID_AFONLY; unset: as its address family has it
  cm::Path path;
  std::vector<MulticastGroup> groups;
  bool is_datagram() const { return qp_type == IBV_QPT_UD; }
  bool owns_port() const { return claims[0] != nullptr || claims[1] != nullptr; }
};

class CmDevice {
 public:
  static constexpr std::size_t kIdsMax = 1 << 16;  // librdmacm's index ends there
  static CmDevice& instance();

  // What the path shim calls.
  int open_channel(int flags);
  bool is_channel(ino_t inode);
  ssize_t command(int descriptor, ino_t inode, const void* data, std::size_t bytes);

  /// From the engine, in any thread.
  void connection_event(const cm::Event& event);

 private:
  struct Call {
    int descriptor;
    std::shared_ptr<Channel> channel;
    std::span<const std::byte> in;
    std::size_t out_bytes;
  };
  using Handler = int (CmDevice::*)(const Call&);
  static const Handler kHandlers[];

  CmDevice() = default;
  static void before_fork();
  static void after_fork(bool in_child);
  static void at_exit();
  void disconnect_all();
  host::Engine* engine() const;
  bool has_device();
  void lock();
  void unlock();
  void empty_inbox();
  void reap();
  void close_channel(const std::shared_ptr<Channel>& channel);
  std::shared_ptr<Channel> channel_of(ino_t inode);

  // device.cc
  int create_id(const Call& call);
  int destroy_id(const Call& call);
  int get_event(const Call& call);
  int migrate_id(const Call& call);
  int not_offered(const Call& call);
  Id* of_channel(const Call& call, std::uint32_t handle);
  /// One that can be used. The error is an errno value: ENOENT, or ENXIO when its device has gone.
  Result<Id*, int> find(const Call& call, std::uint32_t handle);
  Id* by_serial(std::uint64_t serial);
  Id* make_id(std::shared_ptr<Channel> channel, std::uint16_t port_space, std::uint8_t qp_type);
  void drop_id(Id& id);
  void report(Id& id, UserEvent type, std::int32_t status = 0);
  void report(Id& reporter, rdma_ucm_event_resp& response);
  static int respond(const Call& call, std::uint64_t pointer, const void* data, std::size_t bytes);

  // addressing.cc
  int bind_ip(const Call& call);
  int bind(const Call& call);
  int resolve_ip(const Call& call);
  int resolve_address(const Call& call);
  int resolve_route(const Call& call);
  int set_option(const Call& call);
  int bind_to(Id& id, const Address& address);
  int resolve_to(Id& id, const Address& source, const Address& destination);
  void fill_path(Id& id);

  // queries.cc
  int query_route(const Call& call);
  int query(const Call& call);
  int query_addresses(const Call& call, const Id& id, std::uint64_t into);
  int query_gids(const Call& call, const Id& id, std::uint64_t into);
  int query_path(const Call& call, const Id& id, std::uint64_t into);
  void write_device(const Id& id, rdma_ucm_query_addr_resp& response) const;

  // ports.cc
  std::uint16_t ephemeral_port();
  int check_port(const Id& id, std::uint16_t port, bool reuse) const;
  int take_port(Id& id, const Address& address);
  int start_listening(Id& id);
  void release_port(Id& id);

  // connecting.cc
  int connect(const Call& call);
  int listen(const Call& call);
  int accept(const Call& call);
  int reject(const Call& call);
  int disconnect(const Call& call);
  int init_qp_attributes(const Call& call);
  int notify(const Call& call);
  int join_ip_multicast(const Call& call);
  int join_multicast(const Call& call);
  int leave_multicast(const Call& call);
  int join(Id& id, const Call& call, std::uint64_t uid, std::uint64_t response, const Address& group);
  int accept_datagram(Id& id, const rdma_ucm_conn_param& parameters);
  void fill_ah(const cm::Path& path, ib_uverbs_ah_attr& ah) const;

  // connection_events.cc
  void take_event(const cm::Event& event);
  void take_request(const cm::Event& event);
  void take_answer(Id& id, const cm::Event& event);
  void take_removal();

  std::mutex mutex_;
  std::mutex inbox_mutex_;
  std::deque<cm::Event> inbox_;
  bool prepared_ = false;
  ibv_context* context_ = nullptr;
  std::mutex channels_mutex_;  // of these alone; taken last
  std::map<ino_t, std::shared_ptr<Channel>> channels_;
  std::vector<std::unique_ptr<Id>> ids_;  // by handle
  std::unordered_map<std::uint64_t, std::uint32_t> handles_;
  std::map<std::pair<std::uint64_t, host::IpVersion>, std::weak_ptr<host::ServiceClaim>> claims_;
  std::uint64_t last_serial_ = 0;
  host::DrawnNumbers psns_{host::seed_from_environment()};
  host::DrawnNumbers random_{std::nullopt};  // for ports: two processes of a node must not draw the same ones
};

std::uint64_t service_id(const Id& id, std::uint16_t port);
Address address_from(const void* socket_address, std::size_t bytes);
void address_to(const Address& address, sockaddr_storage& into);
std::size_t bytes_of(const Address& address);

/// The command's arguments; what an older library does not send is zero.
template <class Command>
Command arguments(std::span<const std::byte> in) {
  Command command{};
  std::memcpy(&command, in.data(), std::min(in.size(), sizeof command));
  return command;
}

}  // namespace verbena::shim::rdma_cm
