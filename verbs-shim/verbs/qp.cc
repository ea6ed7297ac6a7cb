// Queue pairs: ibv_create_qp .. ibv_destroy_qp, and posting to them.
// Tested by: tests/shim/verbs/queues_test.cc, tests/shim/verbs/errno_test.cc
#include <endian.h>

#include <algorithm>
#include <new>

#include "verbs-shim/verbs/context_ops.h"
#include "verbs-shim/verbs/domain_memory.h"
#include "verbs-shim/verbs/events.h"
#include "verbs-shim/verbs/live.h"
#include "verbs-shim/verbs/objects.h"
#include "verbs-shim/verbs/process.h"
#include "verbs-shim/verbs/requests.h"
#include "verbs-shim/verbs/staged_requests.h"
#include "verbs-shim/verbs/translate.h"

namespace verbena::shim {

Qp::~Qp() = default;

namespace {

bool is_known_type(ibv_qp_type type) {
  return type == IBV_QPT_RC || type == IBV_QPT_UC || type == IBV_QPT_UD || type == IBV_QPT_RAW_PACKET ||
         type == IBV_QPT_XRC_SEND || type == IBV_QPT_XRC_RECV;
}

bool names(const ibv_qp_init_attr_ex& attributes, ibv_qp_init_attr_mask part) {
  return (attributes.comp_mask & part) != 0;
}

/// Whether everything the attributes name is found in the context: a NIC knows the handles of one context only. 0 or an
/// errno value.
int missing_part(const ibv_context* context, const ibv_qp_init_attr_ex& attributes) {
  if (attributes.qp_type == IBV_QPT_XRC_RECV) {
    if (!names(attributes, IBV_QP_INIT_ATTR_XRCD)) return EINVAL;
    return missing_in(context, attributes.xrcd);
  }
  if (!names(attributes, IBV_QP_INIT_ATTR_PD)) return EINVAL;
  if (const int error = missing_in(context, attributes.pd); error != 0) return error;
  if (names(attributes, IBV_QP_INIT_ATTR_IND_TABLE)) return 0;  // refusal_of_spread()
  if (const int error = missing_in(context, attributes.send_cq); error != 0) return error;
  if (attributes.qp_type != IBV_QPT_XRC_SEND)
    if (const int error = missing_in(context, attributes.recv_cq); error != 0) return error;
  return attributes.srq == nullptr ? 0 : missing_in(context, attributes.srq);
}

/// Receive-side scaling: an indirection table and a hash, both or neither, of a raw packet QP, which has then nothing
/// else to receive with (create_qp in uverbs_cmd.c).
int refusal_of_spread(const ibv_context* context, const ibv_qp_init_attr_ex& attributes) {
  const bool has_table = names(attributes, IBV_QP_INIT_ATTR_IND_TABLE);
  if (!has_table && !names(attributes, IBV_QP_INIT_ATTR_RX_HASH)) return 0;
  if (attributes.qp_type != IBV_QPT_RAW_PACKET) return EOPNOTSUPP;
  const ibv_rx_hash_conf& hash = attributes.rx_hash_conf;
  if (!has_table || !names(attributes, IBV_QP_INIT_ATTR_RX_HASH) || attributes.srq != nullptr ||
      attributes.cap.max_recv_wr != 0 || attributes.cap.max_recv_sge != 0 ||
      hash.rx_hash_key_len != nic::ReceiveHash::kKeyBytes || hash.rx_hash_key == nullptr)
    return EINVAL;
  if (const int error = missing_in(context, attributes.rwq_ind_tbl); error != 0) return error;
  const bool fits = hash.rx_hash_function == IBV_RX_HASH_FUNC_TOEPLITZ &&
                    (hash.rx_hash_fields_mask & ~std::uint64_t{kReceiveHashFields}) == 0;
  return fits ? 0 : EOPNOTSUPP;
}

std::uint32_t create_flags_of(ibv_qp_type type) {
  if (type == IBV_QPT_RAW_PACKET) return IBV_QP_CREATE_BLOCK_SELF_MCAST_LB | IBV_QP_CREATE_CVLAN_STRIPPING;
  return type == IBV_QPT_UD ? std::uint32_t{IBV_QP_CREATE_BLOCK_SELF_MCAST_LB} : 0;
}

/// The operations that a QP of the type can be asked to build.
std::uint64_t operations_of(ibv_qp_type type) {
  constexpr std::uint64_t kSends = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
  constexpr std::uint64_t kWrites = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
  if (type == IBV_QPT_UD) return kSends;
  constexpr std::uint64_t kLocal = IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV;
  if (type == IBV_QPT_RAW_PACKET) return IBV_QP_EX_WITH_SEND;
  if (type == IBV_QPT_XRC_RECV) return 0;
  if (type == IBV_QPT_UC) return kSends | kWrites | kLocal;
  return kSends | kWrites | kLocal | IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_ATOMIC_WRITE |
         IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
}

host::Refusable refusable_of(ibv_qp_type type) {
  switch (type) {
    case IBV_QPT_UC:
      return host::Refusable::uc;
    case IBV_QPT_UD:
      return host::Refusable::ud;
    case IBV_QPT_RAW_PACKET:
      return host::Refusable::raw;
    case IBV_QPT_XRC_SEND:
    case IBV_QPT_XRC_RECV:
      return host::Refusable::xrc;
    default:
      return host::Refusable::rc;
  }
}

int refusal_of(const ibv_context* context, const ibv_qp_init_attr_ex& attributes) {
  constexpr std::uint32_t kKnown = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD | IBV_QP_INIT_ATTR_CREATE_FLAGS |
                                   IBV_QP_INIT_ATTR_SEND_OPS_FLAGS | IBV_QP_INIT_ATTR_IND_TABLE |
                                   IBV_QP_INIT_ATTR_RX_HASH;
  if (!is_known_type(attributes.qp_type) || (attributes.comp_mask & ~kKnown) != 0) return EOPNOTSUPP;
  if (const int error = refusal_by_device(context, refusable_of(attributes.qp_type)); error != 0) return error;
  if (const int error = missing_part(context, attributes); error != 0) return error;
  if (names(attributes, IBV_QP_INIT_ATTR_CREATE_FLAGS) &&
      (attributes.create_flags & ~create_flags_of(attributes.qp_type)) != 0)
    return EOPNOTSUPP;
  if (names(attributes, IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) &&
      (attributes.send_ops_flags & ~operations_of(attributes.qp_type)) != 0)
    return EOPNOTSUPP;
  return refusal_of_spread(context, attributes);
}

void fill_base(ibv_qp& base, ibv_context* context, const ibv_qp_init_attr_ex& attributes) {
  base.context = context;
  base.qp_context = attributes.qp_context;
  base.pd = names(attributes, IBV_QP_INIT_ATTR_PD) ? attributes.pd : nullptr;  // an XRC_RECV QP may have none
  base.send_cq = attributes.send_cq;
  base.recv_cq = attributes.recv_cq;
  base.srq = attributes.srq;
  base.state = IBV_QPS_RESET;
  base.qp_type = attributes.qp_type;
  pthread_mutex_init(&base.mutex, nullptr);
  pthread_cond_init(&base.cond, nullptr);
}

nic::QpInit init_of(const ibv_qp_init_attr_ex& attributes) {
  nic::QpInit init{.type = static_cast<nic::QpType>(attributes.qp_type),
                   .capabilities = capabilities_of(attributes.cap),
                   .signal_all = attributes.sq_sig_all != 0};
  if (names(attributes, IBV_QP_INIT_ATTR_CREATE_FLAGS)) {
    init.blocks_own_groups = (attributes.create_flags & IBV_QP_CREATE_BLOCK_SELF_MCAST_LB) != 0;
    init.strips_vlan = (attributes.create_flags & IBV_QP_CREATE_CVLAN_STRIPPING) != 0;
  }
  if (attributes.qp_type == IBV_QPT_XRC_RECV) {
    init.xrc_domain = domain_of(*static_cast<Xrcd*>(attributes.xrcd));
    return init;
  }
  init.pd = static_cast<Pd*>(attributes.pd)->nic;
  if (names(attributes, IBV_QP_INIT_ATTR_IND_TABLE)) {
    init.indirection_table = static_cast<IndirectionTable*>(attributes.rwq_ind_tbl)->nic;
    std::copy_n(attributes.rx_hash_conf.rx_hash_key, init.hash.key.size(), init.hash.key.begin());
    init.hash.fields = static_cast<std::uint32_t>(attributes.rx_hash_conf.rx_hash_fields_mask);
    return init;
  }
  init.send_cq = cq_of(attributes.send_cq)->nic;
  if (attributes.qp_type == IBV_QPT_XRC_SEND) return init;
  init.recv_cq = cq_of(attributes.recv_cq)->nic;
  if (attributes.srq != nullptr) init.srq = static_cast<Srq*>(attributes.srq)->nic;
  return init;
}

/// Lets the NIC make the QP behind `qp`. 0 or an errno value.
int create_on_nic(host::Engine& engine, const ibv_qp_init_attr_ex& attributes, Qp& qp) {
  nic::QpInit init = init_of(attributes);
  init.context = qp.id;
  std::uint32_t& qps_made = device_of(qp.qp_base.context->device)->qps_made;
  const auto made = engine.run([&](nic::Nic& nic, Time) {
    init.number = qps_made;
    auto handle = nic.create_qp(init);
    if (handle) {
      qp.qp_base.qp_num = nic.qpn(*handle).value();
      ++qps_made;
    }
    return handle;
  });
  if (!made) return errno_of(made);
  qp.nic = *made;
  qp.qp_base.handle = made->index;
  qp.capabilities = init.capabilities;
  qp.number = init.number;
  if (attributes.qp_type != IBV_QPT_XRC_RECV) return 0;
  qp.xrcd = static_cast<Xrcd*>(attributes.xrcd);
  qp.xrcd->users.add();
  return 0;
}

ibv_qp* create(ibv_context* context, ibv_qp_init_attr_ex& attributes) {
  host::Engine* const engine = working_engine_of(context);
  if (engine == nullptr) return fail(kNoDevice);
  if (const int error = refusal_of(context, attributes); error != 0) return fail(error);
  auto* const qp = make_on<Qp>(names(attributes, IBV_QP_INIT_ATTR_PD) ? attributes.pd : nullptr);
  if (qp == nullptr) return fail(ENOMEM);
  // The octets of an ATOMIC WRITE travel in the work request.
  const bool has_operations = (attributes.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0;
  if (has_operations && (attributes.send_ops_flags & IBV_QP_EX_WITH_ATOMIC_WRITE) != 0)
    attributes.cap.max_inline_data = std::max<std::uint32_t>(attributes.cap.max_inline_data, kAtomicWriteBytes);
  fill_base(qp->qp_base, context, attributes);
  qp->signal_all = attributes.sq_sig_all != 0;
  fill_building(*qp);
  qp->id = Process::instance().enlist(Kind::qp, qp, context);
  int error = create_on_nic(*engine, attributes, *qp);
  if (error == 0 && has_operations) {
    qp->send_operations = attributes.send_ops_flags;
    qp->staged = StagedRequests::make(qp->capabilities);
    if (!qp->staged) {
      static_cast<void>(engine->run([qp](nic::Nic& nic, Time) { return nic.destroy_qp(qp->nic); }));
      error = ENOMEM;
    }
  }
  if (error != 0) {
    Process::instance().withdraw(Kind::qp, qp);
    release(context_of(context));
    release_made(qp);
    return fail(error);
  }
  capabilities_to(qp->capabilities, attributes.cap);
  return &qp->qp_base;
}

/// The NIC's form of one request. False: nothing the NIC could be asked for.
bool translate(const ibv_qp& qp, const ibv_send_wr& from, nic::SendRequest& to) {
  if (from.num_sge < 0 || (from.opcode > IBV_WR_SEND_WITH_INV && from.opcode != IBV_WR_ATOMIC_WRITE) ||
      (from.send_flags & IBV_SEND_IP_CSUM) != 0)
    return false;
  to.wr_id = from.wr_id;
  to.opcode = static_cast<nic::SendOpcode>(from.opcode);
  to.signaled = (from.send_flags & IBV_SEND_SIGNALED) != 0;
  to.solicited = (from.send_flags & IBV_SEND_SOLICITED) != 0;
  to.fence = (from.send_flags & IBV_SEND_FENCE) != 0;
  to.inline_data = (from.send_flags & IBV_SEND_INLINE) != 0;
  to.sges = sges_of(from.sg_list, from.num_sge);
  switch (from.opcode) {
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      to.immediate = be32toh(from.imm_data);
      [[fallthrough]];
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_READ:
    case IBV_WR_ATOMIC_WRITE:
      to.operand.remote.address = from.wr.rdma.remote_addr;
      to.operand.remote.rkey = from.wr.rdma.rkey;
      break;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      to.operand.remote.address = from.wr.atomic.remote_addr;
      to.operand.remote.rkey = from.wr.atomic.rkey;
      to.operand.remote.compare_or_add = from.wr.atomic.compare_add;
      to.operand.remote.swap = from.wr.atomic.swap;
      break;
    case IBV_WR_SEND_WITH_IMM:
      to.immediate = be32toh(from.imm_data);
      break;
    case IBV_WR_LOCAL_INV:
      to.sges = {};  // whatever stands there
      [[fallthrough]];
    case IBV_WR_SEND_WITH_INV:
      to.immediate = from.invalidate_rkey;
      break;
    case IBV_WR_BIND_MW:  // ibv_bind_mw binds windows of type 1
      if (from.bind_mw.mw == nullptr) return false;
      to.operand = {.binding =
                        binding_of(qp, *from.bind_mw.mw, IBV_MW_TYPE_2, from.bind_mw.rkey, from.bind_mw.bind_info)};
      to.sges = {};
      break;
    default:
      break;
  }
  if (qp.qp_type == IBV_QPT_XRC_SEND) to.remote_qpn = wire::Qpn(from.qp_type.xrc.remote_srqn);
  // With another opcode the address handle's place in the request is another field's: the QP refuses the opcode.
  if (qp.qp_type != IBV_QPT_UD || (from.opcode != IBV_WR_SEND && from.opcode != IBV_WR_SEND_WITH_IMM)) return true;
  if (from.wr.ud.ah == nullptr) return false;
  to.address_handle = static_cast<Ah*>(from.wr.ud.ah)->nic;
  to.remote_qpn = wire::Qpn(from.wr.ud.remote_qpn);
  to.remote_qkey = from.wr.ud.remote_qkey;
  return true;
}

}  // namespace

ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* attributes) {
  return create(context, *attributes);
}

ibv_qp* open_qp(ibv_context* context, ibv_qp_open_attr* attributes) {
  host::Engine* const engine = working_engine_of(context);
  if (engine == nullptr) return fail(kNoDevice);
  constexpr std::uint32_t kNeeded = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
  if (attributes->comp_mask >= IBV_QP_OPEN_ATTR_RESERVED) return fail(EOPNOTSUPP);
  if ((attributes->comp_mask & kNeeded) != kNeeded || attributes->qp_type != IBV_QPT_XRC_RECV) return fail(EINVAL);
  if (const int error = missing_in(context, attributes->xrcd); error != 0) return fail(error);
  auto* const qp = new (std::nothrow) Qp();
  if (qp == nullptr) return fail(ENOMEM);
  auto* const xrcd = static_cast<Xrcd*>(attributes->xrcd);
  const auto opened =
      engine->run([&](nic::Nic& nic, Time) { return nic.open_qp(domain_of(*xrcd), wire::Qpn(attributes->qp_num)); });
  if (!opened) {
    delete qp;
    return fail(errno_of(opened));
  }
  ibv_qp_init_attr_ex as_made{};
  as_made.qp_type = IBV_QPT_XRC_RECV;
  if ((attributes->comp_mask & IBV_QP_OPEN_ATTR_CONTEXT) != 0) as_made.qp_context = attributes->qp_context;
  fill_base(qp->qp_base, context, as_made);
  fill_building(*qp);
  qp->qp_base.qp_num = attributes->qp_num;
  qp->qp_base.handle = opened->index;
  qp->nic = *opened;
  qp->xrcd = xrcd;
  xrcd->users.add();
  qp->id = Process::instance().enlist(Kind::qp, qp, context);
  return &qp->qp_base;
}

int modify_qp_rate_limit(ibv_qp* qp, ibv_qp_rate_limit_attr* attributes) {
  const auto found = live_engine(qp);
  if (!found) return found.error();
  host::Engine* const engine = *found;
  if (attributes->comp_mask != 0) return EINVAL;
  const nic::RateLimit limit{.kbps = attributes->rate_limit, .burst_bytes = attributes->max_burst_sz};
  return errno_of(engine->run([qp, &limit](nic::Nic& nic, Time) { return nic.limit_rate(qp_of(qp)->nic, limit); }));
}

int post_send(ibv_qp* qp, ibv_send_wr* request, ibv_send_wr** bad_request) {
  host::Engine* const engine = engine_of(qp->context);
  if (engine == nullptr) {
    *bad_request = request;
    return kNoDevice;
  }
  return engine->post([&](nic::Nic& nic, Time now) {
    const nic::QpHandle handle = qp_of(qp)->nic;
    for (; request != nullptr; request = request->next) {
      nic::SendRequest send;
      const int error = translate(*qp, *request, send) ? errno_of(nic.post_send(handle, send, now)) : EINVAL;
      if (error != 0) {
        *bad_request = request;
        return error;
      }
      if (request->opcode == IBV_WR_BIND_MW) note_bind(*request->bind_mw.mw, request->bind_mw.rkey);
    }
    return 0;
  });
}

int post_recv(ibv_qp* qp, ibv_recv_wr* request, ibv_recv_wr** bad_request) {
  return post_receive_list(engine_of(qp->context), request, bad_request,
                           [handle = qp_of(qp)->nic](nic::Nic& nic, const nic::ReceiveRequest& receive) {
                             return nic.post_receive(handle, receive);
                           });
}

ibv_qp* create_qp(ibv_pd* pd, ibv_qp_init_attr* qp_init_attr) {
  ibv_qp_init_attr_ex attributes{};
  attributes.qp_context = qp_init_attr->qp_context;
  attributes.send_cq = qp_init_attr->send_cq;
  attributes.recv_cq = qp_init_attr->recv_cq;
  attributes.srq = qp_init_attr->srq;
  attributes.cap = qp_init_attr->cap;
  attributes.qp_type = qp_init_attr->qp_type;
  attributes.sq_sig_all = qp_init_attr->sq_sig_all;
  attributes.comp_mask = IBV_QP_INIT_ATTR_PD;
  attributes.pd = pd;
  if (!is_live(pd)) return fail(missing(pd));
  ibv_qp* const qp = create(pd->context, attributes);
  if (qp != nullptr) qp_init_attr->cap = attributes.cap;
  return qp;
}

VERBENA_ABI ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* qp) {
  return qp_of(qp)->staged ? qp_of(qp) : nullptr;
}

int modify_qp(ibv_qp* qp, ibv_qp_attr* attr, int attr_mask) {
  const auto found = live_engine(qp);
  if (!found) return found.error();
  verbena::host::Engine* const engine = *found;
  verbena::nic::QpAttributes attributes;
  if (const int error = qp_attributes_of(*attr, attr_mask, *engine, attributes); error != 0) return error;
  device_of(qp->context->device)->config.nic.apply(attributes);
  const auto modified = engine->run([&](verbena::nic::Nic& nic, verbena::Time now) {
    return nic.modify_qp(qp_of(qp)->nic, attributes, static_cast<std::uint32_t>(attr_mask), now);
  });
  if (!modified) return errno_of(modified);
  if ((attr_mask & IBV_QP_STATE) != 0) qp->state = attr->qp_state;
  return 0;
}

int query_qp(ibv_qp* qp, ibv_qp_attr* attr, int, ibv_qp_init_attr* init_attr) {
  const auto engine = live_engine(qp);
  if (!engine) return engine.error();
  const Qp& object = *qp_of(qp);
  const auto found =
      (*engine)->run([&object](verbena::nic::Nic& nic, verbena::Time) { return nic.query_qp(object.nic); });
  if (!found) return errno_of(found);
  qp_attributes_to(*found, *attr);
  qp->state = attr->qp_state;
  if (init_attr != nullptr) {
    *init_attr = {.qp_context = qp->qp_context,
                  .send_cq = qp->send_cq,
                  .recv_cq = qp->recv_cq,
                  .srq = qp->srq,
                  .cap = attr->cap,
                  .qp_type = qp->qp_type,
                  .sq_sig_all = object.signal_all ? 1 : 0};
  }
  return 0;
}

// The NIC writes in increasing address order, the last octet last (emulator/nic/memory/memory.h).
VERBENA_ABI int ibv_query_qp_data_in_order(ibv_qp*, ibv_wr_opcode, std::uint32_t flags) {
  return flags == 0 ? 1 : 0;
}

int destroy_qp(ibv_qp* qp) {
  Qp* const object = qp_of(qp);
  Process& process = Process::instance();
  if (!is_live(qp)) return missing(qp);
  ibv_context* const context = qp->context;
  const bool connected = engine_of(context) != nullptr;
  if (verbena::host::Engine* const engine = engine_of(context)) {
    const auto gone =
        engine->run([object](verbena::nic::Nic& nic, verbena::Time) { return nic.destroy_qp(object->nic); });
    if (!gone) return errno_of(gone);
  }
  process.withdraw(Kind::qp, object);
  if (object->xrcd != nullptr) object->xrcd->users.drop();
  Acknowledged owed(qp->mutex, qp->cond);
  owed.add(context_of(context)->async_events.cancel(object->async_events), qp->events_completed);
  if (connected) owed.wait();
  pthread_mutex_destroy(&qp->mutex);
  pthread_cond_destroy(&qp->cond);
  release_made(object);
  release(context_of(context));
  return 0;
}

}  // namespace verbena::shim
