#include "emulator/host/link/ports_link.h"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace verbena::host {
namespace {

wire::IcrcState icrc_of(const std::vector<PortsLink::Port>& ports) {
  const bool all_defer = std::ranges::all_of(
      ports, [](const PortsLink::Port& port) { return port.frames().icrc_wanted() == wire::IcrcState::deferred; });
  return all_defer ? wire::IcrcState::deferred : wire::IcrcState::present;
}

std::vector<LinkParts> parts_of(const std::vector<PortsLink::Port>& ports) {
  std::vector<LinkParts> parts;
  for (const PortsLink::Port& port : ports) parts.push_back(port.opened.parts);
  return parts;
}

bool watch(const Descriptor& epoll, int descriptor) {
  epoll_event interest{};
  interest.events = EPOLLIN;
  interest.data.fd = descriptor;
  return ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, descriptor, &interest) == 0;
}

}  // namespace

PortsLink::PortsLink(std::vector<Port> ports)
    : Link(icrc_of(ports)), ports_(std::move(ports)), parts_(parts_of(ports_)), published_at_(ports_.size()) {}

Result<OpenedLink, std::string> PortsLink::open(std::vector<Port> ports) {
  const OpenedLink& first = ports.front().opened;
  OpenedLink made;
  made.slot = first.slot;
  made.medium = first.medium;
  made.address = first.address;
  made.udp_source_port = first.udp_source_port;
  made.fetches = false;
  for (const Port& port : ports) {
    made.fetches = made.fetches || port.opened.fetches;
    made.mtu_bytes = std::min(made.mtu_bytes, port.opened.mtu_bytes);
    if (const std::uint32_t window = port.opened.window_bytes; window != 0)
      made.window_bytes = made.window_bytes != 0 ? std::min(made.window_bytes, window) : window;
    made.is_decorated = made.is_decorated || &port.frames() != port.opened.link.get();
    if (&port != &ports.front()) made.further_ports.push_back({port.opened.address, port.opened.parts.last_words});
  }
  std::unique_ptr<PortsLink> link(new PortsLink(std::move(ports)));
  if (!link->watch_descriptors())
    return Failure{std::string("cannot watch the descriptors of two ports: ") + std::strerror(errno)};
  made.parts = link->parts_.parts();
  made.parts.fork_guard = link.get();
  made.link = std::move(link);
  return made;
}

bool PortsLink::watch_descriptors() {
  frames_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
  if (!frames_) return false;
  for (const Port& port : ports_) {
    const WaitDescriptors own = port.opened.link->wait_descriptors();
    if (own.frames >= 0 && !watch(frames_, own.frames)) return false;
    if (own.control < 0) continue;
    if (!control_) control_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
    if (!control_ || !watch(control_, own.control)) return false;
  }
  return true;
}

// -- Frames -----------------------------------------------------------------------------------------------------------

std::span<std::byte> PortsLink::reserve(const nic::Destination& destination, std::size_t bytes) {
  const std::size_t port = destination.headers != nullptr ? destination.headers->port() : 1;
  reserved_ = &ports_[port - 1].frames();
  return reserved_->reserve(destination, bytes);
}

void PortsLink::publish() {
  for (const Port& port : ports_) port.frames().publish();
}

std::size_t PortsLink::receive(Time now, FrameSink& sink, std::size_t budget) {
  std::size_t taken = 0;
  for (std::size_t i = 0; i < ports_.size() && taken < budget; ++i) {
    const std::size_t at = (first_ + i) % ports_.size();
    sink.arrives_by(static_cast<std::uint32_t>(at + 1));
    taken += ports_[at].frames().receive(now, sink, budget - taken);
  }
  first_ = (first_ + 1) % ports_.size();
  return taken;
}

bool PortsLink::take_in(Time now, std::span<const std::byte> frame) {
  return ports_.front().frames().take_in(now, frame);
}

std::optional<Time> PortsLink::next_deadline() const {
  std::optional<Time> earliest;
  for (const Port& port : ports_)
    if (const auto due = port.frames().next_deadline(); due && (!earliest || *due < *earliest)) earliest = due;
  return earliest;
}

bool PortsLink::holds_back() const {
  return std::ranges::any_of(ports_, [](const Port& port) { return port.frames().holds_back(); });
}

// -- The kernel's side ------------------------------------------------------------------------------------------------

bool PortsLink::fetch(std::size_t most) {
  bool has_frames = false;
  for (const Port& port : ports_) has_frames |= port.opened.link->fetch(most);
  return has_frames;
}

bool PortsLink::fetch_all() {
  bool has_all = true;
  for (const Port& port : ports_) has_all &= port.opened.link->fetch_all();
  return has_all;
}

bool PortsLink::flush() {
  bool has_new_ways = false;
  for (const Port& port : ports_) {
    has_new_ways |= port.opened.link->flush();
    if (port.decorators.capture != nullptr) port.decorators.capture->write_if_due();
  }
  return has_new_ways;
}

/// A count for each look. Who asks has one of them in mind, the last: fair_timers.h.
std::uint64_t PortsLink::published() {
  for (std::size_t i = 0; i < ports_.size(); ++i) published_at_[i] = ports_[i].opened.link->published();
  return ++published_;
}

bool PortsLink::has_sent(std::uint64_t) {
  bool has_sent = true;
  for (std::size_t i = 0; i < ports_.size(); ++i) has_sent &= ports_[i].opened.link->has_sent(published_at_[i]);
  return has_sent;
}

bool PortsLink::has_unsent() const {
  return std::ranges::any_of(ports_, [](const Port& port) { return port.opened.link->has_unsent(); });
}

void PortsLink::service() {
  for (const Port& port : ports_) port.opened.link->service();
}

void PortsLink::acknowledge_doorbell() {
  for (const Port& port : ports_) port.opened.link->acknowledge_doorbell();
}

bool PortsLink::arm() {
  bool may_sleep = true;
  for (const Port& port : ports_) may_sleep &= port.opened.link->arm();
  return may_sleep;
}

void PortsLink::disarm() {
  for (const Port& port : ports_) port.opened.link->disarm();
}

// -- fork() -----------------------------------------------------------------------------------------------------------

namespace {
template <class Call>
void for_each_guard(const std::vector<PortsLink::Port>& ports, Call&& call) {
  for (const PortsLink::Port& port : ports)
    if (port.opened.parts.fork_guard != nullptr) call(*port.opened.parts.fork_guard);
}
}  // namespace

void PortsLink::hold_for_fork() {
  for_each_guard(ports_, [](ForkGuard& port) { port.hold_for_fork(); });
}

void PortsLink::release_after_fork() {
  for_each_guard(ports_, [](ForkGuard& port) { port.release_after_fork(); });
}

void PortsLink::abandon_after_fork() {
  for_each_guard(ports_, [](ForkGuard& port) { port.abandon_after_fork(); });
  frames_.reset();
  control_.reset();
}

}  // namespace verbena::host
