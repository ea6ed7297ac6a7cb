// Hooks: the exec and posix_spawn families, system() and popen(): a child stays on the node.
//
// Solely responsible for the environment of what this program runs. Who gives a child an LD_PRELOAD of its own
// (`env LD_PRELOAD=x prog`, a shell script, a profiler) means to add a library, not to take the device away: as long as
// the child is told on which node it stands, our two libraries follow those that it is given. An LD_PRELOAD that is
// empty or not there is left so. Our libibverbs needs no place in LD_LIBRARY_PATH: a library that is preloaded is found
// by its name (ld.so(8)). And a child learns of a working directory in the emulated tree (working.h).
//
// Safe in a child of vfork(): nothing is allocated, what is made lies on the caller's stack.
// Tested by: tests/shim/sysfs/path_children_test.cc
#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "verbs-shim/sysfs/real.h"
#include "verbs-shim/sysfs/working.h"

namespace {

using Entries = char* const*;

constexpr std::size_t kEntriesMax = 8192;
constexpr const char* kPreload = "LD_PRELOAD";
constexpr const char* kPathLibrary = "/libverbena-path.so";
constexpr const char* kVerbsLibrary = "/libibverbs.so.1";

/// The value, if the entry is of this variable.
const char* value_of(const char* entry, const char* name) {
  const std::size_t length = std::strlen(name);
  return std::strncmp(entry, name, length) == 0 && entry[length] == '=' ? entry + length + 1 : nullptr;
}

const char* find(Entries entries, const char* name) {
  for (; *entries != nullptr; ++entries)
    if (const char* const value = value_of(*entries, name)) return value;
  return nullptr;
}

/// What our two libraries add to LD_PRELOAD, with a colon before each; empty: they are not known.
struct OwnLibraries {
  char text[2 * PATH_MAX];
  OwnLibraries() {
    text[0] = 0;
    Dl_info info;
    if (dladdr(reinterpret_cast<void*>(&value_of), &info) == 0 || info.dli_fname == nullptr) return;
    const char* const slash = std::strrchr(info.dli_fname, '/');
    if (slash == nullptr || info.dli_fname[0] != '/') return;
    char verbs[PATH_MAX];
    const int folder_bytes = static_cast<int>(slash - info.dli_fname);
    std::snprintf(verbs, sizeof verbs, "%.*s%s", folder_bytes, info.dli_fname, kVerbsLibrary);
    const bool has_verbs = syscall(SYS_faccessat, AT_FDCWD, verbs, R_OK) == 0;
    std::snprintf(text, sizeof text, ":%s%s%s", info.dli_fname, has_verbs ? ":" : "", has_verbs ? verbs : "");
  }
};

bool loses_us(Entries entries) {
  const char* const preload = find(entries, kPreload);
  return preload != nullptr && *preload != 0 && std::strstr(preload, kPathLibrary) == nullptr &&
         (find(entries, "VERBENA_FABRIC") != nullptr || find(entries, "VERBENA_NODE") != nullptr);
}

void complain() {
  constexpr char kText[] = "verbena: a program is run with an LD_PRELOAD of its own, and without its node\n";
  syscall(SYS_write, STDERR_FILENO, kText, sizeof kText - 1);
}

/// Calls `run` with the child's environment as it is to be.
template <class Run>
auto with_environment(Entries entries, Run run) {
  if (entries == nullptr) return run(entries);
  const int before = errno;
  const bool adds = loses_us(entries);
  const verbena::path::Node node = verbena::path::working_node();
  const char* const told = find(entries, verbena::path::kWorkingVariable);
  errno = before;
  if (!adds && !node && told == nullptr) return run(entries);

  std::size_t count = 0;
  while (entries[count] != nullptr) ++count;
  if (count > kEntriesMax) {
    if (adds) complain();
    return run(entries);
  }
  auto** const changed = static_cast<char**>(alloca((count + 2) * sizeof(char*)));
  std::size_t kept = 0;
  for (std::size_t i = 0; i < count; ++i) {
    changed[kept] = entries[i];
    if (adds && value_of(entries[i], kPreload) != nullptr) {
      const OwnLibraries own;
      if (own.text[0] == 0) complain();
      const std::size_t bytes = std::strlen(entries[i]) + std::strlen(own.text) + 1;
      changed[kept] = static_cast<char*>(alloca(bytes));
      std::strcpy(changed[kept], entries[i]);
      std::strcat(changed[kept], own.text);
    }
    if (value_of(entries[i], verbena::path::kWorkingVariable) == nullptr) ++kept;
  }
  char working[verbena::path::kPathBytesMax + 64];
  if (node) {
    const int begun = std::snprintf(working, sizeof working, "%s=", verbena::path::kWorkingVariable);
    verbena::path::expand(node, node->path, working + begun, sizeof working - static_cast<std::size_t>(begun));
    changed[kept++] = working;
  }
  changed[kept] = nullptr;
  errno = before;
  return run(static_cast<Entries>(changed));
}

/// For children that libc makes by itself: they get this program's own environment.
void mend_own_environment() {
  with_environment(environ, [](Entries entries) {
    if (entries == environ) return 0;
    unsetenv(verbena::path::kWorkingVariable);
    for (const char* name : {kPreload, verbena::path::kWorkingVariable})
      if (const char* const value = find(entries, name)) setenv(name, value, 1);
    return 0;
  });
}

/// The words of execl() and its like, from the second one on, and the null that ends them.
std::size_t count_words(va_list words) {
  std::size_t count = 0;
  while (va_arg(words, const char*) != nullptr) ++count;
  return count;
}
void take_words(va_list words, const char* first, std::size_t count, char** into) {
  into[0] = const_cast<char*>(first);
  for (std::size_t i = 1; i <= count + 1; ++i) into[i] = va_arg(words, char*);
}

}  // namespace

VERBENA_HOOK(int, execve, (const char* path, Entries words, Entries entries)) {
  return with_environment(entries, [&](Entries with) { return VERBENA_REAL(execve)(path, words, with); });
}
VERBENA_HOOK(int, execvpe, (const char* file, Entries words, Entries entries)) {
  return with_environment(entries, [&](Entries with) { return VERBENA_REAL(execvpe)(file, words, with); });
}
VERBENA_HOOK(int, execv, (const char* path, Entries words)) {
  return execve(path, words, environ);
}
VERBENA_HOOK(int, execvp, (const char* file, Entries words)) {
  return execvpe(file, words, environ);
}
VERBENA_HOOK(int, fexecve, (int fd, Entries words, Entries entries)) {
  return with_environment(entries, [&](Entries with) { return VERBENA_REAL(fexecve)(fd, words, with); });
}
VERBENA_HOOK(int, execveat, (int directory, const char* path, Entries words, Entries entries, int flags)) {
  return with_environment(entries,
                          [&](Entries with) { return VERBENA_REAL(execveat)(directory, path, words, with, flags); });
}

#define VERBENA_EXEC_WORDS(count, all, first)                                  \
  va_list counted;                                                             \
  va_start(counted, first);                                                    \
  const std::size_t count = count_words(counted);                              \
  va_end(counted);                                                             \
  auto** const all = static_cast<char**>(alloca((count + 2) * sizeof(char*))); \
  va_list taken;                                                               \
  va_start(taken, first);                                                      \
  take_words(taken, first, count, all);

VERBENA_HOOK(int, execl, (const char* path, const char* first, ...)) {
  VERBENA_EXEC_WORDS(count, words, first)
  va_end(taken);
  return execve(path, words, environ);
}
VERBENA_HOOK(int, execlp, (const char* file, const char* first, ...)) {
  VERBENA_EXEC_WORDS(count, words, first)
  va_end(taken);
  return execvpe(file, words, environ);
}
VERBENA_HOOK(int, execle, (const char* path, const char* first, ...)) {
  VERBENA_EXEC_WORDS(count, words, first)
  const Entries entries = va_arg(taken, Entries);
  va_end(taken);
  return execve(path, words, entries);
}

VERBENA_HOOK(int, posix_spawn,
             (pid_t * pid, const char* path, const posix_spawn_file_actions_t* actions,
              const posix_spawnattr_t* attributes, Entries words, Entries entries)) {
  return with_environment(
      entries, [&](Entries with) { return VERBENA_REAL(posix_spawn)(pid, path, actions, attributes, words, with); });
}
VERBENA_HOOK(int, posix_spawnp,
             (pid_t * pid, const char* file, const posix_spawn_file_actions_t* actions,
              const posix_spawnattr_t* attributes, Entries words, Entries entries)) {
  return with_environment(
      entries, [&](Entries with) { return VERBENA_REAL(posix_spawnp)(pid, file, actions, attributes, words, with); });
}

VERBENA_HOOK(int, system, (const char* command)) {
  mend_own_environment();
  return VERBENA_REAL(system)(command);
}
VERBENA_HOOK(FILE*, popen, (const char* command, const char* mode)) {
  mend_own_environment();
  return VERBENA_REAL(popen)(command, mode);
}
