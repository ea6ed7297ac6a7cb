// Endpoints: the IDs of a process with all that they hold: a place in the table, a port, a connection of an
// engine's communication manager.
//
// Solely responsible for giving all of it back when an ID ends, and for what the manager's events mean to an ID, as the
// kernel's cma has it. What a program asks for is in commands.h. Guarded by the device's lock.
// Tested by: tests/shim/rdma_cm/rdma_cm_test.cc
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "emulator/cm/connection.h"
#include "verbs-shim/rdma_cm/id_table.h"
#include "verbs-shim/rdma_cm/opened_device.h"
#include "verbs-shim/rdma_cm/ports.h"
#include "verbs-shim/rdma_cm/sa_session.h"

namespace verbena::shim::rdma_cm {

/// Whose a port is: others of the node can have that of a process as well.
enum class PortOwner : std::uint8_t { node, process };

class Endpoints {
 public:
  /// `hear` is called from threads of their own with what the subnet administrators of managed fabrics answer.
  explicit Endpoints(SaSession::Hear hear) : hear_(std::move(hear)) {}

  IdTable& ids() { return ids_; }
  Ports& ports() { return ports_; }
  OpenedDevices& devices() { return devices_; }

  /// Returns an errno value.
  int bind(Id& id, const Address& wanted, PortOwner port = PortOwner::node);
  /// The ID ends; its connection ends as the manager sees fit.
  void end(Id& id);
  /// Those of a channel.
  void end_all(const std::shared_ptr<Channel>& channel);
  /// All, and with them whatever the manager still has: the process ends.
  void end_all();
  /// In the child after fork(): they are the parent's.
  void clear();

  // -- On a managed fabric --------------------------------------------------------------------------------------------
  /// Asks the subnet administrator on behalf of a port; `id` is the number by which the answer is known. Returns an
  /// errno value.
  int ask(const DevicePort& from, host::SaRequest request, std::uint64_t& id);
  /// The ID's membership ends, if it has one.
  void leave(const Id& id, MulticastGroup& group);
  /// What has been answered, or that a fabric has ended.
  void take(const SaSession::News& news);

  /// Wildcard listeners hear on what was removed and can be opened again, as cma_add_one has it (listen_any_list). Not
  /// from the engine's threads, and with no event of before untaken.
  void hear_again();

  /// An event of a port of a device, from 1.
  void take(const Device& from, std::uint32_t port, const cm::Event& event);

 private:
  void take_request(DevicePort& at, const cm::Event& event);
  void take_answer(Id& id, const cm::Event& event);
  void take_removal(const DevicePort& gone);

  void take_path_answer(Id& id, const host::SaAnswer& answer);
  void take_group_answer(Id& id, MulticastGroup& group, const host::SaAnswer& answer);

  const SaSession::Hear hear_;
  std::vector<std::unique_ptr<SaSession>> sessions_;  // by fabric
  std::uint64_t requests_ = 0;                        // so far
  OpenedDevices devices_;
  bool is_hearing_all_ = true;  // no wildcard listener has lost a device port
  IdTable ids_;
  Ports ports_{ids_, devices_};
};

}  // namespace verbena::shim::rdma_cm
