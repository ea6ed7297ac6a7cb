// Hooks: open, openat, fopen and their variants.
// Tested by: tests/shim/sysfs/path_test.cc
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>

#include <cstring>

#include "verbs-shim/sysfs/rdma_cm.h"
#include "verbs-shim/sysfs/real.h"
#include "verbs-shim/sysfs/settings.h"
#include "verbs-shim/sysfs/tree.h"
#include "verbs-shim/sysfs/umad.h"

using verbena::path::Node;
using verbena::path::NodeKind;
using verbena::path::Target;

namespace {

int fail(int error) {
  errno = error;
  return -1;
}

int open_content(Node node, bool close_on_exec) {
  char content[verbena::path::kContentBytesMax];
  const std::size_t size = verbena::path::content_of(node, content, sizeof content);
  const int fd = memfd_create("verbena-file", MFD_ALLOW_SEALING | (close_on_exec ? MFD_CLOEXEC : 0u));
  if (fd < 0) return -1;
  if (pwrite(fd, content, size, 0) != static_cast<ssize_t>(size) ||
      fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    close(fd);
    return fail(EIO);
  }
  return fd;
}

int open_device(Node node, int flags) {
  if (std::strcmp(node.name(), "rdma_cm") == 0) return verbena::path::open_rdma_cm(flags);
  if (std::strcmp(node.name(), "umad^") == 0) return verbena::path::open_umad(node.identity(), flags, false);
  if (std::strcmp(node.name(), "issm^") == 0) return verbena::path::open_umad(node.identity(), flags, true);
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/dev/null", flags & ~O_CREAT));
}

int open_node(Node node, int flags) {
  const bool writes = (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)) != 0;
  const bool close_on_exec = (flags & O_CLOEXEC) != 0;
  switch (node->kind) {
    case NodeKind::passage:
    case NodeKind::directory:
      return writes ? fail(EISDIR) : verbena::path::make_directory_descriptor(node, close_on_exec);
    case NodeKind::file:
      if ((flags & O_DIRECTORY) != 0) return fail(ENOTDIR);
      if (writes && node->set != nullptr) return verbena::path::open_setting(node, flags);
      return writes ? fail(EACCES) : open_content(node, close_on_exec);
    case NodeKind::link:
      return fail((flags & O_DIRECTORY) != 0 ? ENOTDIR : ELOOP);  // O_NOFOLLOW
    case NodeKind::character_device:
      return (flags & O_DIRECTORY) != 0 ? fail(ENOTDIR) : open_device(node, flags);
  }
  return fail(ENOENT);
}

/// Opens it if it is ours; otherwise says no, with `path` changed if the path leads elsewhere.
bool opened(int directory, const char*& path, int flags, Target& target, int& fd) {
  if (!verbena::path::resolve(directory, path, (flags & O_NOFOLLOW) == 0, target)) return false;
  if (target.kind == Target::Kind::elsewhere) {
    path = target.elsewhere;
    if (!verbena::path::is_umad(path)) return false;
    fd = verbena::path::open_umad(path, flags);
    return true;
  }
  fd = target.kind == Target::Kind::node ? open_node(target.node, flags) : fail(target.error);
  return true;
}

/// The cheap question that keeps the stack of unrelated calls small.
bool may_be_ours(int directory, const char* path) {
  if (path == nullptr) return false;
  return path[0] == '/' ? verbena::path::is_ours(path) : verbena::path::node_of_descriptor(directory).row != nullptr;
}

/// fopen's mode as open's flags; fdopen checks the rest.
int flags_of(const char* mode) {
  int flags = mode[0] == 'r' ? (std::strchr(mode, '+') != nullptr ? O_RDWR : O_RDONLY) : O_WRONLY | O_CREAT;
  if (std::strchr(mode, 'e') != nullptr) flags |= O_CLOEXEC;
  return flags;
}

template <class Real>
FILE* open_stream(const char* path, const char* mode, Real real) {
  if (!may_be_ours(AT_FDCWD, path)) return real(path, mode);
  Target target;
  int fd = -1;
  if (!opened(AT_FDCWD, path, flags_of(mode), target, fd)) return real(path, mode);
  if (fd < 0) return nullptr;
  FILE* stream = fdopen(fd, mode);
  if (stream == nullptr) close(fd);
  return stream;
}

mode_t mode_argument(int flags, va_list arguments) {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(arguments, mode_t) : mode_t{0};
}

}  // namespace

#define VERBENA_OPEN(name)                                                          \
  VERBENA_HOOK(int, name, (const char* path, int flags, ...)) {                     \
    va_list arguments;                                                              \
    va_start(arguments, flags);                                                     \
    const mode_t mode = mode_argument(flags, arguments);                            \
    va_end(arguments);                                                              \
    if (!may_be_ours(AT_FDCWD, path)) return VERBENA_REAL(name)(path, flags, mode); \
    Target target;                                                                  \
    int fd = -1;                                                                    \
    if (opened(AT_FDCWD, path, flags, target, fd)) return fd;                       \
    return VERBENA_REAL(name)(path, flags, mode);                                   \
  }

#define VERBENA_OPENAT(name)                                                                    \
  VERBENA_HOOK(int, name, (int directory, const char* path, int flags, ...)) {                  \
    va_list arguments;                                                                          \
    va_start(arguments, flags);                                                                 \
    const mode_t mode = mode_argument(flags, arguments);                                        \
    va_end(arguments);                                                                          \
    if (!may_be_ours(directory, path)) return VERBENA_REAL(name)(directory, path, flags, mode); \
    Target target;                                                                              \
    int fd = -1;                                                                                \
    if (opened(directory, path, flags, target, fd)) return fd;                                  \
    return VERBENA_REAL(name)(directory, path, flags, mode);                                    \
  }

// The fortified forms of calls without a mode.
#define VERBENA_OPEN_2(name)                                                  \
  VERBENA_HOOK(int, name, (const char* path, int flags)) {                    \
    if (!may_be_ours(AT_FDCWD, path)) return VERBENA_REAL(name)(path, flags); \
    Target target;                                                            \
    int fd = -1;                                                              \
    if (opened(AT_FDCWD, path, flags, target, fd)) return fd;                 \
    return VERBENA_REAL(name)(path, flags);                                   \
  }

#define VERBENA_OPENAT_2(name)                                                            \
  VERBENA_HOOK(int, name, (int directory, const char* path, int flags)) {                 \
    if (!may_be_ours(directory, path)) return VERBENA_REAL(name)(directory, path, flags); \
    Target target;                                                                        \
    int fd = -1;                                                                          \
    if (opened(directory, path, flags, target, fd)) return fd;                            \
    return VERBENA_REAL(name)(directory, path, flags);                                    \
  }

VERBENA_OPEN(open)
VERBENA_OPEN(open64)
VERBENA_OPEN(__open)
VERBENA_OPEN(__open64)
VERBENA_OPENAT(openat)
VERBENA_OPENAT(openat64)
VERBENA_OPEN_2(__open_2)
VERBENA_OPEN_2(__open64_2)
VERBENA_OPENAT_2(__openat_2)
VERBENA_OPENAT_2(__openat64_2)

VERBENA_HOOK(FILE*, fopen, (const char* path, const char* mode)) {
  return open_stream(path, mode, VERBENA_REAL(fopen));
}
VERBENA_HOOK(FILE*, fopen64, (const char* path, const char* mode)) {
  return open_stream(path, mode, VERBENA_REAL(fopen64));
}
