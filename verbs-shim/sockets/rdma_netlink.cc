#include "verbs-shim/sockets/rdma_netlink.h"

#include <errno.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "emulator/nic/counters.h"
#include "verbs-shim/sysfs/counters.h"
#include "verbs-shim/sysfs/values.h"

namespace verbena::path {
namespace {

std::atomic<bool> any{false};

constexpr std::uint32_t kDeviceIndex = 0;
constexpr std::uint32_t kPort = 1;
constexpr std::uint8_t kNodeTypeCa = 1;  // RDMA_NODE_IB_CA, as node_type in sysfs
constexpr std::size_t kAnswerBytesMax = 16384;
constexpr std::size_t kTextBytesMax = 256;

/// Messages for one process, one after the other.
class Answer {
 public:
  Answer(const nlmsghdr& question, std::uint32_t port) : question_(question), port_(port) {}

  void begin(std::uint16_t type, std::uint16_t flags = 0) {
    header_ = reinterpret_cast<nlmsghdr*>(octets_ + bytes_);
    *header_ = {.nlmsg_len = NLMSG_HDRLEN,
                .nlmsg_type = type,
                .nlmsg_flags = flags,
                .nlmsg_seq = question_.nlmsg_seq,
                .nlmsg_pid = port_};
  }
  void attribute(std::uint16_t type, const void* value, std::size_t bytes) {
    const nlattr attribute{static_cast<std::uint16_t>(NLA_HDRLEN + bytes), type};
    append(&attribute, sizeof attribute);
    append(value, bytes);
  }
  template <class Number>
  void number(std::uint16_t type, Number value) {
    attribute(type, &value, sizeof value);
  }
  void text(std::uint16_t type, const char* value) { attribute(type, value, std::strlen(value) + 1); }
  /// Part of the message; padded.
  void append(const void* value, std::size_t bytes) {
    char* const end = octets_ + bytes_ + header_->nlmsg_len;
    const std::size_t padded = NLMSG_ALIGN(bytes);
    if (bytes_ + header_->nlmsg_len + padded > sizeof octets_) return;
    std::memset(end, 0, padded);
    std::memcpy(end, value, bytes);
    header_->nlmsg_len += static_cast<std::uint32_t>(padded);
  }
  void end() { bytes_ += header_->nlmsg_len; }
  /// Attributes until close() are part of this one.
  std::size_t open(std::uint16_t type) {
    const std::size_t at = bytes_ + header_->nlmsg_len;
    const nlattr attribute{NLA_HDRLEN, static_cast<std::uint16_t>(type | NLA_F_NESTED)};
    append(&attribute, sizeof attribute);
    return at;
  }
  void close(std::size_t at) {
    const auto length = static_cast<std::uint16_t>(bytes_ + header_->nlmsg_len - at);
    std::memcpy(octets_ + at, &length, sizeof length);
  }

  const char* octets() const { return octets_; }
  std::size_t bytes() const { return bytes_; }

 private:
  const nlmsghdr& question_;
  const std::uint32_t port_;
  nlmsghdr* header_ = nullptr;
  std::size_t bytes_ = 0;
  alignas(nlmsghdr) char octets_[kAnswerBytesMax] = {};
};

/// What a file of sysfs begins with: "4: ACTIVE" is 4.
std::uint8_t number_in(std::size_t (*write)(char*, std::size_t, unsigned)) {
  char text[kTextBytesMax] = {};
  write(text, sizeof text - 1, 0);
  return static_cast<std::uint8_t>(std::strtoul(text, nullptr, 10));
}

void name_device(Answer& answer) {
  answer.number(RDMA_NLDEV_ATTR_DEV_INDEX, kDeviceIndex);
  answer.text(RDMA_NLDEV_ATTR_DEV_NAME, device_name());
}

std::uint64_t node_guid() {
  char text[kTextBytesMax] = {};
  write_node_guid(text, sizeof text - 1, 0);
  std::uint64_t guid = 0;
  for (char* at = text; *at != 0 && *at != '\n'; ++at)
    if (*at != ':') guid = guid << 4 | static_cast<std::uint64_t>(*at <= '9' ? *at - '0' : *at - 'a' + 10);
  return guid;
}

void tell_device(Answer& answer) {
  name_device(answer);
  answer.number(RDMA_NLDEV_ATTR_PORT_INDEX, kPort);  // of a device: how many it has
  answer.text(RDMA_NLDEV_ATTR_FW_VERSION, VERBENA_VERSION);
  answer.number(RDMA_NLDEV_ATTR_NODE_GUID, node_guid());
  answer.number(RDMA_NLDEV_ATTR_SYS_IMAGE_GUID, node_guid());
  answer.number(RDMA_NLDEV_ATTR_DEV_NODE_TYPE, kNodeTypeCa);
}

void tell_port(Answer& answer) {
  char buffer[IF_NAMESIZE];
  const char* const interface = network_device(buffer);
  name_device(answer);
  answer.number(RDMA_NLDEV_ATTR_PORT_INDEX, kPort);
  answer.number(RDMA_NLDEV_ATTR_PORT_STATE, number_in(write_port_state));
  answer.number(RDMA_NLDEV_ATTR_PORT_PHYS_STATE, number_in(write_physical_state));
  answer.number(RDMA_NLDEV_ATTR_NDEV_INDEX, static_cast<std::uint32_t>(if_nametoindex(interface)));
  answer.text(RDMA_NLDEV_ATTR_NDEV_NAME, interface);
}

/// What a kernel would count of all processes, nobody does: an empty list.
void tell_resources(Answer& answer) {
  name_device(answer);
  answer.close(answer.open(RDMA_NLDEV_ATTR_RES_SUMMARY));
}

void tell_counters(Answer& answer) {
  constexpr const char* kNames[] = {
#define VERBENA_COUNTER_NAME(name) #name,
      VERBENA_NIC_COUNTERS(VERBENA_COUNTER_NAME)
#undef VERBENA_COUNTER_NAME
  };
  name_device(answer);
  answer.number(RDMA_NLDEV_ATTR_PORT_INDEX, kPort);
  const std::size_t all = answer.open(RDMA_NLDEV_ATTR_STAT_HWCOUNTERS);
  for (unsigned counter = 0; counter < nic::kCounters; ++counter) {
    char text[kTextBytesMax] = {};
    write_hardware_counter(text, sizeof text - 1, counter);
    const std::size_t one = answer.open(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY);
    answer.text(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, kNames[counter]);
    answer.number(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE, std::uint64_t{std::strtoull(text, nullptr, 10)});
    answer.close(one);
  }
  answer.close(all);
}

void tell_system(Answer& answer) {
  answer.number(RDMA_NLDEV_SYS_ATTR_NETNS_MODE, std::uint8_t{1});  // shared by all network namespaces
}

struct Answerer {
  unsigned command;
  void (*tell)(Answer& answer);
  bool is_listed;  // one of a list; otherwise the list is empty
};
constexpr Answerer kAnswerers[] = {
    {RDMA_NLDEV_CMD_GET, tell_device, true},        {RDMA_NLDEV_CMD_PORT_GET, tell_port, true},
    {RDMA_NLDEV_CMD_RES_GET, tell_resources, true}, {RDMA_NLDEV_CMD_STAT_GET, tell_counters, false},
    {RDMA_NLDEV_CMD_SYS_GET, tell_system, false},
};

void fill(Answer& answer, const nlmsghdr& question) {
  const bool is_list = (question.nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;
  const bool is_there = has_device();
  bool is_known = false;
  for (const Answerer& answerer : kAnswerers) {
    if (question.nlmsg_type != RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, answerer.command)) continue;
    is_known = true;
    if (!is_there || (is_list && !answerer.is_listed)) continue;
    answer.begin(question.nlmsg_type, is_list ? NLM_F_MULTI : 0);
    answerer.tell(answer);
    answer.end();
  }
  if (is_list) {
    const int none = 0;
    answer.begin(NLMSG_DONE, NLM_F_MULTI);
    answer.append(&none, sizeof none);
    answer.end();
  } else if (!is_known || !is_there || (question.nlmsg_flags & NLM_F_ACK) != 0) {
    const int code = !is_known ? -EOPNOTSUPP : is_there ? 0 : -ENODEV;
    const nlmsgerr error{.error = code, .msg = question};
    answer.begin(NLMSG_ERROR);
    answer.append(&error, sizeof error);
    answer.end();
  }
}

/// The address of the socket, which it is given now if it has none.
bool find_name(int fd, sockaddr_nl& name) {
  socklen_t bytes = sizeof name;
  if (syscall(SYS_getsockname, fd, &name, &bytes) != 0) return false;
  if (name.nl_pid != 0) return true;
  const sockaddr_nl any_port{.nl_family = AF_NETLINK, .nl_pad = 0, .nl_pid = 0, .nl_groups = 0};
  bytes = sizeof name;
  return syscall(SYS_bind, fd, &any_port, sizeof any_port) == 0 && syscall(SYS_getsockname, fd, &name, &bytes) == 0;
}

}  // namespace

int stand_in_for_rdma_netlink() {
  any.store(true, std::memory_order_relaxed);
  return NETLINK_USERSOCK;
}

bool is_rdma_netlink(int fd) {
  if (!any.load(std::memory_order_relaxed)) return false;
  const int before = errno;
  int domain = 0;
  int protocol = 0;
  socklen_t domain_bytes = sizeof domain;
  socklen_t protocol_bytes = sizeof protocol;
  const bool is_one = syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_DOMAIN, &domain, &domain_bytes) == 0 &&
                      syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &protocol_bytes) == 0 &&
                      domain == AF_NETLINK && protocol == NETLINK_USERSOCK;
  errno = before;
  return is_one;
}

ssize_t ask_rdma_netlink(int fd, const void* data, std::size_t bytes) {
  nlmsghdr question;
  sockaddr_nl name{};
  if (bytes < sizeof question) {
    errno = EINVAL;
    return -1;
  }
  std::memcpy(&question, data, sizeof question);
  if (!find_name(fd, name)) return -1;
  Answer answer(question, name.nl_pid);
  fill(answer, question);
  // From a socket of its own: a netlink socket cannot send to itself what it does not say itself.
  const auto from = static_cast<int>(syscall(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_USERSOCK));
  if (from < 0) return -1;
  const long sent = syscall(SYS_sendto, from, answer.octets(), answer.bytes(), 0, &name, sizeof name);
  const int error = errno;
  syscall(SYS_close, from);
  errno = error;
  return sent < 0 ? -1 : static_cast<ssize_t>(bytes);
}

}  // namespace verbena::path
