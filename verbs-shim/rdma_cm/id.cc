#include "verbs-shim/rdma_cm/id.h"

#include <infiniband/ib.h>

#include <algorithm>
#include <cstring>

#include "verbs-shim/rdma_cm/administration.h"
#include "verbs-shim/rdma_cm/opened_device.h"
#include "wire/headers.h"
#include "wire/roce_v1.h"

namespace verbena::shim::rdma_cm {
namespace {

constexpr unsigned kPortBits = 16;
constexpr std::uint64_t kSpaceMask = ~std::uint64_t{0xffff};  // RDMA_IB_IP_PS_MASK

}  // namespace

bool Address::is_any() const {
  if (gid.is_ipv4()) return gid.ipv4() == INADDR_ANY || gid.ipv4() == INADDR_LOOPBACK;
  return gid == wire::Gid{} || gid == wire::Gid{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
}

std::uint64_t service_id(const Id& id, const Address& address) {
  if (address.family == AF_IB) return address.name.service;
  return std::uint64_t{id.port_space} << kPortBits | address.port;
}

std::optional<ServiceName> name_in_space(std::uint16_t port_space, const ServiceName& name) {
  const std::uint64_t mask = name.mask & kSpaceMask;
  for (const std::uint16_t space :
       {std::uint16_t{RDMA_PS_IB}, std::uint16_t{RDMA_PS_TCP}, std::uint16_t{RDMA_PS_UDP}}) {
    const std::uint64_t service = std::uint64_t{space} << kPortBits;
    if ((port_space != RDMA_PS_IB && port_space != space) || (name.service & mask) != (service & mask)) continue;
    ServiceName made = name;
    made.service = service | (name.service & name.mask & ~kSpaceMask);
    made.mask |= kSpaceMask;
    return made;
  }
  return std::nullopt;
}

void set_port(Address& address, std::uint16_t port) {
  address.port = port;
  if (address.family != AF_IB) return;
  address.name.service = (address.name.service & address.name.mask) | port;
  address.name.mask = ~std::uint64_t{0};
}

std::size_t bytes_of_family(const void* name, std::size_t room) {
  sa_family_t family = 0;
  std::memcpy(&family, name, sizeof family);
  const std::size_t bytes = family == AF_INET    ? sizeof(sockaddr_in)
                            : family == AF_INET6 ? sizeof(sockaddr_in6)
                            : family == AF_IB    ? sizeof(sockaddr_ib)
                                                 : 0;
  return bytes <= room ? bytes : 0;
}

Address address_from(const void* socket_address, std::size_t bytes) {
  Address address;
  sa_family_t family = 0;
  if (bytes < sizeof family) return address;
  std::memcpy(&family, socket_address, sizeof family);
  if (family == AF_INET && bytes >= sizeof(sockaddr_in)) {
    sockaddr_in from{};
    std::memcpy(&from, socket_address, sizeof from);
    address = {AF_INET, wire::Gid::from_ipv4(ntohl(from.sin_addr.s_addr)), ntohs(from.sin_port)};
  } else if (family == AF_INET6 && bytes >= sizeof(sockaddr_in6)) {
    sockaddr_in6 from{};
    std::memcpy(&from, socket_address, sizeof from);
    address.family = AF_INET6;
    address.port = ntohs(from.sin6_port);
    address.scope = from.sin6_scope_id;
    std::ranges::copy(from.sin6_addr.s6_addr, address.gid.octets.begin());
  } else if (family == AF_IB && bytes >= sizeof(sockaddr_ib)) {
    sockaddr_ib from{};
    std::memcpy(&from, socket_address, sizeof from);
    address.family = AF_IB;
    std::ranges::copy(from.sib_addr.sib_raw, address.gid.octets.begin());
    address.name = {.pkey = ntohs(from.sib_pkey),
                    .flow_info = ntohl(from.sib_flowinfo),
                    .service = be64toh(from.sib_sid),
                    .mask = be64toh(from.sib_sid_mask),
                    .scope = from.sib_scope_id};
    address.port = static_cast<std::uint16_t>(address.name.service & address.name.mask);
  }
  return address;
}

void address_to(const Address& address, sockaddr_storage& into) {
  into = {};
  if (address.family == AF_INET) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(address.port);
    to.sin_addr.s_addr = htonl(address.gid.ipv4());
    std::memcpy(&into, &to, sizeof to);
  } else if (address.family == AF_INET6) {
    sockaddr_in6 to{};
    to.sin6_family = AF_INET6;
    to.sin6_port = htons(address.port);
    to.sin6_scope_id = address.scope;
    std::ranges::copy(address.gid.octets, to.sin6_addr.s6_addr);
    std::memcpy(&into, &to, sizeof to);
  } else if (address.family == AF_IB) {
    sockaddr_ib to{};
    to.sib_family = AF_IB;
    to.sib_pkey = htons(address.name.pkey);
    to.sib_flowinfo = htonl(address.name.flow_info);
    std::ranges::copy(address.gid.octets, to.sib_addr.sib_raw);
    to.sib_sid = htobe64(address.name.service);
    to.sib_sid_mask = htobe64(address.name.mask);
    to.sib_scope_id = address.name.scope;
    std::memcpy(&into, &to, sizeof to);
  }
}

std::size_t bytes_of(const Address& address) {
  sockaddr_storage name;
  address_to(address, name);
  return bytes_of_family(&name, sizeof name);
}

wire::Gid Id::own_gid() const {
  if (device_port == nullptr) return {};
  if (device_port->is_infiniband())
    return source.family == AF_IB && source.gid != wire::Gid{} ? source.gid : device_port->infiniband_gid();
  return source.needs_scope() ? source.gid : device_port->gid();
}

wire::Gid Id::peer_gid() const {
  if (device_port == nullptr || !device_port->is_infiniband() || destination.family == AF_IB) return destination.gid;
  const auto own = host::link_local_of(peer_node());
  return own ? host::with_prefix(*own, device_port->infiniband_port().subnet_prefix) : destination.gid;
}

std::uint16_t Id::pkey() const {
  if (path.address != wire::Gid{}) return path.pkey;
  return device_port != nullptr && device_port->is_infiniband() ? asker_of(*this).pkey : wire::kPkeyDefault;
}

wire::Gid Id::peer_node() const {
  return destination.family == AF_IB && device_port != nullptr ? device_port->node_by_gid(destination.gid)
                                                               : host::node_of(destination.gid);
}

void fill_ah(const cm::Path& path, const DevicePort& from, ib_uverbs_ah_attr& ah) {
  ah.port_num = from.number();
  if (from.is_infiniband()) {
    ah.dlid = path.next_hop.lid().value();
    ah.sl = path.next_hop.service_level();
    if (from.is_managed()) {
      const host::ManagedPort port = from.infiniband_port();
      ah.static_rate = path.packet_rate;
      if (path.source_lid != wire::kLidNone)
        ah.src_path_bits = static_cast<std::uint8_t>(path.source_lid.value() & ((1u << port.lmc) - 1));
    }
    ah.is_global = path.next_hop.lid().is_multicast() ? 1 : 0;
    if (ah.is_global == 0) return;
    std::ranges::copy(path.address.octets, ah.grh.dgid);
    ah.grh.flow_label = path.flow_label;
    ah.grh.hop_limit = std::max<std::uint8_t>(path.hop_limit, 1);
    ah.grh.traffic_class = path.traffic_class;
    return;
  }
  const auto version = path.encapsulation == &wire::kRoceV1 ? wire::RoceVersion::v1 : wire::RoceVersion::v2;
  const wire::Gid& own = path.source == wire::Gid{} ? from.gid() : path.source;
  ah.grh.sgid_index = static_cast<std::uint8_t>(from.identity().gid_index({own, version}).value_or(0));
  std::ranges::copy(path.address.octets, ah.grh.dgid);
  ah.grh.flow_label = path.flow_label;
  ah.grh.hop_limit = path.hop_limit;
  ah.grh.traffic_class = path.traffic_class;
  ah.is_global = 1;
}

namespace {
rdma_ucm_event_resp event_of(const MulticastGroup& group, UserEvent type) {
  rdma_ucm_event_resp event{};
  event.event = static_cast<std::uint32_t>(type);
  event.uid = group.uid;
  event.id = group.handle;
  return event;
}
}  // namespace

void report_joined(Id& id, const MulticastGroup& group, const cm::Path& path, std::uint32_t qkey) {
  constexpr std::uint32_t kMulticastQpn = 0xffffff;
  rdma_ucm_event_resp event = event_of(group, UserEvent::multicast_join);
  fill_ah(path, *id.device_port, event.param.ud.ah_attr);
  event.param.ud.qp_num = kMulticastQpn;
  event.param.ud.qkey = qkey;
  report(id, event);
}

void report_lost(Id& id, const MulticastGroup& group, std::int32_t status) {
  rdma_ucm_event_resp event = event_of(group, UserEvent::multicast_error);
  event.status = static_cast<std::uint32_t>(status);
  report(id, event);
}

void report(Id& id, UserEvent type, std::int32_t status) {
  rdma_ucm_event_resp response{};
  response.event = static_cast<std::uint32_t>(type);
  response.status = static_cast<std::uint32_t>(status);
  response.uid = id.uid;
  response.id = id.handle;
  report(id, response);
}

void report(Id& reporter, const rdma_ucm_event_resp& response) {
  reporter.channel->push({reporter.serial, response});
}

}  // namespace verbena::shim::rdma_cm
