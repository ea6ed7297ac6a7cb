#include "emulator/host/subnet_process/umad_server.h"

#include <arpa/inet.h>
#include <rdma/ib_user_mad.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "emulator/host/os/descriptor_passing.h"
#include "emulator/subnet/smp.h"

namespace verbena::host {
namespace {

constexpr std::size_t kHeaderBytes = sizeof(ib_user_mad_hdr);
constexpr std::size_t kMadHeaderBytes = wire::AnyMadHeaderLayout::bytes;
constexpr std::size_t kMessageBytesMax = 1 << 20;
constexpr std::size_t kUnreadMax = 8192;         // messages; what comes then is lost
constexpr std::uint8_t kVendorRangeFrom = 0x30;  // these classes have an OUI (13.4.4)
constexpr std::uint8_t kVendorRangeTo = 0x4f;

constexpr int kEventsAtOnce = 64;
constexpr std::size_t kSessionsMax = 4096;

wire::AnyMadHeader header_of(const std::vector<std::byte>& mad) {
  return wire::AnyMadHeaderLayout::parse(std::span(mad).first<kMadHeaderBytes>());
}

bool is_response(const wire::AnyMadHeader& header) {
  return (header.method & wire::kMethodResponseBit) != 0 || header.method == wire::kMethodTrapRepress;
}

std::uint32_t oui_of(const std::vector<std::byte>& mad) {
  constexpr std::size_t kOuiAt = 37;
  std::uint32_t oui = 0;
  for (std::size_t i = 0; i < 3; ++i) oui = oui << 8 | std::to_integer<std::uint32_t>(mad[kOuiAt + i]);
  return oui;
}

bool has_oui(std::uint8_t management_class) {
  return management_class >= kVendorRangeFrom && management_class <= kVendorRangeTo;
}

}  // namespace

Result<std::unique_ptr<UmadServer>, std::string> UmadServer::open(subnet::Subnet& subnet, Descriptor listener) {
  std::unique_ptr<UmadServer> made(new UmadServer(subnet, std::move(listener)));
  made->epoll_ = Descriptor(epoll_create1(EPOLL_CLOEXEC));
  made->room_.resize(kMessageBytesMax);
  epoll_event event{.events = EPOLLIN, .data = {.ptr = nullptr}};
  if (!made->epoll_ || listen(made->listener_.get(), SOMAXCONN) != 0 ||
      epoll_ctl(made->epoll_.get(), EPOLL_CTL_ADD, made->listener_.get(), &event) != 0)
    return Failure{std::string("cannot listen for managers: ") + std::strerror(errno)};
  return made;
}

UmadServer::~UmadServer() = default;

void UmadServer::service(Time now) {
  now_ = now;
  std::array<epoll_event, kEventsAtOnce> events{};
  const int count = epoll_wait(epoll_.get(), events.data(), kEventsAtOnce, 0);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    if (event.data.ptr == nullptr) {
      accept_sessions();
      continue;
    }
    Session& session = *static_cast<Session*>(event.data.ptr);
    if ((event.events & EPOLLOUT) != 0) flush(session);
    if ((event.events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) read_session(session);
  }
  expire();
  end_sessions();
}

std::optional<Time> UmadServer::next_deadline() const {
  std::optional<Time> first = subnet_.next_deadline();
  for (const Waiting& one : waiting_)
    if (!first || one.deadline.ns < first->ns) first = one.deadline;
  return first;
}

void UmadServer::accept_sessions() {
  for (;;) {
    auto [socket, is_last] = reception_.next_of_own_user(listener_.get(), "a umad device cannot be opened");
    if (is_last) return;
    if (!socket || sessions_.size() == kSessionsMax) continue;
    const int room = kMessageBytesMax;
    setsockopt(socket.get(), SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    auto session = std::make_unique<Session>();
    session->socket = std::move(socket);
    if (!listens_to(*session, EPOLL_CTL_ADD, EPOLLIN)) continue;
    sessions_.push_back(std::move(session));
    read_session(*sessions_.back());
  }
}

bool UmadServer::listens_to(Session& session, int operation, std::uint32_t events) {
  epoll_event event{.events = events, .data = {.ptr = &session}};
  return epoll_ctl(epoll_.get(), operation, session.socket.get(), &event) == 0;
}

void UmadServer::read_session(Session& session) {
  while (!session.is_over) {
    const MessageWithDescriptors got = receive_with_descriptors(session.socket.get(), room_);
    if (got.bytes < 0 && (errno == EAGAIN || errno == EINTR)) return;
    session.is_over = got.bytes <= 0;
    if (session.is_over) return;
    const auto bytes = static_cast<std::size_t>(got.bytes);
    take_message(session, {room_.begin(), room_.begin() + static_cast<std::ptrdiff_t>(bytes)}, got.descriptors[0]);
  }
}

void UmadServer::take_message(Session& session, std::vector<std::byte> message, const Descriptor& reply) {
  if (!session.is_known) return take_hello(session, message);
  std::uint32_t mark = 0;
  if (message.size() < kHeaderBytes) return;
  std::memcpy(&mark, message.data(), sizeof mark);
  if (mark != kUmadIoctlMark) return send(session, message);
  UmadIoctl ioctl;
  if (message.size() != sizeof ioctl || !reply) return;
  std::memcpy(&ioctl, message.data(), sizeof ioctl);
  take_ioctl(session, ioctl, reply);
}

void UmadServer::take_hello(Session& session, const std::vector<std::byte>& message) {
  UmadHello hello;
  session.is_over = message.size() != sizeof hello;
  if (session.is_over) return;
  std::memcpy(&hello, message.data(), sizeof hello);
  const auto& nodes = subnet_.nodes();
  const bool is_there = hello.host < nodes.size() && !nodes[hello.host].is_switch() && hello.port >= 1 &&
                        hello.port < nodes[hello.host].ports.size();
  session.is_over = !is_there;
  if (!is_there) return;
  session.is_known = true;
  session.port = {hello.host, static_cast<std::uint8_t>(hello.port)};
  session.is_issm = hello.is_issm != 0;
  if (session.is_issm) subnet_.set_subnet_manager(session.port, true);
}

void UmadServer::take_ioctl(Session& session, const UmadIoctl& ioctl, const Descriptor& reply) {
  UmadIoctlReply answer;
  std::memcpy(answer.argument, ioctl.argument, sizeof answer.argument);
  if (ioctl.request == static_cast<std::uint32_t>(IB_USER_MAD_REGISTER_AGENT)) {
    ib_user_mad_reg_req wanted;
    std::memcpy(&wanted, ioctl.argument, sizeof wanted);
    Agent agent;
    agent.qp = wanted.qpn;
    agent.management_class = wanted.mgmt_class;
    agent.class_version = wanted.mgmt_class_version;
    agent.oui = static_cast<std::uint32_t>(wanted.oui[0] << 16 | wanted.oui[1] << 8 | wanted.oui[2]);
    static_assert(sizeof wanted.method_mask == sizeof agent.methods);
    std::memcpy(agent.methods.data(), &wanted.method_mask, sizeof agent.methods);
    answer.error = register_agent(session, agent, wanted.id);
    std::memcpy(answer.argument, &wanted, sizeof wanted);
  } else if (ioctl.request == static_cast<std::uint32_t>(IB_USER_MAD_REGISTER_AGENT2)) {
    ib_user_mad_reg_req2 wanted;
    std::memcpy(&wanted, ioctl.argument, sizeof wanted);
    Agent agent;
    agent.qp = static_cast<std::uint8_t>(wanted.qpn);
    agent.management_class = wanted.mgmt_class;
    agent.class_version = wanted.mgmt_class_version;
    agent.oui = wanted.oui;
    std::memcpy(agent.methods.data(), wanted.method_mask, sizeof agent.methods);
    answer.error = wanted.qpn > 1 ? EINVAL : register_agent(session, agent, wanted.id);
    std::memcpy(answer.argument, &wanted, sizeof wanted);
  } else if (ioctl.request == static_cast<std::uint32_t>(IB_USER_MAD_UNREGISTER_AGENT)) {
    std::uint32_t id = 0;
    std::memcpy(&id, ioctl.argument, sizeof id);
    answer.error = unregister_agent(session, id);
  } else if (ioctl.request != static_cast<std::uint32_t>(IB_USER_MAD_ENABLE_PKEY)) {
    answer.error = ENOTTY;
  }
  ::send(reply.get(), &answer, sizeof answer, MSG_NOSIGNAL | MSG_DONTWAIT);
}

int UmadServer::unregister_agent(Session& session, std::uint32_t id) {
  const std::size_t gone = std::erase_if(session.agents, [&](const Agent& agent) { return agent.id == id; });
  std::erase_if(waiting_, [&](const Waiting& one) { return one.session == &session && one.agent == id; });
  return gone == 0 ? EINVAL : 0;
}

int UmadServer::register_agent(Session& session, Agent agent, std::uint32_t& id) {
  if (agent.qp > 1) return EINVAL;
  if (session.agents.size() == kAgentsMax) return ENOMEM;
  for (const auto& other : sessions_)
    if (other->port == session.port && is_taken(*other, agent)) return EINVAL;
  while (std::ranges::find(session.agents, agent.id, &Agent::id) != session.agents.end()) ++agent.id;
  agent.high_transaction = ++transactions_;
  id = agent.id;
  session.agents.push_back(agent);
  return 0;
}

/// A method of a class is one agent's at a port.
bool UmadServer::is_taken(const Session& session, const Agent& agent) const {
  return std::ranges::any_of(session.agents, [&](const Agent& one) {
    if (one.qp != agent.qp || one.management_class != agent.management_class ||
        one.class_version != agent.class_version || (has_oui(agent.management_class) && one.oui != agent.oui))
      return false;
    for (std::size_t i = 0; i < agent.methods.size(); ++i)
      if ((one.methods[i] & agent.methods[i]) != 0) return true;
    return false;
  });
}

/// What the kernel's ib_umad_write() does.
void UmadServer::send(Session& session, const std::vector<std::byte>& message) {
  ib_user_mad_hdr header;
  std::memcpy(&header, message.data(), sizeof header);
  const auto agent = std::ranges::find(session.agents, header.id, &Agent::id);
  if (agent == session.agents.end() || message.size() < kHeaderBytes + kMadHeaderBytes) return;
  subnet::Datagram datagram;
  datagram.octets.assign(message.begin() + kHeaderBytes, message.end());
  const wire::PortInfo& info = subnet_.nodes()[session.port.node].ports[session.port.port].info;
  datagram.source = wire::Lid(info.base_lid.value() | std::uint32_t{header.path_bits});
  datagram.destination = wire::Lid(ntohs(header.lid));
  datagram.service_level = header.sl;
  datagram.source_qp = wire::Qpn(agent->qp);
  datagram.destination_qp = wire::Qpn(ntohl(header.qpn));
  datagram.qkey = ntohl(header.qkey);
  wire::AnyMadHeader mad = header_of(datagram.octets);
  if (!is_response(mad)) {
    constexpr unsigned kHighShift = 32;
    mad.transaction_id = std::uint64_t{agent->high_transaction} << kHighShift | (mad.transaction_id & 0xffffffff);
    wire::AnyMadHeaderLayout::emit(mad, std::span(datagram.octets).first<kMadHeaderBytes>());
  }
  if (header.timeout_ms != 0 && !is_response(mad)) {
    Waiting waiting;
    waiting.session = &session;
    waiting.agent = agent->id;
    waiting.transaction = mad.transaction_id;
    waiting.management_class = mad.management_class;
    waiting.header.assign(message.begin(), message.begin() + kHeaderBytes);
    waiting.datagram = datagram;
    waiting.timeout = Duration{std::int64_t{header.timeout_ms} * 1'000'000};
    waiting.deadline = now_ + waiting.timeout;
    waiting.retries = header.retries;
    waiting_.push_back(std::move(waiting));
  }
  subnet_.send(session.port, std::move(datagram));
}

UmadServer::Agent* UmadServer::agent_for(Session& session, const subnet::Datagram& datagram) {
  const wire::AnyMadHeader header = header_of(datagram.octets);
  for (Agent& agent : session.agents) {
    if (agent.qp != datagram.destination_qp.value() || agent.management_class != header.management_class ||
        agent.class_version != header.class_version || !agent.has_method(header.method))
      continue;
    if (!has_oui(header.management_class) || agent.oui == oui_of(datagram.octets)) return &agent;
  }
  return nullptr;
}

bool UmadServer::receive(subnet::PortEnd at, const subnet::Datagram& datagram) {
  const wire::AnyMadHeader header = header_of(datagram.octets);
  if (is_response(header)) {
    const auto found = std::ranges::find_if(waiting_, [&](const Waiting& one) {
      return one.transaction == header.transaction_id && one.management_class == header.management_class &&
             one.session->port == at;
    });
    if (found == waiting_.end()) return false;
    Session& session = *found->session;
    const std::uint32_t agent = found->agent;
    waiting_.erase(found);
    deliver(session, agent, datagram);
    return true;
  }
  for (const auto& session : sessions_) {
    if (!session->is_known || session->is_issm || !(session->port == at)) continue;
    if (const Agent* const agent = agent_for(*session, datagram)) {
      deliver(*session, agent->id, datagram);
      return true;
    }
  }
  return false;
}

void UmadServer::deliver(Session& session, std::uint32_t agent, const subnet::Datagram& datagram) {
  ib_user_mad_hdr header{};
  header.id = agent;
  header.length = static_cast<std::uint32_t>(kHeaderBytes + datagram.octets.size());
  header.qpn = htonl(datagram.source_qp.value());
  header.lid = htons(datagram.source.value());
  header.sl = datagram.service_level;
  std::vector<std::byte> message(kHeaderBytes + datagram.octets.size());
  std::memcpy(message.data(), &header, sizeof header);
  std::ranges::copy(datagram.octets, message.begin() + kHeaderBytes);
  push(session, std::move(message));
}

void UmadServer::push(Session& session, std::vector<std::byte> message) {
  if (session.unread.size() == kUnreadMax) return;
  session.unread.push_back(std::move(message));
  flush(session);
}

void UmadServer::flush(Session& session) {
  while (!session.unread.empty()) {
    const auto& message = session.unread.front();
    if (::send(session.socket.get(), message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) break;
    session.unread.pop_front();
  }
  const bool waits = !session.unread.empty() && session.socket;
  if (std::exchange(session.waits_for_room, waits) == waits) return;
  listens_to(session, EPOLL_CTL_MOD, waits ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

/// Requests are sent again, or given back with ETIMEDOUT and their header.
void UmadServer::expire() {
  subnet_.advance(now_);
  for (std::size_t i = 0; i < waiting_.size();) {
    Waiting& one = waiting_[i];
    if (one.deadline.ns > now_.ns) {
      ++i;
      continue;
    }
    if (one.retries > 0) {
      --one.retries;
      one.deadline = now_ + one.timeout;
      subnet::Datagram again = one.datagram;
      const subnet::PortEnd port = one.session->port;
      subnet_.send(port, std::move(again));  // its response may end this and others
      continue;
    }
    std::vector<std::byte> message = one.header;
    ib_user_mad_hdr header;
    std::memcpy(&header, message.data(), sizeof header);
    header.status = ETIMEDOUT;
    header.length = static_cast<std::uint32_t>(kHeaderBytes + kMadHeaderBytes);
    std::memcpy(message.data(), &header, sizeof header);
    message.insert(message.end(), one.datagram.octets.begin(), one.datagram.octets.begin() + kMadHeaderBytes);
    Session& session = *one.session;
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
    push(session, std::move(message));
  }
}

void UmadServer::end_sessions() {
  for (const auto& session : sessions_) {
    if (!session->is_over) continue;
    std::erase_if(waiting_, [&](const Waiting& one) { return one.session == session.get(); });
    session->socket.reset();
    const bool is_last = std::ranges::none_of(
        sessions_, [&](const auto& other) { return other->socket && other->is_issm && other->port == session->port; });
    if (session->is_issm && is_last) subnet_.set_subnet_manager(session->port, false);
  }
  std::erase_if(sessions_, [](const auto& session) { return !session->socket; });
}

}  // namespace verbena::host
