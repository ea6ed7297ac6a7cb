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
#include "verbs-shim/sockets/netlink_messages.h"
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

using Answer = NetlinkMessages<kAnswerBytesMax>;

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

void fill(Answer& answer) {
  const nlmsghdr& question = answer.question();
  const bool is_list = answer.asks_for_list();
  const bool is_there = has_device();
  bool is_known = false;
  for (const Answerer& answerer : kAnswerers) {
    if (question.nlmsg_type != RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, answerer.command)) continue;
    is_known = true;
    if (!is_there || (is_list && !answerer.is_listed)) continue;
    answer.begin_one(question.nlmsg_type);
    answerer.tell(answer);
    answer.end();
  }
  if (is_list)
    answer.end_list();
  else if (!is_known)
    answer.error(-EOPNOTSUPP);
  else if (!is_there)
    answer.error(-ENODEV);
  else if ((question.nlmsg_flags & NLM_F_ACK) != 0)
    answer.error(0);
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

/// The messages of a datagram, one by one. As of a kernel that has no room for an answer, the answer is lost if the
/// socket is full.
bool answer_all(int fd, const char* octets, std::size_t bytes) {
  sockaddr_nl name{};
  if (!find_name(fd, name)) return false;
  // From a socket of its own: a netlink socket cannot send to itself what it does not say itself.
  const auto from = static_cast<int>(syscall(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_USERSOCK));
  if (from < 0) return false;
  while (bytes >= sizeof(nlmsghdr)) {
    nlmsghdr question;
    std::memcpy(&question, octets, sizeof question);
    if (question.nlmsg_len < sizeof question || question.nlmsg_len > bytes) break;
    const bool is_request = (question.nlmsg_flags & NLM_F_REQUEST) != 0 && question.nlmsg_type >= NLMSG_MIN_TYPE;
    Answer answer(question, name.nl_pid);
    if (is_request)
      fill(answer);
    else if ((question.nlmsg_flags & NLM_F_ACK) != 0)
      answer.error(0);
    if (answer.bytes() != 0)
      syscall(SYS_sendto, from, answer.octets(), answer.bytes(), MSG_DONTWAIT, &name, sizeof name);
    const std::size_t aligned = NLMSG_ALIGN(question.nlmsg_len);
    const std::size_t step = aligned < bytes ? aligned : bytes;
    octets += step;
    bytes -= step;
  }
  syscall(SYS_close, from);
  return true;
}

}  // namespace

int stand_in_for_rdma_netlink() {
  any.store(true, std::memory_order_relaxed);
  return NETLINK_USERSOCK;
}

bool any_rdma_netlink() {
  return any.load(std::memory_order_relaxed);
}

ssize_t ask_rdma_netlink(int fd, const char* question, std::size_t bytes) {
  const int before = errno;
  if (!answer_all(fd, question, bytes)) return -1;
  errno = before;
  return static_cast<ssize_t>(bytes);
}

}  // namespace verbena::path
