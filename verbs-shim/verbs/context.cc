// A context: filling its layout, and what can be asked of device and port: query_device .. query_gid_table.
// Tested by: tests/shim/verbs/device_test.cc
#include <net/if.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "emulator/host/node/infiniband_port.h"
#include "emulator/host/node/network_device.h"
#include "emulator/host/node/port_speed.h"
#include "verbs-shim/verbs/boundary.h"
#include "verbs-shim/verbs/context_ops.h"
#include "verbs-shim/verbs/fault_boundary.h"
#include "verbs-shim/verbs/objects.h"
#include "verbs-shim/verbs/process.h"
#include "verbs-shim/verbs/translate.h"
#include "wire/roce_v1.h"

namespace verbena::shim {
namespace {

constexpr std::size_t kCompatPortBytes = 48;  // struct ibv_port_attr before port_cap_flags2
constexpr std::uint32_t kVendorNone = 0xffffff;

const nic::NicConfig& config_of(ibv_context* context) {
  return engine_of(context)->nic_config();
}

int as_int(std::uint64_t value) {
  return static_cast<int>(std::min<std::uint64_t>(value, INT32_MAX));
}

void fill_limits(const nic::NicLimits& limits, ibv_device_attr& into) {
  into.max_mr_size = limits.max_mr_bytes;
  into.page_size_cap = 0xfffff000;
  into.max_qp = as_int(limits.max_qp);
  into.max_qp_wr = as_int(limits.max_qp_wr);
  into.max_sge = as_int(limits.max_sge);
  into.max_sge_rd = as_int(limits.max_sge_read);
  into.max_cq = as_int(limits.max_cq);
  into.max_cqe = as_int(limits.max_cqe);
  into.max_mr = as_int(limits.max_mr);
  into.max_mw = as_int(limits.max_mw);
  into.max_pd = as_int(limits.max_pd);
  into.max_qp_rd_atom = limits.max_read_atomic;
  into.max_qp_init_rd_atom = limits.max_read_atomic;
  into.max_res_rd_atom = as_int(std::uint64_t{limits.max_qp} * limits.max_read_atomic);
  into.atomic_cap = IBV_ATOMIC_GLOB;  // the target's own threads see them as atomic (design: the data path)
  into.max_ah = as_int(limits.max_ah);
  into.max_srq = as_int(limits.max_srq);
  into.max_srq_wr = as_int(limits.max_srq_wr);
  into.max_srq_sge = as_int(limits.max_srq_sge);
  into.max_pkeys = limits.pkeys;
  into.max_raw_ethy_qp = as_int(limits.max_qp);
  into.max_mcast_grp = as_int(limits.max_groups);
  into.max_mcast_qp_attach = as_int(limits.max_group_members);
  into.max_total_mcast_qp_attach = as_int(std::uint64_t{limits.max_groups} * limits.max_group_members);
}

constexpr std::uint32_t bit_of(ibv_qp_type type) {
  return 1u << type;
}

void fill_extended_limits(const nic::NicLimits& limits, ibv_device_attr_ex& into) {
  into.rss_caps.supported_qpts = bit_of(IBV_QPT_RAW_PACKET);
  into.rss_caps.max_rwq_indirection_tables = limits.max_indirection_tables;
  into.rss_caps.max_rwq_indirection_table_size = limits.max_indirection_table_size;
  into.rss_caps.rx_hash_fields_mask = kReceiveHashFields;
  into.rss_caps.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ;
  into.max_wq_type_rq = limits.max_work_queues;
  into.packet_pacing_caps.qp_rate_limit_min = limits.min_rate_kbps;
  into.packet_pacing_caps.qp_rate_limit_max = limits.max_rate_kbps;
  into.packet_pacing_caps.supported_qpts = bit_of(IBV_QPT_RC) | bit_of(IBV_QPT_UC) | bit_of(IBV_QPT_UD) |
                                           bit_of(IBV_QPT_RAW_PACKET) | bit_of(IBV_QPT_XRC_SEND);
  into.raw_packet_caps = IBV_RAW_PACKET_CAP_CVLAN_STRIPPING;
  into.cq_mod_caps.max_cq_count = limits.max_moderation_count;
  into.cq_mod_caps.max_cq_period = limits.max_moderation_period_us;
}

/// Every operation may touch memory that is paged in on demand: nothing is pinned anyway.
void fill_on_demand(ibv_device_attr_ex& into) {
  constexpr std::uint32_t kMessages = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_SRQ_RECV;
  into.odp_caps.general_caps = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT;
  auto& transports = into.odp_caps.per_transport_caps;
  transports.ud_odp_caps = kMessages;
  transports.uc_odp_caps = kMessages | IBV_ODP_SUPPORT_WRITE;
  transports.rc_odp_caps = kMessages | IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC;
  into.xrc_odp_caps = transports.rc_odp_caps;
}

/// What a device of this kind says of itself, in place of ours.
void show(const host::DeviceLook& look, ibv_device_attr_ex& into) {
  ibv_device_attr& plain = into.orig_attr;
  if (!look.firmware.empty()) std::snprintf(plain.fw_ver, sizeof plain.fw_ver, "%s", look.firmware.c_str());
  plain.vendor_id = look.vendor_id.value_or(plain.vendor_id);
  plain.vendor_part_id = look.part_id.value_or(plain.vendor_part_id);
  plain.hw_ver = look.hardware_version.value_or(plain.hw_ver);
  plain.device_cap_flags = look.flags.value_or(plain.device_cap_flags);
  if (look.atomics == host::AtomicCapability::none) plain.atomic_cap = IBV_ATOMIC_NONE;
  if (look.atomics == host::AtomicCapability::hca) plain.atomic_cap = IBV_ATOMIC_HCA;
  if (look.refusal(host::Refusable::srq) != 0) plain.max_srq = plain.max_srq_wr = plain.max_srq_sge = 0;
  if (look.refusal(host::Refusable::raw) != 0) plain.max_raw_ethy_qp = 0;
  if (look.refusal(host::Refusable::mw) != 0) plain.max_mw = 0;
  if (look.refusal(host::Refusable::dm) != 0) into.max_dm_size = 0;
  if (look.refusal(host::Refusable::odp) != 0) {
    into.odp_caps = {};
    into.xrc_odp_caps = 0;
  }
}

/// What a subnet manager says of a port, or the emulation in its place.
void fill_infiniband_port(const Device& device, std::uint8_t number, bool has_signal, ibv_port_attr& into) {
  const host::ManagedPort port = host::infiniband_port(device.config.fabric, device.ports[number - 1], has_signal);
  into.state = static_cast<ibv_port_state>(port.state);
  into.phys_state = port.physical_state;
  into.max_mtu = static_cast<ibv_mtu>(port.mtu_max);
  into.active_mtu = std::min(into.active_mtu, static_cast<ibv_mtu>(port.mtu));
  into.port_cap_flags = port.capability_mask;
  into.bad_pkey_cntr = port.pkey_violations;
  into.qkey_viol_cntr = port.qkey_violations;
  into.lid = port.base_lid;
  into.lmc = port.lmc;
  into.sm_lid = port.sm_lid;
  into.sm_sl = port.sm_sl;
  into.max_vl_num = port.vl_capacity;
  into.subnet_timeout = port.subnet_timeout;
  into.active_width = port.width;
  into.active_speed = port.speed;
  into.link_layer = IBV_LINK_LAYER_INFINIBAND;
}

}  // namespace

/// The verbs of the data path look at the plan only where it speaks of them.
void plan_slots(Context& context) {
  using enum fabric::Verb;
  ibv_context_ops& slots = context.context.ops;
  set_slot(slots.poll_cq,
           is_planned(poll_cq) ? planned_verb<&shim::poll_cq, Answers::count> : verb<&shim::poll_cq, Answers::count>);
  set_slot(slots.req_notify_cq,
           is_planned(req_notify_cq) ? planned_verb<&shim::req_notify_cq> : verb<&shim::req_notify_cq>);
  set_slot(slots.post_send, is_planned(post_send) ? verb<post_as_planned<&shim::post_send, ibv_qp, ibv_send_wr>>
                                                  : verb<&shim::post_send>);
  set_slot(slots.post_recv, is_planned(post_recv) ? verb<post_as_planned<&shim::post_recv, ibv_qp, ibv_recv_wr>>
                                                  : verb<&shim::post_recv>);
  set_slot(slots.post_srq_recv, is_planned(post_srq_recv)
                                    ? verb<post_as_planned<&shim::post_srq_recv, ibv_srq, ibv_recv_wr>>
                                    : verb<&shim::post_srq_recv>);
}

void fill_context(Context& context, Device& device) {
  context.sz = sizeof(verbs_context);
  context.priv = reinterpret_cast<verbs_ex_private*>(context.provider_private);
  fill_unsupported(context);
  context.query_port = planned_verb<query_port>;
  context.query_device_ex = planned_verb<query_device_ex>;
  context.query_rt_values = planned_verb<query_rt_values>;
  context.create_cq_ex = planned_verb<create_cq_ex>;
  context.create_qp_ex = planned_verb<create_qp_ex>;
  context.create_srq_ex = planned_verb<create_srq_ex>;
  context.modify_cq = planned_verb<modify_cq>;
  context.modify_qp_rate_limit = planned_verb<modify_qp_rate_limit>;
  context.open_qp = planned_verb<open_qp>;
  context.open_xrcd = planned_verb<open_xrcd>;
  context.close_xrcd = planned_verb<close_xrcd>;
  context.get_srq_num = planned_verb<get_srq_num>;
  context.create_wq = planned_verb<create_wq>;
  context.modify_wq = planned_verb<modify_wq>;
  context.destroy_wq = planned_verb<destroy_wq>;
  context.create_rwq_ind_table = planned_verb<create_rwq_ind_table>;
  context.destroy_rwq_ind_table = planned_verb<destroy_rwq_ind_table>;
  context.ibv_create_flow = planned_verb<create_flow>;
  context.ibv_destroy_flow = planned_verb<destroy_flow>;
  context.create_counters = planned_verb<create_counters>;
  context.destroy_counters = planned_verb<destroy_counters>;
  context.attach_counters_point_flow = planned_verb<attach_counters_point_flow>;
  context.read_counters = planned_verb<read_counters>;
  context.alloc_td = planned_verb<alloc_td>;
  context.dealloc_td = planned_verb<dealloc_td>;
  context.alloc_parent_domain = planned_verb<alloc_parent_domain>;
  context.advise_mr = planned_verb<advise_mr>;
  context.alloc_null_mr = planned_verb<alloc_null_mr>;
  context.reg_dm_mr = planned_verb<reg_dm_mr>;
  context.alloc_dm = planned_verb<alloc_dm>;
  context.free_dm = planned_verb<free_dm>;

  ibv_context& base = context.context;
  base.device = &device.device;
  base.cmd_fd = -1;
  base.async_fd = -1;
  base.num_comp_vectors = std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
  pthread_mutex_init(&base.mutex, nullptr);
  base.abi_compat = __VERBS_ABI_IS_EXTENDED;
  base.ops._compat_query_device = planned_verb<compat_query_device>;
  base.ops._compat_query_port = planned_verb<compat_query_port>;
  base.ops.alloc_mw = planned_verb<alloc_mw>;
  base.ops.bind_mw = planned_verb<bind_mw>;
  base.ops.dealloc_mw = planned_verb<dealloc_mw>;
  plan_slots(*context_of(&base));
}

void release_objects(Context& context) {
  host::Engine* const engine = context.engine.load(std::memory_order_relaxed);
  if (engine == nullptr) return;
  for (const auto& live : Process::instance().objects_of(context)) {
    engine->run([&live](nic::Nic& nic, Time) {
      // A refusal (an object of another context still uses it) leaves the object to that context's end.
      switch (live.kind) {
        case Kind::flow:
          static_cast<void>(nic.destroy_flow(static_cast<Flow*>(live.object)->nic));
          break;
        case Kind::indirection_table:
          static_cast<void>(nic.destroy_indirection_table(static_cast<IndirectionTable*>(live.object)->nic));
          break;
        case Kind::work_queue:
          static_cast<void>(nic.destroy_work_queue(static_cast<Wq*>(live.object)->nic));
          break;
        case Kind::flow_counters:
          static_cast<void>(nic.destroy_flow_counters(static_cast<FlowCounters*>(live.object)->nic));
          break;
        case Kind::xrc_domain:
          static_cast<void>(leave_domain(nic, *static_cast<Xrcd*>(live.object)));
          break;
        case Kind::qp:
          static_cast<void>(nic.destroy_qp(static_cast<Qp*>(live.object)->nic));
          break;
        case Kind::ah:
          static_cast<void>(nic.destroy_ah(static_cast<Ah*>(live.object)->nic));
          break;
        case Kind::mw:
          static_cast<void>(nic.deallocate_window(static_cast<Mw*>(live.object)->nic));
          break;
        case Kind::mr:
          if (!static_cast<Mr*>(live.object)->imported)
            static_cast<void>(nic.deregister_memory(static_cast<Mr*>(live.object)->nic));
          break;
        case Kind::srq:
          static_cast<void>(nic.destroy_srq(static_cast<Srq*>(live.object)->nic));
          break;
        case Kind::cq:
          static_cast<void>(nic.destroy_cq(static_cast<Cq*>(live.object)->nic));
          break;
        case Kind::pd:
          if (!static_cast<Pd*>(live.object)->imported)
            static_cast<void>(nic.deallocate_pd(static_cast<Pd*>(live.object)->nic));
          break;
        case Kind::device_memory:
        case Kind::channel:
        case Kind::thread_domain:
        case Kind::parent_domain:
        case Kind::context:
          break;
      }
    });
  }
}

int compat_query_device(ibv_context* context, ibv_device_attr* attributes) {
  ibv_device_attr_ex extended{};
  const int error = query_device_ex(context, nullptr, &extended, sizeof extended);
  if (error == 0) *attributes = extended.orig_attr;
  return error;
}

int compat_query_port(ibv_context* context, std::uint8_t port, _compat_ibv_port_attr* attributes) {
  return query_port(context, port, reinterpret_cast<ibv_port_attr*>(attributes), kCompatPortBytes);
}

int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input, ibv_device_attr_ex* attributes,
                    std::size_t size) {
  if (input != nullptr && input->comp_mask != 0) return EINVAL;
  if (size < sizeof(ibv_device_attr)) return EINVAL;
  // In a child after fork() what is known is still told.
  if (engine_of(context) != nullptr && working_engine_of(context) == nullptr) return kNoDevice;
  ibv_device_attr_ex full{};
  ibv_device_attr& plain = full.orig_attr;
  fill_limits(context_of(context)->limits, plain);
  std::snprintf(plain.fw_ver, sizeof plain.fw_ver, "%s", VERBENA_VERSION);
  const host::DeviceIdentity& identity = device_of(context->device)->identity;
  plain.node_guid = guid_to(identity.node_guid);
  plain.sys_image_guid = guid_to(identity.system_image_guid);
  plain.vendor_id = kVendorNone;
  plain.hw_ver = 1;
  plain.device_cap_flags = IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_SRQ_RESIZE |
                           IBV_DEVICE_PORT_ACTIVE_EVENT | IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_MEM_WINDOW |
                           IBV_DEVICE_MEM_WINDOW_TYPE_2B | IBV_DEVICE_MEM_MGT_EXTENSIONS | IBV_DEVICE_XRC |
                           IBV_DEVICE_MANAGED_FLOW_STEERING;
  fill_extended_limits(context_of(context)->limits, full);
  plain.phys_port_cnt = static_cast<std::uint8_t>(device_of(context->device)->ports.size());
  fill_on_demand(full);
  full.max_dm_size = kDeviceMemoryBytes;
  full.completion_timestamp_mask = UINT64_MAX;
  full.hca_core_clock = 1'000'000;  // kHz: timestamps are nanoseconds
  show(device_of(context->device)->config.nic.look, full);
  full.device_cap_flags_ex = plain.device_cap_flags;
  full.phys_port_cnt_ex = plain.phys_port_cnt;
  std::memset(static_cast<void*>(attributes), 0, size);
  std::memcpy(static_cast<void*>(attributes), &full, std::min(size, sizeof full));
  return 0;
}

int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes, std::size_t size) {
  if (!device_of(context->device)->has_port(port)) return EINVAL;
  host::Engine* const engine = working_engine_of(context);
  if (engine == nullptr) return kNoDevice;
  const nic::NicConfig& config = config_of(context);
  ibv_port_attr full{};
  const bool is_up = engine->run([port](nic::Nic& nic, Time) { return nic.config().port(port).is_up; });
  const host::DeviceIdentity& identity = device_of(context->device)->ports[port - 1];
  full.state = is_up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
  full.max_mtu = IBV_MTU_4096;
  full.active_mtu = mtu_to(config.port_mtu_bytes);
  full.gid_tbl_len = static_cast<int>(config.gids_of(port).size());  // what exists on this link
  full.port_cap_flags = IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS;
  full.max_msg_sz = config.limits.max_message_bytes;
  full.pkey_tbl_len = config.limits.pkeys;
  full.max_vl_num = 1;
  const host::PortSpeed shown =
      host::port_speed(host::rate_of_port(device_of(context->device)->config.fabric, identity));
  full.active_width = shown.width;
  full.active_speed = shown.speed;
  full.phys_state = is_up ? host::kPhysicalStateLinkUp : host::kPhysicalStatePolling;
  if (identity.is_infiniband) {
    fill_infiniband_port(*device_of(context->device), port, is_up, full);
  } else {
    full.link_layer = IBV_LINK_LAYER_ETHERNET;
    full.flags = IBV_QPF_GRH_REQUIRED;
  }
  std::memset(static_cast<void*>(attributes), 0, size);
  std::memcpy(static_cast<void*>(attributes), &full, std::min(size, sizeof full));
  return 0;
}

int query_rt_values(ibv_context* context, ibv_values_ex* values) {
  host::Engine* const engine = working_engine_of(context);
  if (engine == nullptr) return kNoDevice;
  values->comp_mask &= IBV_VALUES_MASK_RAW_CLOCK;  // what is asked for; what is answered
  if (values->comp_mask == 0) return 0;
  const std::int64_t now_ns = engine->run([](nic::Nic&, Time now) { return now.ns; });
  // The unit of hca_core_clock, in the two halves of a timespec.
  values->raw_clock.tv_sec = now_ns / 1'000'000'000;
  values->raw_clock.tv_nsec = now_ns % 1'000'000'000;
  return 0;
}

namespace {
/// Of a port that there is. A subnet manager may change it meanwhile. Nothing: the table is not that long.
std::optional<nic::GidEntry> gid_entry(host::Engine& engine, std::uint32_t port, std::uint32_t index) {
  return engine.run([&](nic::Nic& nic, Time) -> std::optional<nic::GidEntry> {
    const auto gids = nic.config().gids_of(port);
    return index < gids.size() ? std::optional(gids[index]) : std::nullopt;
  });
}

/// Of an entry of the GID table.
unsigned network_device_index(ibv_context* context, std::uint32_t port, const wire::Gid& gid) {
  const host::DeviceIdentity& identity = device_of(context->device)->ports[port - 1];
  if (identity.own_interface != nullptr) return identity.own_interface->index;
  char name[IF_NAMESIZE];
  return if_nametoindex(host::network_device_of(identity, gid, name));
}
}  // namespace

int query_gid_ex(ibv_context* context, std::uint32_t port_num, std::uint32_t gid_index, ibv_gid_entry* entry,
                 std::uint32_t flags, std::size_t entry_size) {
  if (flags != 0 || !device_of(context->device)->has_port(port_num)) return EINVAL;
  host::Engine* const engine = working_engine_of(context);
  if (engine == nullptr) return kNoDevice;
  const auto found = gid_entry(*engine, port_num, gid_index);
  if (!found) return EINVAL;
  const verbena::wire::Gid& gid = found->gid;
  if (gid == verbena::wire::Gid{}) return ENODATA;
  ibv_gid_entry full{};
  full.gid = gid_to(gid);
  full.gid_index = gid_index;
  full.port_num = port_num;
  if (found->encapsulation == &verbena::wire::kInfiniBand) {
    full.gid_type = IBV_GID_TYPE_IB;  // of no network interface
  } else {
    full.gid_type = found->encapsulation == &verbena::wire::kRoceV1 ? IBV_GID_TYPE_ROCE_V1 : IBV_GID_TYPE_ROCE_V2;
    full.ndev_ifindex = network_device_index(context, port_num, gid);
  }
  std::memset(static_cast<void*>(entry), 0, entry_size);
  std::memcpy(static_cast<void*>(entry), &full, std::min(entry_size, sizeof full));
  return 0;
}

ssize_t query_gid_table(ibv_context* context, ibv_gid_entry* entries, std::size_t max_entries, std::uint32_t flags,
                        std::size_t entry_size) {
  if (working_engine_of(context) == nullptr) return -kNoDevice;
  auto* into = reinterpret_cast<std::byte*>(entries);
  std::size_t count = 0;
  const nic::NicConfig& config = config_of(context);
  for (std::uint32_t port = 1; port <= config.port_count; ++port) {
    for (std::uint32_t index = 0; index < config.gids_of(port).size(); ++index) {
      ibv_gid_entry entry{};
      const int error = query_gid_ex(context, port, index, &entry, flags, sizeof entry);
      if (error == ENODATA) continue;
      if (error != 0) return -error;
      if (count == max_entries) return -EINVAL;  // as the kernel answers when the table does not fit
      std::memset(into, 0, entry_size);
      std::memcpy(into, &entry, std::min(entry_size, sizeof entry));
      into += entry_size;
      ++count;
    }
  }
  return static_cast<ssize_t>(count);
}

int query_gid(ibv_context* context, std::uint8_t port_num, int index, ibv_gid* gid) {
  ibv_gid_entry entry{};
  const int error = query_gid_ex(context, port_num, static_cast<std::uint32_t>(index), &entry, 0, sizeof entry);
  if (error != 0 && error != ENODATA) {
    errno = error;
    return -1;
  }
  *gid = entry.gid;
  return 0;
}

// Private to rdma-core, but called by its own ibv_devinfo: 0 is RoCE v1 (or InfiniBand), 1 is RoCE v2, as in sysfs.
int query_gid_type(ibv_context* context, std::uint8_t port_num, unsigned int index, int* type) {
  ibv_gid_entry entry{};
  const int error = query_gid_ex(context, port_num, index, &entry, 0, sizeof entry);
  if (error != 0 && error != ENODATA) {
    errno = error;
    return -1;
  }
  *type = entry.gid_type == IBV_GID_TYPE_ROCE_V2 ? 1 : 0;
  return 0;
}

namespace {
/// The table of a port that the device has.
std::vector<std::uint16_t> pkeys_of(ibv_context* context, std::uint8_t port_num) {
  const host::DeviceIdentity& identity = device_of(context->device)->ports[port_num - 1];
  const std::vector<std::uint16_t>& own = device_of(context->device)->config.nic.look.pkeys;
  if (!identity.is_infiniband) return own.empty() ? std::vector{wire::kPkeyDefault} : own;
  const host::ManagedPort port = host::infiniband_port(device_of(context->device)->config.fabric, identity, true);
  return {port.pkeys.begin(), port.pkeys.end()};
}
}  // namespace

int query_pkey(ibv_context* context, std::uint8_t port_num, int index, __be16* pkey) {
  const bool has_device = working_engine_of(context) != nullptr;
  if (!has_device || !device_of(context->device)->has_port(port_num) || index < 0 ||
      index >= config_of(context).limits.pkeys) {
    errno = has_device ? EINVAL : kNoDevice;
    return -1;
  }
  *pkey = htobe16(pkeys_of(context, port_num)[static_cast<std::size_t>(index)]);
  return 0;
}

int get_pkey_index(ibv_context* context, std::uint8_t port_num, __be16 pkey) {
  __be16 found = 0;
  if (query_pkey(context, port_num, 0, &found) != 0) return -1;
  const std::vector<std::uint16_t> table = pkeys_of(context, port_num);
  const auto at = std::ranges::find(table, be16toh(pkey));
  if (at != table.end()) return static_cast<int>(at - table.begin());
  errno = EINVAL;
  return -1;
}

}  // namespace verbena::shim
