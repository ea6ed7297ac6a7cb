// Libraries and programs: what `verbena exec` puts before a program, the distribution's RDMA libraries, test programs.
// Tested by: tests/cli/doctor_test.cc
#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <optional>

#include "cli/doctor/probes.h"
#include "cli/exec/program.h"
#include "emulator/host/config/own_files.h"
#include "emulator/host/config/variables.h"
#include "emulator/host/os/clock.h"
#include "scenarios/real/program_child.h"

namespace verbena::cli::doctor {
namespace {

constexpr Duration kProgramPatience = seconds(20);

/// A program on a node, to its end: what it printed, and its status.
struct Ran {
  int status = -1;
  std::string output;
};
Ran run_on_a_node(const std::vector<std::string>& words, const std::string& libraries) {
  scenarios::ProgramChild::Options options;
  options.arguments = words;
  options.library_directory = libraries;
  options.environment.fabric = fmt::format("doctor-{}", getpid());
  options.environment.node = "1";
  options.environment.link = "shm";
  options.environment.device_name = host::kDeviceNameDefault;
  const Time deadline = host::clock_now() + kProgramPatience;
  auto child = scenarios::ProgramChild::start(options, host::clock_now());
  if (!child) return {-1, child.error()};
  constexpr timespec kStep{0, 2'000'000};
  while (!child->ended() && host::clock_now() < deadline) nanosleep(&kStep, nullptr);
  return {child->ended() ? child->status() : -1, child->output()};
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

Finding preloaded() {
  Finding finding{"the libraries that `verbena exec` puts before a program", State::missing, {}, {}, {}, true};
  finding.follows = "no program sees the emulated device";
  const auto libraries = host::find_library_directory();
  if (!libraries) {
    finding.found = libraries.error();
    finding.remedy = "install Verbena anew, or leave bin/ and lib/verbena/ beside each other";
    return finding;
  }
  const bool has_program = find_program("ibv_devices").has_value();
  const Ran ran = run_on_a_node({has_program ? "ibv_devices" : "true"}, *libraries);
  const bool preloaded = ran.status == 0 && ran.output.find("cannot be preloaded") == std::string::npos;
  if (preloaded && (!has_program || ran.output.find(host::kDeviceNameDefault) != std::string::npos)) {
    finding.state = State::ok;
    finding.found = *libraries + (has_program ? "; ibv_devices shows verbena0" : "; a program starts with them");
    finding.follows.clear();
    return finding;
  }
  finding.found =
      fmt::format("{} ended with {}: {}", has_program ? "ibv_devices" : "true", ran.status, first_line(ran.output));
  finding.remedy = "the packages libibverbs1 and librdmacm1 of the distribution have to be there; `ldd " + *libraries +
                   "/libibverbs.so.1` says what is missing";
  return finding;
}

/// The real file behind a library that the linker finds by its name; nothing: it finds none.
std::optional<std::string> file_of(const char* name) {
  void* const library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return std::nullopt;
  link_map* map = nullptr;
  char path[PATH_MAX];
  std::optional<std::string> file;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && realpath(map->l_name, path) != nullptr) file = path;
  dlclose(library);
  return file;
}

/// libibverbs.so.1.14.44.0 is rdma-core 44's.
std::string release_of(const std::string& file) {
  const std::size_t last = file.rfind('.');
  const std::size_t before = last == file.npos ? last : file.rfind('.', last - 1);
  const std::string number = before == file.npos ? "" : file.substr(before + 1, last - before - 1);
  return number.empty() || number.find_first_not_of("0123456789") != number.npos ? "" : ", rdma-core " + number;
}

Finding library(const char* name, const char* package, const char* follows) {
  Finding finding{std::string(name) + " of the distribution", State::ok, {}, {}, {}};
  if (const auto file = file_of(name)) {
    finding.found = *file + release_of(*file);
    return finding;
  }
  finding.state = State::limited;
  finding.found = "not found";
  finding.follows = follows;
  finding.remedy = std::string("install ") + package;
  return finding;
}

Finding providers() {
  Finding finding{"providers of libibverbs", State::ok, {}, {}, {}};
  std::error_code error;
  std::size_t count = 0;
  for (std::filesystem::directory_iterator at("/etc/libibverbs.d", error), end; !error && at != end;
       at.increment(error))
    if (at->path().extension() == ".driver") ++count;
  finding.found = fmt::format("{}; none is needed on a node", count);
  return finding;
}

Finding program(const char* name, const char* package) {
  Finding finding{name, State::ok, {}, {}, {}};
  if (const auto path = find_program(name)) {
    finding.found = *path;
    if (const auto reason = why_not_preloadable(*path)) {
      finding.state = State::limited;
      finding.found += ", " + *reason;
      finding.follows = "it does not see the emulated device";
      finding.remedy = "take the package's own program";
    }
    return finding;
  }
  finding.state = State::limited;
  finding.found = "not here";
  finding.follows = "none of Verbena's own commands but `verbena demo` wants it";
  finding.remedy = std::string("install the package ") + package;
  return finding;
}

}  // namespace

Group look_at_libraries() {
  return {"Libraries and programs",
          {preloaded(), library("libibverbs.so.1", "libibverbs1", "programs on verbs are not there either"),
           library("librdmacm.so.1", "librdmacm1", "programs that connect by rdma_cm do not start"), providers(),
           program("ib_write_bw", "perftest"), program("ibv_rc_pingpong", "ibverbs-utils"),
           program("rping", "rdmacm-utils")}};
}

}  // namespace verbena::cli::doctor
