// caller_place: where a return address lies, as text, for reports of leaks and crashes.
//
// Solely the text. It may be called in the handler of a signal: it takes no memory.
// Tested by: tests/programs/leaks.py, tests/programs/exhaust.py
#pragma once

#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <span>

namespace verbena::shim {

/// What follows the last slash of a path.
inline const char* file_name(const char* path) {
  if (path == nullptr) return "?";
  const char* const slash = std::strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

/// "setup_qp at prog+0x1234", with the symbol as the linker has it: the place is what addr2line -e takes. A return
/// address is one behind the call. Returns how many characters it has.
inline std::size_t write_caller_place(void* address, std::span<char> into) {
  Dl_info info{};
  const char* const call = static_cast<const char*>(address) - 1;
  int size = 0;
  if (dladdr(call, &info) == 0) {
    size = std::snprintf(into.data(), into.size(), "%p", address);
  } else {
    const auto offset = static_cast<unsigned long>(call - static_cast<const char*>(info.dli_fbase));
    size = info.dli_sname == nullptr
               ? std::snprintf(into.data(), into.size(), "%s+0x%lx", file_name(info.dli_fname), offset)
               : std::snprintf(into.data(), into.size(), "%s at %s+0x%lx", info.dli_sname, file_name(info.dli_fname),
                               offset);
  }
  const auto written = static_cast<std::size_t>(size > 0 ? size : 0);
  return written < into.size() ? written : into.size() - 1;
}

}  // namespace verbena::shim
