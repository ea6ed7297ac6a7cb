#include "emulator/host/node/port_rate_file.h"

#include <atomic>
#include <new>

namespace verbena::host {

Result<PortRateFile, std::string> PortRateFile::make(const std::string& fabric, std::uint32_t hosts,
                                                     std::uint32_t rails) {
  auto file =
      HostFile::make(port_rates_path(fabric), kPortRates, hosts, rails, [](void* record) { new (record) PortRate; });
  if (!file) return Failure{file.error()};
  return PortRateFile(std::move(*file));
}

void PortRateFile::set(std::uint32_t host, std::uint64_t bits_per_second) {
  PortRate& rate = static_cast<PortRate*>(file_->records())[host];
  std::atomic_ref(rate.bits_per_second).store(bits_per_second);
  std::atomic_ref(rate.inverse).store(~bits_per_second);
}

}  // namespace verbena::host
