#include "verbs-shim/sysfs/tree.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "emulator/host/node/network_device.h"
#include "verbs-shim/sysfs/nodes.h"
#include "verbs-shim/sysfs/real.h"
#include "verbs-shim/sysfs/umad.h"
#include "verbs-shim/sysfs/values.h"
#include "verbs-shim/sysfs/working.h"

namespace verbena::path {

namespace {

constexpr int kLinksMax = 16;

constexpr std::size_t length_of(const char* text) {
  std::size_t length = 0;
  while (text[length] != 0) ++length;
  return length;
}

constexpr std::size_t last_slash(const char* path) {
  std::size_t at = 0;
  for (std::size_t i = 0; path[i] != 0; ++i)
    if (path[i] == '/') at = i;
  return at;
}

struct Parents {
  std::size_t of[kRowCount] = {};
  bool complete = true;
};

// Its directory stands near a row, and before it: searched backwards, and lengths first. Clang counts the steps.
constexpr Parents find_parents() {
  Parents parents;
  std::size_t lengths[kRowCount] = {};
  for (std::size_t i = 0; i < kRowCount; ++i) lengths[i] = length_of(kRows[i].path);
  for (std::size_t i = 1; i < kRowCount; ++i) {
    const std::size_t length = last_slash(kRows[i].path);
    bool found = false;
    for (std::size_t j = i; j-- > 0 && !found;) {
      if (lengths[j] != length) continue;
      bool same = true;
      for (std::size_t k = length; k-- > 0 && same;) same = kRows[i].path[k] == kRows[j].path[k];
      if (!same || kRows[j].kind == NodeKind::file || kRows[j].kind == NodeKind::link) continue;
      parents.of[i] = j;
      found = true;
    }
    parents.complete = parents.complete && found;
  }
  return parents;
}

constexpr Parents kParents = find_parents();
static_assert(kParents.complete, "a node stands before its directory in the table");

/// Whose an entry is.
enum class Scope : std::uint8_t { all, device, port };

constexpr Scope scope_of(const char* path) {
  Scope scope = Scope::all;
  for (; *path != 0; ++path) {
    if (*path == '&' || *path == '$' || *path == '^') return Scope::port;
    if (*path == '%' || *path == '@' || *path == '#') scope = Scope::device;
  }
  return scope;
}

struct Scopes {
  Scope of[kRowCount] = {};
};
constexpr Scopes find_scopes() {
  Scopes scopes;
  for (std::size_t i = 0; i < kRowCount; ++i) scopes.of[i] = scope_of(kRows[i].path);
  return scopes;
}
constexpr Scopes kScopes = find_scopes();

std::size_t row_of(Node node) {
  return static_cast<std::size_t>(node.row - kRows);
}

/// Whether a row below that of `parent` has an entry of this port in `parent`.
bool is_below(std::size_t port, Scope scope, Node parent) {
  const Scope above = kScopes.of[row_of(parent)];
  if (scope == above) return port == parent.port || scope == Scope::all;
  const host::DeviceNumber number = own_port(port).number;
  if (scope == Scope::device && number.port != 1) return false;
  return above == Scope::all || number.device == parent.identity().number.device;
}

bool exists(Node node) {
  return node->exists == nullptr || node->exists(node.identity(), node->argument);
}

/// The first entry of a directory of which this holds; none: of none.
template <class Wanted>
Node find_in(Node parent, Wanted is_wanted) {
  const std::size_t ports = own_port_count();
  for (std::size_t i = 1; i < kRowCount; ++i) {
    if (kParents.of[i] != row_of(parent)) continue;
    const std::size_t entries = kScopes.of[i] == Scope::all ? 1 : ports;
    for (std::size_t port = 0; port < entries; ++port) {
      const Node node{&kRows[i], port};
      if (is_below(port, kScopes.of[i], parent) && exists(node) && is_wanted(node)) return node;
    }
  }
  return {};
}

Node find_child(Node parent, const char* name, std::size_t length) {
  return find_in(parent, [&](Node node) {
    char own[kPathBytesMax];
    return expand(node, node.name(), own, sizeof own) == length && std::memcmp(own, name, length) == 0;
  });
}

bool begins_with(const char* path, const char* prefix, std::size_t length) {
  return std::strncmp(path, prefix, length) == 0;
}

bool fail(Target& target, int error) {
  target.kind = Target::Kind::error;
  target.error = error;
  return true;
}

/// A path that left the tree: what the real directory `from` is called, and the rest.
bool leave(Target& target, Node from, const char* rest) {
  const std::size_t length = expand(from, from->path, target.elsewhere, sizeof target.elsewhere);
  if (length + std::strlen(rest) + 2 > sizeof target.elsewhere) return fail(target, ENAMETOOLONG);
  target.elsewhere[length] = '/';
  std::strcpy(target.elsewhere + length + 1, rest);
  target.kind = Target::Kind::elsewhere;
  return true;
}

/// Replaces the walk's rest by a link's target and what follows the link.
bool splice(char (&rest)[kPathBytesMax], Node from, const char* after) {
  char joined[kPathBytesMax];
  const std::size_t length = expand(from, from->text, joined, sizeof joined);
  if (length + std::strlen(after) + 2 > sizeof joined) return false;
  joined[length] = '/';
  std::strcpy(joined + length + 1, after);
  std::strcpy(rest, *after == 0 ? (joined[length] = 0, joined) : joined);
  return true;
}

bool walk(Node at, char (&rest)[kPathBytesMax], bool follow, Target& target) {
  int links = 0;
  const char* cursor = rest;
  bool wants_directory = false;  // the path ends in a slash
  for (;;) {
    while (*cursor == '/') ++cursor;
    if (*cursor == 0) break;
    std::size_t length = std::strcspn(cursor, "/");
    wants_directory = cursor[length] == '/';
    if (at->kind == NodeKind::file || at->kind == NodeKind::character_device) return fail(target, ENOTDIR);
    if (length == 1 && cursor[0] == '.') {
      ++cursor;
      continue;
    }
    if (length == 2 && cursor[0] == '.' && cursor[1] == '.') {
      at = at.parent();
      cursor += 2;
      continue;
    }
    const Node next = find_child(at, cursor, length);
    if (!next) {
      // Names that begin as ours do are hidden even where the real system has them (infiniband_mad).
      const bool hidden = std::strcmp(at->path, "/sys/class") == 0 && begins_with(cursor, "infiniband", 10);
      return at->kind == NodeKind::passage && !hidden ? leave(target, at, cursor) : fail(target, ENOENT);
    }
    cursor += length;
    if (next->kind == NodeKind::link && (follow || wants_directory)) {
      if (++links > kLinksMax) return fail(target, ELOOP);
      if (!splice(rest, next, cursor)) return fail(target, ENAMETOOLONG);
      cursor = rest;
      continue;
    }
    if (next->kind == NodeKind::link && cursor[0] != 0) return fail(target, ENOTDIR);
    at = next;
  }
  if (wants_directory && (at->kind == NodeKind::file || at->kind == NodeKind::character_device))
    return fail(target, ENOTDIR);
  if (at->kind == NodeKind::passage) {
    target.node = at;
    return leave(target, at, ".");
  }
  target.kind = Target::Kind::node;
  target.node = at;
  return true;
}

// A directory's memfd: its size is this and the node's index. Sparse, so it costs no memory.
constexpr std::int64_t kDirectorySizeBase = std::int64_t{0x56424e} << 32;
std::atomic<bool> made_directories{false};

}  // namespace

Node Node::parent() const {
  const std::size_t above = kParents.of[row_of(*this)];
  switch (kScopes.of[above]) {
    case Scope::all:
      return {&kRows[above], 0};
    case Scope::port:
      return {&kRows[above], port};
    case Scope::device:
      break;
  }
  std::size_t first = port;
  while (first > 0 && own_port(first).number.port != 1) --first;  // a device's ports stand in turn
  return {&kRows[above], first};
}
const char* Node::name() const {
  return *row->path == 0 ? row->path : row->path + last_slash(row->path) + 1;
}
host::DeviceIdentity Node::identity() const {
  return own_port(port);
}

std::size_t index_of(Node node) {
  return node.port * kRowCount + row_of(node);
}

Node node_at(std::size_t index) {
  return {&kRows[index % kRowCount], index / kRowCount};
}

bool is_ours(const char* path) {
  if (path[0] != '/') return false;
  if (path[1] == 's') {
    constexpr char kNet[] = "/sys/class/net";
    constexpr std::size_t kNetBytes = sizeof kNet - 1;
    for (const char* const beginning : {"/sys/class/infiniband", "/sys/devices/pci" VERBENA_PCI_DOMAIN ":",
                                        "/sys/bus/pci/devices/" VERBENA_PCI_DOMAIN ":", "/sys/kernel/config/rdma_cm"})
      if (begins_with(path, beginning, std::strlen(beginning))) return true;
    return begins_with(path, kNet, kNetBytes) && (path[kNetBytes] == '/' || path[kNetBytes] == 0);
  }
  return path[1] == 'd' && begins_with(path, "/dev/infiniband", 15) && (path[15] == '/' || path[15] == 0);
}

bool resolve(int directory_fd, const char* path, bool follow, Target& target) {
  if (path == nullptr) return false;
  Node at{&kRows[0], 0};
  if (path[0] == '/') {
    if (!is_ours(path)) return false;
    if (in_subnet_folder(path, target.elsewhere, sizeof target.elsewhere)) {
      target.kind = Target::Kind::elsewhere;
      return true;
    }
  } else {
    at = node_of_descriptor(directory_fd);
    if (!at) return false;
    if (path[0] == 0) return fail(target, ENOENT);
  }
  char rest[kPathBytesMax];
  const std::size_t length = strnlen(path, sizeof rest);
  if (length == sizeof rest) return fail(target, ENAMETOOLONG);
  std::memcpy(rest, path, length + 1);
  return walk(at, rest, follow, target);
}

Node child(Node directory, std::size_t n) {
  return find_in(directory, [&](Node) { return n-- == 0; });
}

std::size_t expand(Node node, const char* text, char* into, std::size_t size) {
  constexpr const char* kSigns = "%@#&$^";
  const bool is_plain = std::strpbrk(text, kSigns) == nullptr;
  const host::DeviceIdentity of = is_plain ? host::DeviceIdentity{} : node.identity();
  std::size_t length = 0;
  for (; *text != 0; ++text) {
    char buffer[IF_NAMESIZE];
    const char* piece = text;
    host::FixedText<16> number;
    switch (*text) {
      case '%':
        piece = of.name.c_str();
        break;
      case '@':
        piece = of.pci_address.c_str();
        break;
      case '#':
        piece = number.append_number(of.number.device).c_str();
        break;
      case '$':
        piece = number.append_number(of.number.port).c_str();
        break;
      case '^':
        piece = number.append_number(static_cast<std::uint32_t>(node.port)).c_str();
        break;
      case '&':
        piece = host::network_device_of(of, of.address, buffer);
        break;
    }
    const std::size_t piece_bytes = piece == text ? 1 : std::strlen(piece);
    if (length + piece_bytes + 1 > size) break;
    std::memcpy(into + length, piece, piece_bytes);
    length += piece_bytes;
  }
  into[length] = 0;
  return length;
}

std::size_t content_of(Node node, char* into, std::size_t size) {
  if (node->write != nullptr) return node->write(into, size, node.identity(), node->argument);
  return expand(node, node->text, into, size);
}

Node node_of_descriptor(int fd) {
  if (fd == AT_FDCWD) return working_node();
  if (fd < 0 || !made_directories.load(std::memory_order_relaxed)) return {};
  const int before = errno;
  struct stat status;
  const bool known =
      real_fstat(fd, status) && S_ISREG(status.st_mode) && status.st_nlink == 0 &&
      status.st_size >= kDirectorySizeBase &&
      status.st_size < kDirectorySizeBase + static_cast<std::int64_t>(kRowCount * host::kDevicesMax * host::kPortsMax);
  errno = before;
  return known ? node_at(static_cast<std::size_t>(status.st_size - kDirectorySizeBase)) : Node{};
}

int make_directory_descriptor(Node node, bool close_on_exec) {
  const int sized = memfd_create("verbena-directory", MFD_CLOEXEC);
  if (sized < 0) return -1;
  int fd = -1;
  if (ftruncate(sized, kDirectorySizeBase + static_cast<std::int64_t>(index_of(node))) == 0) {
    // O_PATH: a directory cannot be read(), and neither may this (it is petabytes of zeros).
    char self[32];
    std::snprintf(self, sizeof self, "/proc/self/fd/%d", sized);
    fd = static_cast<int>(syscall(SYS_openat, AT_FDCWD, self, O_PATH | (close_on_exec ? O_CLOEXEC : 0)));
  }
  const int error = errno;
  close(sized);
  errno = error;
  if (fd >= 0) made_directories.store(true, std::memory_order_relaxed);
  return fd;
}

}  // namespace verbena::path
