// The extended completion queue: start_poll, next_poll, end_poll, and reading the current completion field by field.
// Tested by: tests/shim/verbs/extended_test.cc
#include <endian.h>

#include "verbs-shim/verbs/boundary.h"
#include "verbs-shim/verbs/context_ops.h"
#include "verbs-shim/verbs/fault_boundary.h"
#include "verbs-shim/verbs/objects.h"
#include "verbs-shim/verbs/translate.h"

namespace verbena::shim {
namespace {

Cq& self(ibv_cq_ex* cq) {
  return *static_cast<Cq*>(cq);
}

int take_next(Cq& cq) {
  host::Engine* const engine = engine_of(cq.context);
  if (engine == nullptr) return kNoDevice;
  if (engine->poll_cq(cq.nic, {&cq.current, 1}) == 0) return ENOENT;
  cq.status = static_cast<ibv_wc_status>(cq.current.status);
  cq.wr_id = cq.current.wr_id;
  return 0;
}

int start_poll(ibv_cq_ex* current, ibv_poll_cq_attr* attributes) {
  if (attributes != nullptr && attributes->comp_mask != 0) return EINVAL;
  Cq& cq = self(current);
  if (!cq.single_threaded) cq.poll_mutex.lock();
  const int error = take_next(cq);
  // Without a completion there is no end_poll.
  if (error != 0 && !cq.single_threaded) cq.poll_mutex.unlock();
  return error;
}

int next_poll(ibv_cq_ex* current) {
  return take_next(self(current));
}

void end_poll(ibv_cq_ex* current) {
  Cq& cq = self(current);
  if (!cq.single_threaded) cq.poll_mutex.unlock();
}

ibv_wc_opcode read_opcode(ibv_cq_ex* current) {
  return static_cast<ibv_wc_opcode>(self(current).current.opcode);
}
std::uint32_t read_vendor_err(ibv_cq_ex*) {
  return 0;
}
std::uint32_t read_byte_len(ibv_cq_ex* current) {
  return self(current).current.byte_count;
}
__be32 read_imm_data(ibv_cq_ex* current) {
  const nic::Completion& completion = self(current).current;
  return completion.has_invalidate ? completion.immediate : htobe32(completion.immediate);
}
std::uint32_t read_qp_num(ibv_cq_ex* current) {
  return self(current).current.qpn.value();
}
std::uint32_t read_src_qp(ibv_cq_ex* current) {
  return self(current).current.source_qpn.value();
}
unsigned read_wc_flags(ibv_cq_ex* current) {
  return completion_flags_of(self(current).current);
}
std::uint32_t read_slid(ibv_cq_ex* current) {
  return source_lid_of(self(current).current);
}
std::uint8_t read_sl(ibv_cq_ex* current) {
  return self(current).current.service_level;
}
std::uint8_t read_dlid_path_bits(ibv_cq_ex* current) {
  return self(current).current.path_bits;
}
std::uint64_t read_completion_ts(ibv_cq_ex* current) {
  return static_cast<std::uint64_t>(self(current).current.time.ns);
}
std::uint16_t read_cvlan(ibv_cq_ex* current) {
  return static_cast<std::uint16_t>(self(current).current.immediate);
}
std::uint32_t read_flow_tag(ibv_cq_ex* current) {
  return self(current).current.flow_tag;
}
void read_tm_info(ibv_cq_ex*, ibv_wc_tm_info* tm_info) {
  *tm_info = {};
}
std::uint64_t read_completion_wallclock_ns(ibv_cq_ex* current) {
  const Cq& cq = self(current);
  return static_cast<std::uint64_t>(cq.current.time.ns + cq.wall_clock_offset_ns);
}

}  // namespace

VERBENA_FAULT_NAME(start_poll, poll_cq);
VERBENA_FAULT_NAME(next_poll, poll_cq);

void plan_slots(Cq& cq) {
  const bool may_fail = is_planned(fabric::Verb::poll_cq);
  set_slot(cq.start_poll, may_fail ? planned_verb<start_poll> : verb<start_poll>);
  set_slot(cq.next_poll, may_fail ? planned_verb<next_poll> : verb<next_poll>);
}

void fill_reading(Cq& cq) {
  plan_slots(cq);
  cq.end_poll = end_poll;
  cq.read_opcode = read_opcode;
  cq.read_vendor_err = read_vendor_err;
  cq.read_byte_len = read_byte_len;
  cq.read_imm_data = read_imm_data;
  cq.read_qp_num = read_qp_num;
  cq.read_src_qp = read_src_qp;
  cq.read_wc_flags = read_wc_flags;
  cq.read_slid = read_slid;
  cq.read_sl = read_sl;
  cq.read_dlid_path_bits = read_dlid_path_bits;
  cq.read_completion_ts = read_completion_ts;
  cq.read_cvlan = read_cvlan;
  cq.read_flow_tag = read_flow_tag;
  cq.read_tm_info = read_tm_info;
  cq.read_completion_wallclock_ns = read_completion_wallclock_ns;
}

}  // namespace verbena::shim
