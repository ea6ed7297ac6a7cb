#include "emulator/host/node/managed_port_file.h"

#include <dirent.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>

namespace verbena::host {
namespace {

constexpr char kFolder[] = "/dev/shm";

bool is_same(const ManagedPort& a, ManagedPort b) {
  b.sequence = a.sequence;
  return std::memcmp(&a, &b, sizeof a) == 0;
}

}  // namespace

Result<std::unique_ptr<ManagedPortFile>, std::string> ManagedPortFile::make(const std::string& fabric,
                                                                            std::uint32_t ports, std::uint32_t rails) {
  const std::string path = managed_ports_path(fabric).c_str();
  const auto failed = [&] { return Failure{path + ": " + std::strerror(errno)}; };
  // It has a name once it is whole and locked.
  Descriptor file(::open(kFolder, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600));
  if (!file || ::flock(file.get(), LOCK_EX | LOCK_NB) != 0) return failed();
  const std::size_t bytes = sizeof(ManagedPortsHeader) + std::size_t{ports} * sizeof(ManagedPort);
  if (errno = ::posix_fallocate(file.get(), 0, static_cast<off_t>(bytes)); errno != 0) return failed();
  void* const mapping = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (mapping == MAP_FAILED) return failed();
  const std::string unnamed = "/proc/self/fd/" + std::to_string(file.get());
  std::unique_ptr<ManagedPortFile> made(new ManagedPortFile(path, std::move(file), mapping, bytes));
  for (std::uint32_t place = 0; place < ports; ++place) new (made->ports_ + place) ManagedPort;
  const ManagedPortsHeader header{.ports = ports, .rails = rails};
  std::memcpy(mapping, &header, sizeof header);
  ::unlink(path.c_str());
  if (::linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) != 0) return failed();
  return made;
}

void ManagedPortFile::remove_left() {
  const ManagedPortsPath any = managed_ports_path("");
  const std::string_view beginning = any.view().substr(sizeof kFolder);
  DIR* const folder = opendir(kFolder);
  if (folder == nullptr) return;
  while (const dirent* const entry = readdir(folder)) {
    if (!std::string_view(entry->d_name).starts_with(beginning)) continue;
    const std::string path = std::string(kFolder) + "/" + entry->d_name;
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat status{};
    if (file && ::fstat(file.get(), &status) == 0 && status.st_uid == own_user() &&
        ::flock(file.get(), LOCK_EX | LOCK_NB) == 0)
      ::unlink(path.c_str());
  }
  closedir(folder);
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
