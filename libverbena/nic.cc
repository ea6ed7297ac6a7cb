// Nic, Mr, Cq, Qp: the public names of a NIC's objects, translated into calls of the NIC.
// Tested by: tests/libverbena/world_test.cc
#include <array>
#include <new>

#include "libverbena/state.h"

namespace libverbena {
namespace {

constexpr std::size_t kRegionBytesMax = std::size_t{1} << 32;
constexpr std::uint64_t kFirstAddress = 0x100000000;
constexpr std::size_t kStatuses = 14;
constexpr std::array<std::string_view, kStatuses> kStatusNames{"success",
                                                               "local length error",
                                                               "local QP operation error",
                                                               "local EE context operation error",
                                                               "local protection error",
                                                               "flushed",
                                                               "memory window bind error",
                                                               "bad response",
                                                               "local access error",
                                                               "remote invalid request",
                                                               "remote access error",
                                                               "remote operation error",
                                                               "retry exceeded",
                                                               "RNR retry exceeded"};

static_assert(static_cast<int>(Status::rnr_retry_exceeded) ==
                  static_cast<int>(nic::CompletionStatus::rnr_retry_exceeded) &&
              static_cast<int>(SendOpcode::atomic_write) == static_cast<int>(nic::SendOpcode::atomic_write) &&
              static_cast<int>(QpType::ud) == static_cast<int>(nic::QpType::ud) &&
              static_cast<int>(QpState::error) == static_cast<int>(nic::QpState::error) &&
              int{kRemoteAtomic} == int{nic::kRemoteAtomic});

Completion to_completion(const nic::Completion& made) {
  Completion completion{.wr_id = made.wr_id,
                        .status = static_cast<Status>(made.status),
                        .is_receive = made.opcode >= nic::CompletionOpcode::receive,
                        .byte_count = made.byte_count,
                        .qpn = made.qpn.value(),
                        .time = to_public(made.time)};
  if (made.has_immediate) completion.immediate = made.immediate;
  return completion;
}

std::vector<nic::Sge> to_sges(std::span<const Sge> from) {
  std::vector<nic::Sge> sges;
  for (const Sge& sge : from) sges.push_back({sge.address, sge.length, sge.lkey});
  return sges;
}

}  // namespace

std::string_view to_string(Status status) {
  const auto number = static_cast<std::size_t>(status);
  return number < kStatuses ? kStatusNames[number] : "another error";
}

std::span<std::byte> Mr::bytes() const {
  const Region& region = state_->regions[index_];
  return {region.octets.get(), region.length};
}
std::uint32_t Mr::rkey() const {
  return state_->regions[index_].region.rkey;
}
Sge Mr::slice(std::uint64_t offset, std::optional<std::uint32_t> length) const {
  const Region& region = state_->regions[index_];
  const std::uint64_t rest = offset < region.length ? region.length - offset : 0;
  return {region.iova + offset, length.value_or(static_cast<std::uint32_t>(std::min<std::uint64_t>(rest, UINT32_MAX))),
          region.region.lkey};
}
Remote Mr::remote(std::uint64_t offset) const {
  const Region& region = state_->regions[index_];
  return {region.iova + offset, region.region.rkey};
}

std::vector<Completion> Cq::poll(std::size_t most) const {
  std::vector<Completion> completions;
  nic::Completion made;
  while (completions.size() < most && state_->nic_of(host_).poll_cq({handle_}, {&made, 1}) == 1)
    completions.push_back(to_completion(made));
  return completions;
}

Result<Completion> Cq::next(Duration within) const {
  nic::Completion made;
  const auto take = [&] { return state_->nic_of(host_).poll_cq({handle_}, {&made, 1}) == 1; };
  if (state_->run_until(take, within)) return to_completion(made);
  return Error{ErrorKind::timed_out, state_->name_of(host_) + ": no completion within the time given"};
}

std::uint32_t Qp::number() const {
  return state_->ends[index_].qpn.value();
}
std::uint32_t Qp::first_psn() const {
  return state_->ends[index_].first_psn.value();
}
QpState Qp::state() const {
  const End& end = state_->ends[index_];
  const auto attributes = state_->nic_of(end.host).query_qp(end.handle);
  return attributes ? static_cast<QpState>(attributes->state) : QpState::reset;
}

Result<void> Qp::post_send(const SendRequest& request) const {
  const End& end = state_->ends[index_];
  const std::vector<nic::Sge> sges = to_sges(request.local);
  nic::SendRequest wanted{.wr_id = request.wr_id,
                          .opcode = static_cast<nic::SendOpcode>(request.opcode),
                          .signaled = request.signaled,
                          .solicited = request.solicited,
                          .fence = request.fence,
                          .sges = sges,
                          .immediate = request.immediate};
  wanted.operand.remote = {request.remote.address, request.remote.rkey, request.compare_or_add, request.swap};
  if (end.type == QpType::ud && end.other) {
    wanted.address_handle = end.address_handle;
    wanted.remote_qpn = state_->ends[*end.other].qpn;
    wanted.remote_qkey = kDatagramQkey;
  }
  if (const auto posted = state_->nic_of(end.host).post_send(end.handle, wanted, state_->world.now()); !posted)
    return to_error(posted.error(), "post_send");
  state_->world.touch(end.host);
  return {};
}

Result<void> Qp::post_receive(std::uint64_t wr_id, std::span<const Sge> into) const {
  const End& end = state_->ends[index_];
  const std::vector<nic::Sge> sges = to_sges(into);
  if (const auto posted = state_->nic_of(end.host).post_receive(end.handle, {.wr_id = wr_id, .sges = sges}); !posted)
    return to_error(posted.error(), "post_receive");
  state_->world.touch(end.host);
  return {};
}

const std::string& Nic::name() const {
  return state_->name_of(host_);
}
std::string Nic::address() const {
  return wire::to_text(sim::host_address(host_));
}

Result<Pd> Nic::allocate_pd() const {
  const auto pd = state_->nic_of(host_).allocate_pd();
  if (!pd) return to_error(pd.error(), "allocate_pd");
  return Pd(host_, pd->index);
}

Result<Mr> Nic::register_memory(std::size_t length, std::uint32_t access, std::optional<Pd> pd) const {
  if (length == 0 || length > kRegionBytesMax) return invalid("register_memory: a region has 1 octet to 4 GiB");
  if (pd && pd->host_ != host_) return invalid("register_memory: the PD is another NIC's");
  // Each region has addresses of its own, of which all that is known is where the one before it ends.
  std::uint64_t iova = kFirstAddress;
  if (!state_->regions.empty()) {
    const Region& last = state_->regions.back();
    iova = (last.iova + last.length + 2 * 4096 - 1) / 4096 * 4096;
  }
  Region region{.host = host_, .iova = iova, .octets = nullptr, .length = length};
  region.octets.reset(new (std::nothrow) std::byte[length]());
  if (!region.octets) return Error{ErrorKind::no_memory, "register_memory: the process has no room for the region"};
  const auto place = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(region.octets.get()));
  const auto made =
      state_->nic_of(host_).register_memory({.pd = pd ? nic::PdHandle{pd->handle_} : state_->own[host_].pd,
                                             .address = place,
                                             .length = length,
                                             .iova = iova,
                                             .access = access});
  if (!made) return to_error(made.error(), "register_memory");
  region.region = *made;
  if (state_->checkers)
    state_->checkers->region({.host = sim::host_address(host_),
                              .rkey = wire::Rkey{made->rkey},
                              .address = iova,
                              .length = length,
                              .remote_write = (access & kRemoteWrite) != 0,
                              .remote_read = (access & kRemoteRead) != 0,
                              .remote_atomic = (access & kRemoteAtomic) != 0});
  state_->regions.push_back(std::move(region));
  return Mr(state_, state_->regions.size() - 1);
}

Result<void> Nic::deregister_memory(const Mr& mr) const {
  const Region& region = state_->regions[mr.index_];
  if (region.host != host_) return invalid("deregister_memory: the region is another NIC's");
  if (const auto gone = state_->nic_of(host_).deregister_memory(region.region.handle); !gone)
    return to_error(gone.error(), "deregister_memory");
  if (state_->checkers) state_->checkers->forget_region(sim::host_address(host_), wire::Rkey{region.region.rkey});
  return {};
}

Result<Cq> Nic::create_cq(std::uint32_t entries) const {
  const auto cq = state_->nic_of(host_).create_cq(entries, host_);
  if (!cq) return to_error(cq.error(), "create_cq");
  return Cq(state_, host_, cq->index);
}
Cq Nic::cq() const {
  return {state_, host_, state_->own[host_].cq.index};
}

Result<Qp> Nic::create_qp(const QpOptions& options) const {
  const Cq own = cq();
  const Cq& send_cq = options.send_cq ? *options.send_cq : own;
  const Cq& receive_cq = options.receive_cq ? *options.receive_cq : own;
  if ((options.pd && options.pd->host_ != host_) || send_cq.host_ != host_ || receive_cq.host_ != host_)
    return invalid("create_qp: a PD or CQ of another NIC");
  nic::QpInit init{.pd = options.pd ? nic::PdHandle{options.pd->handle_} : state_->own[host_].pd,
                   .type = static_cast<nic::QpType>(options.type),
                   .send_cq = {send_cq.handle_},
                   .recv_cq = {receive_cq.handle_},
                   .capabilities = {.max_send_wr = options.max_send_wr,
                                    .max_recv_wr = options.max_receive_wr,
                                    .max_send_sge = options.max_sge,
                                    .max_recv_sge = options.max_sge}};
  const auto made = state_->nic_of(host_).create_qp(init);
  if (!made) return to_error(made.error(), "create_qp");
  End& end = state_->ends.emplace_back();
  end.host = host_;
  end.handle = *made;
  end.qpn = state_->nic_of(host_).qpn(*made);
  end.type = options.type;
  return Qp(state_, state_->ends.size() - 1);
}

Result<void> Nic::destroy_qp(const Qp& qp) const {
  const End& end = state_->ends[qp.index_];
  if (end.host != host_) return invalid("destroy_qp: the QP is another NIC's");
  if (const auto gone = state_->nic_of(host_).destroy_qp(end.handle); !gone)
    return to_error(gone.error(), "destroy_qp");
  state_->world.touch(host_);
  return {};
}

std::optional<std::uint64_t> Nic::counter(std::string_view name) const {
  for (std::size_t i = 0; i < nic::kCounters; ++i)
    if (const auto counter = static_cast<nic::Counter>(i); nic::to_string(counter) == name)
      return state_->world.counters(host_).get(counter);
  return std::nullopt;
}

}  // namespace libverbena
