// Delivery: hands the frames that come out of a fabric's network to the processes that they are for.
//
// Solely responsible for which processes of a node these are, and for the copy into their rings. What is on its way to
// a process that has stopped is lost where its ring does not hold it.
// Tested by: tests/host/fabric_process/shm_ports_test.cc, tests/host/fabric_process/back_pressure_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "emulator/fabric/network.h"
#include "emulator/host/fabric_process/back_pressure.h"
#include "emulator/host/fabric_process/fabric_nodes.h"
#include "emulator/host/fabric_process/shm_ports.h"

namespace verbena::host {

class Delivery final : public fabric::Sink {
 public:
  Delivery(ShmPorts& shm, FabricNodes& nodes, BackPressure& back_pressure, wire::Medium medium)
      : medium_(medium), shm_(shm), nodes_(nodes), back_pressure_(back_pressure) {}

  void begin_pass(Time now) {
    now_ = now;
    moved_ = 0;
    calls_taken_ = false;
  }
  /// Frames that arrived in this pass.
  std::size_t moved() const { return moved_; }
  /// Frames that are no packets, and not for the NIC either.
  std::uint64_t strays() const { return strays_; }
  bool arrived(const fabric::Arrival& arrival) override;
  /// To one of the node's processes, for all together are the NIC.
  void hand_to_nic(std::uint32_t host, std::span<const std::byte> frame);
  /// A group's frame that the process in the slot has sent, to the node's other processes.
  void hand_to_siblings(std::uint32_t host, std::uint8_t sender_slot, std::span<const std::byte> frame,
                        wire::IcrcState icrc);

 private:
  [[gnu::noinline]] bool arrived_for_all(const fabric::Arrival& arrival);
  /// To all processes of the node but the one in the slot. Whether anybody is there.
  bool hand_to_all(const fabric::Arrival& arrival, std::uint8_t but_slot);
  [[gnu::noinline]] bool arrived_without_qp(const fabric::Arrival& arrival);
  [[gnu::noinline]] bool take_calls();
  /// Copies the frame into what the link has reserved for it: nothing when that process's ring is full.
  void hand_over(std::uint8_t slot, const fabric::Arrival& arrival, std::span<std::byte> room);

  const wire::Medium medium_;
  ShmPorts& shm_;
  FabricNodes& nodes_;
  BackPressure& back_pressure_;
  Time now_{};
  std::size_t moved_ = 0;     // in this pass
  bool calls_taken_ = false;  // in this pass
  std::uint64_t strays_ = 0;
  std::vector<PeerName> peers_;  // to whom a group's frame is handed
};

}  // namespace verbena::host
