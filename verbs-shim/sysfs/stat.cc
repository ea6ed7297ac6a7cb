// Hooks: the stat, access and extended attribute families.
// Tested by: tests/shim/sysfs/path_test.cc
#include <errno.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>

#include <cstring>

#include "verbs-shim/sysfs/rdma_cm.h"
#include "verbs-shim/sysfs/real.h"
#include "verbs-shim/sysfs/tree.h"

using verbena::path::Node;
using verbena::path::NodeKind;
using verbena::path::Target;

namespace {

// One way to fill both: struct stat and stat64 are the same on the 64-bit systems that Verbena runs on.
static_assert(sizeof(struct stat) == sizeof(struct stat64));

constexpr unsigned kDeviceMinor = 0x56;           // of the file system that the tree pretends to be: 0:86
constexpr std::uint64_t kInodeBase = 0x56424e00;  // inode numbers are this and the node's index
constexpr std::uint32_t kFileBytes = 4096;        // what sysfs says of every attribute
constexpr std::uint32_t kCharacterDeviceMode = S_IFCHR | 0666;

std::uint32_t mode_of(Node node) {
  switch (node->kind) {
    case NodeKind::passage:
    case NodeKind::directory:
      return S_IFDIR | 0755;
    case NodeKind::file:
      return node->set != nullptr ? S_IFREG | 0644 : S_IFREG | 0444;
    case NodeKind::link:
      return S_IFLNK | 0777;
    case NodeKind::character_device:
      return kCharacterDeviceMode;
  }
  return 0;
}

std::uint32_t size_of(Node node) {
  if (node->kind == NodeKind::file) return kFileBytes;
  char target[verbena::path::kPathBytesMax];
  return node->kind == NodeKind::link
             ? static_cast<std::uint32_t>(verbena::path::expand(node, node->text, target, sizeof target))
             : 0;
}

dev_t device_of(Node node) {
  constexpr unsigned kMiscellaneousMajor = 10;
  constexpr unsigned kRdmaCmMinor = 122;  // the kernel gives whichever is free
  constexpr unsigned kIssmMinor = 64;
  if (std::strcmp(node.name(), "rdma_cm") == 0) return makedev(kMiscellaneousMajor, kRdmaCmMinor);
  if (std::strcmp(node.name(), "umad^") == 0)
    return makedev(verbena::path::kUverbsMajor, static_cast<unsigned>(node.port));
  if (std::strcmp(node.name(), "issm^") == 0)
    return makedev(verbena::path::kUverbsMajor, kIssmMinor + static_cast<unsigned>(node.port));
  return makedev(verbena::path::kUverbsMajor, verbena::path::kUverbsMinor + node.identity().number.device);
}

void fill(Node node, struct stat& into) {
  std::memset(&into, 0, sizeof into);
  into.st_dev = makedev(0, kDeviceMinor);
  into.st_ino = kInodeBase + verbena::path::index_of(node);
  into.st_mode = mode_of(node);
  into.st_nlink = node->kind == NodeKind::directory ? 2 : 1;
  if (node->kind == NodeKind::character_device) into.st_rdev = device_of(node);
  into.st_size = size_of(node);
  into.st_blksize = kFileBytes;
}

void fill(Node node, struct statx& into) {
  std::memset(&into, 0, sizeof into);
  into.stx_mask = STATX_BASIC_STATS;
  into.stx_dev_minor = kDeviceMinor;
  into.stx_ino = kInodeBase + verbena::path::index_of(node);
  into.stx_mode = static_cast<std::uint16_t>(mode_of(node));
  into.stx_nlink = node->kind == NodeKind::directory ? 2 : 1;
  if (node->kind == NodeKind::character_device) {
    into.stx_rdev_major = major(device_of(node));
    into.stx_rdev_minor = minor(device_of(node));
  }
  into.stx_size = size_of(node);
  into.stx_blksize = kFileBytes;
}

enum class Owner { ours, theirs };

int fail(int error) {
  errno = error;
  return -1;
}

/// Finds the node that a call speaks of. `theirs`: the real function is to be called, maybe with another path.
/// `ours`: done if `result` is not 0, else `target.node` is it.
Owner find(int directory, const char*& path, bool follow, bool empty_path, Target& target, int& result) {
  result = 0;
  if (empty_path && path != nullptr && path[0] == 0) {
    target.node = verbena::path::node_of_descriptor(directory);
    return target.node ? Owner::ours : Owner::theirs;
  }
  if (!verbena::path::resolve(directory, path, follow, target)) return Owner::theirs;
  if (target.kind == Target::Kind::elsewhere) {
    path = target.elsewhere;
    return Owner::theirs;
  }
  if (target.kind == Target::Kind::error) result = fail(target.error);
  return Owner::ours;
}

/// Keeps the big Target off the stack of unrelated calls.
bool may_be_ours(int directory, const char* path) {
  if (path == nullptr) return false;
  return path[0] == '/' ? verbena::path::is_ours(path) : verbena::path::node_of_descriptor(directory).row != nullptr;
}

template <class Status, class Real>
int stat_any(int directory, const char* path, int flags, Status* into, Real real) {
  if (!may_be_ours(directory, path)) return real(path);
  Target target;
  int result = 0;
  const bool follow = (flags & AT_SYMLINK_NOFOLLOW) == 0;
  if (find(directory, path, follow, (flags & AT_EMPTY_PATH) != 0, target, result) == Owner::theirs) return real(path);
  if (result == 0) fill(target.node, *reinterpret_cast<struct stat*>(into));
  return result;
}

template <class Status, class Real>
int stat_descriptor(int fd, Status* into, Real real) {
  Node node = verbena::path::node_of_descriptor(fd);
  ino_t inode = 0;
  if (!node && verbena::path::is_rdma_cm_channel(fd, inode)) {
    Target target;
    if (verbena::path::resolve(AT_FDCWD, "/dev/infiniband/rdma_cm", false, target)) node = target.node;
  }
  if (!node) return real();
  fill(node, *reinterpret_cast<struct stat*>(into));
  return 0;
}

template <class Real>
int access_any(int directory, const char* path, int mode, int flags, Real real) {
  if (!may_be_ours(directory, path)) return real(path);
  Target target;
  int result = 0;
  if (find(directory, path, (flags & AT_SYMLINK_NOFOLLOW) == 0, false, target, result) == Owner::theirs)
    return real(path);
  if (result != 0) return result;
  const std::uint32_t permissions = mode_of(target.node);
  const bool writable = target.node->kind == NodeKind::character_device;
  if ((mode & W_OK) != 0 && !writable) return fail(EACCES);
  if ((mode & X_OK) != 0 && (permissions & 0111) == 0) return fail(EACCES);
  return 0;
}

/// Nothing here has extended attributes; ls -l asks for access control lists.
template <class Real>
ssize_t attributes_any(const char* path, Real real) {
  if (!may_be_ours(AT_FDCWD, path)) return real(path);
  Target target;
  int result = 0;
  if (find(AT_FDCWD, path, true, false, target, result) == Owner::theirs) return real(path);
  return result != 0 ? result : fail(ENOTSUP);
}

template <class Status, class Real>
int statfs_any(const char* path, Status* into, Real real) {
  constexpr long kSysfsMagic = 0x62656572;
  if (!may_be_ours(AT_FDCWD, path)) return real(path);
  Target target;
  int result = 0;
  if (find(AT_FDCWD, path, true, false, target, result) == Owner::theirs) return real(path);
  if (result != 0) return result;
  std::memset(into, 0, sizeof *into);
  into->f_type = kSysfsMagic;
  into->f_bsize = into->f_frsize = kFileBytes;
  into->f_namelen = 255;
  return 0;
}

}  // namespace

#define VERBENA_STAT(name, status, flags)                                                                     \
  VERBENA_HOOK(int, name, (const char* path, struct status* into)) {                                          \
    return stat_any(AT_FDCWD, path, flags, into, [&](const char* p) { return VERBENA_REAL(name)(p, into); }); \
  }
#define VERBENA_XSTAT(name, status, flags)                                                                             \
  VERBENA_HOOK(int, name, (int version, const char* path, struct status* into)) {                                      \
    return stat_any(AT_FDCWD, path, flags, into, [&](const char* p) { return VERBENA_REAL(name)(version, p, into); }); \
  }
#define VERBENA_FSTAT(name, status)                                                 \
  VERBENA_HOOK(int, name, (int fd, struct status* into)) {                          \
    return stat_descriptor(fd, into, [&] { return VERBENA_REAL(name)(fd, into); }); \
  }
#define VERBENA_FXSTAT(name, status)                                                         \
  VERBENA_HOOK(int, name, (int version, int fd, struct status* into)) {                      \
    return stat_descriptor(fd, into, [&] { return VERBENA_REAL(name)(version, fd, into); }); \
  }
#define VERBENA_FSTATAT(name, status)                                                              \
  VERBENA_HOOK(int, name, (int directory, const char* path, struct status* into, int flags)) {     \
    return stat_any(directory, path, flags, into,                                                  \
                    [&](const char* p) { return VERBENA_REAL(name)(directory, p, into, flags); }); \
  }
#define VERBENA_FXSTATAT(name, status)                                                                      \
  VERBENA_HOOK(int, name, (int version, int directory, const char* path, struct status* into, int flags)) { \
    return stat_any(directory, path, flags, into,                                                           \
                    [&](const char* p) { return VERBENA_REAL(name)(version, directory, p, into, flags); }); \
  }

VERBENA_STAT(stat, stat, 0)
VERBENA_STAT(stat64, stat64, 0)
VERBENA_STAT(lstat, stat, AT_SYMLINK_NOFOLLOW)
VERBENA_STAT(lstat64, stat64, AT_SYMLINK_NOFOLLOW)
VERBENA_XSTAT(__xstat, stat, 0)
VERBENA_XSTAT(__xstat64, stat64, 0)
VERBENA_XSTAT(__lxstat, stat, AT_SYMLINK_NOFOLLOW)
VERBENA_XSTAT(__lxstat64, stat64, AT_SYMLINK_NOFOLLOW)
VERBENA_FSTAT(fstat, stat)
VERBENA_FSTAT(fstat64, stat64)
VERBENA_FXSTAT(__fxstat, stat)
VERBENA_FXSTAT(__fxstat64, stat64)
VERBENA_FSTATAT(fstatat, stat)
VERBENA_FSTATAT(fstatat64, stat64)
VERBENA_FXSTATAT(__fxstatat, stat)
VERBENA_FXSTATAT(__fxstatat64, stat64)

VERBENA_HOOK(int, statx, (int directory, const char* path, int flags, unsigned mask, struct statx* into)) {
  if (!may_be_ours(directory, path)) return VERBENA_REAL(statx)(directory, path, flags, mask, into);
  Target target;
  int result = 0;
  const bool follow = (flags & AT_SYMLINK_NOFOLLOW) == 0;
  if (find(directory, path, follow, (flags & AT_EMPTY_PATH) != 0, target, result) == Owner::theirs)
    return VERBENA_REAL(statx)(directory, path, flags, mask, into);
  if (result == 0) fill(target.node, *into);
  return result;
}

#define VERBENA_ACCESS(name)                                                                                \
  VERBENA_HOOK(int, name, (const char* path, int mode)) {                                                   \
    return access_any(AT_FDCWD, path, mode, 0, [&](const char* p) { return VERBENA_REAL(name)(p, mode); }); \
  }
VERBENA_ACCESS(access)
VERBENA_ACCESS(euidaccess)
VERBENA_ACCESS(eaccess)
VERBENA_HOOK(int, faccessat, (int directory, const char* path, int mode, int flags)) {
  return access_any(directory, path, mode, flags,
                    [&](const char* p) { return VERBENA_REAL(faccessat)(directory, p, mode, flags); });
}

#define VERBENA_GETXATTR(name)                                                                           \
  VERBENA_HOOK(ssize_t, name, (const char* path, const char* key, void* value, size_t size)) {           \
    return attributes_any(path, [&](const char* p) { return VERBENA_REAL(name)(p, key, value, size); }); \
  }
#define VERBENA_LISTXATTR(name)                                                                    \
  VERBENA_HOOK(ssize_t, name, (const char* path, char* list, size_t size)) {                       \
    return attributes_any(path, [&](const char* p) { return VERBENA_REAL(name)(p, list, size); }); \
  }
VERBENA_GETXATTR(getxattr)
VERBENA_GETXATTR(lgetxattr)
VERBENA_LISTXATTR(listxattr)
VERBENA_LISTXATTR(llistxattr)

VERBENA_HOOK(int, statfs, (const char* path, struct statfs* into)) {
  return statfs_any(path, into, [&](const char* p) { return VERBENA_REAL(statfs)(p, into); });
}
VERBENA_HOOK(int, statfs64, (const char* path, struct statfs64* into)) {
  return statfs_any(path, into, [&](const char* p) { return VERBENA_REAL(statfs64)(p, into); });
}
