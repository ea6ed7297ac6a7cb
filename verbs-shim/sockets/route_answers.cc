#include "verbs-shim/sockets/route_answers.h"

#include <linux/if_link.h>
#include <linux/in_route.h>
#include <linux/rtnetlink.h>
#include <unistd.h>

#include <cstring>

#include "verbs-shim/sockets/netlink_attributes.h"
#include "verbs-shim/sockets/own_addresses.h"

namespace verbena::path {
namespace {

using host::DeviceIdentity;

constexpr std::uint8_t kOperationalUp = 6;    // IF_OPER_UP, RFC 2863
constexpr std::uint8_t kOperationalDown = 2;  // IF_OPER_DOWN
constexpr std::uint32_t kQueueLength = 1000;
constexpr std::uint32_t kForever = 0xffffffff;
constexpr std::uint8_t kAddressBits = 32;
constexpr std::uint32_t kLoopbackIndex = 1;  // LOOPBACK_IFINDEX of the kernel, in every network namespace

/// A question's header of its family, of which an older program sends the first octets only, and the attributes behind.
template <class Header>
class Question {
 public:
  Question(const char* body, std::size_t bytes) : is_whole_(bytes >= sizeof(Header)) {
    std::memcpy(&header, body, is_whole_ ? sizeof header : bytes);
    if (bytes > NLMSG_ALIGN(sizeof header))
      attributes = {body + NLMSG_ALIGN(sizeof header), bytes - NLMSG_ALIGN(sizeof header)};
  }
  /// 0: it has none.
  std::uint32_t number(std::uint16_t type) const { return attributes.number(type).value_or(0); }
  bool names(std::uint16_t type, const char* name) const {
    const char* const at = attributes.find(type, std::strlen(name));
    return at != nullptr && std::strncmp(at, name, IF_NAMESIZE) == 0;
  }
  bool is_whole() const { return is_whole_; }

  Header header{};
  NetlinkAttributes attributes;

 private:
  const bool is_whole_;
};

void tell_link(const DeviceIdentity& of, RouteAnswer& answer) {
  const bool is_up = port_is_up(of);
  ifinfomsg link{};
  link.ifi_type = ARPHRD_ETHER;
  link.ifi_index = static_cast<int>(of.own_interface->index);
  link.ifi_flags = interface_flags(of);
  answer.begin_one(RTM_NEWLINK);
  answer.append(&link, sizeof link);
  answer.text(IFLA_IFNAME, of.own_interface->name.c_str());
  answer.number(IFLA_TXQLEN, kQueueLength);
  answer.number(IFLA_OPERSTATE, is_up ? kOperationalUp : kOperationalDown);
  answer.number(IFLA_LINKMODE, std::uint8_t{0});
  answer.number(IFLA_MTU, std::uint32_t{host::kOwnMtuBytes});
  answer.number(IFLA_GROUP, std::uint32_t{0});
  answer.number(IFLA_CARRIER, static_cast<std::uint8_t>(is_up ? 1 : 0));
  answer.text(IFLA_QDISC, "mq");
  answer.attribute(IFLA_ADDRESS, of.mac.octets.data(), of.mac.octets.size());
  answer.attribute(IFLA_BROADCAST, kBroadcastMac.octets.data(), kBroadcastMac.octets.size());
  answer.number(IFLA_STATS64, rtnl_link_stats64{});
  answer.end();
}

void tell_address(const DeviceIdentity& of, RouteAnswer& answer) {
  ifaddrmsg address{};
  address.ifa_family = AF_INET;
  address.ifa_prefixlen = host::kOwnPrefixBits;
  address.ifa_flags = IFA_F_PERMANENT;
  address.ifa_index = of.own_interface->index;
  answer.begin_one(RTM_NEWADDR);
  answer.append(&address, sizeof address);
  answer.number(IFA_ADDRESS, interface_address(of));
  answer.number(IFA_LOCAL, interface_address(of));
  answer.number(IFA_BROADCAST, interface_broadcast(of));
  answer.text(IFA_LABEL, of.own_interface->name.c_str());
  answer.number(IFA_FLAGS, std::uint32_t{IFA_F_PERMANENT});
  answer.number(IFA_CACHEINFO,
                ifa_cacheinfo{.ifa_prefered = kForever, .ifa_valid = kForever, .cstamp = 0, .tstamp = 0});
  answer.end();
}

void tell_route(const DeviceIdentity& of, RouteAnswer& answer) {
  rtmsg route{};
  route.rtm_family = AF_INET;
  route.rtm_dst_len = host::kOwnPrefixBits;
  route.rtm_table = RT_TABLE_MAIN;
  route.rtm_protocol = RTPROT_KERNEL;
  route.rtm_scope = RT_SCOPE_LINK;
  route.rtm_type = RTN_UNICAST;
  answer.begin_one(RTM_NEWROUTE);
  answer.append(&route, sizeof route);
  answer.number(RTA_TABLE, std::uint32_t{RT_TABLE_MAIN});
  answer.number(RTA_DST, interface_network(of));
  answer.number(RTA_PREFSRC, interface_address(of));
  answer.number(RTA_OIF, of.own_interface->index);
  answer.end();
}

/// The way of a packet to `destination`, as rt_fill_info in net/ipv4/route.c tells it.
void tell_way(const DeviceIdentity& of, const Question<rtmsg>& question, in_addr destination, RouteAnswer& answer) {
  const bool is_to_ourselves = destination.s_addr == interface_address(of).s_addr;
  const bool is_to_all = destination.s_addr == interface_broadcast(of).s_addr;
  const bool is_in_local_table =
      (is_to_ourselves || is_to_all) && (question.header.rtm_flags & RTM_F_LOOKUP_TABLE) != 0;
  const std::uint32_t table = is_in_local_table ? RT_TABLE_LOCAL : RT_TABLE_MAIN;
  rtmsg route{};
  route.rtm_family = AF_INET;
  route.rtm_dst_len = kAddressBits;
  route.rtm_table = static_cast<std::uint8_t>(table);
  route.rtm_scope = RT_SCOPE_UNIVERSE;
  route.rtm_type = is_to_ourselves ? RTN_LOCAL : is_to_all ? RTN_BROADCAST : RTN_UNICAST;
  route.rtm_flags = RTM_F_CLONED;
  if (is_to_ourselves || is_to_all) route.rtm_flags |= RTCF_LOCAL;
  if (is_to_all) route.rtm_flags |= RTCF_BROADCAST;
  const auto source = question.attributes.number(RTA_SRC);
  if (source) route.rtm_src_len = kAddressBits;
  answer.begin_one(RTM_NEWROUTE);
  answer.append(&route, sizeof route);
  answer.number(RTA_TABLE, table);
  answer.number(RTA_DST, destination);
  if (source) answer.number(RTA_SRC, *source);
  answer.number(RTA_OIF, is_to_ourselves ? kLoopbackIndex : of.own_interface->index);
  if (!source) answer.number(RTA_PREFSRC, interface_address(of));
  answer.number(RTA_UID, question.attributes.number(RTA_UID).value_or(getuid()));
  answer.number(RTA_CACHEINFO, rta_cacheinfo{});
  answer.end();
}

/// What there is of us in a list, of which the question may want one interface only (its index, 0: all).
RoutePart list(std::uint32_t wanted, bool has_row, void (*tell)(const DeviceIdentity&, RouteAnswer&),
               RouteAnswer& answer) {
  if (wanted != 0) {
    const auto of = own_interface_at(wanted);
    if (!of) return RoutePart::none;
    if (has_row) tell(*of, answer);
    answer.end_list();
    return RoutePart::all;
  }
  if (has_row) for_each_own_interface([&](const DeviceIdentity& of) { tell(of, answer); });
  return answer.bytes() != 0 ? RoutePart::more : RoutePart::none;
}

RoutePart answer_link(const Question<ifinfomsg>& question, RouteAnswer& answer) {
  if (answer.asks_for_list()) {
    const unsigned family = question.header.ifi_family;
    const bool is_filtered =
        question.attributes.find(IFLA_MASTER, 0) != nullptr || question.attributes.find(IFLA_LINKINFO, 0) != nullptr;
    if (is_filtered || (family != AF_UNSPEC && family != AF_PACKET && family != AF_INET)) return RoutePart::none;
    return list(0, true, tell_link, answer);
  }
  const auto index = static_cast<std::uint32_t>(question.header.ifi_index);
  const auto of = index != 0 ? own_interface_at(index) : find_own_interface([&](const DeviceIdentity& one) {
    const char* const name = one.own_interface->name.c_str();
    return question.names(IFLA_IFNAME, name) || question.names(IFLA_ALT_IFNAME, name);
  });
  if (!of) return RoutePart::none;
  tell_link(*of, answer);
  if ((answer.question().nlmsg_flags & NLM_F_ACK) != 0) answer.error(0);
  return RoutePart::all;
}

bool is_in_network_of(const DeviceIdentity& of, in_addr address) {
  return (address.s_addr & interface_netmask().s_addr) == interface_network(of).s_addr;
}

/// The interface on the way to an address: the one that is asked for, else that in whose network the address is.
std::optional<DeviceIdentity> interface_towards(in_addr destination, std::uint32_t asked_for) {
  if (asked_for == 0)
    return find_own_interface([&](const DeviceIdentity& of) { return is_in_network_of(of, destination); });
  const bool is_one = !IN_MULTICAST(ntohl(destination.s_addr)) && destination.s_addr != 0;
  return is_one ? own_interface_at(asked_for) : std::nullopt;
}

bool is_own_address(std::uint32_t address) {
  return find_own_interface([&](const DeviceIdentity& of) { return interface_address(of).s_addr == address; })
      .has_value();
}

/// Ours is the way to an address of our interfaces' networks, and to any that is to be reached by one of them. One that
/// is asked for from another address, or on its way through the machine, is the kernel's to tell.
RoutePart answer_way(const Question<rtmsg>& question, RouteAnswer& answer) {
  if (question.header.rtm_family != AF_INET || question.number(RTA_IIF) != 0) return RoutePart::none;
  const in_addr destination{question.number(RTA_DST)};
  const std::uint32_t source = question.number(RTA_SRC);
  const auto of = interface_towards(destination, question.number(RTA_OIF));
  if (!of || (source != 0 && !is_own_address(source))) return RoutePart::none;
  if ((question.header.rtm_flags & RTM_F_FIB_MATCH) != 0 && is_in_network_of(*of, destination))
    tell_route(*of, answer);
  else
    tell_way(*of, question, destination, answer);
  if ((answer.question().nlmsg_flags & NLM_F_ACK) != 0) answer.error(0);
  return RoutePart::all;
}

}  // namespace

RoutePart answer_route(const char* body, std::size_t bytes, RouteAnswer& answer) {
  if ((answer.question().nlmsg_flags & NLM_F_REQUEST) == 0) return RoutePart::none;
  switch (answer.question().nlmsg_type) {
    case RTM_GETLINK:
      return answer_link({body, bytes}, answer);
    case RTM_GETADDR: {
      const Question<ifaddrmsg> question(body, bytes);
      const unsigned family = question.header.ifa_family;
      const std::uint32_t wanted = question.is_whole() ? question.header.ifa_index : 0;
      if (!answer.asks_for_list()) return RoutePart::none;
      return list(wanted, family == AF_UNSPEC || family == AF_INET, tell_address, answer);
    }
    case RTM_GETROUTE: {
      const Question<rtmsg> question(body, bytes);
      if (!answer.asks_for_list()) return answer_way(question, answer);
      const unsigned family = question.header.rtm_family;
      const std::uint32_t table = question.number(RTA_TABLE) != 0 ? question.number(RTA_TABLE)
                                  : question.is_whole()           ? question.header.rtm_table
                                                                  : 0;
      const bool is_main =
          (table == RT_TABLE_UNSPEC || table == RT_TABLE_MAIN) && (question.header.rtm_flags & RTM_F_CLONED) == 0;
      return list(question.number(RTA_OIF), is_main && (family == AF_UNSPEC || family == AF_INET), tell_route, answer);
    }
    default:
      return RoutePart::none;
  }
}

}  // namespace verbena::path
