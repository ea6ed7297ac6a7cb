// The emulated part of the file system: which names exist below /sys/class/infiniband*, /dev/infiniband and the
// device's own directory, and beside the machine's in /sys/class/net; and how a path leads to one of them.
//
// The tree is a constant table in this library (nodes.h), parts of which are there once for each device. Nothing of it
// lies on a disk, so nothing can be left behind, whatever happens to a process; every process has it, whoever started
// it. Contents are made on demand (values.h). Hooks over libc (open.cc, stat.cc, directory.cc, links.cc) translate
// between nodes and what libc's callers expect:
//   a file opened        a sealed memfd with the content, a real descriptor that dup, mmap, poll and fork know
//   a directory opened   an O_PATH descriptor of an empty memfd whose size says which directory it is, so that openat,
//                        fstatat and fdopendir know it again even after dup(). read() says EBADF, not EISDIR
//   a DIR                an object of our own, from a static pool (directory.cc); of /sys/class/net one that goes on
//                        with ours where the machine's interfaces end
//   a setting to write   the file that keeps its value (settings.h)
//   rdma_cm opened       one end of a socket pair; write() to it is a command (rdma_cm.h)
//   umad0 opened         where a manager manages the subnet: a socket to the subnet's process (umad.h)
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

#include "emulator/host/node/identity.h"

namespace verbena::path {

enum class NodeKind : std::uint8_t {
  passage,  // a directory of the real system on the way to ours
  directory,
  file,
  link,
  character_device,
};

/// Writes a file's content, at most `size` bytes, and returns how many. `argument`: which of several files of its kind.
using ContentWriter = std::size_t (*)(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned argument);

/// A row of the table: one entry of the tree, or one of each device or port. A sign in its texts stands for something
/// of the device: '%' its name, '@' its address on the bus, '#' its number. Or of the port: '&' its network interface,
/// '$' its number, '^' its place among the ports of all devices.
struct Row {
  const char* path;
  NodeKind kind;
  const char* text;     // a file's content or a link's target, or null
  ContentWriter write;  // a file's content if text is null
  unsigned argument = 0;
  bool (*exists)(const host::DeviceIdentity& of, unsigned argument) = nullptr;  // null: always
  /// What is written to the file (settings.h): 0, or an errno value. Null: it cannot be written.
  int (*set)(const host::DeviceIdentity& of, const char* text, std::size_t bytes) = nullptr;
};

/// An entry of the tree.
struct Node {
  const Row* row = nullptr;  // null: there is none
  std::size_t port = 0;      // of the process's (own_devices.h); of what is a device's, its first

  explicit operator bool() const { return row != nullptr; }
  const Row* operator->() const { return row; }
  bool operator==(const Node&) const = default;
  Node parent() const;
  const char* name() const;  // the last component, as the row has it
  host::DeviceIdentity identity() const;
};

inline constexpr std::size_t kPathBytesMax = 4096;
inline constexpr std::size_t kContentBytesMax = 4096;  // of one file: a page, as in sysfs
inline constexpr unsigned kUverbsMajor = 231;
inline constexpr unsigned kUverbsMinor = 192;  // of the first device

/// What a path leads to.
struct Target {
  enum class Kind : std::uint8_t {
    unrelated,  // not ours: the call goes to libc unchanged
    node,
    error,      // ours, and wrong: `error` is the errno
    elsewhere,  // led out of the tree (`..`): the call goes to libc with `elsewhere`; `node`, if it is a passage
  };
  Kind kind = Kind::unrelated;
  Node node;
  int error = 0;
  char elsewhere[kPathBytesMax];
};

/// Cheap: whether an absolute path begins as one of ours does.
bool is_ours(const char* path);

/// Resolves `path`. Relative paths are ours only if `directory` is a descriptor of one of our directories.
/// `follow`: whether a link as the last component is followed. Fills `target` and returns whether it is not
/// `unrelated`.
bool resolve(int directory, const char* path, bool follow, Target& target);

/// The n-th entry of a directory, or none.
Node child(Node directory, std::size_t n);

/// One of the node's texts with its signs replaced. Returns the length; the result is terminated.
std::size_t expand(Node node, const char* text, char* into, std::size_t size);

/// A file's content. Returns its length.
std::size_t content_of(Node node, char* into, std::size_t size);

/// A number of its own: the row's position in the table, and beyond the table for ports after the first.
std::size_t index_of(Node node);
Node node_at(std::size_t index);

/// The directory that a descriptor stands for, or none; AT_FDCWD for the working directory. Costs nothing unless
/// make_directory_descriptor() was called, or the process has changed into the tree.
Node node_of_descriptor(int fd);
int make_directory_descriptor(Node node, bool close_on_exec);

}  // namespace verbena::path
