#include "emulator/host/os/shortage.h"

#include <sys/resource.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace verbena::host {
namespace {

bool is_shortage(int error_number) {
  for (const int one : {ENOSPC, EDQUOT, EFBIG, EIO, ENOMEM, ENFILE, EMFILE})
    if (error_number == one) return true;
  return false;
}

}  // namespace

FileError file_error(const std::string& text, int error_number) {
  return {text + ": " + std::strerror(error_number), is_shortage(error_number)};
}

std::string memory_limit_text() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  return " (`ulimit -v` allows this process " + std::to_string(limit.rlim_cur >> 20) + " MiB)";
}

std::string no_memory_text() {
  return "no memory is left" + memory_limit_text();
}

void tell_no_memory(const char* what) {
  static std::atomic<bool> told{false};
  if (!told.exchange(true)) std::fprintf(stderr, "verbena: %s: %s\n", what, no_memory_text().c_str());
}

bool tell_if_no_descriptors(const char* what) {
  static std::atomic<bool> told{false};
  const int error = errno;
  if (error != EMFILE && error != ENFILE) return false;
  rlimit limit{};
  if (!told.exchange(true)) {
    if (error == EMFILE && getrlimit(RLIMIT_NOFILE, &limit) == 0)
      std::fprintf(stderr, "verbena: %s: no file descriptor is left (`ulimit -n` allows this process %llu)\n", what,
                   static_cast<unsigned long long>(limit.rlim_cur));
    else
      std::fprintf(stderr, "verbena: %s: no file descriptor is left\n", what);
  }
  errno = error;
  return true;
}

}  // namespace verbena::host
