#include "verbs-shim/verbs/translate.h"

#include <endian.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace verbena::shim {

wire::Gid gid_of(const ibv_gid& gid) {
  wire::Gid result;
  std::ranges::copy(gid.raw, result.octets.begin());
  return result;
}

ibv_gid gid_to(const wire::Gid& gid) {
  ibv_gid result{};
  std::ranges::copy(gid.octets, result.raw);
  return result;
}

std::uint64_t guid_to(const std::array<std::uint8_t, 8>& octets) {
  return std::bit_cast<std::uint64_t>(octets);
}

std::optional<std::uint32_t> mtu_bytes_of(ibv_mtu mtu) {
  if (mtu < IBV_MTU_256 || mtu > IBV_MTU_4096) return std::nullopt;
  return 128u << mtu;
}

ibv_mtu mtu_to(std::uint32_t bytes) {
  int mtu = IBV_MTU_256;
  while (mtu < IBV_MTU_4096 && (128u << (mtu + 1)) <= bytes) ++mtu;
  return static_cast<ibv_mtu>(mtu);
}

namespace {

/// RFC 1112, 6.4 and RFC 2464, 7: the Ethernet address of a multicast group.
wire::MacAddress multicast_mac(const wire::Gid& group) {
  const auto& octets = group.octets;
  if (group.is_ipv4())
    return {{0x01, 0x00, 0x5e, static_cast<std::uint8_t>(octets[13] & 0x7f), octets[14], octets[15]}};
  return {{0x33, 0x33, octets[12], octets[13], octets[14], octets[15]}};
}

}  // namespace

namespace {

/// IBA volume 1, 11.2.2.1: the LID says where a packet goes within the subnet. With a GRH the GIDs are compared too.
/// Nobody is asked: the program, or the subnet manager, knows the LID. The NIC judges the source GID.
int infiniband_vector_of(const ibv_ah_attr& attributes, nic::AddressVector& into) {
  constexpr std::uint8_t kServiceLevels = 16;
  const wire::Lid to(attributes.dlid);
  const bool is_global = attributes.is_global != 0;
  const bool is_for_group = to.is_multicast();
  if (to == wire::kLidNone || to == wire::kLidPermissive || attributes.sl >= kServiceLevels) return EINVAL;
  // 10.2.1.2: packets for a group have a GRH, which names it.
  if (is_for_group != (is_global && gid_of(attributes.grh.dgid).is_multicast())) return EINVAL;
  if (is_global) {
    into.destination = gid_of(attributes.grh.dgid);
    if (into.destination == wire::Gid{}) return EINVAL;
    into.source_gid_index = attributes.grh.sgid_index;
    into.traffic_class = attributes.grh.traffic_class;
    into.hop_limit = attributes.grh.hop_limit;
    into.flow_label = attributes.grh.flow_label & 0xfffff;
  } else {
    into.destination = wire::gid_of(to);
  }
  into.next_hop = wire::PathAddress(to, attributes.sl);
  into.service_level = attributes.sl;
  constexpr std::uint8_t kPathBits = 0x7f;  // as mlx5 keeps them; the port takes as many as its LMC says
  into.path_bits = attributes.src_path_bits & kPathBits;
  into.port = attributes.port_num;
  into.static_rate = attributes.static_rate;
  return 0;
}

}  // namespace

int address_vector_of(const ibv_ah_attr& attributes, host::Engine& engine, nic::AddressVector& into) {
  const nic::NicConfig& config = engine.nic_config();
  const std::uint8_t port = attributes.port_num;
  if (!config.has_port(port)) return EINVAL;
  if (config.medium() == wire::Medium::infiniband) return infiniband_vector_of(attributes, into);
  if (attributes.is_global == 0) return EINVAL;  // Ethernet has no place for a LID (IBV_QPF_GRH_REQUIRED)
  if (attributes.grh.sgid_index >= config.gids_of(port).size()) return EINVAL;
  into.destination = gid_of(attributes.grh.dgid);
  into.source_gid_index = attributes.grh.sgid_index;
  into.traffic_class = attributes.grh.traffic_class;
  into.hop_limit = attributes.grh.hop_limit;
  into.flow_label = attributes.grh.flow_label & 0xfffff;
  into.service_level = attributes.sl;
  into.port = port;
  into.static_rate = attributes.static_rate;
  if (into.destination == wire::Gid{}) return EINVAL;
  if (into.destination.is_multicast()) {
    into.next_hop = multicast_mac(into.destination);
    return 0;
  }
  const auto next_hop = engine.resolve(into.destination, port);
  if (!next_hop) return ETIMEDOUT;
  into.next_hop = *next_hop;
  return 0;
}

ibv_ah_attr address_vector_to(const nic::AddressVector& address_vector) {
  ibv_ah_attr attributes{};
  attributes.sl = address_vector.service_level;
  attributes.static_rate = address_vector.static_rate;
  attributes.port_num = address_vector.port;
  if (address_vector.next_hop.medium() == wire::Medium::infiniband) {
    attributes.dlid = address_vector.next_hop.lid().value();
    attributes.src_path_bits = address_vector.path_bits;
    if (wire::lid_of(address_vector.destination)) return attributes;
  }
  attributes.grh.dgid = gid_to(address_vector.destination);
  attributes.grh.flow_label = address_vector.flow_label;
  attributes.grh.sgid_index = address_vector.source_gid_index;
  attributes.grh.hop_limit = address_vector.hop_limit;
  attributes.grh.traffic_class = address_vector.traffic_class;
  attributes.is_global = 1;
  return attributes;
}

void capabilities_to(const nic::QpCapabilities& capabilities, ibv_qp_cap& into) {
  into.max_send_wr = capabilities.max_send_wr;
  into.max_recv_wr = capabilities.max_recv_wr;
  into.max_send_sge = capabilities.max_send_sge;
  into.max_recv_sge = capabilities.max_recv_sge;
  into.max_inline_data = capabilities.max_inline_data;
}

nic::QpCapabilities capabilities_of(const ibv_qp_cap& capabilities) {
  return {.max_send_wr = capabilities.max_send_wr,
          .max_recv_wr = capabilities.max_recv_wr,
          .max_send_sge = capabilities.max_send_sge,
          .max_recv_sge = capabilities.max_recv_sge,
          .max_inline_data = capabilities.max_inline_data};
}

int qp_attributes_of(const ibv_qp_attr& attributes, int mask, host::Engine& engine, nic::QpAttributes& into) {
  constexpr int kKnown = (IBV_QP_DEST_QPN << 1) - 1;  // cmd.c of libibverbs and uverbs_cmd.c: beyond it no such command
  if ((mask & ~(kKnown | IBV_QP_RATE_LIMIT)) != 0) return EOPNOTSUPP;
  if ((mask & IBV_QP_STATE) != 0 && attributes.qp_state > IBV_QPS_ERR) return EINVAL;
  if ((mask & IBV_QP_CUR_STATE) != 0 && attributes.cur_qp_state > IBV_QPS_ERR) return EINVAL;
  into.state = static_cast<nic::QpState>(attributes.qp_state);
  into.current_state = static_cast<nic::QpState>(attributes.cur_qp_state);
  if ((mask & IBV_QP_PATH_MTU) != 0) {
    const auto bytes = mtu_bytes_of(attributes.path_mtu);
    if (!bytes) return EINVAL;
    into.path_mtu_bytes = *bytes;
  }
  into.path_migration = static_cast<nic::MigrationState>(attributes.path_mig_state);
  into.qkey = attributes.qkey;
  into.rq_psn = wire::Psn(attributes.rq_psn);
  into.sq_psn = wire::Psn(attributes.sq_psn);
  into.dest_qpn = wire::Qpn(attributes.dest_qp_num);
  into.access = attributes.qp_access_flags;
  into.capabilities = capabilities_of(attributes.cap);
  into.pkey_index = attributes.pkey_index;
  into.enable_sqd_async_notify = attributes.en_sqd_async_notify != 0;
  into.max_read_atomic = attributes.max_rd_atomic;
  into.max_dest_read_atomic = attributes.max_dest_rd_atomic;
  into.min_rnr_timer = attributes.min_rnr_timer;
  into.port = attributes.port_num;
  into.timeout = attributes.timeout;
  into.retry_count = attributes.retry_cnt;
  into.rnr_retry = attributes.rnr_retry;
  into.rate_limit_kbps = attributes.rate_limit;
  return (mask & IBV_QP_AV) == 0 ? 0 : address_vector_of(attributes.ah_attr, engine, into.address_vector);
}

void qp_attributes_to(const nic::QpAttributes& attributes, ibv_qp_attr& into) {
  into = {};
  into.qp_state = static_cast<ibv_qp_state>(attributes.state);
  into.cur_qp_state = static_cast<ibv_qp_state>(attributes.state);
  into.path_mtu = mtu_to(attributes.path_mtu_bytes);
  into.path_mig_state = static_cast<ibv_mig_state>(attributes.path_migration);
  into.qkey = attributes.qkey;
  into.rq_psn = attributes.rq_psn.value();
  into.sq_psn = attributes.sq_psn.value();
  into.dest_qp_num = attributes.dest_qpn.value();
  into.qp_access_flags = attributes.access;
  capabilities_to(attributes.capabilities, into.cap);
  into.ah_attr = address_vector_to(attributes.address_vector);
  into.pkey_index = attributes.pkey_index;
  into.en_sqd_async_notify = attributes.enable_sqd_async_notify ? 1 : 0;
  into.sq_draining = attributes.sq_draining ? 1 : 0;
  into.max_rd_atomic = attributes.max_read_atomic;
  into.max_dest_rd_atomic = attributes.max_dest_read_atomic;
  into.min_rnr_timer = attributes.min_rnr_timer;
  into.port_num = attributes.port;
  into.timeout = attributes.timeout;
  into.retry_cnt = attributes.retry_count;
  into.rnr_retry = attributes.rnr_retry;
  into.rate_limit = attributes.rate_limit_kbps;
}

unsigned completion_flags_of(const nic::Completion& completion) {
  unsigned flags = 0;
  if (completion.has_grh) flags |= IBV_WC_GRH;
  if (completion.has_immediate) flags |= IBV_WC_WITH_IMM;
  if (completion.has_invalidate) flags |= IBV_WC_WITH_INV;
  return flags;
}

std::uint16_t source_lid_of(const nic::Completion& completion) {
  return completion.is_from_lid ? static_cast<std::uint16_t>(completion.flow_tag) : 0;
}

void completion_to(const nic::Completion& completion, ibv_wc& into) {
  into.wr_id = completion.wr_id;
  into.status = static_cast<ibv_wc_status>(completion.status);
  into.opcode = static_cast<ibv_wc_opcode>(completion.opcode);
  into.vendor_err = 0;
  into.byte_len = completion.byte_count;
  // Immediate data is a value of the application in network order; an invalidated key is a number in host order.
  into.imm_data = completion.has_invalidate ? completion.immediate : htobe32(completion.immediate);
  into.qp_num = completion.qpn.value();
  into.src_qp = completion.source_qpn.value();
  into.wc_flags = completion_flags_of(completion);
  into.pkey_index = 0;
  into.slid = source_lid_of(completion);
  into.sl = completion.service_level;
  into.dlid_path_bits = completion.path_bits;
}

}  // namespace verbena::shim
