// The emulated part of the file system: which names exist below /sys/class/infiniband*, /dev/infiniband and the
// device's own directory, and beside the machine's in /sys/class/net; and how a path leads to one of them.
//
// The tree is a constant table in this library. Nothing of it lies on a disk, so nothing can be left behind, whatever
// happens to a process; every process has it, whoever started it. Contents are made on demand (values.h). Hooks over
// libc (open.cc, stat.cc, directory.cc, links.cc) translate between nodes and what libc's callers expect:
//   a file opened        a sealed memfd with the content, a real descriptor that dup, mmap, poll and fork know
//   a directory opened   an O_PATH descriptor of an empty memfd whose size says which directory it is, so that openat,
//                        fstatat and fdopendir know it again even after dup(). read() says EBADF, not EISDIR
//   a DIR                an object of our own, from a static pool (directory.cc); of /sys/class/net one that goes on
//                        with ours where the machine's interfaces end
//   rdma_cm opened       one end of a socket pair; write() to it is a command (rdma_cm.h)
//   uverbs0 opened       /dev/null: the verbs live in our libibverbs and never use the descriptor
// Not covered: listing the tree's parents but for that one (/sys/class does not show infiniband), a descriptor of
// /sys/class/net, raw system calls.
//
// Everything here is safe in any thread, after fork and in signal handlers: no locks, no allocation, and no state but
// the working directory (working.h).
// Tested by: tests/shim/sysfs/path_test.cc
#pragma once

#include <cstddef>
#include <cstdint>

namespace verbena::path {

enum class NodeKind : std::uint8_t {
  passage,  // a directory of the real system on the way to ours
  directory,
  file,
  link,
  character_device,
};

/// Writes a file's content, at most `size` bytes, and returns how many. `argument`: which of several files of its kind.
using ContentWriter = std::size_t (*)(char* into, std::size_t size, unsigned argument);

struct Node {
  const char* path;  // '%' stands for the device's name, '&' for its network interface's
  NodeKind kind;
  const char* text;     // a file's content or a link's target, or null
  ContentWriter write;  // a file's content if text is null
  unsigned argument = 0;
  bool (*exists)(unsigned argument) = nullptr;  // null: always
  const Node* parent() const;
  const char* name() const;  // the last component
};

inline constexpr std::size_t kPathBytesMax = 4096;
inline constexpr std::size_t kContentBytesMax = 4096;  // of one file: a page, as in sysfs
inline constexpr unsigned kUverbsMajor = 231;
inline constexpr unsigned kUverbsMinor = 192;

/// What a path leads to.
struct Target {
  enum class Kind : std::uint8_t {
    unrelated,  // not ours: the call goes to libc unchanged
    node,
    error,      // ours, and wrong: `error` is the errno
    elsewhere,  // led out of the tree (`..`): the call goes to libc with `elsewhere`; `node`, if it is a passage
  };
  Kind kind = Kind::unrelated;
  const Node* node = nullptr;
  int error = 0;
  char elsewhere[kPathBytesMax];
};

/// Cheap: whether an absolute path begins as one of ours does.
bool is_ours(const char* path);

/// Resolves `path`. Relative paths are ours only if `directory` is a descriptor of one of our directories.
/// `follow`: whether a link as the last component is followed. Fills `target` and returns whether it is not
/// `unrelated`.
bool resolve(int directory, const char* path, bool follow, Target& target);

/// The n-th entry of a directory, or null.
const Node* child(const Node& directory, std::size_t n);

/// The node's own absolute path, or a text with '%' expanded. Returns the length; the result is terminated.
std::size_t expand(const char* text, char* into, std::size_t size);

/// A file's content. Returns its length.
std::size_t content_of(const Node& node, char* into, std::size_t size);

/// Position in the table, from 0.
std::size_t index_of(const Node& node);
const Node& node_at(std::size_t index);

/// The directory that a descriptor stands for, or null; AT_FDCWD for the working directory. Costs nothing unless
/// make_directory_descriptor() was called, or the process has changed into the tree.
const Node* node_of_descriptor(int fd);
int make_directory_descriptor(const Node& node, bool close_on_exec);

}  // namespace verbena::path
