#include "verbs-shim/verbs/leaks.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <span>
#include <utility>

#include "emulator/host/config/variables.h"
#include "emulator/host/os/call_state.h"
#include "verbs-shim/verbs/caller_place.h"

namespace verbena::shim {
namespace {

constexpr int kCallersMax = 24;

const void* own_module() {
  Dl_info info{};
  return dladdr(reinterpret_cast<const void*>(&own_module), &info) != 0 ? info.dli_fbase : nullptr;
}

std::string plain_name(const char* symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> plain(abi::__cxa_demangle(symbol, nullptr, nullptr, &status),
                                                          &std::free);
  return status == 0 ? plain.get() : symbol;
}

/// With the symbol as C++ writes it.
std::string line_of(void* address) {
  std::array<char, 1024> line{};
  const std::string place(line.data(), write_caller_place(address, line));
  const std::size_t end = place.find(" at ");
  return end == place.npos ? place : plain_name(place.substr(0, end).c_str()) + place.substr(end);
}

/// Whether a library with such a name has made the call.
bool is_called_by(const std::vector<void*>& callers, std::string_view library) {
  Dl_info info{};
  return !callers.empty() && dladdr(callers.front(), &info) != 0 &&
         std::string_view(file_name(info.dli_fname)).starts_with(library);
}

}  // namespace

Leaks* Leaks::watch() {
  static Leaks* const only = [] {
    const char* const path = std::getenv(host::kLeaksVariable);
    return path == nullptr || *path == '\0' ? nullptr : new Leaks(path);
  }();
  return only;
}

void Leaks::born(const void* object, std::string_view kind) {
  static const void* const own = own_module();
  std::array<void*, kCallersMax> stack{};
  const auto depth = static_cast<std::size_t>(backtrace(stack.data(), kCallersMax));
  std::vector<void*> callers;
  for (void* const caller : std::span(stack).first(depth)) {
    Dl_info info{};
    const bool is_own = dladdr(caller, &info) != 0 && info.dli_fbase == own;
    if (!is_own || !callers.empty()) callers.push_back(caller);
  }
  if (is_called_by(callers, "libverbena")) return;  // our own, such as the device that a communication manager is on
  const pid_t process = getpid();
  const std::scoped_lock lock(mutex_);
  if (std::exchange(made_by_, process) != process) made_ = 0;
  births_[object] = {kind, ++made_, process, std::move(callers)};
}

void Leaks::gone(const void* object) {
  const std::scoped_lock lock(mutex_);
  births_.erase(object);
}

/// Of this process, the oldest first. librdmacm keeps the devices that it has opened, and a PD of each, for ever: they
/// are not the program's to destroy.
std::vector<Leaks::Birth> Leaks::left() {
  std::vector<Birth> all;
  for (const auto& [object, birth] : births_) {
    const bool is_kept = (birth.kind == "device" || birth.kind == "PD") && is_called_by(birth.callers, "librdmacm.so");
    if (birth.process == getpid() && !is_kept) all.push_back(birth);
  }
  std::ranges::sort(all, {}, &Birth::order);
  return all;
}

std::string Leaks::text() {
  const std::vector<Birth> all = left();
  std::string text = fmt::format("{} {} {} {}\n", host::kLeaksRecord, getpid(), all.size(), made_);
  for (const Birth& birth : all) {
    text += fmt::format("  {}, made by\n", birth.kind);
    for (void* const caller : birth.callers) text += fmt::format("    {}\n", line_of(caller));
  }
  return text;
}

void Leaks::report() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || made_ == 0 || made_by_ != getpid() || std::exchange(is_reported_, true)) return;
  const std::string all = text();
  const int file = open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file < 0) return;
  if (write(file, all.data(), all.size()) < 0) {
    // Then nobody has judged, which the reader sees.
  }
  close(file);
}

namespace {
/// Behind the handlers of atexit() and the destructors of the program's own statics, which may still destroy objects.
[[gnu::destructor]] void report_at_end() {
  if (host::is_state_lost()) return;
  if (Leaks* const leaks = Leaks::watch()) leaks->report();
}
}  // namespace

}  // namespace verbena::shim
