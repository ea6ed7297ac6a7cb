// Hooks: chdir, fchdir, getcwd and get_current_dir_name.
#include "verbs-shim/sysfs/working.h"

#include <errno.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "verbs-shim/sysfs/real.h"

namespace verbena::path {
namespace {

// Positions in the table of nodes; the first one is the root, which is not ours.
constexpr std::size_t kNowhere = 0;
constexpr std::size_t kNotLooked = SIZE_MAX;
std::atomic<std::size_t> working{kNotLooked};

Node passage_of(Node node) {
  while (node->kind != NodeKind::passage) node = node.parent();
  return node;
}

bool kernel_is_at(Node passage) {
  char present[kPathBytesMax];
  const int before = errno;
  const bool is_there = syscall(SYS_getcwd, present, sizeof present) > 0 && std::strcmp(present, passage->path) == 0;
  errno = before;
  return is_there;
}

std::size_t look() {
  const char* const path = std::getenv(kWorkingVariable);
  Target target;
  const bool is_ours = path != nullptr && resolve(-1, path, true, target) && target.kind == Target::Kind::node &&
                       target.node->kind == NodeKind::directory;
  const std::size_t found = is_ours ? index_of(target.node) : kNowhere;
  working.store(found, std::memory_order_relaxed);
  return found;
}

}  // namespace

Node working_node() {
  std::size_t index = working.load(std::memory_order_relaxed);
  if (index == kNotLooked) index = look();
  if (index == kNowhere) return {};
  const Node node = node_at(index);
  return kernel_is_at(passage_of(node)) ? node : Node{};
}

namespace {

int fail(int error) {
  errno = error;
  return -1;
}

/// After the kernel's has changed for a reason that has nothing to do with the tree.
void leave_tree() {
  if (working_node()) working.store(kNowhere, std::memory_order_relaxed);
}

template <class Real>
int enter(Node node, Real real) {
  if (node->kind != NodeKind::directory) return fail(ENOTDIR);
  if (real(passage_of(node)->path) != 0) return -1;
  working.store(index_of(node), std::memory_order_relaxed);
  return 0;
}

template <class Real>
int change_to(const char* path, Real real) {
  working_node();  // what the environment says is of the time before
  Target target;
  const char* to = path;
  if (resolve(AT_FDCWD, path, true, target)) {
    if (target.kind == Target::Kind::error) return fail(target.error);
    if (target.kind == Target::Kind::node) return enter(target.node, real);
    to = target.elsewhere;
  }
  const int result = real(to);
  if (result == 0) leave_tree();
  return result;
}

char* copy_into(Node node, char* into, std::size_t size) {
  char path[kPathBytesMax];
  const std::size_t bytes = expand(node, node->path, path, sizeof path) + 1;
  if (into == nullptr) {
    if (size == 0) size = bytes;
    if (size >= bytes) into = static_cast<char*>(std::malloc(size));
  }
  if (size < bytes) {
    errno = ERANGE;
    return nullptr;
  }
  return into != nullptr ? std::strcpy(into, path) : nullptr;
}

}  // namespace
}  // namespace verbena::path

VERBENA_HOOK(int, chdir, (const char* path)) {
  return verbena::path::change_to(path, [](const char* to) { return VERBENA_REAL(chdir)(to); });
}
VERBENA_HOOK(int, fchdir, (int fd)) {
  verbena::path::working_node();
  if (const verbena::path::Node node = verbena::path::node_of_descriptor(fd))
    return verbena::path::enter(node, [](const char* to) { return chdir(to); });
  const int result = VERBENA_REAL(fchdir)(fd);
  if (result == 0) verbena::path::leave_tree();
  return result;
}
VERBENA_HOOK(char*, getcwd, (char* into, size_t size)) {
  if (const verbena::path::Node node = verbena::path::working_node()) return verbena::path::copy_into(node, into, size);
  return VERBENA_REAL(getcwd)(into, size);
}
VERBENA_HOOK(char*, get_current_dir_name, ()) {
  if (const verbena::path::Node node = verbena::path::working_node()) return verbena::path::copy_into(node, nullptr, 0);
  return VERBENA_REAL(get_current_dir_name)();
}
