// Address handles: ibv_create_ah, ibv_create_ah_from_wc, ibv_init_ah_from_wc, ibv_destroy_ah, and the Ethernet address
// behind a GID (ibv_resolve_eth_l2_from_gid).
// Tested by: tests/shim/verbs/errno_test.cc, tests/shim/verbs/data_test.cc
#include <endian.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <span>

#include "verbs-shim/verbs/live.h"
#include "verbs-shim/verbs/objects.h"
#include "verbs-shim/verbs/process.h"
#include "verbs-shim/verbs/translate.h"
#include "wire/roce_v1.h"

namespace verbena::shim {
namespace {

constexpr std::uint16_t kNoVlan = 0xffff;

/// Source and destination of a received datagram, from the 40 octets before its payload. RoCE v2 puts the IPv4 header
/// into the last 20 of them (IBTA annex A17); an IPv6 header fills all 40, and so does the GRH of RoCE v1, which only
/// its next header tells from it.
struct ReceivedAddress {
  const wire::Encapsulation* encapsulation = &wire::kRoceV2;  // null: none that is known
  wire::Gid source;
  wire::Gid destination;
  std::uint32_t flow_label = 0;
  std::uint8_t traffic_class = 0;
};

ReceivedAddress received_address(const ibv_grh& grh, bool is_infiniband) {
  std::uint8_t octets[sizeof grh];
  std::memcpy(octets, &grh, sizeof grh);
  ReceivedAddress address;
  const auto be32 = [&octets](std::size_t at) {
    std::uint32_t value = 0;
    std::memcpy(&value, octets + at, sizeof value);
    return be32toh(value);
  };
  constexpr std::size_t kIpv4At = 20;
  const bool is_ipv6 = octets[0] >> 4 == 6;
  if (!is_ipv6 && octets[kIpv4At] == 0x45) {
    address.source = wire::Gid::from_ipv4(be32(kIpv4At + 12));
    address.destination = wire::Gid::from_ipv4(be32(kIpv4At + 16));
    address.traffic_class = octets[kIpv4At + 1];
    return address;
  }
  constexpr std::size_t kNextHeaderAt = 6;
  address.encapsulation = octets[kNextHeaderAt] == wire::kIpProtocolUdp      ? &wire::kRoceV2
                          : octets[kNextHeaderAt] != wire::kGrhNextHeaderIba ? nullptr
                          : is_infiniband                                    ? &wire::kInfiniBand
                                                                             : &wire::kRoceV1;
  std::copy_n(octets + 8, 16, address.source.octets.begin());
  std::copy_n(octets + 24, 16, address.destination.octets.begin());
  address.flow_label = be32(0) & 0xfffff;
  address.traffic_class = static_cast<std::uint8_t>(be32(0) >> 20);
  return address;
}

/// Of the entry by which a reply leaves. Nothing: the datagram was for none of the table's.
std::optional<std::uint8_t> index_of(std::span<const nic::GidEntry> gids, const ReceivedAddress& received) {
  auto found = std::ranges::find_if(gids, [&](const nic::GidEntry& own) {
    return own.gid == received.destination && own.encapsulation == received.encapsulation;
  });
  // A multicast group is nobody's address: the reply comes from the first entry.
  if (found == gids.end() && received.destination.is_multicast())
    found = std::ranges::find(gids, received.encapsulation, &nic::GidEntry::encapsulation);
  if (found == gids.end()) return std::nullopt;
  return static_cast<std::uint8_t>(found - gids.begin());
}

}  // namespace

ibv_ah* create_ah(ibv_pd* pd, ibv_ah_attr* attr) {
  const auto found = live_engine(pd);
  if (!found) return fail(found.error());
  verbena::host::Engine* const engine = *found;
  verbena::nic::AddressVector address_vector;
  if (const int error = address_vector_of(*attr, *engine, address_vector); error != 0) return fail(error);
  auto* const ah = new (std::nothrow) Ah();
  if (ah == nullptr) return fail(ENOMEM);
  const auto made = engine->run(
      [&](verbena::nic::Nic& nic, verbena::Time) { return nic.create_ah(static_cast<Pd*>(pd)->nic, address_vector); });
  if (!made) {
    delete ah;
    return fail(errno_of(made));
  }
  ah->nic = *made;
  ah->context = pd->context;
  ah->pd = pd;
  ah->handle = made->index;
  Process::instance().enlist(Kind::ah, ah, pd->context);
  return ah;
}

namespace {
/// What every reply on InfiniBand goes by: the LIDs of the datagram.
void fill_local_route(const ibv_wc& wc, std::uint8_t port, ibv_ah_attr& into) {
  into.port_num = port;
  into.sl = wc.sl;
  into.dlid = wc.slid;
  into.src_path_bits = wc.dlid_path_bits;
}
}  // namespace

int init_ah_from_wc(ibv_context* context, std::uint8_t port_num, ibv_wc* wc, ibv_grh* grh, ibv_ah_attr* ah_attr) {
  verbena::host::Engine* const engine = working_engine_of(context);
  *ah_attr = {};
  const bool is_infiniband = engine != nullptr && engine->nic_config().medium() == wire::Medium::infiniband;
  const bool has_grh = (wc->wc_flags & IBV_WC_GRH) != 0;
  if (engine == nullptr || !engine->nic_config().has_port(port_num) || (!has_grh && !is_infiniband)) {
    errno = engine == nullptr ? kNoDevice : EINVAL;
    return -1;
  }
  if (!has_grh) {
    fill_local_route(*wc, port_num, *ah_attr);
    return 0;
  }
  const ReceivedAddress received = received_address(*grh, is_infiniband);
  if (received.encapsulation == nullptr) {
    errno = EPROTONOSUPPORT;
    return -1;
  }
  const auto index =
      engine->run([&](nic::Nic& nic, Time) { return index_of(nic.config().gids_of(port_num), received); });
  if (!index) {
    errno = EINVAL;
    return -1;
  }
  ah_attr->is_global = 1;
  fill_local_route(*wc, port_num, *ah_attr);
  ah_attr->grh.dgid = gid_to(received.source);
  ah_attr->grh.sgid_index = *index;
  ah_attr->grh.hop_limit = 0xff;
  ah_attr->grh.flow_label = received.flow_label;
  ah_attr->grh.traffic_class = received.traffic_class;
  return 0;
}

ibv_ah* create_ah_from_wc(ibv_pd* pd, ibv_wc* wc, ibv_grh* grh, std::uint8_t port_num) {
  if (!is_live(pd)) return fail(missing(pd));
  ibv_ah_attr attributes{};
  if (init_ah_from_wc(pd->context, port_num, wc, grh, &attributes) != 0) return nullptr;
  return create_ah(pd, &attributes);
}

int destroy_ah(ibv_ah* ah) {
  auto* const object = static_cast<Ah*>(ah);
  Process& process = Process::instance();
  if (!is_live(ah)) return missing(ah);
  if (verbena::host::Engine* const engine = engine_of(ah->context)) {
    const auto gone =
        engine->run([object](verbena::nic::Nic& nic, verbena::Time) { return nic.destroy_ah(object->nic); });
    if (!gone) return errno_of(gone);
  }
  process.withdraw(Kind::ah, object);
  release(context_of(ah->context));
  delete object;
  return 0;
}

int resolve_eth_l2_from_gid(ibv_context* context, ibv_ah_attr* attr, std::uint8_t eth_mac[ETHERNET_LL_SIZE],
                            std::uint16_t* vid) {
  verbena::host::Engine* const engine = working_engine_of(context);
  if (engine == nullptr) return kNoDevice;
  if (engine->nic_config().medium() == wire::Medium::infiniband) return EOPNOTSUPP;
  verbena::nic::AddressVector address_vector;
  ibv_ah_attr attributes = *attr;
  attributes.is_global = 1;  // libibverbs looks at the GIDs alone
  if (const int error = address_vector_of(attributes, *engine, address_vector); error != 0) return error;
  std::ranges::copy(address_vector.next_hop.mac().octets, eth_mac);
  if (vid != nullptr) *vid = kNoVlan;
  return 0;
}

}  // namespace verbena::shim
