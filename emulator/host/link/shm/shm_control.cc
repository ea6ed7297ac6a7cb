#include "emulator/host/link/shm/shm_control.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "emulator/host/os/same_user.h"
#include "emulator/host/os/shortage.h"
#include "emulator/host/os/unwanted_descriptors.h"

namespace verbena::host {
namespace {
constexpr int kEventsAtOnce = 16;
constexpr int kRoundsMax = 64;  // of kEventsAtOnce, per service()

constexpr const char* kNotReached = "another process is not reached, frames are lost";

std::string kernel_error(const char* what) {
  return std::string(what) + ": " + std::strerror(errno);
}

}  // namespace

Result<std::unique_ptr<ShmControl>, std::string> ShmControl::open(Init init) {
  if (const char* const why = why_no_peer_is_trusted()) return Failure{std::string(why)};
  std::unique_ptr<ShmControl> control(new ShmControl);
  control->fabric_ = std::move(init.fabric);
  control->own_ = {init.address, init.seat.slot()};
  control->seat_ = std::make_unique<NodeDirectory>(std::move(init.seat));
  if (std::string error = control->open_descriptors(); !error.empty()) return Failure{std::move(error)};
  return control;
}

std::string ShmControl::open_descriptors() {
  page_ = make_memory_others_only_read("verbena-page", kProcessPageBytes);
  wake_descriptor_ = make_sealed_memory("verbena-wake", kWakePageBytes);
  if (!page_.descriptor || !wake_descriptor_) return kernel_error("cannot make shared memory");
  wake_memory_ = SharedMapping::map(wake_descriptor_.get(), kWakePageBytes);
  if (!page_.mapping || !wake_memory_) return kernel_error("cannot map shared memory");
  if (!bell_.open()) return kernel_error("cannot make a socket to be woken by");
  epoll_ = Descriptor(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_) return kernel_error("cannot make an epoll descriptor");
  if (!watch(seat_->listener())) return kernel_error("cannot watch a socket");
  return {};
}

ShmControl::~ShmControl() {
  for (auto& [fd, connection] : connections_)
    if (connection.is_foreign) close_aside(std::move(connection.socket));
}

std::shared_ptr<ShmChannel> ShmControl::make_loopback() {
  auto channel = std::make_shared<ShmChannel>();
  const Descriptor memfd = make_sealed_memory("verbena-loopback", kChannelBytes);
  channel->memory = SharedMapping::map(memfd.get(), kChannelBytes);
  PeerDescriptors own{.bell = bell_.make_ringer(),
                      .page = Descriptor(fcntl(page_.descriptor.get(), F_DUPFD_CLOEXEC, 0)),
                      .wake = Descriptor(fcntl(wake_descriptor_.get(), F_DUPFD_CLOEXEC, 0))};
  if (!channel->memory || !channel->meet(std::move(own))) return nullptr;
  channel->tx = RingWriter(ring_of_channel(channel->memory.base(), 0));
  channel->rx = RingReader(ring_of_channel(channel->memory.base(), 0));
  return channel;
}

Greeting ShmControl::greeting(Greeting::Kind kind) const {
  Greeting greeting;
  greeting.kind = kind;
  greeting.address = own_.address.octets;
  greeting.slot = own_.slot;
  return greeting;
}

/// What foreign callers say stays in their sockets, which are readable all the time.
bool ShmControl::watch(int fd, bool is_foreign) {
  epoll_event event{};
  event.events = is_foreign ? EPOLLIN | EPOLLET : EPOLLIN;
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
    if (!seat_address({fabric_, peer.address, peer.slot}).connect(fd)) return false;
    if (!peer_is_same_user(fd)) {
      close_aside(std::move(connection.socket));
      return false;
    }

    auto channel = std::make_shared<ShmChannel>();
    const Descriptor memfd = make_sealed_memory("verbena-channel", kChannelBytes);
    if (!memfd) return false;
    channel->memory = SharedMapping::map(memfd.get(), kChannelBytes);
    if (!channel->memory) return false;
    channel->tx = RingWriter(ring_of_channel(channel->memory.base(), 0));
    channel->rx = RingReader(ring_of_channel(channel->memory.base(), 1));
    channel->connection = fd;
    const Descriptor ringer = bell_.make_ringer();
    if (!ringer) return false;
    const std::array<int, 4> descriptors{memfd.get(), ringer.get(), page_.descriptor.get(), wake_descriptor_.get()};
    if (!send_greeting(fd, greeting(Greeting::kCall), descriptors) || !watch(fd)) return false;
    connection.stage = Stage::awaiting_answer;
    connection.peer = peer;
    connection.channel = channel;
    connections_.emplace(fd, std::move(connection));
    // Usable at once: the peer finds the frames when it accepts, which the call itself wakes it for.
    tell({Change::Kind::opened, peer, std::move(channel)});
    return true;
  };
  errno = 0;
  if (attempt()) return;
  tell_if_no_descriptors(kNotReached);
  tell({Change::Kind::refused, peer, nullptr});
}

void ShmControl::hang_up(const ShmChannel& channel) {
  const std::lock_guard guard(mutex_);
  const auto found = connections_.find(channel.connection);
  if (found != connections_.end() && found->second.channel.get() == &channel) drop(channel.connection);
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
    auto [socket, is_last] = reception_.next(seat_->listener(), kNotReached);
    if (is_last) return;
    if (!socket) continue;
    const bool is_foreign = !peer_is_same_user(socket.get());
    std::vector<int>& crowd = is_foreign ? foreign_ : strangers_;
    if (crowd.size() >= (is_foreign ? kForeignMax : kStrangersMax)) drop(crowd.front());  // who calls greets at once
    const int fd = socket.get();
    if (connections_.size() >= kConnectionsMax || (is_foreign && !begin_to_peek(fd)) || !watch(fd, is_foreign)) {
      if (is_foreign) close_aside(std::move(socket));
      continue;
    }
    Connection connection;
    connection.socket = std::move(socket);
    connection.stage = Stage::greeting;
    connection.is_foreign = is_foreign;
    connections_.emplace(fd, std::move(connection));
    crowd.push_back(fd);
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
    case Stage::challenged:
      keep = on_proof(connection);
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
  const int fd = connection.socket.get();
  ReceivedGreeting received;
  const Greeting& greeting = received.greeting;
  const GreetingStatus status =
      connection.is_foreign ? peek_greeting(fd, received.greeting) : receive_greeting(fd, received);
  if (status == GreetingStatus::not_yet) return true;
  if (status != GreetingStatus::received || greeting.slot >= kSlots) return false;
  if (greeting.kind == Greeting::kChallenge) {
    prove(greeting);
    return false;  // there is no more to be said
  }
  if (greeting.kind != Greeting::kCall) return false;
  return connection.is_foreign ? challenge(connection, greeting) : accept_greeting(connection, received);
}

/// The call waits until its caller has shown that it has the seat that it says.
bool ShmControl::challenge(Connection& connection, const Greeting& call) {
  Descriptor seat(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const PeerName caller{wire::Gid{call.address}, static_cast<std::uint8_t>(call.slot)};
  if (!seat || caller == own_) return false;
  if (!seat_address({fabric_, caller.address, caller.slot}).connect(seat.get())) return false;
  if (!peer_is_same_user(seat.get())) {
    close_aside(std::move(seat));
    return false;
  }
  Greeting question = greeting(Greeting::kChallenge);
  if (getrandom(&question.nonce, sizeof question.nonce, GRND_NONBLOCK) != sizeof question.nonce) return false;
  if (!send_greeting(seat.get(), question)) return false;
  connection.nonce = question.nonce;
  connection.stage = Stage::challenged;
  return true;
}

/// Whoever asks learns nothing by it: the answer goes to the process that is called, on its own connection.
void ShmControl::prove(const Greeting& challenge) {
  const PeerName asker{wire::Gid{challenge.address}, static_cast<std::uint8_t>(challenge.slot)};
  Greeting proof = greeting(Greeting::kProof);
  proof.nonce = challenge.nonce;
  for (const auto& [fd, connection] : connections_)
    if (connection.stage == Stage::awaiting_answer && connection.peer == asker) send_greeting(fd, proof);
}

bool ShmControl::on_proof(Connection& connection) {
  for (int i = 0; i < kProofsMax; ++i) {
    Greeting proof;
    const GreetingStatus status = peek_greeting(connection.socket.get(), proof);
    if (status == GreetingStatus::not_yet) return true;
    if (status != GreetingStatus::received || proof.kind != Greeting::kProof) return false;
    if (proof.nonce == connection.nonce) return take_proven_call(connection);
    // It may have been asked by somebody else in our name.
  }
  return false;
}

/// Whoever has this connection was our user, so that it may be received from.
bool ShmControl::take_proven_call(Connection& connection) {
  const int fd = connection.socket.get();
  connection.is_foreign = false;
  ReceivedGreeting call;
  if (receive_greeting(fd, call) != GreetingStatus::received) return false;
  for (ReceivedGreeting proof; proof.greeting.nonce != connection.nonce;)
    if (receive_greeting(fd, proof) != GreetingStatus::received) return false;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  return epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) == 0 && accept_greeting(connection, call);
}

bool ShmControl::accept_greeting(Connection& connection, ReceivedGreeting& received) {
  auto channel = std::make_shared<ShmChannel>();
  channel->memory = SharedMapping::map(received.descriptors[0].get(), kChannelBytes);
  if (!channel->memory) return false;
  channel->rx = RingReader(ring_of_channel(channel->memory.base(), 0));
  channel->tx = RingWriter(ring_of_channel(channel->memory.base(), 1));
  channel->connection = connection.socket.get();
  if (!channel->meet({.bell = std::move(received.descriptors[1]),
                      .page = std::move(received.descriptors[2]),
                      .wake = std::move(received.descriptors[3])}))
    return false;
  const Descriptor ringer = bell_.make_ringer();
  if (!ringer) return false;
  const std::array<int, 3> descriptors{ringer.get(), page_.descriptor.get(), wake_descriptor_.get()};
  // A caller that is gone already may have left frames: take the channel all the same, its end follows.
  send_greeting(connection.socket.get(), greeting(Greeting::kAnswer), descriptors);
  connection.peer = {wire::Gid{received.greeting.address}, static_cast<std::uint8_t>(received.greeting.slot)};
  connection.channel = channel;
  connection.stage = Stage::open;
  std::erase(strangers_, connection.socket.get());
  std::erase(foreign_, connection.socket.get());
  tell({Change::Kind::accepted, connection.peer, std::move(channel)});
  return true;
}

bool ShmControl::on_answer(Connection& connection) {
  ReceivedGreeting received;
  const GreetingStatus status = receive_greeting(connection.socket.get(), received);
  if (status == GreetingStatus::not_yet) return true;
  if (status != GreetingStatus::received || received.greeting.kind != Greeting::kAnswer) return false;
  if (!connection.channel->meet({.bell = std::move(received.descriptors[0]),
                                 .page = std::move(received.descriptors[1]),
                                 .wake = std::move(received.descriptors[2])}))
    return false;
  connection.stage = Stage::open;
  // Of what was published until now nobody knew whether the peer slept, and an uplink does not look again later.
  Bell::ring(connection.channel->doorbell.load(std::memory_order_relaxed));
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
    case Notice::subnet_changed:
    case Notice::faults_changed:
      return notice;
    case Notice::uplink_changed:
      break;
  }
  return std::nullopt;
}
/// Nothing: it is no such word.
std::optional<ShmControl::Carried> read_carried(const PeerName& teller, std::span<const std::byte> word) {
  ShmControl::Carried carried{.teller = teller, .slot = 0, .frame = {}, .report = {}};
  if (!word.empty() && word[0] == kReported) {
    carried.report = read_key_report(word.subspan(1));
    return carried.report ? std::optional(std::move(carried)) : std::nullopt;
  }
  if (word.size() <= kCarriedHeadBytes || word[0] != kCarried) return std::nullopt;
  carried.slot = std::to_integer<std::uint8_t>(word[1]);
  const auto frame = word.subspan(kCarriedHeadBytes);
  carried.frame.assign(frame.begin(), frame.end());
  return carried;
}
}  // namespace

void ShmControl::note(Notice notice) {
  if (notices_.size() < kNoticesMax) notices_.push_back(notice);
}

/// On an open connection the fabric process may give notice, and be told last words; anything else is a breach, and an
/// end is an end.
bool ShmControl::on_word(Connection& connection) {
  std::array<std::byte, kCarriedHeadBytes + kCarriedFrameBytesMax> word;
  const MessageWithDescriptors got = receive_with_descriptors(connection.socket.get(), word);
  if (got.bytes < 0) return errno == EAGAIN || errno == EINTR;
  if (!got.is_whole || got.descriptor_count != 0) return false;
  const auto bytes = static_cast<std::size_t>(got.bytes);
  if (own_ == kFabricPort) {
    const auto told = std::span(word).first(bytes);
    if (const auto heard = read_heard(told)) {
      connection.heard = *heard;
      return true;
    }
    auto carried = read_carried(connection.peer, told);
    if (carried && carried_.size() < kCarriedMax) carried_.push_back(std::move(*carried));
    return carried.has_value();
  }
  const auto notice = bytes == 1 && connection.peer.address == kFabricSeat
                          ? notice_of(std::to_integer<std::uint8_t>(word[0]))
                          : std::optional<Notice>();
  if (!notice) return false;
  note(*notice);
  return true;
}

void ShmControl::tell_fabric(const ToldWord& word) {
  if (word.bytes == 0) return;
  const std::lock_guard guard(mutex_);
  for (const auto& [fd, connection] : connections_)
    if (connection.stage == Stage::open && connection.peer == kFabricPort)
      send(fd, word.octets.data(), word.bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
}

std::optional<ShmControl::Carried> ShmControl::take_carried() {
  const std::lock_guard guard(mutex_);
  if (carried_.empty()) return std::nullopt;
  Carried carried = std::move(carried_.front());
  carried_.pop_front();
  return carried;
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

std::uint32_t ShmControl::unheard(const wire::Gid& node, std::uint32_t sequence) {
  const std::lock_guard guard(mutex_);
  return static_cast<std::uint32_t>(std::ranges::count_if(connections_, [&](const auto& entry) {
    const Connection& connection = entry.second;
    return connection.stage == Stage::open && connection.peer.address == node && connection.heard < sequence;
  }));
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
  if (connection.is_foreign) close_aside(std::move(connection.socket));
  std::erase(strangers_, fd);
  std::erase(foreign_, fd);
  if (!connection.channel) return;
  connection.channel->dead.store(true, std::memory_order_release);
  if (connection.peer.address == kFabricSeat) note(Notice::uplink_changed);
  tell({Change::Kind::ended, connection.peer, std::move(connection.channel)});
}

}  // namespace verbena::host
