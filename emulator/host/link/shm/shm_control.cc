#include "emulator/host/link/shm/shm_control.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "emulator/host/os/same_user.h"

namespace verbena::host {
namespace {
constexpr int kEventsAtOnce = 16;
constexpr int kRoundsMax = 64;  // of kEventsAtOnce, per service()

std::string kernel_error(const char* what) {
  return std::string(what) + ": " + std::strerror(errno);
}

/// A doorbell that could block would block whoever rings it.
bool is_non_blocking(int fd) {
  const int flags = fcntl(fd, F_GETFL);
  return flags >= 0 && (flags & O_NONBLOCK) != 0;
}
}  // namespace

Result<std::unique_ptr<ShmControl>, std::string> ShmControl::open(Init init) {
  std::unique_ptr<ShmControl> control(new ShmControl);
  control->fabric_ = std::move(init.fabric);
  control->own_ = {init.address, init.seat.slot()};
  control->seat_ = std::make_unique<NodeDirectory>(std::move(init.seat));
  if (std::string error = control->open_descriptors(); !error.empty()) return Failure{std::move(error)};
  return control;
}

std::string ShmControl::open_descriptors() {
  page_descriptor_ = make_sealed_memory("verbena-page", kProcessPageBytes);
  if (!page_descriptor_) return kernel_error("cannot make shared memory");
  page_memory_ = SharedMapping::map(page_descriptor_.get(), kProcessPageBytes);
  if (!page_memory_) return kernel_error("cannot map shared memory");
  doorbell_ = Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!doorbell_) return kernel_error("cannot make an eventfd");
  epoll_ = Descriptor(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_) return kernel_error("cannot make an epoll descriptor");
  spare_ = Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!watch(seat_->listener())) return kernel_error("cannot watch a socket");
  return {};
}

ShmControl::~ShmControl() = default;

std::shared_ptr<ShmChannel> ShmControl::make_loopback() {
  auto channel = std::make_shared<ShmChannel>();
  const Descriptor memfd = make_sealed_memory("verbena-loopback", kChannelBytes);
  channel->memory = SharedMapping::map(memfd.get(), kChannelBytes);
  SharedMapping page = SharedMapping::map(page_descriptor_.get(), kProcessPageBytes);
  Descriptor doorbell(fcntl(doorbell_.get(), F_DUPFD_CLOEXEC, 0));
  if (!channel->memory || !page || !doorbell) return nullptr;
  channel->tx = RingWriter(ring_of_channel(channel->memory.base(), 0));
  channel->rx = RingReader(ring_of_channel(channel->memory.base(), 0));
  channel->meet(std::move(page), std::move(doorbell));
  return channel;
}

Greeting ShmControl::greeting(bool is_answer) const {
  Greeting greeting;
  greeting.is_answer = is_answer ? 1 : 0;
  greeting.address = own_.address.octets;
  greeting.slot = own_.slot;
  return greeting;
}

bool ShmControl::watch(int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  return epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

void ShmControl::tell(Change change) {
  const std::lock_guard guard(changes_lock_);
  changes_.push_back(std::move(change));
  changed_.store(true, std::memory_order_release);
}

void ShmControl::take_changes(std::vector<Change>& into) {
  const std::lock_guard guard(changes_lock_);
  std::swap(changes_, into);
  changed_.store(false, std::memory_order_release);
}

void ShmControl::connect(const PeerName& peer) {
  const std::lock_guard guard(mutex_);
  const auto attempt = [&]() -> bool {
    if (connections_.size() >= kConnectionsMax) return false;
    Connection connection;
    connection.socket = Descriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!connection.socket) return false;
    const int fd = connection.socket.get();
    if (!seat_address({fabric_, peer.address, peer.slot}).connect(fd) || !peer_is_same_user(fd)) return false;

    auto channel = std::make_shared<ShmChannel>();
    const Descriptor memfd = make_sealed_memory("verbena-channel", kChannelBytes);
    if (!memfd) return false;
    channel->memory = SharedMapping::map(memfd.get(), kChannelBytes);
    if (!channel->memory) return false;
    channel->tx = RingWriter(ring_of_channel(channel->memory.base(), 0));
    channel->rx = RingReader(ring_of_channel(channel->memory.base(), 1));
    channel->connection = fd;
    const std::array<int, 3> descriptors{memfd.get(), doorbell_.get(), page_descriptor_.get()};
    if (!send_greeting(fd, greeting(false), descriptors) || !watch(fd)) return false;
    connection.stage = Stage::awaiting_answer;
    connection.peer = peer;
    connection.channel = channel;
    connections_.emplace(fd, std::move(connection));
    // Usable at once: the peer finds the frames when it accepts, which the call itself wakes it for.
    tell({Change::Kind::opened, peer, std::move(channel)});
    return true;
  };
  if (!attempt()) tell({Change::Kind::refused, peer, nullptr});
}

void ShmControl::hang_up(const ShmChannel& channel) {
  const std::lock_guard guard(mutex_);
  const auto found = connections_.find(channel.connection);
  if (found != connections_.end() && found->second.channel.get() == &channel) drop(channel.connection);
}

void ShmControl::ring(int doorbell) {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(doorbell, &one, sizeof one);  // full: rung already
}

void ShmControl::acknowledge_doorbell() {
  std::uint64_t rings = 0;
  [[maybe_unused]] const ssize_t got = read(doorbell_.get(), &rings, sizeof rings);  // non-blocking
}

void ShmControl::service() {
  acknowledge_doorbell();
  const std::lock_guard guard(mutex_);
  std::array<epoll_event, kEventsAtOnce> events{};
  for (int round = 0; round < kRoundsMax; ++round) {
    const int count = epoll_wait(epoll_.get(), events.data(), kEventsAtOnce, 0);
    for (int i = 0; i < count; ++i) {
      const int fd = events[static_cast<std::size_t>(i)].data.fd;
      if (fd == seat_->listener())
        accept_all();
      else
        on_readable(fd);
    }
    if (count < kEventsAtOnce) break;
  }
}

void ShmControl::accept_all() {
  for (int i = 0; i < kRoundsMax; ++i) {
    Descriptor socket(accept4(seat_->listener(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) {
      if ((errno != EMFILE && errno != ENFILE) || !spare_) return;
      // A caller that stays in the queue would keep the listener readable for ever.
      spare_.reset();
      Descriptor(accept4(seat_->listener(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)).reset();
      spare_ = Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
      continue;
    }
    if (!peer_is_same_user(socket.get()) || connections_.size() >= kConnectionsMax) continue;
    if (strangers_.size() >= kStrangersMax) drop(strangers_.front());  // who wants something says so at once
    const int fd = socket.get();
    if (!watch(fd)) continue;
    Connection connection;
    connection.socket = std::move(socket);
    connection.stage = Stage::greeting;
    connections_.emplace(fd, std::move(connection));
    strangers_.push_back(fd);
    on_readable(fd);  // callers greet at once: it is most likely there
  }
}

void ShmControl::on_readable(int fd) {
  const auto found = connections_.find(fd);
  if (found == connections_.end()) return;
  Connection& connection = found->second;
  bool keep = false;
  switch (connection.stage) {
    case Stage::greeting:
      keep = on_greeting(connection);
      break;
    case Stage::awaiting_answer:
      keep = on_answer(connection);
      break;
    case Stage::open:
      keep = on_word(connection);
      break;
  }
  if (!keep) drop(fd);
}

bool ShmControl::on_greeting(Connection& connection) {
  ReceivedGreeting received;
  const GreetingStatus status = receive_greeting(connection.socket.get(), 3, received);
  if (status == GreetingStatus::not_yet) return true;
  if (status != GreetingStatus::received || received.greeting.is_answer != 0 || received.greeting.slot >= kSlots)
    return false;
  auto channel = std::make_shared<ShmChannel>();
  channel->memory = SharedMapping::map(received.descriptors[0].get(), kChannelBytes);
  SharedMapping page = SharedMapping::map(received.descriptors[2].get(), kProcessPageBytes);
  if (!channel->memory || !page || !is_non_blocking(received.descriptors[1].get())) return false;
  channel->rx = RingReader(ring_of_channel(channel->memory.base(), 0));
  channel->tx = RingWriter(ring_of_channel(channel->memory.base(), 1));
  channel->connection = connection.socket.get();
  channel->meet(std::move(page), std::move(received.descriptors[1]));
  const std::array<int, 2> descriptors{doorbell_.get(), page_descriptor_.get()};
  // A caller that is gone already may have left frames: take the channel all the same, its end follows.
  send_greeting(connection.socket.get(), greeting(true), descriptors);
  connection.peer = {wire::Gid{received.greeting.address}, static_cast<std::uint8_t>(received.greeting.slot)};
  connection.channel = channel;
  connection.stage = Stage::open;
  std::erase(strangers_, connection.socket.get());
  tell({Change::Kind::accepted, connection.peer, std::move(channel)});
  return true;
}

bool ShmControl::on_answer(Connection& connection) {
  ReceivedGreeting received;
  const GreetingStatus status = receive_greeting(connection.socket.get(), 2, received);
  if (status == GreetingStatus::not_yet) return true;
  if (status != GreetingStatus::received || received.greeting.is_answer != 1) return false;
  SharedMapping page = SharedMapping::map(received.descriptors[1].get(), kProcessPageBytes);
  if (!page || !is_non_blocking(received.descriptors[0].get())) return false;
  connection.channel->meet(std::move(page), std::move(received.descriptors[0]));
  connection.stage = Stage::open;
  // Of what was published until now nobody knew whether the peer slept, and an uplink does not look again later.
  ring(connection.channel->doorbell.load(std::memory_order_relaxed));
  if (connection.peer.address == kFabricSeat) note(Notice::uplink_changed);
  return true;
}

namespace {
/// What a fabric process says; nothing: it never says that.
std::optional<Notice> notice_of(std::uint8_t octet) {
  const auto notice = static_cast<Notice>(octet);
  switch (notice) {
    case Notice::device_removed:
    case Notice::port_down:
    case Notice::port_up:
      return notice;
    case Notice::uplink_changed:
      break;
  }
  return std::nullopt;
}
}  // namespace

void ShmControl::note(Notice notice) {
  if (notices_.size() < kNoticesMax) notices_.push_back(notice);
}

/// On an open connection the fabric process may give notice; anything else is a breach, and an end is an end.
bool ShmControl::on_word(Connection& connection) {
  std::uint8_t octets[2];  // a second one shows that it is no notice
  const ssize_t got = recv(connection.socket.get(), octets, sizeof octets, MSG_DONTWAIT);
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  const auto notice =
      got == 1 && connection.peer.address == kFabricSeat ? notice_of(octets[0]) : std::optional<Notice>();
  if (!notice) return false;
  note(*notice);
  return true;
}

bool ShmControl::notify(const wire::Gid& node, Notice notice) {
  const std::lock_guard guard(mutex_);
  const auto word = static_cast<std::uint8_t>(notice);
  bool all = true;
  bool any = false;
  for (const auto& [fd, connection] : connections_) {
    if (connection.stage != Stage::open || connection.peer.address != node) continue;
    any = true;
    all = send(fd, &word, sizeof word, MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof word && all;
  }
  return any && all;
}

bool ShmControl::is_connected_to(const PeerName& peer) {
  const std::lock_guard guard(mutex_);
  for (const auto& [fd, connection] : connections_)
    if (connection.peer == peer) return true;
  return false;
}

std::optional<Notice> ShmControl::take_notice() {
  const std::lock_guard guard(mutex_);
  if (notices_.empty()) return std::nullopt;
  const Notice notice = notices_.front();
  notices_.pop_front();
  return notice;
}

void ShmControl::drop(int fd) {
  const auto found = connections_.find(fd);
  if (found == connections_.end()) return;
  // A child that has not run its fork handler yet may hold the socket as well: closing alone would not unwatch it.
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
  Connection connection = std::move(found->second);
  connections_.erase(found);
  std::erase(strangers_, fd);
  if (!connection.channel) return;
  connection.channel->dead.store(true, std::memory_order_release);
  if (connection.peer.address == kFabricSeat) note(Notice::uplink_changed);
  tell({Change::Kind::ended, connection.peer, std::move(connection.channel)});
}

}  // namespace verbena::host
