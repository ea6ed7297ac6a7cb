#include "emulator/subnet/agent_subnet.h"

#include <algorithm>
#include <array>

namespace verbena::subnet {
namespace {

constexpr std::uint16_t kOk = 0;

std::uint64_t load(std::span<const std::byte> from, std::size_t bytes, std::size_t index) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) value = value << 8 | std::to_integer<std::uint64_t>(from[index * bytes + i]);
  return value;
}
void store(std::span<std::byte> into, std::size_t bytes, std::size_t index, std::uint64_t value) {
  for (std::size_t i = 0; i < bytes; ++i)
    into[index * bytes + i] = static_cast<std::byte>(value >> 8 * (bytes - 1 - i));
}

}  // namespace

std::optional<Datagram> SubnetAgent::process(const Datagram& request) {
  Datagram response = request;
  Smp smp(response.octets);
  wire::AnyMadHeader header = smp.header();
  const bool is_set = header.method == wire::kMethodSet;
  if (!is_set && header.method != wire::kMethodGet) return std::nullopt;
  if (header.management_class != wire::kClassSubnetLid && header.management_class != wire::kClassSubnetDirected)
    return std::nullopt;
  if (header.attribute == wire::kAttributeSmInfo) return std::nullopt;  // its manager answers, if there is one
  if (!is_key_right(smp, is_set)) return std::nullopt;
  const std::uint16_t status = header.base_version != 1 || header.class_version != wire::kSubnetClassVersion
                                   ? wire::kStatusBadVersion
                                   : process_attribute(smp, header, is_set);
  header.method = wire::kMethodGet | wire::kMethodResponseBit;
  header.status = smp.is_directed() ? static_cast<std::uint16_t>(status | wire::kDirectionBit) : status;
  header.class_specific = smp.header().class_specific;
  smp.set_header(header);
  return response;
}

/// 14.2.4: who does not know the key is not answered, or may look and not change, by the protect bits.
bool SubnetAgent::is_key_right(const Smp& smp, bool is_set) {
  Port& port = node_.management_port(at_.port);
  wire::PortInfo& info = port.info;
  if (info.management_key == 0 || smp.addressing().management_key == info.management_key) {
    port.lease_end.reset();
    return true;
  }
  constexpr std::uint8_t kMayLook = 1;
  if (!is_set && info.key_protect_bits <= kMayLook) return true;
  if (info.key_violations != UINT16_MAX) ++info.key_violations;
  subnet_.begin_lease(at_);
  refuse_key(smp);
  return false;
}

/// Trap 256.
void SubnetAgent::refuse_key(const Smp& smp) {
  const wire::AnyMadHeader header = smp.header();
  const wire::SmpAddressing addressing = smp.addressing();
  const bool is_directed = smp.is_directed();
  const std::size_t hops = is_directed ? smp.hop_count() : 0;
  constexpr std::size_t kFieldsBytes = wire::BadManagementKeyDetailsLayout::bytes;
  std::array<std::byte, kFieldsBytes + wire::kNoticePathBytes> details{};
  wire::BadManagementKeyDetailsLayout::emit(
      {.lid = node_.management_port(at_.port).info.base_lid,
       .directed_source = is_directed ? addressing.directed_source : wire::kLidNone,
       .method = header.method,
       .attribute = header.attribute,
       .attribute_modifier = header.attribute_modifier,
       .key = addressing.management_key,
       .is_directed = is_directed,
       .is_path_cut = hops > wire::kNoticePathBytes,
       .hops = static_cast<std::uint8_t>(std::min(hops, wire::kNoticePathBytes))},
      std::span(details).first<kFieldsBytes>());
  for (std::size_t i = 0; i < std::min(hops, wire::kNoticePathBytes); ++i)
    details[kFieldsBytes + i] = std::byte{smp.return_port(static_cast<std::uint8_t>(i + 1))};
  subnet_.send_trap({at_.node, node_.is_switch() ? std::uint8_t{0} : at_.port},
                    {.type = wire::NoticeType::security,
                     .producer = static_cast<std::uint32_t>(node_.plan.type),
                     .trap = wire::kTrapBadManagementKey},
                    details);
}

std::uint16_t SubnetAgent::process_attribute(Smp& smp, const wire::AnyMadHeader& header, bool is_set) {
  const std::uint32_t modifier = header.attribute_modifier;
  switch (header.attribute) {
    case wire::kAttributeNodeInfo:
      return is_set ? wire::kStatusBadAttribute : node_info(smp);
    case wire::kAttributeNodeDescription:
      if (is_set) return wire::kStatusBadAttribute;
      std::ranges::copy(node_.description, smp.data().begin());
      return kOk;
    case wire::kAttributeSwitchInfo:
      return node_.is_switch() ? switch_info(smp, is_set) : wire::kStatusBadAttribute;
    case wire::kAttributePortInfo:
      return port_info(smp, modifier, is_set);
    case wire::kAttributeGuidInfo:
      return guid_info(smp, modifier, is_set);
    case wire::kAttributePkeyTable:
      return pkey_table(smp, modifier, is_set);
    case wire::kAttributeSlToVl:
      return sl_to_vl(smp, modifier, is_set);
    case wire::kAttributeVlArbitration:
      return vl_arbitration(smp, modifier, is_set);
    case wire::kAttributeLinearForwarding:
      return node_.is_switch() ? linear_forwarding(smp, modifier, is_set) : wire::kStatusBadAttribute;
    case wire::kAttributeMulticastForwarding:
      return node_.is_switch() ? multicast_forwarding(smp, modifier, is_set) : wire::kStatusBadAttribute;
    default:
      return wire::kStatusBadAttribute;
  }
}

Port* SubnetAgent::port_of(std::uint32_t number) {
  if (!node_.is_switch() && number == 0) number = at_.port;
  const bool is_there = number < node_.ports.size() && (node_.is_switch() || number == at_.port);
  return is_there ? &node_.ports[number] : nullptr;
}

std::uint16_t SubnetAgent::node_info(Smp& smp) {
  const NodePlan& plan = node_.plan;
  smp.write_data<wire::NodeInfoLayout>({.type = plan.type,
                                        .ports = plan.port_count(),
                                        .system_image_guid = plan.system_image_guid,
                                        .node_guid = plan.guid,
                                        .port_guid = plan.port_guid(at_.port),
                                        .partitions = kPkeysMax,
                                        .device = plan.device,
                                        .local_port = at_.port,
                                        .vendor = plan.vendor});
  return kOk;
}

std::uint16_t SubnetAgent::switch_info(Smp& smp, bool is_set) {
  wire::SwitchInfo& info = node_.switch_info;
  if (is_set) {
    const auto wanted = smp.read_data<wire::SwitchInfoLayout>();
    if (wanted.linear_top >= kLinearCapacity) return wire::kStatusBadValue;
    const std::uint32_t first = 1u + std::min(info.linear_top, wanted.linear_top);
    const std::uint32_t behind = 1u + std::max(info.linear_top, wanted.linear_top);
    info.linear_top = wanted.linear_top;
    if (first != behind)
      tell([&](Listener& listener) { listener.forwarding_changed(at_.node, first, behind - first); });
    info.default_port = wanted.default_port;
    info.default_multicast_primary_port = wanted.default_multicast_primary_port;
    info.default_multicast_other_port = wanted.default_multicast_other_port;
    info.life_time = wanted.life_time;
    info.multicast_top = wanted.multicast_top;
    if (wanted.port_state_change) info.port_state_change = false;
  }
  smp.write_data<wire::SwitchInfoLayout>(info);
  return kOk;
}

std::uint16_t SubnetAgent::port_info(Smp& smp, std::uint32_t modifier, bool is_set) {
  constexpr std::uint32_t kPortMask = 0xff;  // above: who asks knows extended speeds
  Port* const port = port_of(modifier & kPortMask);
  if (port == nullptr) return wire::kStatusBadValue;
  std::uint16_t status = kOk;
  bool reregisters = false;
  if (is_set) {
    const auto wanted = smp.read_data<wire::PortInfoLayout>();
    reregisters = wanted.client_reregister;
    status = set_port_info(*port, port->info.local_port, wanted);
  }
  wire::PortInfo told = port->info;
  told.local_port = at_.port;
  told.client_reregister = reregisters;
  const std::uint64_t key = node_.management_port(at_.port).info.management_key;
  if (told.key_protect_bits != 0 && smp.addressing().management_key != key) told.management_key = 0;
  smp.write_data<wire::PortInfoLayout>(told);
  return status;
}

std::uint16_t SubnetAgent::set_port_info(Port& port, std::uint8_t number, const wire::PortInfo& wanted) {
  wire::PortInfo& info = port.info;
  if (!node_.is_switch() || number == 0) {
    info.management_key = wanted.management_key;
    info.subnet_prefix = wanted.subnet_prefix;
    info.base_lid = wanted.base_lid;
    info.lmc = wanted.lmc;
    info.master_sm_lid = wanted.master_sm_lid;
    info.master_sm_sl = wanted.master_sm_sl;
    info.key_lease_seconds = wanted.key_lease_seconds;
    info.key_protect_bits = wanted.key_protect_bits;
    info.subnet_timeout = wanted.subnet_timeout;
    info.key_violations = wanted.key_violations;
    info.pkey_violations = wanted.pkey_violations;
    info.qkey_violations = wanted.qkey_violations;
  }
  constexpr std::uint8_t kAll = 0xff;
  if (wanted.width_enabled != 0)
    info.width_enabled = wanted.width_enabled == kAll
                             ? info.width_supported
                             : static_cast<std::uint8_t>(wanted.width_enabled & info.width_supported);
  constexpr std::uint8_t kAllSpeeds = 0xf;
  if (wanted.speed_enabled != 0)
    info.speed_enabled = wanted.speed_enabled == kAllSpeeds
                             ? info.speed_supported
                             : static_cast<std::uint8_t>(wanted.speed_enabled & info.speed_supported);
  if (wanted.down_default_state != 0) info.down_default_state = wanted.down_default_state;
  if (wanted.neighbor_mtu != 0) info.neighbor_mtu = std::min(wanted.neighbor_mtu, info.mtu_capacity);
  set_lanes_of(port, number, wanted);
  info.vl_stall_count = wanted.vl_stall_count;
  info.hoq_life = wanted.hoq_life;
  if (info.enforce_inbound != wanted.enforce_inbound || info.enforce_outbound != wanted.enforce_outbound) {
    info.enforce_inbound = wanted.enforce_inbound;
    info.enforce_outbound = wanted.enforce_outbound;
    tell([&](Listener& listener) { listener.pkeys_changed({at_.node, number}); });
  }
  info.local_physical_errors = wanted.local_physical_errors;
  info.overrun_errors = wanted.overrun_errors;
  subnet_.receiver_.changed({at_.node, number});
  tell([&](Listener& listener) { listener.port_changed({at_.node, number}, wanted.client_reregister); });
  if (wanted.physical_state != wire::PortPhysicalState::no_change && !(node_.is_switch() && number == 0)) {
    if (wanted.physical_state > wire::PortPhysicalState::disabled) return wire::kStatusBadValue;
    subnet_.set_physical_state({at_.node, number}, wanted.physical_state);
  }
  return set_state(number, wanted.state);
}

void SubnetAgent::set_lanes_of(Port& port, std::uint8_t number, const wire::PortInfo& wanted) {
  wire::PortInfo& info = port.info;
  const std::uint8_t lanes = std::min(wanted.operational_vls, info.vl_capacity);
  if (lanes != 0 && lanes != info.operational_vls) {
    info.operational_vls = lanes;
    tell([&](Listener& listener) { listener.lanes_changed({at_.node, number}, kNoPort); });
  }
  if (info.vl_high_limit == wanted.vl_high_limit) return;
  info.vl_high_limit = wanted.vl_high_limit;
  tell([&](Listener& listener) { listener.arbitration_changed({at_.node, number}); });
}

/// 14.2.5.6: armed from init, active from armed; down starts the link anew.
std::uint16_t SubnetAgent::set_state(std::uint8_t number, wire::PortState wanted) {
  const wire::PortState state = node_.ports[number].info.state;
  const PortEnd end{at_.node, number};
  switch (wanted) {
    case wire::PortState::no_change:
      return kOk;
    case wire::PortState::down:
      if (!(node_.is_switch() && number == 0)) subnet_.set_physical_state(end, wire::PortPhysicalState::polling);
      return kOk;
    case wire::PortState::init:
      return wire::kStatusBadValue;
    case wire::PortState::armed:
      if (state != wire::PortState::init && state != wire::PortState::armed) return wire::kStatusBadValue;
      break;
    case wire::PortState::active:
      if (state != wire::PortState::armed && state != wire::PortState::active) return wire::kStatusBadValue;
      break;
  }
  subnet_.change_state(end, wanted);
  return kOk;
}

std::uint16_t SubnetAgent::guid_info(Smp& smp, std::uint32_t modifier, bool is_set) {
  Port& port = node_.management_port(at_.port);
  if (modifier * wire::kGuidsOfBlock >= port.info.guid_capacity) return wire::kStatusBadValue;
  const std::size_t first = modifier * wire::kGuidsOfBlock;
  for (std::size_t i = 0; i < wire::kGuidsOfBlock && first + i < port.guids.size(); ++i) {
    if (is_set && first + i != 0) port.guids[first + i] = load(smp.data(), 8, i);  // the first is the port's own
    store(smp.data(), 8, i, port.guids[first + i]);
  }
  if (is_set) subnet_.receiver_.changed(at_);
  return kOk;
}

std::uint16_t SubnetAgent::pkey_table(Smp& smp, std::uint32_t modifier, bool is_set) {
  constexpr unsigned kPortShift = 16;
  Port* const port = port_of(node_.is_switch() ? modifier >> kPortShift : at_.port);
  const std::size_t first = (modifier & 0xffff) * wire::kPkeysOfBlock;
  if (port == nullptr || first >= kPkeysMax) return wire::kStatusBadValue;
  for (std::size_t i = 0; i < wire::kPkeysOfBlock; ++i) {
    if (is_set) port->pkeys[first + i] = static_cast<std::uint16_t>(load(smp.data(), 2, i));
    store(smp.data(), 2, i, port->pkeys[first + i]);
  }
  if (!is_set) return kOk;
  subnet_.receiver_.changed({at_.node, port->info.local_port});
  tell([&](Listener& listener) { listener.pkeys_changed({at_.node, port->info.local_port}); });
  return kOk;
}

std::uint16_t SubnetAgent::sl_to_vl(Smp& smp, std::uint32_t modifier, bool is_set) {
  const auto in = static_cast<std::uint8_t>(node_.is_switch() ? modifier >> 8 & 0xff : 0);
  Port* const out = port_of(node_.is_switch() ? modifier & 0xff : at_.port);
  if (out == nullptr || in >= node_.ports.size()) return wire::kStatusBadValue;
  if (is_set) {
    auto& table = out->lanes_of_levels[in];
    std::ranges::copy(smp.data().first(table.size()), table.begin());
    tell([&](Listener& listener) { listener.lanes_changed({at_.node, out->info.local_port}, in); });
    return kOk;
  }
  if (const auto set = out->lanes_of_levels.find(in); set != out->lanes_of_levels.end()) {
    std::ranges::copy(set->second, smp.data().begin());
    return kOk;
  }
  const auto lanes = out->lanes(in);
  for (std::size_t i = 0; i < lanes.size(); i += 2)
    smp.data()[i / 2] = static_cast<std::byte>(lanes[i] << 4 | lanes[i + 1]);
  return kOk;
}

std::uint16_t SubnetAgent::vl_arbitration(Smp& smp, std::uint32_t modifier, bool is_set) {
  const std::uint32_t block = modifier >> 16;
  Port* const port = port_of(node_.is_switch() ? modifier & 0xff : at_.port);
  if (port == nullptr || block < 1 || block > port->arbitration.size()) return wire::kStatusBadValue;
  auto& table = port->arbitration[block - 1];
  if (is_set) {
    std::ranges::copy(smp.data(), table.begin());
    tell([&](Listener& listener) { listener.arbitration_changed({at_.node, port->info.local_port}); });
  }
  std::ranges::copy(table, smp.data().begin());
  return kOk;
}

std::uint16_t SubnetAgent::linear_forwarding(Smp& smp, std::uint32_t modifier, bool is_set) {
  const std::size_t first = std::size_t{modifier} * wire::kLinearEntriesOfBlock;
  if (first + wire::kLinearEntriesOfBlock > node_.forwarding.size()) return wire::kStatusBadValue;
  for (std::size_t i = 0; i < wire::kLinearEntriesOfBlock; ++i) {
    if (is_set) node_.forwarding[first + i] = std::to_integer<std::uint8_t>(smp.data()[i]);
    smp.data()[i] = std::byte{node_.forwarding[first + i]};
  }
  if (is_set)
    tell([&](Listener& listener) {
      listener.forwarding_changed(at_.node, static_cast<std::uint32_t>(first), wire::kLinearEntriesOfBlock);
    });
  return kOk;
}

std::uint16_t SubnetAgent::multicast_forwarding(Smp& smp, std::uint32_t modifier, bool is_set) {
  constexpr std::uint32_t kBlockMask = 0x1ff;
  constexpr unsigned kPositionShift = 28;  // of sixteen ports each
  constexpr std::size_t kPortsOfPosition = 16;
  constexpr std::uint32_t kPositionMask = 0xfu << kPositionShift;  // between them: reserved
  const std::size_t first_port = (modifier >> kPositionShift) * kPortsOfPosition;
  if ((modifier & kBlockMask) * wire::kMulticastEntriesOfBlock >= kMulticastCapacity ||
      first_port >= node_.ports.size())
    return wire::kStatusBadValue;
  auto& block = node_.multicast[modifier & (kBlockMask | kPositionMask)];
  if (is_set) {
    std::ranges::copy(smp.data(), block.begin());
    const auto group = static_cast<std::uint32_t>((modifier & kBlockMask) * wire::kMulticastEntriesOfBlock);
    tell([&](Listener& listener) {
      listener.groups_changed(at_.node, wire::kLidMulticastMin.value() + group, wire::kMulticastEntriesOfBlock);
    });
  }
  std::ranges::copy(block, smp.data().begin());
  return kOk;
}

}  // namespace verbena::subnet
