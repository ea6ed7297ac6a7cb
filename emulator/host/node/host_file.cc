#include "emulator/host/node/host_file.h"

#include <dirent.h>
#include <sys/mman.h>

#include <cstring>
#include <string_view>
#include <utility>

namespace verbena::host {
namespace {

constexpr char kFolder[] = "/dev/shm";

}  // namespace

Result<std::unique_ptr<HostFile>, std::string> HostFile::make(const HostFilePath& path, HostFileKind kind,
                                                              std::uint32_t hosts, std::uint32_t rails,
                                                              void (*begin)(void* record)) {
  const auto failed = [&] { return Failure{std::string(path.c_str()) + ": " + std::strerror(errno)}; };
  // It has a name once it is whole and locked.
  Descriptor file(::open(kFolder, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600));
  if (!file || ::flock(file.get(), LOCK_EX | LOCK_NB) != 0) return failed();
  const std::size_t bytes = sizeof(HostFileHeader) + std::size_t{hosts} * kind.record_bytes;
  if (errno = ::posix_fallocate(file.get(), 0, static_cast<off_t>(bytes)); errno != 0) return failed();
  void* const mapping = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (mapping == MAP_FAILED) return failed();
  const std::string unnamed = "/proc/self/fd/" + std::to_string(file.get());
  std::unique_ptr<HostFile> made(new HostFile(path.c_str(), std::move(file), mapping, bytes));
  for (std::uint32_t host = 0; host < hosts; ++host)
    begin(static_cast<std::byte*>(made->records()) + std::size_t{host} * kind.record_bytes);
  const HostFileHeader header{.magic = kind.magic, .record_bytes = kind.record_bytes, .hosts = hosts, .rails = rails};
  std::memcpy(mapping, &header, sizeof header);
  ::unlink(path.c_str());
  if (::linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) != 0) return failed();
  return made;
}

void HostFile::remove_left() {
  DIR* const folder = opendir(kFolder);
  if (folder == nullptr) return;
  while (const dirent* const entry = readdir(folder)) {
    const auto begins_as = [&](HostFileOf what) {
      return std::string_view(entry->d_name).starts_with(host_file_path(what, "").view().substr(sizeof kFolder));
    };
    bool is_one = false;
    for (std::size_t what = 0; what < kHostFiles.size(); ++what)
      is_one = is_one || begins_as(static_cast<HostFileOf>(what));
    if (!is_one) continue;
    const std::string path = std::string(kFolder) + "/" + entry->d_name;
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat status{};
    if (file && ::fstat(file.get(), &status) == 0 && status.st_uid == own_user() &&
        ::flock(file.get(), LOCK_EX | LOCK_NB) == 0)
      ::unlink(path.c_str());
  }
  closedir(folder);
}

HostFile::HostFile(std::string path, Descriptor file, void* mapping, std::size_t bytes)
    : path_(std::move(path)), file_(std::move(file)), mapping_(mapping), bytes_(bytes) {}

HostFile::~HostFile() {
  munmap(mapping_, bytes_);
  ::unlink(path_.c_str());
}

}  // namespace verbena::host
