// Flow steering and its counters: ibv_create_flow .. ibv_destroy_flow, ibv_create_counters .. ibv_read_counters.
//
// Each specification fills its part of a rule's value and mask (emulator/nic/objects/steering_rule.h): one
// function a kind.
// Tested by: tests/shim/verbs/handles_test.cc
#include <algorithm>
#include <cstring>
#include <new>

#include "verbs-shim/verbs/context_ops.h"
#include "verbs-shim/verbs/live.h"
#include "verbs-shim/verbs/objects.h"
#include "verbs-shim/verbs/process.h"

namespace verbena::shim {
namespace {

static_assert(static_cast<int>(nic::FlowType::normal) == IBV_FLOW_ATTR_NORMAL &&
              static_cast<int>(nic::FlowType::all_default) == IBV_FLOW_ATTR_ALL_DEFAULT &&
              static_cast<int>(nic::FlowType::group_default) == IBV_FLOW_ATTR_MC_DEFAULT &&
              static_cast<int>(nic::FlowType::sniffer) == IBV_FLOW_ATTR_SNIFFER);

constexpr std::uint8_t kSpecificationsMax = 10;  // the kernel's IB_FLOW_SPEC_SUPPORT_LAYERS
constexpr std::uint8_t kAll = 0xff;

template <class Field>
void put(Field& into, const void* octets, std::size_t bytes = sizeof(Field)) {
  std::memcpy(&into, octets, bytes);
}

void fill(nic::FlowFields& into, const ibv_flow_eth_filter& filter) {
  put(into.destination_mac, filter.dst_mac);
  put(into.source_mac, filter.src_mac);
  put(into.ether_type, &filter.ether_type);
  put(into.vlan_tag, &filter.vlan_tag);
}
void fill(nic::FlowFields& into, const ibv_flow_ipv4_filter& filter) {
  put(into.source, &filter.src_ip, sizeof filter.src_ip);
  put(into.destination, &filter.dst_ip, sizeof filter.dst_ip);
}
void fill(nic::FlowFields& into, const ibv_flow_ipv4_ext_filter& filter) {
  put(into.source, &filter.src_ip, sizeof filter.src_ip);
  put(into.destination, &filter.dst_ip, sizeof filter.dst_ip);
  into.protocol = filter.proto;
  into.traffic_class = filter.tos;
  into.hop_limit = filter.ttl;
  into.ipv4_flags = filter.flags;
}
void fill(nic::FlowFields& into, const ibv_flow_ipv6_filter& filter) {
  put(into.source, filter.src_ip);
  put(into.destination, filter.dst_ip);
  put(into.flow_label, &filter.flow_label);
  into.protocol = filter.next_hdr;
  into.traffic_class = filter.traffic_class;
  into.hop_limit = filter.hop_limit;
}
void fill(nic::FlowFields& into, const ibv_flow_tcp_udp_filter& filter) {
  put(into.source_port, &filter.src_port);
  put(into.destination_port, &filter.dst_port);
}

/// What a rule comes to, and the counters that count it.
struct Rule {
  const ibv_context* context = nullptr;
  nic::FlowInit init;
  ibv_counters* counters = nullptr;
};

template <class Specification>
int add_match(const ibv_flow_spec& from, Rule& rule) {
  if (from.hdr.size != sizeof(Specification)) return EINVAL;
  Specification specification;
  std::memcpy(&specification, &from, sizeof specification);
  fill(rule.init.value, specification.val);
  fill(rule.init.mask, specification.mask);
  return 0;
}

int require(std::uint8_t& value, std::uint8_t& mask, std::uint8_t wanted) {
  if (mask != 0 && value != wanted) return EINVAL;  // two that exclude each other
  value = wanted;
  mask = kAll;
  return 0;
}

int add_ethernet(const ibv_flow_spec& from, Rule& rule) {
  if (const int error = add_match<ibv_flow_spec_eth>(from, rule); error != 0) return error;
  if (rule.init.mask.vlan_tag == std::array<std::uint8_t, 2>{}) return 0;
  return require(rule.init.value.is_tagged, rule.init.mask.is_tagged, 1);
}

template <class Specification>
int add_network(const ibv_flow_spec& from, Rule& rule, std::uint8_t version) {
  if (const int error = require(rule.init.value.ip_version, rule.init.mask.ip_version, version); error != 0)
    return error;
  return add_match<Specification>(from, rule);
}

int add_transport(const ibv_flow_spec& from, Rule& rule, std::uint8_t protocol) {
  if (const int error = require(rule.init.value.transport, rule.init.mask.transport, protocol); error != 0)
    return error;
  return add_match<ibv_flow_spec_tcp_udp>(from, rule);
}

int add_counters(const ibv_flow_spec& from, Rule& rule) {
  if (from.hdr.size != sizeof(ibv_flow_spec_counter_action)) return EINVAL;
  rule.counters = from.flow_count.counters;
  if (const int error = missing_in(rule.context, rule.counters); error != 0) return error;
  rule.init.counters = static_cast<FlowCounters*>(rule.counters)->nic;
  return 0;
}

int add_specification(const ibv_flow_spec& from, Rule& rule) {
  constexpr std::uint8_t kTcp = 6;
  constexpr std::uint8_t kUdp = 17;
  switch (static_cast<std::uint32_t>(from.hdr.type)) {
    case IBV_FLOW_SPEC_ETH:
      return add_ethernet(from, rule);
    case IBV_FLOW_SPEC_IPV4:
      return add_network<ibv_flow_spec_ipv4>(from, rule, 4);
    case IBV_FLOW_SPEC_IPV4_EXT:
      return add_network<ibv_flow_spec_ipv4_ext>(from, rule, 4);
    case IBV_FLOW_SPEC_IPV6:
      return add_network<ibv_flow_spec_ipv6>(from, rule, 6);
    case IBV_FLOW_SPEC_TCP:
      return add_transport(from, rule, kTcp);
    case IBV_FLOW_SPEC_UDP:
      return add_transport(from, rule, kUdp);
    case IBV_FLOW_SPEC_ACTION_TAG:
      if (from.hdr.size != sizeof(ibv_flow_spec_action_tag)) return EINVAL;
      rule.init.tag = from.flow_tag.tag_id;
      return 0;
    case IBV_FLOW_SPEC_ACTION_DROP:
      rule.init.drops = true;
      return from.hdr.size == sizeof(ibv_flow_spec_action_drop) ? 0 : EINVAL;
    case IBV_FLOW_SPEC_ACTION_COUNT:
      return add_counters(from, rule);
    default:
      return EOPNOTSUPP;  // tunnels, ESP, actions with a handle
  }
}

int rule_of(const ibv_flow_attr& attributes, Rule& rule) {
  if (attributes.comp_mask != 0 || attributes.type > IBV_FLOW_ATTR_SNIFFER ||
      attributes.num_of_specs > kSpecificationsMax)
    return EINVAL;
  if ((attributes.flags & ~std::uint32_t{IBV_FLOW_ATTR_FLAGS_DONT_TRAP | IBV_FLOW_ATTR_FLAGS_EGRESS}) != 0)
    return EINVAL;
  if ((attributes.flags & IBV_FLOW_ATTR_FLAGS_EGRESS) != 0) return EOPNOTSUPP;
  if (attributes.type != IBV_FLOW_ATTR_NORMAL && attributes.num_of_specs != 0) return EINVAL;
  rule.init.type = static_cast<nic::FlowType>(attributes.type);
  rule.init.priority = attributes.priority;
  rule.init.port = attributes.port;
  rule.init.goes_on = (attributes.flags & IBV_FLOW_ATTR_FLAGS_DONT_TRAP) != 0;
  const auto* at = reinterpret_cast<const std::byte*>(&attributes + 1);
  for (std::uint8_t i = 0; i < attributes.num_of_specs; ++i) {
    ibv_flow_spec specification{};  // they lie behind each other without regard to alignment
    std::memcpy(&specification.hdr, at, sizeof specification.hdr);
    if (specification.hdr.size < sizeof specification.hdr || specification.hdr.size > sizeof specification)
      return EINVAL;
    std::memcpy(&specification, at, specification.hdr.size);
    if (const int error = add_specification(specification, rule); error != 0) return error;
    at += specification.hdr.size;
  }
  return 0;
}

}  // namespace

ibv_flow* create_flow(ibv_qp* qp, ibv_flow_attr* attributes) {
  const auto found = live_engine(qp);
  if (!found) return fail(found.error());
  host::Engine* const engine = *found;
  Rule rule{.context = qp->context};
  if (const int error = rule_of(*attributes, rule); error != 0) return fail(error);
  auto* const flow = new (std::nothrow) Flow();
  if (flow == nullptr) return fail(ENOMEM);
  const auto made = engine->run([&](nic::Nic& nic, Time) { return nic.create_flow(qp_of(qp)->nic, rule.init); });
  if (!made) {
    delete flow;
    return fail(errno_of(made));
  }
  if (rule.counters != nullptr) static_cast<FlowCounters*>(rule.counters)->bound.store(true, std::memory_order_relaxed);
  flow->nic = *made;
  flow->context = qp->context;
  flow->handle = made->index;
  Process::instance().enlist(Kind::flow, flow, qp->context);
  return flow;
}

int destroy_flow(ibv_flow* flow) {
  auto* const object = static_cast<Flow*>(flow);
  Process& process = Process::instance();
  if (!is_live(flow)) return missing(flow);
  if (host::Engine* const engine = engine_of(flow->context)) {
    const auto gone = engine->run([object](nic::Nic& nic, Time) { return nic.destroy_flow(object->nic); });
    if (!gone) return errno_of(gone);
  }
  process.withdraw(Kind::flow, object);
  release(context_of(flow->context));
  delete object;
  return 0;
}

ibv_counters* create_counters(ibv_context* context, ibv_counters_init_attr* attributes) {
  host::Engine* const engine = working_engine_of(context);
  if (engine == nullptr) return fail(kNoDevice);
  if (attributes->comp_mask != 0) return fail(EOPNOTSUPP);
  auto* const counters = new (std::nothrow) FlowCounters();
  if (counters == nullptr) return fail(ENOMEM);
  const auto made = engine->run([](nic::Nic& nic, Time) { return nic.create_flow_counters(); });
  if (!made) {
    delete counters;
    return fail(errno_of(made));
  }
  counters->nic = *made;
  counters->context = context;
  Process::instance().enlist(Kind::flow_counters, counters, context);
  return counters;
}

int attach_counters_point_flow(ibv_counters* counters, ibv_counter_attach_attr* attributes, ibv_flow* flow) {
  auto* const object = static_cast<FlowCounters*>(counters);
  if (!is_live(counters)) return missing(counters);
  // As on ConnectX: what is counted is said before the counters go into a flow.
  if (flow != nullptr || attributes->comp_mask != 0 || attributes->counter_desc > IBV_COUNTER_BYTES) return EOPNOTSUPP;
  if (object->bound.load(std::memory_order_relaxed)) return EBUSY;
  if (attributes->index >= FlowCounters::kValuesMax) return EINVAL;
  object->values[attributes->index] =
      attributes->counter_desc == IBV_COUNTER_PACKETS ? FlowCounters::Value::packets : FlowCounters::Value::bytes;
  object->count = std::max(object->count, attributes->index + 1);
  return 0;
}

int read_counters(ibv_counters* counters, std::uint64_t* values, std::uint32_t count, std::uint32_t flags) {
  auto* const object = static_cast<FlowCounters*>(counters);
  const auto found = live_engine(counters);
  if (!found) return found.error();
  host::Engine* const engine = *found;
  if ((flags & ~std::uint32_t{IBV_READ_COUNTERS_ATTR_PREFER_CACHED}) != 0) return EINVAL;
  if (count < object->count) return EINVAL;
  const auto read = engine->run([object](nic::Nic& nic, Time) { return nic.read_flow_counters(object->nic); });
  if (!read) return errno_of(read);
  for (std::uint32_t i = 0; i < object->count; ++i) {
    switch (object->values[i]) {
      case FlowCounters::Value::none:
        values[i] = 0;
        break;
      case FlowCounters::Value::packets:
        values[i] = read->packets;
        break;
      case FlowCounters::Value::bytes:
        values[i] = read->bytes;
        break;
    }
  }
  return 0;
}

int destroy_counters(ibv_counters* counters) {
  auto* const object = static_cast<FlowCounters*>(counters);
  Process& process = Process::instance();
  if (!is_live(counters)) return missing(counters);
  if (host::Engine* const engine = engine_of(counters->context)) {
    const auto gone = engine->run([object](nic::Nic& nic, Time) { return nic.destroy_flow_counters(object->nic); });
    if (!gone) return errno_of(gone);
  }
  process.withdraw(Kind::flow_counters, object);
  release(context_of(counters->context));
  delete object;
  return 0;
}

}  // namespace verbena::shim
