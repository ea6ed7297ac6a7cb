// The files that sysfs has of an adapter and of its umad devices, for programs on it.
// Tested by: tests/programs/subnet.py
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "emulator/host/node/port_speed.h"
#include "emulator/host/subnet_process/subnet_process.h"

namespace verbena::host {
namespace {

constexpr const char* kDevice = "verbena0";

/// False: errno says why.
bool write_file(const std::string& path, const std::string& text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return false;
  const std::string line = text + "\n";
  const bool is_whole = ::write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  close(fd);
  return is_whole;
}

std::string guid_text(std::uint64_t guid) {
  return fmt::format("{:04x}:{:04x}:{:04x}:{:04x}", guid >> 48, guid >> 32 & 0xffff, guid >> 16 & 0xffff,
                     guid & 0xffff);
}

}  // namespace

/// A manager sets much that no file shows.
void SubnetProcess::write_text(const std::string& path, const std::string& text) {
  std::string& before = texts_[path];
  if (before == text && !text.empty()) return;
  before = text;
  if (!write_file(path, text) && file_error_.empty())
    file_error_ = fmt::format("{}: {}; set TMPDIR to a folder with room", path, std::strerror(errno));
}

SubnetProcess::~SubnetProcess() {
  umad_.reset();
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

std::string SubnetProcess::folder_of(std::size_t node) const {
  return fmt::format("{}/hosts/{}", folder_, node);
}

void SubnetProcess::write_host(std::size_t node) {
  const std::string root = folder_of(node);
  const std::string device = root + "/sys/class/infiniband/" + kDevice;
  const std::string mad = root + "/sys/class/infiniband_mad";
  const std::string nodes = root + "/dev/infiniband";
  std::error_code ignored;
  for (const std::string& folder : {device, mad, nodes}) std::filesystem::create_directories(folder, ignored);
  const subnet::Node& of = subnet_.nodes()[node];
  write_text(device + "/node_type", "1: CA");
  write_text(device + "/fw_ver", "");
  write_text(device + "/hw_rev", "0");
  write_text(device + "/hca_type", "Verbena");
  write_text(device + "/board_id", "Verbena");
  write_text(device + "/node_guid", guid_text(of.plan.guid));
  write_text(device + "/sys_image_guid", guid_text(of.plan.system_image_guid));
  write_text(device + "/node_desc", of.plan.description);
  write_text(mad + "/abi_version", "5");
  for (std::size_t port = 1; port < of.ports.size(); ++port) {
    for (const char* const kind : {"umad", "issm"}) {
      const std::string name = fmt::format("{}{}", kind, port - 1);
      std::filesystem::create_directories(mad + "/" + name, ignored);
      write_text(mad + "/" + name + "/ibdev", kDevice);
      write_text(mad + "/" + name + "/port", fmt::format("{}", port));
      write_text(nodes + "/" + name, "");
    }
    const std::string values = fmt::format("{}/ports/{}", device, port);
    for (const char* const table : {"/gids", "/pkeys"}) std::filesystem::create_directories(values + table, ignored);
    write_port({node, static_cast<std::uint8_t>(port)});
  }
}

void SubnetProcess::write_port(subnet::PortEnd end) {
  const subnet::Port& port = subnet_.nodes()[end.node].ports[end.port];
  const wire::PortInfo& info = port.info;
  const std::string folder = fmt::format("{}/sys/class/infiniband/{}/ports/{}", folder_of(end.node), kDevice, end.port);
  write_text(folder + "/lid", fmt::format("{:#x}", info.base_lid.value()));
  write_text(folder + "/lid_mask_count", fmt::format("{}", info.lmc));
  write_text(folder + "/sm_lid", fmt::format("{:#x}", info.master_sm_lid.value()));
  write_text(folder + "/sm_sl", fmt::format("{}", info.master_sm_sl));
  write_text(folder + "/cap_mask", fmt::format("{:#010x}", info.capability_mask));
  write_text(folder + "/state", port_state_text(static_cast<std::uint8_t>(info.state)));
  write_text(folder + "/phys_state", physical_state_text(static_cast<std::uint8_t>(info.physical_state)));
  write_text(folder + "/rate", rate_text(info.width_active, wire::active_speed(info)).c_str());
  write_text(folder + "/link_layer", "InfiniBand");
  for (std::size_t i = 0; i < port.guids.size(); ++i) {
    const std::uint64_t prefix = port.guids[i] != 0 ? info.subnet_prefix : 0;  // else the entry is empty
    write_text(fmt::format("{}/gids/{}", folder, i), guid_text(prefix) + ":" + guid_text(port.guids[i]));
  }
  for (std::size_t i = 0; i < 2; ++i)
    write_text(fmt::format("{}/pkeys/{}", folder, i), fmt::format("{:#06x}", port.pkeys[i]));
}

}  // namespace verbena::host
