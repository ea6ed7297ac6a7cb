// A NIC with live queue pairs of every type against arbitrary and almost valid frames, verbs calls and the passing of
// time.
//
// The input is a program of small records. Frames that the NIC sends are looped back to it, some of them spoiled on the
// way, so that requester and responder both get deep into their states. Nothing may assert, what holds between calls
// (invariants.h) is checked, and no memory outside of the regions may be touched (run under ASan).
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "emulator/nic/nic.h"
#include "tests/fuzz/input.h"
#include "tests/support/frames.h"

namespace {

using namespace verbena;
using namespace verbena::nic;
using test::Input;
using test::PacketSpec;

constexpr std::size_t kArenaBytes = 16384;
constexpr std::size_t kRecordsMax = 200;
constexpr std::size_t kLoopedMax = 64;
constexpr unsigned kNode = 1;

class LoopPort final : public TransmitPort {
 public:
  std::span<std::byte> reserve(const Destination&, std::size_t bytes) override {
    if (looped.size() >= kLoopedMax) return {};
    return std::span(scratch_).first(bytes);
  }
  void commit(std::size_t bytes, wire::IcrcState) override {
    looped.emplace_back(scratch_.begin(), scratch_.begin() + static_cast<std::ptrdiff_t>(bytes));
  }
  void cancel() override {}
  std::vector<std::vector<std::byte>> looped;

 private:
  std::array<std::byte, wire::kFrameBytesMax> scratch_{};
};

/// Every call's result is taken and dropped: refusing is an answer.
template <class T>
void any_result(const T&) {}

/// A NIC of which is checked, before each call and at the end, what must hold after the call before.
class CheckedNic {
 public:
  CheckedNic(const NicConfig& config, Memory& memory, Counters& counters) : nic_(config, memory, counters) {}
  ~CheckedNic() { nic_.check_invariants(); }
  CheckedNic(const CheckedNic&) = delete;
  CheckedNic& operator=(const CheckedNic&) = delete;
  Nic* operator->() {
    nic_.check_invariants();
    return &nic_;
  }
  const Nic* operator->() const { return &nic_; }

 private:
  Nic nic_;
};

class Victim {
 public:
  explicit Victim(RecoveryPolicy recovery) : arena_(kArenaBytes / 8), nic_(config(recovery), memory_, counters_) {
    pd_ = *nic_->allocate_pd();
    cq_ = *nic_->create_cq(64, 0);
    srq_ = *nic_->create_srq({.pd = pd_, .max_wr = 16, .max_sge = 2});
    region_ =
        *nic_->register_memory({.pd = pd_,
                                .address = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(arena_.data())),
                                .length = kArenaBytes,
                                .iova = address(0),
                                .access = kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic});
    AddressVector self;
    self.destination = test::node_gid(kNode);
    self.next_hop = test::node_mac(kNode);
    ah_ = *nic_->create_ah(pd_, self);
    // RC and UC pairs connected to each other, one RC with the shared queue, one UD.
    constexpr std::array kTypes{QpType::rc, QpType::rc, QpType::uc, QpType::uc, QpType::rc, QpType::ud};
    for (std::size_t i = 0; i < kTypes.size(); ++i) {
      QpInit init{.pd = pd_,
                  .type = kTypes[i],
                  .send_cq = cq_,
                  .recv_cq = cq_,
                  .capabilities = {.max_send_wr = 16,
                                   .max_recv_wr = 16,
                                   .max_send_sge = 2,
                                   .max_recv_sge = 2,
                                   .max_inline_data = 64},
                  .signal_all = true};
      if (i == 4) init.srq = srq_;
      qps_.push_back(*nic_->create_qp(init));
    }
    for (std::size_t i = 0; i < qps_.size(); ++i) connect(i, i == 4 ? 4 : i ^ 1);
    for (const QpHandle qp : qps_) VERBENA_ASSERT(nic_->query_qp(qp)->state == QpState::rts);
  }

  void run(Input& input) {
    for (std::size_t record = 0; record < kRecordsMax && !input.empty(); ++record) step(input);
    for (int i = 0; i < 50; ++i) pass(milliseconds(50));
  }

 private:
  static NicConfig config(RecoveryPolicy recovery) {
    NicConfig config;
    config.loss_recovery.policy = recovery;
    config.limits = {.max_qp = 8, .max_cq = 2, .max_pd = 2, .max_srq = 2};
    config.limits.max_mr = 4;
    config.limits.max_ah = 4;
    config.qpn_base = wire::Qpn(0x010000);
    config.ports[0].mac = test::node_mac(kNode);
    config.gids[0] = test::node_gid(kNode);
    return config;
  }
  /// As work requests and peers name it: the same in every run, so that a finding replays.
  static std::uint64_t address(std::size_t offset) { return 0x10000 + offset; }

  void connect(std::size_t index, std::size_t peer) {
    QpAttributes attributes;
    attributes.access = kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic;
    attributes.qkey = 0x1111;
    attributes.path_mtu_bytes = 256;
    attributes.address_vector.destination = test::node_gid(kNode);
    attributes.address_vector.next_hop = test::node_mac(kNode);
    attributes.dest_qpn = nic_->qpn(qps_[peer]);
    attributes.rq_psn = attributes.sq_psn = wire::Psn(0xfffff8);
    attributes.max_read_atomic = attributes.max_dest_read_atomic = 4;
    attributes.min_rnr_timer = 1;
    attributes.timeout = 8;
    attributes.retry_count = 3;
    attributes.rnr_retry = 3;
    constexpr std::uint32_t kUcRtr = kQpAv | kQpPathMtu | kQpDestQpn | kQpRqPsn;
    constexpr std::uint32_t kRcRts = kQpTimeout | kQpRetryCount | kQpRnrRetry | kQpMaxReadAtomic;
    const bool ud = index == 5;
    const bool rc = index != 5 && index != 2 && index != 3;
    const auto modify = [&](QpState state, std::uint32_t mask) {
      attributes.state = state;
      any_result(nic_->modify_qp(qps_[index], attributes, mask | kQpState, now_));
    };
    modify(QpState::init, kQpPkeyIndex | kQpPort | (ud ? kQpQkey : kQpAccessFlags));
    modify(QpState::rtr, ud ? 0 : kUcRtr | (rc ? kQpMaxDestReadAtomic | kQpMinRnrTimer : 0));
    modify(QpState::rts, kQpSqPsn | (rc ? kRcRts : 0));
  }

  Sge sge(Input& input) const {
    const std::size_t offset = input.u8() * 60u;
    const std::uint32_t length = input.u8() % 8 == 0 ? input.u32() % 20000 : input.u8() * 4u;
    return {address(offset), length, input.u8() % 16 == 0 ? input.u32() : region_.lkey};
  }

  void post(Input& input) {
    const QpHandle qp = qps_[input.u8() % qps_.size()];
    const std::array<Sge, 2> sges{sge(input), sge(input)};
    const std::uint8_t flags = input.u8();
    const std::size_t count = flags & 3;
    const auto list = std::span(sges).first(std::min<std::size_t>(count, 2));
    if ((flags & 4) != 0) {
      any_result(nic_->post_receive(qp, {1, list}));
      any_result(nic_->post_srq_receive(srq_, {2, list}));
      return;
    }
    SendRequest request{
        .opcode = static_cast<SendOpcode>(input.u8() % 10),
        .signaled = true,
        .solicited = (flags & 8) != 0,
        .fence = (flags & 16) != 0,
        .sges = list,
        .operand = {.remote = {.address = address(input.u8() * 64u), .rkey = region_.rkey, .compare_or_add = 1}},
        .address_handle = ah_,
        .remote_qpn = nic_->qpn(qps_[5]),
        .remote_qkey = 0x1111};
    if ((flags & 32) != 0) request.operand.remote.rkey = input.u32();
    any_result(nic_->post_send(qp, request, now_));
  }

  /// A well-formed packet with a valid ICRC; what it says is up to the input.
  std::vector<std::byte> packet(Input& input) const {
    PacketSpec spec;
    do {
      spec.opcode = static_cast<wire::Opcode>(input.u8());
    } while (!wire::opcode_info(spec.opcode).defined && !input.empty());
    if (!wire::opcode_info(spec.opcode).defined || wire::opcode_info(spec.opcode).has_xrceth)
      spec.opcode = wire::make_opcode(wire::Transport::rc, wire::OperationCode::send_only);
    spec.psn = 0xfffff8u + input.u8() - 4;
    spec.dest_qp = nic_->qpn(qps_[input.u8() % qps_.size()]);
    const std::uint8_t flags = input.u8();
    spec.ack_request = (flags & 1) != 0;
    spec.solicited = (flags & 2) != 0;
    spec.reth = {address(input.u8() * 64u), wire::Rkey{(flags & 4) != 0 ? input.u32() : region_.rkey},
                 (flags & 8) != 0 ? input.u32() : input.u8() * 8u};
    spec.aeth = {input.u8(), input.u8()};
    spec.atomic_eth = {spec.reth.address, spec.reth.rkey, input.u8(), 0};
    spec.deth = {0x1111, 0, spec.dest_qp};
    if (wire::opcode_info(spec.opcode).has_payload)
      spec.payload = std::vector<std::byte>((flags & 16) != 0 ? 256 : input.u32() % 4097);
    // What selective repeat adds, also where it makes no sense.
    if ((flags & 32) != 0) spec.reserved7 = wire::kTakesSelectiveRepeat;
    if ((flags & 64) == 0) return test::make_frame(kNode, kNode, spec);
    const wire::OpcodeInfo& info = wire::opcode_info(spec.opcode);
    wire::Bth bth;
    bth.opcode = spec.opcode;
    bth.reserved7 = wire::kTakesSelectiveRepeat | wire::kHasRecoveryHeader;
    const std::size_t bytes = wire::recovery_header_bytes(info, bth);
    if (bytes == wire::PlacementEthLayout::bytes)
      spec.placement = wire::PlacementEth{spec.reth.address, spec.reth.rkey.value, spec.reth.length};
    if (bytes == wire::SackEthLayout::bytes)
      spec.sack = wire::SackEth{.highest = wire::Psn(spec.psn + input.u8()), .below = input.u32()};
    return test::make_frame(kNode, kNode, spec);
  }

  void step(Input& input) {
    switch (input.u8() % 7) {
      case 0:
        nic_->receive(now_, input.bytes(input.u8() * 2u));
        break;
      case 1:
        nic_->receive(now_, packet(input));
        break;
      case 2: {  // spoiled after the fact, and let through
        auto frame = packet(input);
        for (int i = input.u8() % 4; i >= 0; --i)
          frame[input.u32() % frame.size()] = static_cast<std::byte>(input.u8());
        nic_->receive(now_, frame, wire::IcrcState::deferred);
        break;
      }
      case 3:
        post(input);
        break;
      case 4:
        pass(microseconds(input.u8()), input.u8());
        break;
      case 5: {
        QpAttributes attributes;
        const std::size_t index = input.u8() % qps_.size();
        attributes.state = static_cast<QpState>(input.u8() % 7);
        any_result(nic_->modify_qp(qps_[index], attributes, kQpState | (input.u8() % 8 == 0 ? input.u32() : 0), now_));
        if (input.u8() % 2 == 0) connect(index, index == 4 ? 4 : index ^ 1);
        break;
      }
      case 6: {
        std::array<Completion, 8> some;
        nic_->poll_cq(cq_, some);
        any_result(nic_->request_notification(cq_, input.u8() % 2 == 0));
        while (nic_->poll_event()) {
        }
        while (nic_->poll_completion_event()) {
        }
        break;
      }
    }
  }

  /// Time passes, the NIC sends, and hears what it has sent; `spoil` picks frames that are lost, doubled or changed.
  void pass(Duration time, std::uint8_t spoil = 0) {
    now_ = now_ + time;
    nic_->on_deadline(now_);
    LoopPort port;
    nic_->transmit(now_, port, kLoopedMax);
    for (std::size_t i = 0; i < port.looped.size(); ++i) {
      auto& frame = port.looped[i];
      const bool hit = (spoil >> (i % 8) & 1) != 0;
      if (hit && spoil % 3 == 0) continue;
      if (hit && spoil % 3 == 1) nic_->receive(now_, frame);
      if (hit && spoil % 3 == 2) frame[frame.size() / 2] ^= std::byte{1};
      nic_->receive(now_, frame, hit ? wire::IcrcState::verified : wire::IcrcState::present);
    }
  }

  std::vector<std::uint64_t> arena_;
  PlainMemory memory_;
  Counters counters_;
  CheckedNic nic_;
  PdHandle pd_;
  CqHandle cq_;
  SrqHandle srq_;
  MemoryRegion region_;
  AhHandle ah_;
  std::vector<QpHandle> qps_;
  Time now_{1'000'000};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  Victim victim(size % 2 == 0 ? RecoveryPolicy::go_back_n : RecoveryPolicy::selective_repeat);
  victim.run(input);
  return 0;
}
