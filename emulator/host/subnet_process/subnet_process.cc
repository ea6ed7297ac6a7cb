#include "emulator/host/subnet_process/subnet_process.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "emulator/host/os/clock.h"

namespace verbena::host {

Result<std::unique_ptr<SubnetProcess>, std::string> SubnetProcess::start(const subnet::Topology& topology) {
  std::unique_ptr<SubnetProcess> made(new SubnetProcess(topology));
  if (const std::string error = made->open(); !error.empty()) return Failure{error};
  return made;
}

std::string SubnetProcess::open() {
  // Thousands of small files: on a disk a large subnet takes half a minute to begin.
  const char* const temporary = std::getenv("TMPDIR");
  const char* const in_memory = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
  folder_ = std::string(temporary != nullptr ? temporary : in_memory) + "/verbena-subnet-XXXXXX";
  if (mkdtemp(folder_.data()) == nullptr) return fmt::format("{}: {}", folder_, std::strerror(errno));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = folder_ + kSubnetSocket;
  if (path.size() >= sizeof address.sun_path) return fmt::format("{}: too long for a socket; set TMPDIR", path);
  std::strcpy(address.sun_path, path.c_str());
  Descriptor listener(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener || bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return fmt::format("{}: {}", path, std::strerror(errno));
  auto umad = UmadServer::open(subnet_, std::move(listener));
  if (!umad) return umad.error();
  umad_ = std::move(*umad);
  for (std::size_t node = 0; node < subnet_.nodes().size(); ++node)
    if (!subnet_.nodes()[node].is_switch()) write_host(node);
  return file_error_;
}

void SubnetProcess::serve(int end) {
  for (;;) {
    std::array<pollfd, 2> polled{{{end, POLLIN, 0}, {umad_->wait_descriptor(), POLLIN, 0}}};
    poll(polled.data(), polled.size(), milliseconds_to_wait());
    umad_->service(clock_now());
    for (const subnet::PortEnd port : changed_) write_port(port);
    changed_.clear();
    if (polled[0].revents != 0) return;
  }
}

int SubnetProcess::milliseconds_to_wait() const {
  const std::optional<Time> first = umad_->next_deadline();
  if (!first) return -1;
  const std::int64_t left = (*first - clock_now()).ns;
  return left <= 0 ? 0 : static_cast<int>(std::min<std::int64_t>(left / 1'000'000 + 1, 1000));
}

bool SubnetProcess::receive(subnet::PortEnd at, const subnet::Datagram& datagram) {
  return umad_->receive(at, datagram);
}

void SubnetProcess::changed(subnet::PortEnd port) {
  if (subnet_.nodes()[port.node].is_switch()) return;
  if (std::ranges::find(changed_, port) == changed_.end()) changed_.push_back(port);
}

}  // namespace verbena::host
