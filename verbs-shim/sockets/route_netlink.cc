#include "verbs-shim/sockets/route_netlink.h"

#include <errno.h>
#include <linux/netlink.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

#include "verbs-shim/sockets/own_addresses.h"
#include "verbs-shim/sockets/route_answers.h"
#include "verbs-shim/sysfs/real.h"

namespace verbena::path {
namespace {

std::atomic<bool> any{false};

constexpr std::size_t kDatagramBytesMax = 65536;  // the kernel's are half of it at most
constexpr std::size_t kPlaces = 16;

/// What is to be received from a socket, and with the answer to which question.
struct Place {
  enum State : std::uint8_t { empty, in_use, waiting };
  std::atomic<std::uint8_t> state{empty};
  ino_t socket = 0;
  std::uint32_t sequence = 0;
  bool replaces = false;
  std::size_t begin = 0;  // of what is not delivered yet
  std::size_t bytes = 0;
  char octets[kRouteAnswerBytesMax];

  bool take(std::uint8_t expected) { return state.compare_exchange_strong(expected, in_use); }
};
Place places[kPlaces];
std::atomic<std::size_t> waiting_count{0};
std::atomic<std::size_t> next_place{0};

void give_back(Place& place) {
  place.state.store(Place::empty);
  waiting_count.fetch_sub(1);
}

/// An empty one, else the next in turn; null: all are in use this moment.
Place* take_place() {
  for (Place& place : places)
    if (place.take(Place::empty)) return waiting_count.fetch_add(1), &place;
  Place& oldest = places[next_place.fetch_add(1) % kPlaces];
  return oldest.take(Place::waiting) ? &oldest : nullptr;
}

ino_t inode_of(int fd) {
  struct stat status;
  return real_fstat(fd, status) ? status.st_ino : 0;
}

bool waits_for(ino_t socket) {
  return std::ranges::any_of(
      places, [&](const Place& place) { return place.state.load() == Place::waiting && place.socket == socket; });
}

Place* take_place_of(ino_t socket, std::uint32_t sequence) {
  for (Place& place : places) {
    if (place.state.load() != Place::waiting || place.socket != socket || place.sequence != sequence) continue;
    if (place.take(Place::waiting)) return &place;
  }
  return nullptr;
}

std::uint32_t port_of(int fd) {
  sockaddr_nl name{};
  socklen_t bytes = sizeof name;
  return syscall(SYS_getsockname, fd, &name, &bytes) == 0 ? name.nl_pid : 0;
}

// -- Receiving -------------------------------------------------------------------------------------------------------

/// The datagram that the kernel has for the program next.
class Head {
 public:
  Head(int fd, int flags) {
    void* const memory = mmap(nullptr, kDatagramBytesMax, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    octets_ = static_cast<char*>(memory);
    sockaddr_nl from{};
    socklen_t from_bytes = sizeof from;
    const int how = MSG_PEEK | MSG_TRUNC | (flags & MSG_DONTWAIT);
    bytes_ = syscall(SYS_recvfrom, fd, octets_, kDatagramBytesMax, how, &from, &from_bytes);
    is_kernels_ = bytes_ >= static_cast<ssize_t>(sizeof(nlmsghdr)) &&
                  bytes_ <= static_cast<ssize_t>(kDatagramBytesMax) && from.nl_pid == 0;
  }
  ~Head() {
    const int before = errno;
    if (octets_ != nullptr) munmap(octets_, kDatagramBytesMax);
    errno = before;
  }
  Head(const Head&) = delete;
  Head& operator=(const Head&) = delete;

  bool failed() const { return octets_ != nullptr && bytes_ < 0; }
  bool is_kernels() const { return is_kernels_; }
  const char* octets() const { return octets_; }
  std::size_t bytes() const { return static_cast<std::size_t>(bytes_); }
  nlmsghdr first() const { return header_at(0); }
  bool is_acknowledgement() const {
    std::int32_t error = -1;
    if (first().nlmsg_type != NLMSG_ERROR || bytes() < NLMSG_HDRLEN + sizeof error) return false;
    std::memcpy(&error, octets_ + NLMSG_HDRLEN, sizeof error);
    return error == 0;
  }
  /// Where the end of a list begins; the number of octets: it is not here.
  std::size_t end_of_list() const {
    for (std::size_t at = 0; at + NLMSG_HDRLEN <= bytes();) {
      const nlmsghdr header = header_at(at);
      if (header.nlmsg_type == NLMSG_DONE) return at;
      if (header.nlmsg_len < NLMSG_HDRLEN) break;
      at += NLMSG_ALIGN(header.nlmsg_len);
    }
    return bytes();
  }

 private:
  nlmsghdr header_at(std::size_t at) const {
    nlmsghdr header;
    std::memcpy(&header, octets_ + at, sizeof header);
    return header;
  }

  char* octets_ = nullptr;
  ssize_t bytes_ = 0;
  bool is_kernels_ = false;
};

/// A datagram in parts, on its way into what a program has for it.
class Delivery {
 public:
  Delivery(msghdr& message, int flags) : message_(message), flags_(flags) {
    for (std::size_t i = 0; i < message.msg_iovlen; ++i) room_ += message.msg_iov[i].iov_len;
  }
  std::size_t room() const { return room_; }
  void add(const char* octets, std::size_t bytes) {
    std::size_t offset = total_;
    total_ += bytes;
    for (std::size_t i = 0; i < message_.msg_iovlen && bytes != 0; ++i) {
      const iovec& piece = message_.msg_iov[i];
      if (offset >= piece.iov_len) {
        offset -= piece.iov_len;
        continue;
      }
      const std::size_t part = std::min(bytes, piece.iov_len - offset);
      std::memcpy(static_cast<char*>(piece.iov_base) + offset, octets, part);
      octets += part;
      bytes -= part;
      offset = 0;
    }
  }
  ssize_t finish() {
    const sockaddr_nl kernel{.nl_family = AF_NETLINK, .nl_pad = 0, .nl_pid = 0, .nl_groups = 0};
    if (message_.msg_name != nullptr) {
      std::memcpy(message_.msg_name, &kernel, std::min<std::size_t>(message_.msg_namelen, sizeof kernel));
      message_.msg_namelen = sizeof kernel;
    }
    message_.msg_controllen = 0;
    message_.msg_flags = total_ > room_ ? MSG_TRUNC : 0;
    return static_cast<ssize_t>((flags_ & MSG_TRUNC) != 0 ? total_ : std::min(total_, room_));
  }

 private:
  msghdr& message_;
  const int flags_;
  std::size_t room_ = 0;
  std::size_t total_ = 0;
};

void discard_head(int fd) {
  char octet = 0;
  syscall(SYS_recvfrom, fd, &octet, sizeof octet, MSG_DONTWAIT, nullptr, nullptr);
}

/// The end of the messages of a place that fit into `room` together: one at least.
std::size_t end_of_part(const Place& place, std::size_t room) {
  std::size_t end = place.begin;
  while (end < place.bytes) {
    nlmsghdr header;
    std::memcpy(&header, place.octets + end, sizeof header);
    const std::size_t next = end + NLMSG_ALIGN(header.nlmsg_len);
    if (end != place.begin && next - place.begin > room) break;
    end = next;
  }
  return end;
}

enum class Delivered : std::uint8_t {
  none,  // the head is not what the place waits for
  part,  // the place waits on
  all,
};

Delivered deliver(int fd, const Head& head, Place& place, msghdr& message, int flags, ssize_t& result) {
  const std::size_t end = place.replaces ? 0 : head.end_of_list();
  if (place.replaces ? !head.is_acknowledgement() : end == head.bytes()) return Delivered::none;
  Delivery delivery(message, flags);
  const std::size_t rest = place.bytes - place.begin;
  // Where the two do not fit together ours is in datagrams of its own, and the kernel's the next one.
  const bool is_apart = !place.replaces && head.bytes() + rest > delivery.room() && (flags & MSG_TRUNC) == 0;
  const std::size_t part = is_apart ? end_of_part(place, delivery.room()) - place.begin : rest;
  if (!place.replaces && !is_apart) delivery.add(head.octets(), end);
  delivery.add(place.octets + place.begin, part);
  if (!place.replaces && !is_apart) delivery.add(head.octets() + end, head.bytes() - end);
  result = delivery.finish();
  if ((flags & MSG_PEEK) != 0) return Delivered::part;
  if (!is_apart) discard_head(fd);
  place.begin += part;
  return part == rest ? Delivered::all : Delivered::part;
}

}  // namespace

void watch_route_netlink() {
  if (has_own_interfaces()) any.store(true, std::memory_order_relaxed);
}

bool any_route_netlink() {
  return any.load(std::memory_order_relaxed);
}

bool ask_route_netlink(int fd, const char* octets, std::size_t bytes, char (&instead)[16]) {
  nlmsghdr question{};
  if (bytes < sizeof question) return false;
  std::memcpy(&question, octets, sizeof question);
  if (question.nlmsg_len < sizeof question || question.nlmsg_len > bytes) return false;
  RouteAnswer answer(question, port_of(fd));
  const RoutePart part = answer_route(octets + NLMSG_HDRLEN, question.nlmsg_len - NLMSG_HDRLEN, answer);
  if (part == RoutePart::none) return false;
  Place* const place = take_place();
  if (place == nullptr) return false;
  place->socket = inode_of(fd);
  place->sequence = question.nlmsg_seq;
  place->replaces = part == RoutePart::all;
  place->begin = 0;
  place->bytes = answer.bytes();
  std::memcpy(place->octets, answer.octets(), answer.bytes());
  place->state.store(Place::waiting);
  if (part != RoutePart::all) return false;
  const nlmsghdr acknowledged{.nlmsg_len = NLMSG_HDRLEN,
                              .nlmsg_type = NLMSG_NOOP,
                              .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK,
                              .nlmsg_seq = question.nlmsg_seq,
                              .nlmsg_pid = question.nlmsg_pid};
  static_assert(sizeof acknowledged == sizeof instead);
  std::memcpy(instead, &acknowledged, sizeof acknowledged);
  return true;
}

bool receive_route_netlink(int fd, msghdr& message, int flags, ssize_t& result) {
  if (waiting_count.load(std::memory_order_relaxed) == 0) return false;
  const int before = errno;
  const ino_t socket = inode_of(fd);
  if (!waits_for(socket)) return errno = before, false;
  const Head head(fd, flags);
  if (head.failed()) return result = -1, true;
  errno = before;
  if (!head.is_kernels()) return false;
  Place* const place = take_place_of(socket, head.first().nlmsg_seq);
  if (place == nullptr) return false;
  const Delivered delivered = deliver(fd, head, *place, message, flags, result);
  if (delivered == Delivered::all)
    give_back(*place);
  else
    place->state.store(Place::waiting);
  errno = before;
  return delivered != Delivered::none;
}

}  // namespace verbena::path
