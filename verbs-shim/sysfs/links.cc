// Hooks: readlink, realpath, glob and their variants.
// Tested by: tests/shim/sysfs/path_test.cc
#include <dirent.h>
#include <errno.h>
#include <glob.h>

#include <cstdlib>
#include <cstring>

#include "verbs-shim/sysfs/real.h"
#include "verbs-shim/sysfs/tree.h"

using verbena::path::NodeKind;
using verbena::path::Target;

namespace {

bool may_be_ours(int directory, const char* path) {
  if (path == nullptr) return false;
  return path[0] == '/' ? verbena::path::is_ours(path) : verbena::path::node_of_descriptor(directory).row != nullptr;
}

template <class Real>
ssize_t read_link(int directory, const char* path, char* into, size_t size, Real real) {
  if (!may_be_ours(directory, path)) return real(path);
  Target target;
  if (!verbena::path::resolve(directory, path, false, target)) return real(path);
  if (target.kind == Target::Kind::elsewhere) return real(target.elsewhere);
  if (target.kind == Target::Kind::error || target.node->kind != NodeKind::link) {
    errno = target.kind == Target::Kind::error ? target.error : EINVAL;
    return -1;
  }
  char text[verbena::path::kPathBytesMax];
  const std::size_t length = verbena::path::expand(target.node, target.node->text, text, sizeof text);
  const std::size_t copied = length < size ? length : size;  // not terminated, as readlink(2) has it
  std::memcpy(into, text, copied);
  return static_cast<ssize_t>(copied);
}

template <class Real>
char* real_path(const char* path, char* into, Real real) {
  if (!may_be_ours(AT_FDCWD, path)) return real(path);
  Target target;
  if (!verbena::path::resolve(AT_FDCWD, path, true, target)) return real(path);
  if (target.kind == Target::Kind::elsewhere) return real(target.elsewhere);
  if (target.kind == Target::Kind::error) {
    errno = target.error;
    return nullptr;
  }
  char text[verbena::path::kPathBytesMax];
  verbena::path::expand(target.node, target.node->path, text, sizeof text);
  return into != nullptr ? std::strcpy(into, text) : strdup(text);
}

/// libc's own glob works on any file system that it is given functions for: here, the hooked ones.
template <class Glob, class Read, class Status, class Real>
int glob_with_tree(const char* pattern, int flags, Glob* into, Read read, Status status, Status link_status,
                   Real real) {
  if (pattern == nullptr || (flags & GLOB_ALTDIRFUNC) != 0 || !may_be_ours(AT_FDCWD, pattern)) return real(flags);
  into->gl_opendir = [](const char* path) -> void* { return opendir(path); };
  into->gl_readdir = read;
  into->gl_closedir = [](void* directory) { closedir(static_cast<DIR*>(directory)); };
  into->gl_stat = status;
  into->gl_lstat = link_status;
  return real(flags | GLOB_ALTDIRFUNC);
}

using GlobError = int (*)(const char*, int);

}  // namespace

VERBENA_HOOK(ssize_t, readlink, (const char* path, char* into, size_t size)) {
  return read_link(AT_FDCWD, path, into, size, [&](const char* p) { return VERBENA_REAL(readlink)(p, into, size); });
}
VERBENA_HOOK(ssize_t, readlinkat, (int directory, const char* path, char* into, size_t size)) {
  return read_link(directory, path, into, size,
                   [&](const char* p) { return VERBENA_REAL(readlinkat)(directory, p, into, size); });
}
VERBENA_HOOK(ssize_t, __readlink_chk, (const char* path, char* into, size_t size, size_t room)) {
  return read_link(AT_FDCWD, path, into, size,
                   [&](const char* p) { return VERBENA_REAL(__readlink_chk)(p, into, size, room); });
}
VERBENA_HOOK(ssize_t, __readlinkat_chk, (int directory, const char* path, char* into, size_t size, size_t room)) {
  return read_link(directory, path, into, size,
                   [&](const char* p) { return VERBENA_REAL(__readlinkat_chk)(directory, p, into, size, room); });
}

VERBENA_HOOK(char*, realpath, (const char* path, char* into)) {
  return real_path(path, into, [&](const char* p) { return VERBENA_REAL(realpath)(p, into); });
}
VERBENA_HOOK(char*, __realpath_chk, (const char* path, char* into, size_t room)) {
  return real_path(path, into, [&](const char* p) { return VERBENA_REAL(__realpath_chk)(p, into, room); });
}
VERBENA_HOOK(char*, canonicalize_file_name, (const char* path)) {
  return real_path(path, nullptr, [&](const char* p) { return VERBENA_REAL(canonicalize_file_name)(p); });
}

VERBENA_HOOK(int, glob, (const char* pattern, int flags, GlobError on_error, glob_t* into)) {
  return glob_with_tree(
      pattern, flags, into, [](void* directory) { return readdir(static_cast<DIR*>(directory)); }, &stat, &lstat,
      [&](int with) { return VERBENA_REAL(glob)(pattern, with, on_error, into); });
}
VERBENA_HOOK(int, glob64, (const char* pattern, int flags, GlobError on_error, glob64_t* into)) {
  return glob_with_tree(
      pattern, flags, into, [](void* directory) { return readdir64(static_cast<DIR*>(directory)); }, &stat64, &lstat64,
      [&](int with) { return VERBENA_REAL(glob64)(pattern, with, on_error, into); });
}
