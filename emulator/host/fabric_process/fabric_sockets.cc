#include "emulator/host/fabric_process/fabric_sockets.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "emulator/host/node/node_directory.h"
#include "emulator/host/os/descriptor_passing.h"
#include "emulator/host/os/name_holder.h"
#include "emulator/host/os/unwanted_descriptors.h"

namespace verbena::host {
namespace {

constexpr int kBacklog = 128;
constexpr int kEventsAtOnce = 64;
static_assert(kNodesMax < NodeSet::kWords * 32);

bool same_but_generation(SocketNews a, const SocketNews& b) {
  a.generation = b.generation;
  return std::memcmp(&a, &b, sizeof a) == 0;
}

struct NodePair {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
};
bool any_rail_reaches(const fabric::Reachability& reachability, std::uint32_t rails, NodePair nodes) {
  for (std::uint32_t from = 0; from < rails; ++from)
    for (std::uint32_t to = 0; to < rails; ++to)
      if (reachability.reaches(nodes.from * rails + from, nodes.to * rails + to)) return true;
  return false;
}

}  // namespace

Result<std::unique_ptr<FabricSockets>, std::string> FabricSockets::open(const std::string& fabric,
                                                                        const fabric::Network& network,
                                                                        const SocketCutting& cutting) {
  std::unique_ptr<FabricSockets> sockets(new FabricSockets(network, cutting));
  sockets->listener_ = Descriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockets->epoll_ = Descriptor(epoll_create1(EPOLL_CLOEXEC));
  const int listener = sockets->listener_.get();
  if (sockets->listener_) bar_descriptors(listener);
  const AbstractName at = socket_paths_address(fabric.c_str());
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = listener;
  if (!sockets->listener_ || !sockets->epoll_ || !at.bind(listener) || listen(listener, kBacklog) != 0 ||
      epoll_ctl(sockets->epoll_.get(), EPOLL_CTL_ADD, listener, &event) != 0)
    return Failure{std::string("cannot listen for the nodes' sockets: ") + std::strerror(errno) +
                   (errno == EADDRINUSE ? describe_name_holder(at) : "")};
  return sockets;
}

FabricSockets::~FabricSockets() {
  close_listener(listener_.release());
}

std::vector<SocketNews> FabricSockets::find_news() const {
  const std::uint32_t nodes = network_.topology().nodes();
  std::vector<SocketNews> news(nodes);
  for (SocketNews& node : news) node.timeout_ms = static_cast<std::uint32_t>(cutting_.timeout.ns / 1'000'000);
  if (!cutting_.is_on) return news;
  const fabric::Reachability reachability = network_.reachability();
  for (std::uint32_t from = 0; from < nodes; ++from) {
    news[from].crashes = powers_[from] == Power::crashing ? 1 : 0;
    for (std::uint32_t to = 0; to < nodes; ++to) {
      if (from == to || (any_rail_reaches(reachability, network_.topology().rails, {from, to}) &&
                         powers_[from] == Power::on && powers_[to] == Power::on))
        continue;
      news[from].unheard_by.add(to + 1);
      news[to].deaf_to.add(from + 1);
    }
  }
  return news;
}

void FabricSockets::tell(Time now) {
  ++generation_;
  if (processes_.empty()) {
    news_.clear();  // found when somebody comes
    return;
  }
  std::vector<SocketNews> news = find_news();
  bool has_changed = news_.empty();
  news_.resize(news.size());
  for (std::size_t node = 0; node < news.size(); ++node) {
    // Who is told the same as before is not told.
    const bool same = same_but_generation(news[node], news_[node]);
    news[node].generation = same ? news_[node].generation : generation_;
    has_changed = has_changed || !same;
  }
  if (!has_changed) return;
  news_ = std::move(news);
  std::vector<int> gone;
  for (auto& [descriptor, process] : processes_)
    if (process.node != 0 && !say(process)) gone.push_back(descriptor);
  for (const int descriptor : gone) drop(descriptor);
  count_waiting();
  done_by_ = now + kDoneWithin;
}

/// Only who has answered is told more; the others hear the newest when they have.
bool FabricSockets::say(Process& process) {
  const SocketNews& news = news_[process.node - 1];
  if (process.told != process.done || process.told == news.generation) return true;
  if (send(process.socket.get(), &news, sizeof news, MSG_DONTWAIT | MSG_NOSIGNAL) != sizeof news) return false;
  process.told = news.generation;
  return true;
}

void FabricSockets::count_waiting() {
  waiting_ = 0;
  if (news_.empty()) return;
  for (const auto& [descriptor, process] : processes_)
    if (process.node != 0 && process.done != news_[process.node - 1].generation) ++waiting_;
}

void FabricSockets::service() {
  std::array<epoll_event, kEventsAtOnce> events{};
  const int count = epoll_wait(epoll_.get(), events.data(), kEventsAtOnce, 0);
  for (int i = 0; i < count; ++i) {
    const int descriptor = events[static_cast<std::size_t>(i)].data.fd;
    if (descriptor == listener_.get()) {
      accept_all();
      continue;
    }
    const auto process = processes_.find(descriptor);
    if (process != processes_.end() && !hear(process->second)) drop(descriptor);
  }
  if (count > 0) count_waiting();
}

void FabricSockets::accept_all() {
  for (int i = 0; i < kBacklog; ++i) {
    auto [client, is_last] =
        reception_.next_of_own_user(listener_.get(), "the sockets of a program do not follow the network");
    if (is_last) return;
    if (!client || processes_.size() >= kProcessesMax) continue;
    const int descriptor = client.get();
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = descriptor;
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) continue;
    processes_[descriptor].socket = std::move(client);
    if (!hear(processes_[descriptor])) drop(descriptor);  // it has mostly said on which node it stands
  }
}

bool FabricSockets::hear(Process& process) {
  std::uint32_t word = 0;  // a SocketHello, or a SocketNewsDone
  static_assert(sizeof(SocketHello) == sizeof word && sizeof(SocketNewsDone) == sizeof word);
  const MessageWithDescriptors got =
      receive_with_descriptors(process.socket.get(), std::as_writable_bytes(std::span(&word, 1)));
  if (got.bytes < 0) return errno == EAGAIN || errno == EINTR;
  if (got.bytes != sizeof word || !got.is_whole || got.descriptor_count != 0) return false;
  if (process.node == 0) {
    if (news_.empty()) {
      news_ = find_news();
      for (SocketNews& news : news_) news.generation = generation_;
    }
    if (word == 0 || word > news_.size()) return false;
    process.node = word;
  } else if (word == process.told) {
    process.done = word;
  } else {
    return false;
  }
  return say(process);
}

void FabricSockets::drop(int descriptor) {
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
  processes_.erase(descriptor);
}

}  // namespace verbena::host
