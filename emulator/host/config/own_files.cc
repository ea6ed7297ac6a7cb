#include "emulator/host/config/own_files.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string_view>

namespace verbena::host {
namespace {

Result<std::string, std::string> directory_of_executable() {
  char path[PATH_MAX];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof path);
  if (size <= 0)
    return Failure{std::string("/proc/self/exe cannot be read (") + std::strerror(errno) +
                   "): Verbena needs /proc, mount it"};
  std::string directory(path, static_cast<std::size_t>(size));
  directory.erase(directory.rfind('/'));
  return directory;
}

using Names = std::initializer_list<std::string_view>;

/// The first of the places, each relative to the executable's directory, in which all of the names can be read.
Result<std::string, std::string> find(std::string_view what, Names places, Names names) {
  const auto directory = directory_of_executable();
  if (!directory) return Failure{directory.error()};
  std::string looked_in;
  for (const std::string_view place : places) {
    const std::string candidate = *directory + "/" + std::string(place);
    const bool has_all = std::all_of(names.begin(), names.end(), [&candidate](std::string_view name) {
      return access((candidate + "/" + std::string(name)).c_str(), R_OK) == 0;
    });
    char resolved[PATH_MAX];
    if (has_all) return realpath(candidate.c_str(), resolved) != nullptr ? std::string(resolved) : candidate;
    looked_in += (looked_in.empty() ? "neither in " : " nor in ") + candidate;
  }
  return Failure{std::string(what) + " not where they belong: " + looked_in};
}

}  // namespace

// First as in the build folder, where all lies below the executable; then as installed, where it lies beside bin/. The
// libraries have a directory of their own there: in that of the linker they would be everybody's libibverbs.
Result<std::string, std::string> find_library_directory() {
  return find("libibverbs.so.1 and libverbena-path.so are", {"lib", "../lib/verbena"},
              {"libibverbs.so.1", "libverbena-path.so"});
}

Result<std::string, std::string> find_scenario_directory() {
  return find("the scenarios that come with Verbena are", {"share/verbena/scenarios", "../share/verbena/scenarios"},
              {"profiles"});
}

}  // namespace verbena::host
