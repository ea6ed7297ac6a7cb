// NumberedEntries: the entries of a directory whose names are numbers, as /proc has them.
//
// Solely the reading, by system calls: libc's readdir is hooked, and allocates.
// Tested by: tests/shim/sysfs/path_test.cc
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>

namespace verbena::path {

class NumberedEntries {
 public:
  explicit NumberedEntries(const char* path)
      : fd_(static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC))) {}
  ~NumberedEntries() {
    if (fd_ >= 0) close(fd_);
  }
  NumberedEntries(const NumberedEntries&) = delete;
  NumberedEntries& operator=(const NumberedEntries&) = delete;

  bool is_open() const { return fd_ >= 0; }
  /// The next number, or -1.
  long next() {
    while (fd_ >= 0) {
      if (at_ >= filled_) {
        filled_ = syscall(SYS_getdents64, fd_, list_, sizeof list_);
        at_ = 0;
        if (filled_ <= 0) return -1;
      }
      const auto* const entry = reinterpret_cast<const dirent64*>(list_ + at_);
      at_ += entry->d_reclen;
      char* end = nullptr;
      const long number = std::strtol(entry->d_name, &end, 10);
      if (end != entry->d_name && *end == 0) return number;
    }
    return -1;
  }

 private:
  static constexpr std::size_t kListBytes = 4096;

  int fd_;
  long filled_ = 0;
  long at_ = 0;
  alignas(dirent64) char list_[kListBytes];
};

}  // namespace verbena::path
