#include "emulator/host/node/managed_port_file.h"

#include <atomic>
#include <cstring>
#include <new>
#include <utility>

namespace verbena::host {
namespace {

bool is_same(const ManagedPort& a, ManagedPort b) {
  b.sequence = a.sequence;
  return std::memcmp(&a, &b, sizeof a) == 0;
}

}  // namespace

Result<std::unique_ptr<ManagedPortFile>, std::string> ManagedPortFile::make(const std::string& fabric,
                                                                            std::uint32_t ports, std::uint32_t rails) {
  auto file = HostFile::make(managed_ports_path(fabric), kManagedPorts, ports, rails,
                             [](void* record) { new (record) ManagedPort; });
  if (!file) return Failure{file.error()};
  return std::unique_ptr<ManagedPortFile>(new ManagedPortFile(std::move(*file)));
}

bool ManagedPortFile::write(std::uint32_t place, const ManagedPort& wanted, bool reregisters) {
  ManagedPort& port = ports_[place];
  ManagedPort next = wanted;
  const auto count = [](std::uint32_t before, bool has_changed) { return before + (has_changed ? 1 : 0); };
  next.lid_changes = count(port.lid_changes, port.base_lid != next.base_lid || port.lmc != next.lmc);
  next.sm_changes = count(port.sm_changes, port.sm_lid != next.sm_lid || port.sm_sl != next.sm_sl);
  next.pkey_changes = count(port.pkey_changes, port.pkeys != next.pkeys);
  next.gid_changes =
      count(port.gid_changes, port.subnet_prefix != next.subnet_prefix || port.alias_guids != next.alias_guids);
  next.state_changes =
      count(port.state_changes, port.state != next.state || port.physical_state != next.physical_state);
  next.reregisters = count(port.reregisters, reregisters);
  if (is_same(port, next)) return false;
  const std::atomic_ref sequence(port.sequence);
  next.sequence = port.sequence + 1;
  sequence.store(next.sequence, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  std::memcpy(&port, &next, sizeof port);
  std::atomic_thread_fence(std::memory_order_release);
  sequence.store(next.sequence + 1, std::memory_order_release);
  return true;
}

}  // namespace verbena::host
