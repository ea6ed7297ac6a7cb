#include "emulator/host/subnet_process/subnet_process.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <rdma/ib_user_mad.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "emulator/subnet/smp.h"

namespace verbena::host {
namespace {

constexpr std::size_t kHeaderBytes = sizeof(ib_user_mad_hdr);
constexpr std::size_t kMadHeaderBytes = wire::AnyMadHeaderLayout::bytes;
constexpr std::size_t kMessageBytesMax = 1 << 20;
constexpr std::size_t kUnreadMax = 8192;         // messages; what comes then is lost
constexpr std::uint8_t kVendorRangeFrom = 0x30;  // these classes have an OUI (13.4.4)
constexpr std::uint8_t kVendorRangeTo = 0x4f;

Time now() {
  timespec value{};
  clock_gettime(CLOCK_MONOTONIC, &value);
  return Time{std::int64_t{value.tv_sec} * 1'000'000'000 + value.tv_nsec};
}

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
  listener_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener_ < 0 || bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(listener_, SOMAXCONN) != 0)
    return fmt::format("{}: {}", path, std::strerror(errno));
  for (std::size_t node = 0; node < subnet_.nodes().size(); ++node)
    if (!subnet_.nodes()[node].is_switch()) write_host(node);
  return file_error_;
}

void SubnetProcess::serve(int end) {
  std::vector<pollfd> polled;
  for (;;) {
    polled.clear();
    polled.push_back({end, POLLIN, 0});
    polled.push_back({listener_, POLLIN, 0});
    for (const auto& session : sessions_)
      polled.push_back({session->fd, static_cast<short>(session->unread.empty() ? POLLIN : POLLIN | POLLOUT), 0});
    poll(polled.data(), polled.size(), milliseconds_to_wait());
    const std::size_t known = sessions_.size();
    for (std::size_t i = 0; i < known; ++i) {
      if ((polled[i + 2].revents & POLLOUT) != 0) flush(*sessions_[i]);
      if ((polled[i + 2].revents & (POLLIN | POLLHUP | POLLERR)) != 0) read_session(*sessions_[i]);
    }
    if (polled[1].revents != 0) accept_session();
    expire(now());
    end_sessions();
    for (const subnet::PortEnd port : changed_) write_port(port);
    changed_.clear();
    if (polled[0].revents != 0) return;
  }
}

int SubnetProcess::milliseconds_to_wait() const {
  std::optional<Time> first = subnet_.next_deadline();
  for (const Waiting& one : waiting_)
    if (!first || one.deadline.ns < first->ns) first = one.deadline;
  if (!first) return -1;
  const std::int64_t left = (*first - now()).ns;
  return left <= 0 ? 0 : static_cast<int>(std::min<std::int64_t>(left / 1'000'000 + 1, 1000));
}

void SubnetProcess::accept_session() {
  for (;;) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    const int room = kMessageBytesMax;
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    sessions_.push_back(std::make_unique<Session>());
    sessions_.back()->fd = fd;
    read_session(*sessions_.back());
  }
}

void SubnetProcess::read_session(Session& session) {
  static std::vector<std::byte> room(kMessageBytesMax);
  for (;;) {
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))]{};
    iovec octets{room.data(), room.size()};
    msghdr message{};
    message.msg_iov = &octets;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t bytes = recvmsg(session.fd, &message, MSG_CMSG_CLOEXEC);
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (bytes <= 0) {
      session.is_over = true;
      return;
    }
    int reply = -1;
    const cmsghdr* const first = CMSG_FIRSTHDR(&message);
    if (first != nullptr && first->cmsg_type == SCM_RIGHTS) std::memcpy(&reply, CMSG_DATA(first), sizeof reply);
    take_message(session, {room.begin(), room.begin() + bytes}, reply);
    if (reply >= 0) close(reply);
  }
}

void SubnetProcess::take_message(Session& session, std::vector<std::byte> message, int reply) {
  if (!session.is_known) {
    UmadHello hello;
    if (message.size() != sizeof hello) return;
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
    return;
  }
  std::uint32_t mark = 0;
  if (message.size() < kHeaderBytes) return;
  std::memcpy(&mark, message.data(), sizeof mark);
  if (mark != kUmadIoctlMark) return send(session, std::move(message));
  UmadIoctl ioctl;
  if (message.size() != sizeof ioctl || reply < 0) return;
  std::memcpy(&ioctl, message.data(), sizeof ioctl);
  take_ioctl(session, ioctl, reply);
}

void SubnetProcess::take_ioctl(Session& session, const UmadIoctl& ioctl, int reply) {
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
    const std::size_t gone = std::erase_if(session.agents, [&](const Agent& agent) { return agent.id == id; });
    std::erase_if(waiting_, [&](const Waiting& one) { return one.session == &session && one.agent == id; });
    answer.error = gone == 0 ? EINVAL : 0;
  } else if (ioctl.request != static_cast<std::uint32_t>(IB_USER_MAD_ENABLE_PKEY)) {
    answer.error = ENOTTY;
  }
  ::send(reply, &answer, sizeof answer, MSG_NOSIGNAL | MSG_DONTWAIT);
}

int SubnetProcess::register_agent(Session& session, Agent agent, std::uint32_t& id) {
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
bool SubnetProcess::is_taken(const Session& session, const Agent& agent) const {
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
void SubnetProcess::send(Session& session, std::vector<std::byte> message) {
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
    waiting.deadline = now() + waiting.timeout;
    waiting.retries = header.retries;
    waiting_.push_back(std::move(waiting));
  }
  subnet_.send(session.port, std::move(datagram));
}

SubnetProcess::Agent* SubnetProcess::agent_for(Session& session, const subnet::Datagram& datagram) {
  const wire::AnyMadHeader header = header_of(datagram.octets);
  for (Agent& agent : session.agents) {
    if (agent.qp != datagram.destination_qp.value() || agent.management_class != header.management_class ||
        agent.class_version != header.class_version || !agent.has_method(header.method))
      continue;
    if (!has_oui(header.management_class) || agent.oui == oui_of(datagram.octets)) return &agent;
  }
  return nullptr;
}

void SubnetProcess::receive(subnet::PortEnd at, const subnet::Datagram& datagram) {
  const wire::AnyMadHeader header = header_of(datagram.octets);
  if (is_response(header)) {
    const auto found = std::ranges::find_if(waiting_, [&](const Waiting& one) {
      return one.transaction == header.transaction_id && one.management_class == header.management_class &&
             one.session->port == at;
    });
    if (found == waiting_.end()) return;
    Session& session = *found->session;
    const std::uint32_t agent = found->agent;
    waiting_.erase(found);
    return deliver(session, agent, datagram);
  }
  for (const auto& session : sessions_) {
    if (!session->is_known || session->is_issm || !(session->port == at)) continue;
    if (const Agent* const agent = agent_for(*session, datagram)) return deliver(*session, agent->id, datagram);
  }
}

void SubnetProcess::deliver(Session& session, std::uint32_t agent, const subnet::Datagram& datagram) {
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

void SubnetProcess::push(Session& session, std::vector<std::byte> message) {
  if (session.unread.size() == kUnreadMax) return;
  session.unread.push_back(std::move(message));
  flush(session);
}

void SubnetProcess::flush(Session& session) {
  while (!session.unread.empty()) {
    const auto& message = session.unread.front();
    if (::send(session.fd, message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) return;
    session.unread.pop_front();
  }
}

/// Requests are sent again, or given back with ETIMEDOUT and their header.
void SubnetProcess::expire(Time at) {
  subnet_.advance(at);
  for (std::size_t i = 0; i < waiting_.size();) {
    Waiting& one = waiting_[i];
    if (one.deadline.ns > at.ns) {
      ++i;
      continue;
    }
    if (one.retries > 0) {
      --one.retries;
      one.deadline = at + one.timeout;
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

void SubnetProcess::end_sessions() {
  for (const auto& session : sessions_) {
    if (!session->is_over) continue;
    std::erase_if(waiting_, [&](const Waiting& one) { return one.session == session.get(); });
    close(session->fd);
    session->fd = -1;
    const bool is_last = std::ranges::none_of(
        sessions_, [&](const auto& other) { return other->fd >= 0 && other->is_issm && other->port == session->port; });
    if (session->is_issm && is_last) subnet_.set_subnet_manager(session->port, false);
  }
  std::erase_if(sessions_, [](const auto& session) { return session->fd < 0; });
}

void SubnetProcess::changed(subnet::PortEnd port) {
  if (subnet_.nodes()[port.node].is_switch()) return;
  if (std::ranges::find(changed_, port) == changed_.end()) changed_.push_back(port);
}

}  // namespace verbena::host
