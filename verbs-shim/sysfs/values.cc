#include "verbs-shim/sysfs/values.h"

#include <fcntl.h>
#include <net/if.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "emulator/host/config/device_words.h"
#include "emulator/host/config/link_kind.h"
#include "emulator/host/config/own_node.h"
#include "emulator/host/config/variables.h"
#include "emulator/host/node/identity.h"
#include "emulator/host/node/infiniband_port.h"
#include "emulator/host/node/network_device.h"
#include "emulator/host/node/port_signal.h"
#include "emulator/host/node/port_speed.h"
#include "emulator/host/os/text_list.h"
#include "verbs-shim/sysfs/own_devices.h"
#include "verbs-shim/sysfs/tree.h"

namespace verbena::path {

wire::Gid node_gid() {
  return host::own_node().address;
}

bool has_device() {
  const auto kind = host::own_node().kind;
  return kind == host::OwnNode::Kind::known || kind == host::OwnNode::Kind::wrong_value;
}

namespace {

std::size_t finish(int written, std::size_t size) {
  if (written < 0) return 0;
  return static_cast<std::size_t>(written) < size ? static_cast<std::size_t>(written) : size - 1;
}

/// "0-3,8" as it is in the kernel's list of CPUs that are online.
ssize_t read_list(const char* path, char* into, std::size_t size) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t got = fd < 0 ? -1 : read(fd, into, size - 1);
  if (fd >= 0) close(fd);
  return got;
}

/// The CPUs near the device, as a list: those of its NUMA node, if the machine has that node, else all.
std::size_t read_local_cpus(const host::DeviceIdentity& of, char* into, std::size_t size) {
  char path[64];
  std::snprintf(path, sizeof path, "/sys/devices/system/node/node%d/cpulist", of.numa_node);
  ssize_t got = of.numa_node < 0 ? -1 : read_list(path, into, size);
  if (got <= 1) got = read_list("/sys/devices/system/cpu/online", into, size);
  if (got <= 0) return finish(std::snprintf(into, size, "0\n"), size);
  into[got] = 0;
  return static_cast<std::size_t>(got);
}

}  // namespace

const host::LinkKind& link_kind() {
  const host::LinkKind* const kind = host::find_link_kind(host::variable(host::kLinkVariable, ""));
  return kind == nullptr ? host::kLinkKindDefault : *kind;
}

std::size_t write_device_name(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned) {
  return finish(std::snprintf(into, size, "%s\n", of.name.c_str()), size);
}

std::size_t write_device_number(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned) {
  return finish(std::snprintf(into, size, "%u:%u\n", kUverbsMajor, kUverbsMinor + of.number.device), size);
}

std::size_t write_numa_node(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned) {
  return finish(std::snprintf(into, size, "%d\n", of.numa_node), size);
}

namespace {
std::size_t write_guid(char* into, std::size_t size, const host::Guid& guid) {
  return finish(std::snprintf(into, size, "%02x%02x:%02x%02x:%02x%02x:%02x%02x\n", guid[0], guid[1], guid[2], guid[3],
                              guid[4], guid[5], guid[6], guid[7]),
                size);
}
}  // namespace

std::size_t write_node_guid(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned) {
  return write_guid(into, size, of.node_guid);
}

std::size_t write_system_image_guid(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned) {
  return write_guid(into, size, of.system_image_guid);
}

namespace {
host::ManagedPort infiniband_port(const host::DeviceIdentity& of) {
  const char* const fabric = host::variable(host::kFabricVariable, host::kFabricDefault);
  return host::infiniband_port(fabric, of, port_is_up(of));
}
/// On InfiniBand the manager fills the table (managed_port.h).
wire::Gid gid_at(const host::DeviceIdentity& of, unsigned index) {
  return of.is_infiniband ? host::infiniband_gid(of, infiniband_port(of), index) : of.gids[index].gid;
}
}  // namespace

bool has_gid(const host::DeviceIdentity& of, unsigned index) {
  return of.is_infiniband ? index < host::ManagedPort::kGids : index < of.gid_count();
}

bool has_gid_type(const host::DeviceIdentity& of, unsigned index) {
  return has_gid(of, index) && gid_at(of, index) != wire::Gid{};
}

std::size_t write_gid_type(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned index) {
  const wire::RoceVersion version = of.is_infiniband ? wire::RoceVersion::v1 : of.gids[index].version;
  return finish(std::snprintf(into, size, "%s\n", wire::gid_type_text(version).data()), size);
}

std::size_t write_gid(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned index) {
  const auto gid = gid_at(of, index).octets;
  std::size_t length = 0;
  for (std::size_t i = 0; i < gid.size(); i += 2)
    length +=
        finish(std::snprintf(into + length, size - length, "%02x%02x%c", gid[i], gid[i + 1], i == 14 ? '\n' : ':'),
               size - length);
  return length;
}

std::size_t write_network_device(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned) {
  char name[IF_NAMESIZE];
  return finish(std::snprintf(into, size, "%s\n", host::network_device_of(of, of.address, name)), size);
}

/// Only a fabric process can take the signal away.
bool port_is_up(const host::DeviceIdentity& of) {
  if (!link_kind().has_fabric_process) {
    char buffer[IF_NAMESIZE];
    return of.own_interface != nullptr || host::is_running(host::network_device_of(of, of.address, buffer));
  }
  const char* const name = host::variable(host::kFabricVariable, host::kFabricDefault);
  const int before = errno;
  const bool up = host::is_served(name) && !host::has_dead_port(name, of.address.octets);
  errno = before;
  return up;
}

std::uint64_t rate_of_port(const host::DeviceIdentity& of) {
  return host::rate_of_port(host::variable(host::kFabricVariable, host::kFabricDefault), of);
}

namespace {
/// Of a port on Ethernet all of these are zero.
std::size_t write_number(char* into, std::size_t size, const char* format, unsigned value) {
  return finish(std::snprintf(into, size, format, value), size);
}
}  // namespace

namespace {
std::string_view word_of(const host::DeviceIdentity& of, std::string_view name) {
  return host::nic_word(words_of(of.number.device), name);
}
/// Of a port on Ethernet, as the user says them; empty: the default one alone.
std::string_view own_pkeys(const host::DeviceIdentity& of) {
  return word_of(of, "pkeys");
}
/// Decimal, or hexadecimal behind 0x.
unsigned number_of(std::string_view text) {
  char digits[16] = {};
  text.copy(digits, sizeof digits - 1);
  return static_cast<unsigned>(std::strtoul(digits, nullptr, text.starts_with("0x") ? 16 : 10));
}
}  // namespace

std::size_t write_look(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned what) {
  constexpr std::string_view kWords[] = {"board", "firmware", "hca-type"};
  constexpr std::string_view kOwn[] = {"verbena", VERBENA_VERSION, "verbena"};
  const std::string_view said = word_of(of, kWords[what]);
  const std::string_view shown = said.empty() ? kOwn[what] : said;
  return finish(std::snprintf(into, size, "%.*s\n", static_cast<int>(shown.size()), shown.data()), size);
}
std::size_t write_hardware_version(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned) {
  const std::string_view said = word_of(of, "hw-ver");
  return finish(std::snprintf(into, size, "0x%x\n", said.empty() ? 1u : number_of(said)), size);
}
namespace {
/// Its halves; "ffff" each where nobody says them.
std::string_view pci_half(const host::DeviceIdentity& of, bool is_device) {
  const std::string_view said = word_of(of, "pci-id");
  constexpr std::size_t kDigits = 4;
  if (said.size() != 2 * kDigits + 1) return "ffff";
  return {said.data() + (is_device ? kDigits + 1 : 0), kDigits};
}
}  // namespace
std::size_t write_pci_id(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned is_device) {
  const std::string_view half = pci_half(of, is_device != 0);
  return finish(std::snprintf(into, size, "0x%.*s\n", static_cast<int>(half.size()), half.data()), size);
}
std::size_t write_pci_event(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned) {
  const std::string_view said = word_of(of, "driver");
  const std::string_view driver = said.empty() ? std::string_view("verbena") : said;
  char id[10] = {};
  std::snprintf(id, sizeof id, "%.4s:%.4s", pci_half(of, false).data(), pci_half(of, true).data());
  for (char& one : id)
    if (one >= 'a' && one <= 'f') one = static_cast<char>(one - 'a' + 'A');
  return finish(
      std::snprintf(into, size, "DRIVER=%.*s\nPCI_CLASS=20700\nPCI_ID=%s\nPCI_SUBSYS_ID=%s\nPCI_SLOT_NAME=%s\n",
                    static_cast<int>(driver.size()), driver.data(), id, id, of.pci_address.c_str()),
      size);
}

bool has_pkey(const host::DeviceIdentity& of, unsigned index) {
  return of.is_infiniband || index < std::max<std::size_t>(host::plus_size(own_pkeys(of)), 1);
}
bool has_network_device(const host::DeviceIdentity& of, unsigned index) {
  return !of.is_infiniband && has_gid_type(of, index);
}

std::size_t write_lid(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned) {
  return write_number(into, size, "0x%x\n", of.is_infiniband ? infiniband_port(of).base_lid : 0);
}
std::size_t write_lid_mask_count(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned) {
  return write_number(into, size, "%u\n", of.is_infiniband ? infiniband_port(of).lmc : 0);
}
std::size_t write_manager_lid(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned) {
  return write_number(into, size, "0x%x\n", of.is_infiniband ? infiniband_port(of).sm_lid : 0);
}
std::size_t write_manager_level(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned) {
  return write_number(into, size, "%u\n", of.is_infiniband ? infiniband_port(of).sm_sl : 0);
}
std::size_t write_capabilities(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned) {
  constexpr unsigned kOfRoce = 0x04010000;  // connection management, GIDs from IP addresses
  return write_number(into, size, "0x%08x\n", of.is_infiniband ? infiniband_port(of).capability_mask : kOfRoce);
}
std::size_t write_link_layer(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned) {
  return finish(std::snprintf(into, size, "%s\n", of.is_infiniband ? "InfiniBand" : "Ethernet"), size);
}
std::size_t write_pkey(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned index) {
  if (of.is_infiniband) return write_number(into, size, "0x%04x\n", infiniband_port(of).pkeys[index]);
  const std::string_view own = own_pkeys(of);
  return write_number(into, size, "0x%04x\n",
                      own.empty() ? wire::kPkeyDefault : number_of(host::plus_item(own, index)));
}

// A port whose interface is up but hears nothing polls (ibv_query_port).
std::size_t write_port_state(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned) {
  const std::uint8_t state = of.is_infiniband ? infiniband_port(of).state
                             : port_is_up(of) ? host::kPortStateActive
                                              : host::kPortStateDown;
  return finish(std::snprintf(into, size, "%s\n", host::port_state_text(state)), size);
}
std::size_t write_physical_state(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned) {
  const std::uint8_t state = of.is_infiniband ? infiniband_port(of).physical_state
                             : port_is_up(of) ? host::kPhysicalStateLinkUp
                                              : host::kPhysicalStatePolling;
  return finish(std::snprintf(into, size, "%s\n", host::physical_state_text(state)), size);
}

std::size_t write_rate(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned) {
  host::PortSpeed shown = host::port_speed(rate_of_port(of));
  if (of.is_infiniband) {
    const host::ManagedPort port = infiniband_port(of);
    shown.width = port.width;
    shown.speed = port.speed;
  }
  return finish(std::snprintf(into, size, "%s\n", host::rate_text(shown.width, shown.speed).c_str()), size);
}

std::size_t write_node_description(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned) {
  char host[65] = {};
  if (gethostname(host, sizeof host - 1) != 0) host[0] = 0;
  return finish(std::snprintf(into, size, "%s %s\n", host, of.name.c_str()), size);
}

std::size_t write_cpu_list(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned) {
  return read_local_cpus(of, into, size);
}

std::size_t write_cpu_mask(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned) {
  constexpr std::size_t kWords = 64;  // 2048 CPUs
  std::array<std::uint32_t, kWords> mask{};
  char list[1024];
  read_local_cpus(of, list, sizeof list);
  std::size_t words = 1;
  for (char* at = list; *at >= '0' && *at <= '9';) {
    std::size_t first = std::strtoul(at, &at, 10);
    const std::size_t last = *at == '-' ? std::strtoul(at + 1, &at, 10) : first;
    for (; first <= last && first < kWords * 32; ++first) {
      mask[first / 32] |= std::uint32_t{1} << first % 32;
      if (first / 32 + 1 > words) words = first / 32 + 1;
    }
    if (*at == ',') ++at;
  }
  std::size_t length = 0;
  for (std::size_t i = words; i-- > 0;)
    length += finish(
        std::snprintf(into + length, size - length, words == 1 ? "%x%c" : "%08x%c", mask[i], i == 0 ? '\n' : ','),
        size - length);
  return length;
}

std::size_t write_verbs_event(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned) {
  return finish(std::snprintf(into, size, "MAJOR=%u\nMINOR=%u\nDEVNAME=infiniband/%s\nDEVMODE=0666\n", kUverbsMajor,
                              kUverbsMinor + of.number.device, of.file_name.c_str()),
                size);
}

std::size_t write_class_event(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned) {
  return finish(std::snprintf(into, size, "NAME=%s\n", of.name.c_str()), size);
}

}  // namespace verbena::path
