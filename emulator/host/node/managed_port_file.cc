#include "emulator/host/node/managed_port_file.h"

#include <sys/mman.h>

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
  const std::string path = managed_ports_path(fabric).c_str();
  const auto failed = [&] { return Failure{path + ": " + std::strerror(errno)}; };
  ::unlink(path.c_str());
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file || ::flock(file.get(), LOCK_EX | LOCK_NB) != 0) return failed();
  const std::size_t bytes = sizeof(ManagedPortsHeader) + std::size_t{ports} * sizeof(ManagedPort);
  void* mapping = MAP_FAILED;
  if (::posix_fallocate(file.get(), 0, static_cast<off_t>(bytes)) == 0)
    mapping = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (mapping == MAP_FAILED) {
    auto failure = failed();
    ::unlink(path.c_str());
    return failure;
  }
  std::unique_ptr<ManagedPortFile> made(new ManagedPortFile(path, std::move(file), mapping, bytes));
  for (std::uint32_t place = 0; place < ports; ++place) new (made->ports_ + place) ManagedPort;
  const ManagedPortsHeader header{.ports = ports, .rails = rails};
  std::memcpy(mapping, &header, sizeof header);
  return made;
}

void ManagedPortFile::remove(const std::string& fabric) {
  ::unlink(managed_ports_path(fabric).c_str());
}

ManagedPortFile::ManagedPortFile(std::string path, Descriptor file, void* mapping, std::size_t bytes)
    : path_(std::move(path)),
      file_(std::move(file)),
      mapping_(mapping),
      bytes_(bytes),
      ports_(reinterpret_cast<ManagedPort*>(static_cast<std::byte*>(mapping) + sizeof(ManagedPortsHeader))) {}

ManagedPortFile::~ManagedPortFile() {
  munmap(mapping_, bytes_);
  ::unlink(path_.c_str());
}

bool ManagedPortFile::write(std::uint32_t place, const ManagedPort& wanted, bool reregisters) {
  ManagedPort& port = ports_[place];
  ManagedPort next = wanted;
  const auto count = [](std::uint32_t before, bool has_changed) { return before + (has_changed ? 1 : 0); };
  next.lid_changes = count(port.lid_changes, port.base_lid != next.base_lid || port.lmc != next.lmc);
  next.sm_changes = count(port.sm_changes, port.sm_lid != next.sm_lid || port.sm_sl != next.sm_sl);
  next.pkey_changes = count(port.pkey_changes, port.pkeys != next.pkeys);
  next.gid_changes = count(port.gid_changes, port.subnet_prefix != next.subnet_prefix);
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
