// Hooks: opendir, readdir, scandir and what else takes a DIR.
//
// A DIR of an emulated directory is an element of a static pool; its address tells it from libc's. A DIR is used by one
// thread at a time (POSIX), only taking and giving back an element is shared.
// Tested by: tests/shim/sysfs/path_test.cc
#include <dirent.h>
#include <errno.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "verbs-shim/sysfs/real.h"
#include "verbs-shim/sysfs/tree.h"

using verbena::path::Node;
using verbena::path::NodeKind;
using verbena::path::Target;

namespace {

static_assert(sizeof(struct dirent) == sizeof(struct dirent64));
constexpr std::size_t kOpenDirectoriesMax = 64;
constexpr std::uint64_t kInodeBase = 0x56424e00;  // as stat.cc has it

struct Stream {
  std::atomic<bool> taken{false};
  Node node;
  int fd = -1;
  long position = 0;
  DIR* machine = nullptr;  // of a directory that has entries of the machine as well, which come first
  struct dirent entry{};
};
Stream streams[kOpenDirectoriesMax];

Stream* stream_of(DIR* directory) {
  auto* stream = reinterpret_cast<Stream*>(directory);
  return stream >= streams && stream < streams + kOpenDirectoriesMax ? stream : nullptr;
}

DIR* take_stream(Node node, int fd) {
  for (Stream& stream : streams) {
    if (stream.taken.exchange(true, std::memory_order_acquire)) continue;
    stream.node = node;
    stream.fd = fd;
    stream.position = 0;
    stream.machine = nullptr;
    return reinterpret_cast<DIR*>(&stream);
  }
  errno = EMFILE;
  return nullptr;
}

unsigned char type_of(Node node) {
  switch (node->kind) {
    case NodeKind::passage:
    case NodeKind::directory:
      return DT_DIR;
    case NodeKind::file:
      return DT_REG;
    case NodeKind::link:
      return DT_LNK;
    case NodeKind::character_device:
      return DT_CHR;
  }
  return DT_UNKNOWN;
}

struct dirent* machine_entry(DIR* directory);  // libc's readdir

constexpr long kOwnEntriesFrom = 2;  // after . and ..

struct dirent* next_entry(Stream& stream) {
  if (stream.machine != nullptr && stream.position < kOwnEntriesFrom) {
    if (struct dirent* const entry = machine_entry(stream.machine)) return entry;
    stream.position = kOwnEntriesFrom;
  }
  const long position = stream.position;
  const Node node = position == 0   ? stream.node
                    : position == 1 ? stream.node.parent()
                                    : verbena::path::child(stream.node, static_cast<std::size_t>(position - 2));
  if (!node) return nullptr;
  ++stream.position;
  struct dirent& entry = stream.entry;
  entry.d_ino = kInodeBase + verbena::path::index_of(node);
  entry.d_off = stream.position;
  entry.d_reclen = sizeof entry;
  entry.d_type = type_of(node);
  if (position < 2)
    std::strcpy(entry.d_name, position == 0 ? "." : "..");
  else
    verbena::path::expand(node, node.name(), entry.d_name, sizeof entry.d_name);
  return &entry;
}

bool may_be_ours(int directory, const char* path) {
  if (path == nullptr) return false;
  return path[0] == '/' ? verbena::path::is_ours(path) : verbena::path::node_of_descriptor(directory).row != nullptr;
}

/// The emulated directory at a path; `theirs` if libc is to be asked.
Node find_directory(int directory, const char* path, Target& target, const char*& theirs) {
  theirs = path;
  if (!verbena::path::resolve(directory, path, true, target)) return {};
  theirs = target.kind == Target::Kind::elsewhere ? target.elsewhere : nullptr;
  if (target.kind == Target::Kind::node && target.node->kind == NodeKind::directory) return target.node;
  errno = target.kind == Target::Kind::node ? ENOTDIR : target.error;
  return {};
}

/// A directory of the machine among whose entries are some of ours.
bool has_entries_of_both(const Target& target) {
  return target.kind == Target::Kind::elsewhere && target.node &&
         std::strcmp(target.node->path, "/sys/class/net") == 0 && verbena::path::child(target.node, 0).row != nullptr;
}
DIR* open_both(const Target& target);

/// Reads all of a directory as scandir() does, and closes it.
template <class Entry>
int scan(DIR* directory, Entry*** list, int (*select)(const Entry*), int (*compare)(const Entry**, const Entry**)) {
  if (directory == nullptr) return -1;
  Stream& stream = *stream_of(directory);
  Entry** entries = nullptr;
  std::size_t count = 0;
  while (struct dirent* found = next_entry(stream)) {
    const auto* entry = reinterpret_cast<const Entry*>(found);
    if (select != nullptr && select(entry) == 0) continue;
    auto** grown = static_cast<Entry**>(std::realloc(entries, (count + 1) * sizeof *entries));
    auto* copy = static_cast<Entry*>(std::malloc(sizeof(Entry)));
    if (grown != nullptr) entries = grown;
    if (grown == nullptr || copy == nullptr) {
      std::free(copy);
      while (count > 0) std::free(entries[--count]);
      std::free(entries);
      closedir(directory);
      errno = ENOMEM;
      return -1;
    }
    std::memcpy(copy, entry, sizeof *copy);
    entries[count++] = copy;
  }
  closedir(directory);
  if (compare != nullptr && count > 1)
    qsort(entries, count, sizeof *entries, reinterpret_cast<int (*)(const void*, const void*)>(compare));
  *list = entries != nullptr ? entries : static_cast<Entry**>(std::malloc(sizeof *entries));
  return static_cast<int>(count);
}

template <class Entry, class Real>
int scan_any(int directory, const char* path, Entry*** list, int (*select)(const Entry*),
             int (*compare)(const Entry**, const Entry**), Real real) {
  if (!may_be_ours(directory, path)) return real(path);
  Target target;
  const char* theirs = nullptr;
  const Node node = find_directory(directory, path, target, theirs);
  if (node) return scan(take_stream(node, -1), list, select, compare);
  if (has_entries_of_both(target)) return scan(open_both(target), list, select, compare);
  return theirs != nullptr ? real(theirs) : -1;
}

template <class Entry, class Real>
int read_into(DIR* directory, Entry* into, Entry** result, Real real) {
  Stream* stream = stream_of(directory);
  if (stream == nullptr) return real();
  const struct dirent* entry = next_entry(*stream);
  if (entry != nullptr) std::memcpy(into, entry, sizeof *into);
  *result = entry != nullptr ? into : nullptr;
  return 0;
}

}  // namespace

VERBENA_HOOK(DIR*, opendir, (const char* path)) {
  if (!may_be_ours(AT_FDCWD, path)) return VERBENA_REAL(opendir)(path);
  Target target;
  const char* theirs = nullptr;
  const Node node = find_directory(AT_FDCWD, path, target, theirs);
  if (node) return take_stream(node, -1);
  if (has_entries_of_both(target)) return open_both(target);
  return theirs != nullptr ? VERBENA_REAL(opendir)(theirs) : nullptr;
}

VERBENA_HOOK(DIR*, fdopendir, (int fd)) {
  const Node node = verbena::path::node_of_descriptor(fd);
  return node ? take_stream(node, fd) : VERBENA_REAL(fdopendir)(fd);
}

VERBENA_HOOK(struct dirent*, readdir, (DIR * directory)) {
  Stream* stream = stream_of(directory);
  return stream != nullptr ? next_entry(*stream) : VERBENA_REAL(readdir)(directory);
}
VERBENA_HOOK(struct dirent64*, readdir64, (DIR * directory)) {
  Stream* stream = stream_of(directory);
  if (stream == nullptr) return VERBENA_REAL(readdir64)(directory);
  return reinterpret_cast<struct dirent64*>(next_entry(*stream));
}
VERBENA_HOOK(int, readdir_r, (DIR * directory, struct dirent* into, struct dirent** result)) {
  return read_into(directory, into, result, [&] { return VERBENA_REAL(readdir_r)(directory, into, result); });
}
VERBENA_HOOK(int, readdir64_r, (DIR * directory, struct dirent64* into, struct dirent64** result)) {
  return read_into(directory, into, result, [&] { return VERBENA_REAL(readdir64_r)(directory, into, result); });
}

VERBENA_HOOK(int, closedir, (DIR * directory)) {
  Stream* stream = stream_of(directory);
  if (stream == nullptr) return VERBENA_REAL(closedir)(directory);
  if (stream->fd >= 0) close(stream->fd);
  if (stream->machine != nullptr) VERBENA_REAL(closedir)(stream->machine);
  stream->taken.store(false, std::memory_order_release);
  return 0;
}

namespace {

struct dirent* machine_entry(DIR* directory) {
  return VERBENA_REAL(readdir)(directory);
}

DIR* open_both(const Target& target) {
  DIR* const machine = VERBENA_REAL(opendir)(target.elsewhere);
  if (machine == nullptr) return nullptr;
  DIR* const directory = take_stream(target.node, -1);
  if (directory == nullptr)
    VERBENA_REAL(closedir)(machine);
  else
    stream_of(directory)->machine = machine;
  return directory;
}

}  // namespace

VERBENA_HOOK(void, rewinddir, (DIR * directory)) {
  Stream* const stream = stream_of(directory);
  if (stream != nullptr) stream->position = 0;
  DIR* const machine = stream != nullptr ? stream->machine : directory;
  if (machine != nullptr) VERBENA_REAL(rewinddir)(machine);
}
// Within the machine's entries a position is libc's, which is not negative; among ours it is one below 0.
VERBENA_HOOK(void, seekdir, (DIR * directory, long position)) {
  Stream* const stream = stream_of(directory);
  if (stream == nullptr || (stream->machine != nullptr && position >= 0)) {
    if (stream != nullptr) stream->position = 0;
    VERBENA_REAL(seekdir)(stream != nullptr ? stream->machine : directory, position);
  } else {
    stream->position = stream->machine != nullptr ? -position : position;
  }
}
VERBENA_HOOK(long, telldir, (DIR * directory)) {
  Stream* const stream = stream_of(directory);
  if (stream == nullptr) return VERBENA_REAL(telldir)(directory);
  if (stream->machine == nullptr) return stream->position;
  return stream->position < kOwnEntriesFrom ? VERBENA_REAL(telldir)(stream->machine) : -stream->position;
}
VERBENA_HOOK(int, dirfd, (DIR * directory)) {
  Stream* stream = stream_of(directory);
  if (stream == nullptr) return VERBENA_REAL(dirfd)(directory);
  if (stream->machine != nullptr) return VERBENA_REAL(dirfd)(stream->machine);
  if (stream->fd < 0) stream->fd = verbena::path::make_directory_descriptor(stream->node, true);
  return stream->fd;
}

#define VERBENA_SCANDIR(name, entry)                                                              \
  VERBENA_HOOK(int, name,                                                                         \
               (const char* path, struct entry*** list, int (*select)(const struct entry*),       \
                int (*compare)(const struct entry**, const struct entry**))) {                    \
    return scan_any(AT_FDCWD, path, list, select, compare,                                        \
                    [&](const char* p) { return VERBENA_REAL(name)(p, list, select, compare); }); \
  }
#define VERBENA_SCANDIRAT(name, entry)                                                                       \
  VERBENA_HOOK(int, name,                                                                                    \
               (int directory, const char* path, struct entry*** list, int (*select)(const struct entry*),   \
                int (*compare)(const struct entry**, const struct entry**))) {                               \
    return scan_any(directory, path, list, select, compare,                                                  \
                    [&](const char* p) { return VERBENA_REAL(name)(directory, p, list, select, compare); }); \
  }
VERBENA_SCANDIR(scandir, dirent)
VERBENA_SCANDIR(scandir64, dirent64)
VERBENA_SCANDIRAT(scandirat, dirent)
VERBENA_SCANDIRAT(scandirat64, dirent64)
