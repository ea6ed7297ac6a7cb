#include "emulator/host/subnet_process/sa_client.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace verbena::host {
namespace {

constexpr int kClientEventsAtOnce = 64;
constexpr std::size_t kClientsMax = 4096;
constexpr int kAnswerRoomBytes = 1 << 20;
constexpr std::int64_t kNsPerMs = 1'000'000;

}  // namespace

Result<std::unique_ptr<SaClient>, std::string> SaClient::open(subnet::Subnet& subnet, Descriptor listener) {
  std::unique_ptr<SaClient> made(new SaClient(subnet, std::move(listener)));
  made->epoll_ = Descriptor(epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{.events = EPOLLIN, .data = {.ptr = nullptr}};
  if (!made->epoll_ || listen(made->listener_.get(), SOMAXCONN) != 0 ||
      epoll_ctl(made->epoll_.get(), EPOLL_CTL_ADD, made->listener_.get(), &event) != 0)
    return Failure{std::string("cannot listen for what programs ask the subnet administrator: ") +
                   std::strerror(errno)};
  return made;
}

SaClient::SaClient(subnet::Subnet& subnet, Descriptor listener)
    : subnet_(subnet),
      listener_(std::move(listener)),
      transactions_(subnet),
      groups_(transactions_, [this](const SaGroups::Member& member, std::int32_t status, const auto& record) {
        SaAnswer told{.id = member.id, .operation = SaOperation::join, .status = status};
        std::ranges::copy(wire::McMemberRecordLayout::emit(record), told.record.begin());
        answer(member.program, told);
      }) {}

SaClient::~SaClient() = default;

void SaClient::service(Time now) {
  advance(now);
  std::array<epoll_event, kClientEventsAtOnce> events{};
  const int count = epoll_wait(epoll_.get(), events.data(), kClientEventsAtOnce, 0);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    if (event.data.ptr == nullptr)
      accept_sessions();
    else
      read_session(*static_cast<Session*>(event.data.ptr));
  }
  end_sessions();
}

void SaClient::accept_sessions() {
  for (;;) {
    auto [socket, is_last] = reception_.next_of_own_user(listener_.get(), "the subnet administrator cannot be asked");
    if (is_last) return;
    if (!socket || sessions_.size() == kClientsMax) continue;
    setsockopt(socket.get(), SOL_SOCKET, SO_SNDBUF, &kAnswerRoomBytes, sizeof kAnswerRoomBytes);
    auto session = std::make_unique<Session>();
    session->number = ++sessions_so_far_;
    epoll_event event{.events = EPOLLIN, .data = {.ptr = session.get()}};
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, socket.get(), &event) != 0) continue;
    session->socket = std::move(socket);
    sessions_.push_back(std::move(session));
  }
}

void SaClient::read_session(Session& session) {
  while (!session.is_over) {
    SaRequest request;
    const ssize_t bytes = ::recv(session.socket.get(), &request, sizeof request, MSG_DONTWAIT | MSG_TRUNC);
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) return;
    session.is_over = bytes != static_cast<ssize_t>(sizeof request);
    if (!session.is_over) take(session, request);
  }
}

void SaClient::take(const Session& session, const SaRequest& request) {
  const SaGroups::Member member{session.number, request.id};
  const auto& nodes = subnet_.nodes();
  const bool is_adapter = request.host < nodes.size() && !nodes[request.host].is_switch();
  const subnet::PortEnd from{request.host, 1};
  switch (request.operation) {
    case SaOperation::get_path:
      if (is_adapter) return get_path(session, request, from);
      break;
    case SaOperation::join: {
      const auto record =
          wire::McMemberRecordLayout::parse(std::span(request.record).first<wire::McMemberRecordLayout::bytes>());
      if (is_adapter && record.join_state != 0) return groups_.join(from, member, request.component_mask, record);
      break;
    }
    case SaOperation::leave:
      return groups_.leave(member);
  }
  answer(session.number, {.id = request.id, .operation = request.operation, .status = -EINVAL});
}

void SaClient::get_path(const Session& session, const SaRequest& request, subnet::PortEnd from) {
  const SaTransactions::Request asked{wire::kMethodGet, wire::kAttributePathRecord, request.component_mask,
                                      request.record, Duration{std::int64_t{request.timeout_ms} * kNsPerMs}};
  const auto done = [this, program = session.number, id = request.id](std::int32_t status, auto record) {
    SaAnswer told{.id = id, .operation = SaOperation::get_path, .status = status};
    std::ranges::copy(record.first(std::min(record.size(), told.record.size())), told.record.begin());
    answer(program, told);
  };
  const std::int32_t status = transactions_.ask(from, asked, done);
  if (status != 0) answer(session.number, {.id = request.id, .operation = SaOperation::get_path, .status = status});
}

/// A program that has ended meanwhile has no session. One that does not read is cut off: it would wait for ever.
void SaClient::answer(std::uint64_t program, SaAnswer told) {
  const auto found = std::ranges::find_if(sessions_, [&](const auto& one) { return one->number == program; });
  if (found == sessions_.end()) return;
  if (::send((*found)->socket.get(), &told, sizeof told, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
    ::shutdown((*found)->socket.get(), SHUT_RDWR);
}

void SaClient::end_sessions() {
  std::vector<std::uint64_t> over;
  for (const auto& session : sessions_)
    if (session->is_over) over.push_back(session->number);
  if (over.empty()) return;
  std::erase_if(sessions_, [](const auto& session) { return session->is_over; });
  for (const std::uint64_t program : over) groups_.leave_all(program);
}

}  // namespace verbena::host
