// IdTable: the IDs of a process, by handle and by serial number.
//
// Solely responsible for finding an ID by its numbers: a handle is one of the uABI's and used again, a serial number is
// not. It counts the IDs of each channel, and gives numbers to multicast groups. What an ID holds elsewhere, a port or
// a connection, the endpoints give back (endpoints.h). Guarded by the device's lock.
// Tested by: tests/shim/rdma_cm/rdma_cm_commands_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "emulator/host/config/environment.h"
#include "emulator/host/os/drawn_numbers.h"
#include "verbs-shim/rdma_cm/channel.h"
#include "verbs-shim/rdma_cm/id.h"
#include "wire/result.h"

namespace verbena::shim::rdma_cm {

class IdTable {
 public:
  static constexpr std::size_t kIdsMax = 1 << 16;  // librdmacm's index ends there

  /// Null: there is no room.
  Id* make(std::shared_ptr<Channel> channel, std::uint16_t port_space, std::uint8_t qp_type);
  /// The ID is no more.
  void remove(Id& id);
  void move(Id& id, std::shared_ptr<Channel> channel);
  /// In the child after fork(): they are the parent's.
  void clear();

  /// Null: there is none, here or of this channel.
  Id* at(std::uint32_t handle) const;
  Id* of_channel(const std::shared_ptr<Channel>& channel, std::uint32_t handle) const;
  Id* by_serial(std::uint64_t serial) const;
  /// One that can be used. The error is an errno value: ENOENT, or ENXIO when its device has gone.
  Result<Id*, int> find(const std::shared_ptr<Channel>& channel, std::uint32_t handle) const;

  std::uint32_t free_group_handle() const;

  /// All places; some are empty.
  auto begin() const { return ids_.begin(); }
  auto end() const { return ids_.end(); }

 private:
  std::vector<std::unique_ptr<Id>> ids_;  // by handle
  std::unordered_map<std::uint64_t, std::uint32_t> handles_;
  std::uint64_t last_serial_ = 0;
  host::DrawnNumbers psns_{host::seed_from_environment()};
};

}  // namespace verbena::shim::rdma_cm
