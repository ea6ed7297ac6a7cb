// Commands: what the write() commands of /dev/infiniband/rdma_cm mean (rdma/rdma_user_cm.h, ABI 4).
//
// Solely responsible for their table, their arguments and their answers, with states and errors as the kernel's ucma
// and cma have them. It keeps nothing between two commands: that is the endpoints'. Guarded by the device's lock.
// Tested by: tests/shim/rdma_cm/rdma_cm_commands_test.cc
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include "verbs-shim/rdma_cm/channel_table.h"
#include "verbs-shim/rdma_cm/endpoints.h"
#include "verbs-shim/rdma_cm/event_inbox.h"

namespace verbena::shim::rdma_cm {

struct Call {
  int descriptor;
  std::shared_ptr<Channel> channel;
  std::span<const std::byte> in;
  std::size_t out_bytes;
};

class Commands {
 public:
  Commands(Endpoints& endpoints, ChannelTable& channels, EventInbox& inbox)
      : endpoints_(endpoints), channels_(channels), inbox_(inbox) {}

  /// Whether RDMA_USER_CM_CMD_* has this number.
  static bool knows(std::uint32_t number);
  /// Returns an errno value; EAGAIN: the event that GET_EVENT has waited for is no more.
  int run(std::uint32_t number, const Call& call);
  /// The channels that nobody holds any more end as the kernel's file would: with all that is theirs.
  void reap();

 private:
  using Handler = int (Commands::*)(const Call&);
  static const Handler kHandlers[];

  Result<Id*, int> find(const Call& call, std::uint32_t handle);
  /// For IDs that have a device.
  static host::Engine& engine(const Id& id) { return *id.device_port->engine(); }

  // commands.cc
  int create_id(const Call& call);
  int destroy_id(const Call& call);
  int get_event(const Call& call);
  int migrate_id(const Call& call);
  int not_offered(const Call& call);

  // addressing.cc
  int bind_ip(const Call& call);
  int bind(const Call& call);
  int resolve_ip(const Call& call);
  int resolve_address(const Call& call);
  int resolve_route(const Call& call);
  int set_option(const Call& call);

  // queries.cc
  int query_route(const Call& call);
  int query(const Call& call);

  // connecting.cc
  int connect(const Call& call);
  int listen(const Call& call);
  int accept(const Call& call);
  int reject(const Call& call);
  int disconnect(const Call& call);
  int init_qp_attributes(const Call& call);
  int notify(const Call& call);

  // multicast.cc
  int join_ip_multicast(const Call& call);
  int join_multicast(const Call& call);
  int leave_multicast(const Call& call);
  struct Joining {
    std::uint64_t uid;
    std::uint64_t response;
    Address group;
    std::uint16_t flags = 0;  // RDMA_MC_JOIN_FLAG_*
  };
  int join(Id& id, const Call& call, const Joining& wanted);

  Endpoints& endpoints_;
  ChannelTable& channels_;
  EventInbox& inbox_;
};

/// The command's arguments; what an older library does not send is zero.
template <class Command>
Command arguments(std::span<const std::byte> in) {
  Command command{};
  std::memcpy(&command, in.data(), std::min(in.size(), sizeof command));
  return command;
}

/// Answers a command, with as much as it has room for. Returns 0.
int respond(const Call& call, std::uint64_t pointer, const void* data, std::size_t bytes);

}  // namespace verbena::shim::rdma_cm
