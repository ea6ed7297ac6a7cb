#include "cli/exec/listener_wait.h"

#include <fmt/format.h>

#include <ctime>

#include "emulator/host/node/node_directory.h"
#include "emulator/host/os/clock.h"
#include "scenarios/real/listeners.h"

namespace verbena::cli {
namespace {

constexpr timespec kStep{0, 20'000'000};  // a look reads /proc of every process

std::string words_of(const wire::Gid& node) {
  const auto number = host::node_number(node);
  return number ? fmt::format("node {}", *number) : "node " + host::address_text(node);
}

}  // namespace

Result<void, std::string> wait_for_listener(const std::string& fabric, const wire::Gid& node) {
  const Time deadline = host::clock_now() + kListenerPatience;
  while (!scenarios::node_listens(fabric, node)) {
    if (host::clock_now() > deadline)
      return Failure{fmt::format(
          "--wait-for-listener: no program on {} of fabric '{}' has listened for {} s: start it on this machine with "
          "`verbena exec` (a program of another user, or in another container, is not seen)",
          words_of(node), fabric, kListenerPatience.ns / 1'000'000'000)};
    nanosleep(&kStep, nullptr);
  }
  return {};
}

}  // namespace verbena::cli
