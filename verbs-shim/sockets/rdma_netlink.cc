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

#include "emulator/host/node/network_device.h"
#include "emulator/nic/objects/counters.h"
#include "verbs-shim/sockets/netlink_attributes.h"
#include "verbs-shim/sockets/netlink_messages.h"
#include "verbs-shim/sysfs/counters.h"
#include "verbs-shim/sysfs/own_devices.h"
#include "verbs-shim/sysfs/tree.h"
#include "verbs-shim/sysfs/values.h"

namespace verbena::path {
namespace {

std::atomic<bool> any{false};

constexpr std::uint8_t kNodeTypeCa = 1;  // RDMA_NODE_IB_CA, as node_type in sysfs
constexpr std::size_t kAnswerBytesMax = 16384;
constexpr std::size_t kTextBytesMax = 256;

using Answer = NetlinkMessages<kAnswerBytesMax>;

/// What a file of sysfs begins with: "4: ACTIVE" is 4.
std::uint8_t number_in(ContentWriter write, const host::DeviceIdentity& of) {
  char text[kTextBytesMax] = {};
  write(text, sizeof text - 1, of, 0);
  return static_cast<std::uint8_t>(std::strtoul(text, nullptr, 10));
}

/// The ports of the process's devices for which this holds.
template <class Wanted>
std::uint32_t count_ports(Wanted is_wanted) {
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < own_port_count(); ++i)
    if (is_wanted(own_port(i).number)) ++count;
  return count;
}

void name_device(const host::DeviceIdentity& of, Answer& answer) {
  answer.number(RDMA_NLDEV_ATTR_DEV_INDEX, of.number.device);
  answer.text(RDMA_NLDEV_ATTR_DEV_NAME, of.name.c_str());
}

void tell_device(const host::DeviceIdentity& of, Answer& answer) {
  name_device(of, answer);
  // Of a device: how many it has.
  answer.number(RDMA_NLDEV_ATTR_PORT_INDEX,
                count_ports([&](host::DeviceNumber one) { return one.device == of.number.device; }));
  answer.text(RDMA_NLDEV_ATTR_FW_VERSION, VERBENA_VERSION);
  answer.number(RDMA_NLDEV_ATTR_NODE_GUID, host::number_of(of.node_guid));
  answer.number(RDMA_NLDEV_ATTR_SYS_IMAGE_GUID, host::number_of(of.system_image_guid));
  answer.number(RDMA_NLDEV_ATTR_DEV_NODE_TYPE, kNodeTypeCa);
}

void tell_port(const host::DeviceIdentity& of, Answer& answer) {
  char buffer[IF_NAMESIZE];
  const char* const interface = host::network_device_of(of, of.address, buffer);
  name_device(of, answer);
  answer.number(RDMA_NLDEV_ATTR_PORT_INDEX, of.number.port);
  answer.number(RDMA_NLDEV_ATTR_PORT_STATE, number_in(write_port_state, of));
  answer.number(RDMA_NLDEV_ATTR_PORT_PHYS_STATE, number_in(write_physical_state, of));
  answer.number(RDMA_NLDEV_ATTR_NDEV_INDEX, static_cast<std::uint32_t>(if_nametoindex(interface)));
  answer.text(RDMA_NLDEV_ATTR_NDEV_NAME, interface);
}

/// What a kernel would count of all processes, nobody does: an empty list.
void tell_resources(const host::DeviceIdentity& of, Answer& answer) {
  name_device(of, answer);
  answer.close(answer.open(RDMA_NLDEV_ATTR_RES_SUMMARY));
}

void tell_counters(const host::DeviceIdentity& of, Answer& answer) {
  constexpr const char* kNames[] = {
#define VERBENA_COUNTER_NAME(name) #name,
      VERBENA_NIC_COUNTERS(VERBENA_COUNTER_NAME)
#undef VERBENA_COUNTER_NAME
  };
  name_device(of, answer);
  answer.number(RDMA_NLDEV_ATTR_PORT_INDEX, of.number.port);
  const std::size_t all = answer.open(RDMA_NLDEV_ATTR_STAT_HWCOUNTERS);
  for (unsigned counter = 0; counter < nic::kCounters; ++counter) {
    char text[kTextBytesMax] = {};
    write_hardware_counter(text, sizeof text - 1, of, counter);
    const std::size_t one = answer.open(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY);
    answer.text(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, kNames[counter]);
    answer.number(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE, std::uint64_t{std::strtoull(text, nullptr, 10)});
    answer.close(one);
  }
  answer.close(all);
}

void tell_system(const host::DeviceIdentity&, Answer& answer) {
  answer.number(RDMA_NLDEV_SYS_ATTR_NETNS_MODE, std::uint8_t{1});  // shared by all network namespaces
}

/// What a question must name to be answered, as the functions of nldev.c look for it.
enum class Needs : std::uint8_t {
  no_such,  // there is no such question
  refused,  // a kernel does it, and Verbena does not
  nothing,
  device,
  port,        // and its device
  object,      // one of a kind, by its number, and its device
  statistics,  // a kind of object that has counters, and the device
};

/// A command: what it needs to ask for one and for all, and who tells them (null: there are none).
struct Command {
  unsigned number;
  Needs one;
  Needs list;
  void (*tell_one)(const host::DeviceIdentity& of, Answer& answer) = nullptr;
  void (*tell_listed)(const host::DeviceIdentity& of, Answer& answer) = nullptr;
  std::uint16_t object = 0;  // the attribute with its number
};
constexpr unsigned kStatGetStatus = RDMA_NLDEV_CMD_RES_SRQ_GET + 1;  // newer than some headers
constexpr Command kCommands[] = {
    {RDMA_NLDEV_CMD_GET, Needs::device, Needs::nothing, tell_device, tell_device},
    {RDMA_NLDEV_CMD_PORT_GET, Needs::port, Needs::device, tell_port, tell_port},
    {RDMA_NLDEV_CMD_RES_GET, Needs::device, Needs::nothing, tell_resources, tell_resources},
    {RDMA_NLDEV_CMD_STAT_GET, Needs::port, Needs::statistics, tell_counters},
    {RDMA_NLDEV_CMD_SYS_GET, Needs::nothing, Needs::no_such, tell_system},
    {RDMA_NLDEV_CMD_RES_QP_GET, Needs::object, Needs::device, nullptr, nullptr, RDMA_NLDEV_ATTR_RES_LQPN},
    {RDMA_NLDEV_CMD_RES_CM_ID_GET, Needs::object, Needs::device, nullptr, nullptr, RDMA_NLDEV_ATTR_RES_CM_IDN},
    {RDMA_NLDEV_CMD_RES_CQ_GET, Needs::object, Needs::device, nullptr, nullptr, RDMA_NLDEV_ATTR_RES_CQN},
    {RDMA_NLDEV_CMD_RES_MR_GET, Needs::object, Needs::device, nullptr, nullptr, RDMA_NLDEV_ATTR_RES_MRN},
    {RDMA_NLDEV_CMD_RES_PD_GET, Needs::object, Needs::device, nullptr, nullptr, RDMA_NLDEV_ATTR_RES_PDN},
    {RDMA_NLDEV_CMD_RES_CTX_GET, Needs::object, Needs::device, nullptr, nullptr, RDMA_NLDEV_ATTR_RES_CTXN},
    {RDMA_NLDEV_CMD_RES_SRQ_GET, Needs::object, Needs::device, nullptr, nullptr, RDMA_NLDEV_ATTR_RES_SRQN},
    {RDMA_NLDEV_CMD_RES_QP_GET_RAW, Needs::refused, Needs::device},
    {RDMA_NLDEV_CMD_RES_CQ_GET_RAW, Needs::refused, Needs::device},
    {RDMA_NLDEV_CMD_RES_MR_GET_RAW, Needs::refused, Needs::device},
    {RDMA_NLDEV_CMD_GET_CHARDEV, Needs::refused, Needs::no_such},
    {kStatGetStatus, Needs::refused, Needs::no_such},
    {RDMA_NLDEV_CMD_SET, Needs::refused, Needs::no_such},
    {RDMA_NLDEV_CMD_NEWLINK, Needs::refused, Needs::no_such},
    {RDMA_NLDEV_CMD_DELLINK, Needs::refused, Needs::no_such},
    {RDMA_NLDEV_CMD_SYS_SET, Needs::refused, Needs::no_such},
    {RDMA_NLDEV_CMD_STAT_SET, Needs::refused, Needs::no_such},
    {RDMA_NLDEV_CMD_STAT_DEL, Needs::refused, Needs::no_such},
};

const Command* find_command(const nlmsghdr& question) {
  for (const Command& command : kCommands)
    if (question.nlmsg_type == RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command.number)) return &command;
  return nullptr;
}

/// Whether the question is about this device, and where it has to name one, about this port.
bool is_about(Needs needs, const NetlinkAttributes& attributes, host::DeviceNumber number) {
  if (attributes.number(RDMA_NLDEV_ATTR_DEV_INDEX) != number.device) return false;
  return needs != Needs::port || attributes.number(RDMA_NLDEV_ATTR_PORT_INDEX) == number.port;
}

/// 0, or the negative errno value that a kernel answers.
int refusal_of(const Command& command, Needs needs, const NetlinkAttributes& attributes) {
  switch (needs) {
    case Needs::no_such:
      return -EINVAL;
    case Needs::refused:
      return -EOPNOTSUPP;
    case Needs::nothing:
      return 0;
    case Needs::device:
    case Needs::port:
    case Needs::object:
    case Needs::statistics:
      break;
  }
  if (needs == Needs::port && attributes.number(RDMA_NLDEV_ATTR_STAT_RES)) return -EOPNOTSUPP;  // not the port's
  if (needs == Needs::statistics && !attributes.number(RDMA_NLDEV_ATTR_STAT_RES)) return -EINVAL;
  if (count_ports([&](host::DeviceNumber one) { return is_about(needs, attributes, one); }) == 0) return -EINVAL;
  if (needs == Needs::object) return attributes.number(command.object) ? -ENOENT : -EINVAL;
  return 0;
}

/// One of those asked for: of a list, or alone.
void tell_about(const host::DeviceIdentity& of, const Command& command, Answer& answer) {
  const auto tell = answer.asks_for_list() ? command.tell_listed : command.tell_one;
  answer.begin_one(answer.question().nlmsg_type);
  tell(of, answer);
  answer.end();
}

/// What a list has that needs nothing: every device. Else the ports of the one that the question names.
bool is_listed(const Command& command, const NetlinkAttributes& attributes, host::DeviceNumber number) {
  return command.list == Needs::nothing ? number.port == 1 : is_about(command.list, attributes, number);
}

/// A list, which ends with what has gone wrong (netlink_dump in af_netlink.c).
void fill_list(const Command& command, const NetlinkAttributes& attributes, Answer& answer) {
  const int refusal = refusal_of(command, command.list, attributes);
  for (std::size_t i = 0; refusal == 0 && command.tell_listed != nullptr && i < own_port_count(); ++i)
    if (const host::DeviceIdentity of = own_port(i); is_listed(command, attributes, of.number))
      tell_about(of, command, answer);
  answer.end_list(refusal);
}

/// The port that the question names, or the first of the device that it names.
host::DeviceIdentity named_by(Needs needs, const NetlinkAttributes& attributes) {
  std::size_t i = 0;
  while (i < own_port_count() && !is_about(needs, attributes, own_port(i).number)) ++i;
  return own_port(i);
}

/// As rdma_nl_rcv_msg in infiniband/core/netlink.c. Whether the question has still to be acknowledged, with `code`.
bool fill(const NetlinkAttributes& attributes, Answer& answer, int& code) {
  const Command* const command = find_command(answer.question());
  const bool is_list = answer.asks_for_list();
  if (command == nullptr || (is_list && command->list == Needs::no_such)) return code = -EINVAL, true;
  if (is_list) return fill_list(*command, attributes, answer), false;
  code = refusal_of(*command, command->one, attributes);
  if (code == 0 && command->tell_one != nullptr) tell_about(named_by(command->one, attributes), *command, answer);
  return true;
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

/// One message, as rdma_nl_rcv_skb in infiniband/core/netlink.c takes it: its answer and its acknowledgement are
/// a datagram each.
void answer_one(int from, const nlmsghdr& question, const char* body, const sockaddr_nl& name) {
  const auto send = [&](const Answer& answer) {
    if (answer.bytes() == 0) return;
    syscall(SYS_sendto, from, answer.octets(), answer.bytes(), MSG_DONTWAIT, &name, sizeof name);
  };
  const bool is_request = (question.nlmsg_flags & NLM_F_REQUEST) != 0 && question.nlmsg_type >= NLMSG_MIN_TYPE;
  int code = 0;
  if (is_request) {
    Answer answer(question, name.nl_pid);
    const bool ends = !fill({body, question.nlmsg_len - sizeof question}, answer, code);
    send(answer);
    if (ends) return;
  }
  if (code == 0 && (question.nlmsg_flags & NLM_F_ACK) == 0) return;
  Answer acknowledgement(question, name.nl_pid);
  acknowledgement.error(code);
  send(acknowledgement);
}

/// The messages of a datagram, one by one, up to one that cannot be one. As of a kernel that has no room for an answer,
/// the answer is lost if the socket is full.
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
    answer_one(from, question, octets + sizeof question, name);
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
