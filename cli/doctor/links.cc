// Links: frames between two processes over shared memory, UDP on the port of RoCE v2, raw sockets, namespaces.
// Tested by: tests/cli/doctor_test.cc
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "cli/doctor/probes.h"
#include "emulator/host/link/shm/shm_cable.h"
#include "emulator/host/node/node_directory.h"
#include "emulator/host/os/clock.h"
#include "emulator/host/os/descriptor.h"
#include "fmt/format.h"

namespace verbena::cli::doctor {
namespace {

constexpr Duration kFramePatience = seconds(5);
constexpr std::string_view kQuestion = "question";
constexpr std::string_view kAnswer = "answer";
constexpr std::string_view kHello = "hello";

// -- Shared memory

/// One process's end of the link, driven as an engine would.
class End final : public host::FrameSink {
 public:
  End(const std::string& fabric, std::uint8_t node) {
    host::EngineConfig config;
    config.fabric = fabric;
    config.address = host::node_address(node);
    auto opened = host::ShmCable::open(config);
    if (opened)
      link_ = std::move(*opened);
    else
      error_ = opened.error();
  }
  const std::string& error() const { return error_; }

  void frame(std::span<const std::byte> bytes, wire::IcrcState) override {
    received_.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  /// Says `text` to the other node again and again: what is sent before the other one is there is lost, as on any link.
  /// Until `awaited` has come; false: it did not.
  bool say_until(std::uint8_t node, std::string_view text, std::string_view awaited) {
    const Time end = host::clock_now() + kFramePatience;
    Time next = host::clock_now();
    while (host::clock_now() < end && received_ != awaited) {
      if (host::clock_now() >= next) {
        send(node, text);
        next = host::clock_now() + milliseconds(2);
      }
      link_->service();
      link_->receive(host::clock_now(), *this, 1);
      sched_yield();
    }
    return received_ == awaited;
  }

 private:
  void send(std::uint8_t node, std::string_view text) {
    const wire::Qpn first_process(host::qpn_base_of(0).value() | 1);
    const auto room = link_->reserve({host::node_address(node), first_process, hint_}, text.size());
    if (!room.empty()) {
      std::memcpy(room.data(), text.data(), text.size());
      link_->commit(text.size(), wire::IcrcState::present);
    }
    link_->publish();
    link_->flush();
  }

  std::unique_ptr<host::ShmCable> link_;
  std::string error_;
  std::string received_;
  std::uint32_t hint_ = 0;
};

/// Node 2, in a process of its own: says its part once it has heard the question, until it is killed.
int answer_over_shm(const std::string& fabric) {
  End end(fabric, 2);
  if (!end.error().empty() || !end.say_until(1, kHello, kQuestion)) return 1;
  end.say_until(1, kAnswer, "nothing that is ever said");
  return 0;
}

Finding shared_memory() {
  Finding finding{"shm: frames between two processes, both ways", State::missing, {}, {}, {}, true};
  finding.follows = "no program can run on a node";
  finding.remedy = "memfd_create, unix sockets and mmap must be allowed: look at the container's seccomp profile";
  const std::string fabric = fmt::format("doctor-{}", getpid());
  End end(fabric, 1);
  if (!end.error().empty()) {
    finding.found = end.error();
    return finding;
  }
  const pid_t other = fork();
  if (other == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    _exit(answer_over_shm(fabric));
  }
  const bool exchanged = other > 0 && end.say_until(2, kQuestion, kAnswer);
  if (other > 0) {
    kill(other, SIGKILL);
    waitpid(other, nullptr, 0);
  }
  if (!exchanged) {
    finding.found = "the link opens, and no frame comes back";
    return finding;
  }
  return {finding.what, State::ok, "exchanged", {}, {}, true};
}

// -- UDP

/// Addresses on which somebody has UDP port 4791, as /proc/net/udp has them.
std::vector<std::string> holders_of_port() {
  std::vector<std::string> holders;
  std::ifstream table("/proc/net/udp");
  const std::string port = fmt::format(":{:04X} ", wire::kRoceUdpPort);
  for (std::string line; std::getline(table, line);) {
    const std::size_t at = line.find(port);
    if (at == std::string::npos || at < 8 || at > 20) continue;  // the local address is the first column
    in_addr address{static_cast<in_addr_t>(std::strtoul(line.substr(at - 8, 8).c_str(), nullptr, 16))};
    holders.emplace_back(inet_ntoa(address));
  }
  return holders;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

/// Binds a node's address, and sends itself a datagram. An empty text: it came.
std::string try_udp(std::uint8_t node) {
  const host::Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(wire::kRoceUdpPort);
  const std::string address = host::address_text(host::node_address(node));
  inet_pton(AF_INET, address.c_str(), &at.sin_addr);
  const auto* const to = reinterpret_cast<const sockaddr*>(&at);
  const timeval patience{1, 0};
  char octet = 'v';
  if (!socket || bind(socket.get(), to, sizeof at) != 0)
    return fmt::format("bind {}: {}", address, std::strerror(errno));
  setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (sendto(socket.get(), &octet, 1, 0, to, sizeof at) != 1 || recv(socket.get(), &octet, 1, 0) != 1)
    return fmt::format("a datagram from {} to itself: {}", address, std::strerror(errno));
  return {};
}

Finding udp() {
  constexpr std::uint8_t kFirst = 254;  // programs of users are rather on the lower ones
  constexpr std::uint8_t kLast = 250;
  Finding finding{"udp: port 4791 on an address of a node", State::ok, {}, {}, {}};
  for (std::uint8_t node = kFirst; node >= kLast; --node) {
    finding.found = try_udp(node);
    if (finding.found.empty()) break;
  }
  const std::vector<std::string> holders = holders_of_port();
  if (finding.found.empty()) {
    finding.found = holders.empty() ? "bound, and a datagram came back"
                                    : "bound; others have the port on " + joined(holders) + ", which nodes there share";
    return finding;
  }
  finding.state = State::missing;
  finding.follows = "`--link udp` does not work; shm and fabric do";
  if (holders.empty())
    finding.remedy = "have the loopback interface up (ip link set lo up), with 127.0.0.0/8 on it";
  else
    finding.remedy = "port 4791 is held on " + joined(holders) +
                     ": end that stack (of the kernel's rxe: rdma link delete NAME), or run in a network namespace";
  return finding;
}

Finding other_devices() {
  Finding finding{"RDMA devices of the kernel", State::ok, "none; none is needed", {}, {}};
  std::error_code error;
  std::vector<std::string> names;
  for (std::filesystem::directory_iterator at("/sys/class/infiniband", error), end; !error && at != end;
       at.increment(error))
    names.push_back(at->path().filename().string());
  if (!names.empty()) finding.found = joined(names) + "; a program on a node sees Verbena's alone";
  return finding;
}

// -- Raw sockets and namespaces

Finding raw() {
  Finding finding{"raw: packet sockets", State::ok, "opened", {}, {}};
  const host::Descriptor socket(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
  if (socket) return finding;
  finding.state = State::limited;
  finding.found = std::strerror(errno);
  finding.follows = "`--link raw:INTERFACE` does not work; it is for talking to NICs on the wire";
  finding.remedy = "run it as root, or in a container with --cap-add NET_RAW";
  return finding;
}

int unshare_network() {
  return unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0 ? 0 : errno;
}

Finding namespaces() {
  Finding finding{"a user and network namespace of one's own", State::ok, "made", {}, {}};
  const int error = in_child(unshare_network);
  if (error == 0) return finding;
  finding.state = State::limited;
  finding.found = error > 0 ? std::strerror(error) : "the try did not end";
  finding.follows = "tests cannot hide their ports from others by `unshare --user --map-root-user --net`";
  if (first_line_of("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1")
    finding.remedy = "AppArmor forbids it: sysctl kernel.apparmor_restrict_unprivileged_userns=0";
  else if (first_line_of("/proc/sys/kernel/unprivileged_userns_clone") == "0")
    finding.remedy = "sysctl kernel.unprivileged_userns_clone=1";
  else if (first_line_of("/proc/sys/user/max_user_namespaces") == "0")
    finding.remedy = "sysctl user.max_user_namespaces=10000";
  else
    finding.remedy = "in a container, allow unshare in its seccomp profile";
  return finding;
}

}  // namespace

Group look_at_links() {
  return {"Links", {shared_memory(), udp(), raw(), namespaces(), other_devices()}};
}

}  // namespace verbena::cli::doctor
