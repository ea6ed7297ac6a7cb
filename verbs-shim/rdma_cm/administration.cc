#include "verbs-shim/rdma_cm/administration.h"

#include <algorithm>
#include <span>

#include "verbs-shim/rdma_cm/opened_device.h"
#include "wire/pkey_table.h"

namespace verbena::shim::rdma_cm {
namespace {

using wire::McMemberRecord;
using wire::McMemberRecordLayout;
using wire::PathRecord;
using wire::PathRecordLayout;

constexpr std::uint32_t kUdpQkey = 0x01234567;    // RDMA_UDP_QKEY
constexpr std::uint32_t kIpoibQkey = 0x00000b1b;  // of IPoIB's broadcast group, as opensm makes it
constexpr std::uint16_t kFullMember = 0x8000;     // of a P_Key

}  // namespace

Asker asker_of(const Id& id) {
  if (id.source.family == AF_IB) return {id.own_gid(), id.source.name.pkey};
  const auto pkeys = id.device_port->infiniband_port().pkeys;
  return {id.own_gid(), pkeys[wire::find_pkey(pkeys, wire::kPkeyDefault).value_or(0)]};
}

host::SaRequest path_request(const Asker& asker, const wire::Gid& destination, const Id& id, std::uint32_t timeout_ms) {
  PathRecord record;
  record.service_id = service_id(id, id.destination);
  record.destination = destination;
  record.source = asker.gid;
  record.is_reversible = true;
  record.paths = 1;
  record.pkey = asker.pkey;
  host::SaRequest request{.operation = host::SaOperation::get_path, .timeout_ms = timeout_ms};
  request.component_mask = PathRecord::kServiceId | PathRecord::kDestination | PathRecord::kSource |
                           PathRecord::kReversible | PathRecord::kPaths | PathRecord::kPkey;
  // An IPv4 address brings the type of service as a QoS class, the others their traffic class.
  if (id.destination.family == AF_IB) {
    constexpr unsigned kTrafficClassShift = 20;
    record.traffic_class = static_cast<std::uint8_t>(id.source.name.flow_info >> kTrafficClassShift);
    request.component_mask |= PathRecord::kTrafficClass;
  } else if (id.destination.family == AF_INET6) {
    record.traffic_class = id.traffic_class.value_or(0);
    request.component_mask |= PathRecord::kTrafficClass;
  } else {
    record.qos_class = id.traffic_class.value_or(0);
    request.component_mask |= PathRecord::kQosClass;
  }
  std::ranges::copy(PathRecordLayout::emit(record), request.record.begin());
  return request;
}

void take_path(const host::SaRecord& answer, cm::Path& path) {
  const PathRecord record = PathRecordLayout::parse(answer);
  path.address = record.destination;
  path.source = record.source;
  path.next_hop = wire::PathAddress(record.destination_lid, record.service_level);
  path.source_lid = record.source_lid;
  path.traffic_class = record.traffic_class;
  path.hop_limit = record.hop_limit;
  path.flow_label = record.flow_label;
  path.pkey = record.pkey;
  path.mtu = record.mtu;
  path.packet_rate = record.rate;
  path.packet_lifetime = record.lifetime;
}

host::SaRequest join_request(const Asker& asker, const wire::Gid& group, const Id& id, std::uint8_t join_state) {
  McMemberRecord record;
  record.group = group;
  record.port = asker.gid;
  record.qkey = default_qkey(id);
  record.pkey = asker.pkey;
  record.join_state = join_state;
  host::SaRequest request{.operation = host::SaOperation::join};
  request.component_mask = McMemberRecord::kGroup | McMemberRecord::kPort | McMemberRecord::kQkey |
                           McMemberRecord::kPkey | McMemberRecord::kJoinState | McMemberRecord::kServiceLevel |
                           McMemberRecord::kFlowLabel | McMemberRecord::kTrafficClass;
  std::ranges::copy(McMemberRecordLayout::emit(record), request.record.begin());
  return request;
}

GroupPath group_path(const host::SaRecord& answer) {
  const auto record = McMemberRecordLayout::parse(std::span(answer).first<McMemberRecordLayout::bytes>());
  GroupPath made;
  made.path.encapsulation = &wire::kInfiniBand;
  made.path.address = record.group;
  made.path.source = record.port;
  made.path.next_hop = wire::PathAddress(record.lid, record.service_level);
  made.path.traffic_class = record.traffic_class;
  made.path.hop_limit = record.hop_limit;
  made.path.flow_label = record.flow_label;
  made.path.mtu = record.mtu;
  made.path.packet_rate = record.rate;
  made.path.packet_lifetime = record.lifetime;
  made.qkey = record.qkey;
  return made;
}

std::uint32_t default_qkey(const Id& id) {
  const bool is_ipoib = id.port_space == RDMA_PS_IPOIB && id.device_port != nullptr && id.device_port->is_infiniband();
  return is_ipoib ? kIpoibQkey : kUdpQkey;
}

wire::Gid infiniband_group(const Address& group, std::uint16_t port_space, std::uint16_t pkey) {
  constexpr std::uint8_t kSignatureOfIpv4 = 0x40;
  constexpr std::uint8_t kSignatureOfIpv6 = 0x60;
  constexpr std::uint8_t kOfIpoib = 0x1b;
  constexpr std::uint8_t kOfRdmaCm = 0x01;
  constexpr std::uint8_t kUpperBitsOfIpv4 = 0x0f;
  constexpr std::size_t kIpv4At = 12;
  constexpr std::size_t kIpv6At = 6;
  const auto& from = group.gid.octets;
  const bool is_administrators =
      !group.gid.is_ipv4() && from[0] == 0xff && (from[1] & 0xf0) == 0x10 && from[2] == 0xa0 && from[3] == kOfIpoib;
  if (is_administrators || group.family == AF_IB) return group.gid;
  const std::uint8_t signature = port_space == RDMA_PS_UDP ? kOfRdmaCm : kOfIpoib;
  const bool is_ipv4 = group.gid.is_ipv4();
  const auto key = static_cast<std::uint16_t>(pkey | kFullMember);
  wire::Gid made{{0xff, 0x12, is_ipv4 ? kSignatureOfIpv4 : kSignatureOfIpv6, signature,
                  static_cast<std::uint8_t>(key >> 8), static_cast<std::uint8_t>(key)}};
  const auto start = static_cast<std::ptrdiff_t>(is_ipv4 ? kIpv4At : kIpv6At);
  std::copy(from.begin() + start, from.end(), made.octets.begin() + start);
  if (is_ipv4) made.octets[kIpv4At] &= kUpperBitsOfIpv4;
  return made;
}

}  // namespace verbena::shim::rdma_cm
