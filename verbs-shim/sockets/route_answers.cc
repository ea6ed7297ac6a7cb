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

using host::OwnInterface;

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

void tell_link(const OwnInterface& own, RouteAnswer& answer) {
  const bool is_up = port_is_up(own_port(0));
  ifinfomsg link{};
  link.ifi_type = ARPHRD_ETHER;
  link.ifi_index = static_cast<int>(own.index);
  link.ifi_flags = interface_flags();
  answer.begin_one(RTM_NEWLINK);
  answer.append(&link, sizeof link);
  answer.text(IFLA_IFNAME, own.name.c_str());
  answer.number(IFLA_TXQLEN, kQueueLength);
  answer.number(IFLA_OPERSTATE, is_up ? kOperationalUp : kOperationalDown);
  answer.number(IFLA_LINKMODE, std::uint8_t{0});
  answer.number(IFLA_MTU, std::uint32_t{host::kOwnMtuBytes});
  answer.number(IFLA_GROUP, std::uint32_t{0});
  answer.number(IFLA_CARRIER, static_cast<std::uint8_t>(is_up ? 1 : 0));
  answer.text(IFLA_QDISC, "mq");
  answer.attribute(IFLA_ADDRESS, interface_mac().octets.data(), interface_mac().octets.size());
  answer.attribute(IFLA_BROADCAST, kBroadcastMac.octets.data(), kBroadcastMac.octets.size());
  answer.number(IFLA_STATS64, rtnl_link_stats64{});
  answer.end();
}

void tell_address(const OwnInterface& own, RouteAnswer& answer) {
  ifaddrmsg address{};
  address.ifa_family = AF_INET;
  address.ifa_prefixlen = host::kOwnPrefixBits;
  address.ifa_flags = IFA_F_PERMANENT;
  address.ifa_index = own.index;
  answer.begin_one(RTM_NEWADDR);
  answer.append(&address, sizeof address);
  answer.number(IFA_ADDRESS, interface_address());
  answer.number(IFA_LOCAL, interface_address());
  answer.number(IFA_BROADCAST, interface_broadcast());
  answer.text(IFA_LABEL, own.name.c_str());
  answer.number(IFA_FLAGS, std::uint32_t{IFA_F_PERMANENT});
  answer.number(IFA_CACHEINFO,
                ifa_cacheinfo{.ifa_prefered = kForever, .ifa_valid = kForever, .cstamp = 0, .tstamp = 0});
  answer.end();
}

void tell_route(const OwnInterface& own, RouteAnswer& answer) {
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
  answer.number(RTA_DST, in_addr{htonl(host::kNodeNetwork)});
  answer.number(RTA_PREFSRC, interface_address());
  answer.number(RTA_OIF, own.index);
  answer.end();
}

/// The way of a packet to `destination`, as rt_fill_info in net/ipv4/route.c tells it.
void tell_way(const OwnInterface& own, const Question<rtmsg>& question, in_addr destination, RouteAnswer& answer) {
  const bool is_to_ourselves = destination.s_addr == interface_address().s_addr;
  const bool is_to_all = destination.s_addr == interface_broadcast().s_addr;
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
  const bool has_source = question.attributes.number(RTA_SRC).has_value();
  if (has_source) route.rtm_src_len = kAddressBits;
  answer.begin_one(RTM_NEWROUTE);
  answer.append(&route, sizeof route);
  answer.number(RTA_TABLE, table);
  answer.number(RTA_DST, destination);
  if (has_source) answer.number(RTA_SRC, interface_address());
  answer.number(RTA_OIF, is_to_ourselves ? kLoopbackIndex : own.index);
  if (!has_source) answer.number(RTA_PREFSRC, interface_address());
  answer.number(RTA_UID, question.attributes.number(RTA_UID).value_or(getuid()));
  answer.number(RTA_CACHEINFO, rta_cacheinfo{});
  answer.end();
}

/// What there is of us in a list, of which the question may want one interface only (its index, 0: all).
RoutePart list(const OwnInterface& own, std::uint32_t wanted, bool has_row,
               void (*tell)(const OwnInterface&, RouteAnswer&), RouteAnswer& answer) {
  if (wanted != 0 && wanted != own.index) return RoutePart::none;
  if (wanted == 0 && !has_row) return RoutePart::none;
  if (has_row) tell(own, answer);
  if (wanted == 0) return RoutePart::more;
  answer.end_list();
  return RoutePart::all;
}

RoutePart answer_link(const OwnInterface& own, const Question<ifinfomsg>& question, RouteAnswer& answer) {
  if (answer.asks_for_list()) {
    const unsigned family = question.header.ifi_family;
    const bool is_filtered =
        question.attributes.find(IFLA_MASTER, 0) != nullptr || question.attributes.find(IFLA_LINKINFO, 0) != nullptr;
    if (is_filtered || (family != AF_UNSPEC && family != AF_PACKET && family != AF_INET)) return RoutePart::none;
    return list(own, 0, true, tell_link, answer);
  }
  const bool is_meant = question.header.ifi_index == static_cast<int>(own.index) ||
                        (question.header.ifi_index == 0 && (question.names(IFLA_IFNAME, own.name.c_str()) ||
                                                            question.names(IFLA_ALT_IFNAME, own.name.c_str())));
  if (!is_meant) return RoutePart::none;
  tell_link(own, answer);
  if ((answer.question().nlmsg_flags & NLM_F_ACK) != 0) answer.error(0);
  return RoutePart::all;
}

/// Ours is the way to an address of the node's network, and to any that is to be reached by its interface. One that is
/// asked for from another address, or on its way through the machine, is the kernel's to tell.
RoutePart answer_way(const OwnInterface& own, const Question<rtmsg>& question, RouteAnswer& answer) {
  const in_addr destination{question.number(RTA_DST)};
  const std::uint32_t interface = question.number(RTA_OIF);
  const bool is_in_network = (ntohl(destination.s_addr) & host::kNodeNetworkMask) == host::kNodeNetwork;
  const bool is_ours = interface == own.index ? !IN_MULTICAST(ntohl(destination.s_addr)) && destination.s_addr != 0
                                              : interface == 0 && is_in_network;
  const std::uint32_t source = question.number(RTA_SRC);
  const bool is_from_us = source == 0 || source == interface_address().s_addr;
  if (question.header.rtm_family != AF_INET || !is_ours || !is_from_us || question.number(RTA_IIF) != 0)
    return RoutePart::none;
  if ((question.header.rtm_flags & RTM_F_FIB_MATCH) != 0 && is_in_network)
    tell_route(own, answer);
  else
    tell_way(own, question, destination, answer);
  if ((answer.question().nlmsg_flags & NLM_F_ACK) != 0) answer.error(0);
  return RoutePart::all;
}

}  // namespace

RoutePart answer_route(const char* body, std::size_t bytes, RouteAnswer& answer) {
  const OwnInterface* const own = own_interface();
  if (own == nullptr || (answer.question().nlmsg_flags & NLM_F_REQUEST) == 0) return RoutePart::none;
  switch (answer.question().nlmsg_type) {
    case RTM_GETLINK:
      return answer_link(*own, {body, bytes}, answer);
    case RTM_GETADDR: {
      const Question<ifaddrmsg> question(body, bytes);
      const unsigned family = question.header.ifa_family;
      const std::uint32_t wanted = question.is_whole() ? question.header.ifa_index : 0;
      if (!answer.asks_for_list()) return RoutePart::none;
      return list(*own, wanted, family == AF_UNSPEC || family == AF_INET, tell_address, answer);
    }
    case RTM_GETROUTE: {
      const Question<rtmsg> question(body, bytes);
      if (!answer.asks_for_list()) return answer_way(*own, question, answer);
      const unsigned family = question.header.rtm_family;
      const std::uint32_t table = question.number(RTA_TABLE) != 0 ? question.number(RTA_TABLE)
                                  : question.is_whole()           ? question.header.rtm_table
                                                                  : 0;
      const bool is_main =
          (table == RT_TABLE_UNSPEC || table == RT_TABLE_MAIN) && (question.header.rtm_flags & RTM_F_CLONED) == 0;
      return list(*own, question.number(RTA_OIF), is_main && (family == AF_UNSPEC || family == AF_INET), tell_route,
                  answer);
    }
    default:
      return RoutePart::none;
  }
}

}  // namespace verbena::path
