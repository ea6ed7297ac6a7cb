// The counters of the node's NIC, as the files below counters and hw_counters show them.
//
// Solely responsible for finding the counters of every process of the node (stats_file.h) and adding them up at the
// moment of reading. A process that ended without a file that outlives it (`verbena exec --stats`, a fabric) is no
// longer counted.
// Tested by: tests/shim/sysfs/path_test.cc
#pragma once

#include <cstddef>
#include <cstdint>

#include "emulator/host/node/identity.h"

namespace verbena::path {

/// The files of `counters`: what the kernel shows of every RDMA port (drivers/infiniband/core/sysfs.c).
enum class PortCounter : unsigned {
  port_xmit_data,  // in units of four octets, IBTA vol 1 16.1.3.5
  port_rcv_data,
  port_xmit_packets,
  port_rcv_packets,
  port_rcv_errors,
  link_downed,
  none,  // what an emulated cable has no cause for: 0
};

/// `argument` is a PortCounter.
std::size_t write_port_counter(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned argument);
/// `argument` is a nic::Counter.
std::size_t write_hardware_counter(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned argument);

}  // namespace verbena::path
