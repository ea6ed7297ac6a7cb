// The contents that depend on the process's node and on the machine: addresses, GUID, device name, CPUs.
//
// Must agree with what the verbs say (query_device, query_port, query_gid). Read from the environment at each call:
// these files are read a few times in a program's life.
#pragma once

#include <cstddef>

namespace verbena::path {

const char* device_name();
/// The interface whose address the device has.
const char* network_device_name();

std::size_t write_device_name(char* into, std::size_t size);
std::size_t write_node_guid(char* into, std::size_t size);
std::size_t write_gid(char* into, std::size_t size);
std::size_t write_network_device(char* into, std::size_t size);
std::size_t write_lid(char* into, std::size_t size);
std::size_t write_rate(char* into, std::size_t size);
std::size_t write_node_description(char* into, std::size_t size);
std::size_t write_cpu_mask(char* into, std::size_t size);
std::size_t write_cpu_list(char* into, std::size_t size);
std::size_t write_verbs_event(char* into, std::size_t size);
std::size_t write_class_event(char* into, std::size_t size);

}  // namespace verbena::path
