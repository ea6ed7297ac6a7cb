// ExchangeSide: one of two NICs that exchange messages over the shared-memory link, run by hand in one thread.
//
// Solely responsible for what a process does in a call of ibv_post_send or ibv_poll_cq, as emulator/host/engine does
// it, but in virtual time and without a progress thread: every run then touches the same memory in the same order. It
// knows the link only as a Link. Set-up aborts when a verb fails.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "emulator/host/engine/app_memory.h"
#include "emulator/host/link/link_factory.h"
#include "emulator/host/node/node_directory.h"
#include "emulator/nic/nic.h"
#include "wire/assert.h"

namespace verbena::bench {

/// The virtual time of both sides. It begins early: a link that was idle for long goes back to the start of its ring.
struct VirtualClock {
  Time now{1'000};
};

class ExchangeSide final : private host::FrameSink {
 public:
  static constexpr std::uint32_t kQueueDepth = 256;

  ExchangeSide(std::uint8_t node, const std::string& fabric, std::size_t buffer_bytes, VirtualClock& clock)
      : clock_(clock), link_(open(node, fabric)), buffer_(buffer_bytes), nic_(config_of(node), memory_, counters_) {
    pd_ = *nic_.allocate_pd();
    cq_ = *nic_.create_cq(kQueueDepth * 2, 0);
    mr_ = *nic_.register_memory(
        {.pd = pd_, .address = address(), .length = buffer_bytes, .iova = address(), .access = kAccess});
    nic::QpInit init;
    init.pd = pd_;
    init.send_cq = init.recv_cq = cq_;
    init.capabilities = {.max_send_wr = kQueueDepth, .max_recv_wr = kQueueDepth, .max_send_sge = 1, .max_recv_sge = 1};
    init.signal_all = true;
    qp_ = *nic_.create_qp(init);
  }

  void connect(ExchangeSide& peer) {
    using namespace nic;
    const auto modify = [&](const QpAttributes& attributes, std::uint32_t mask) {
      VERBENA_ASSERT(nic_.modify_qp(qp_, attributes, mask, clock_.now).ok());
    };
    peer_ = &peer;
    QpAttributes attributes;
    attributes.state = QpState::init;
    attributes.access = kAccess;
    modify(attributes, kQpState | kQpPkeyIndex | kQpPort | kQpAccessFlags);
    attributes.state = QpState::rtr;
    attributes.address_vector.destination = peer.nic_.config().gids[0].gid;
    attributes.address_vector.next_hop = peer.nic_.config().ports[0].mac;
    attributes.path_mtu_bytes = 4096;
    attributes.dest_qpn = peer.nic_.qpn(peer.qp_);
    attributes.max_dest_read_atomic = 16;
    attributes.min_rnr_timer = 12;
    modify(attributes, kQpState | kQpAv | kQpPathMtu | kQpDestQpn | kQpRqPsn | kQpMaxDestReadAtomic | kQpMinRnrTimer);
    attributes.state = QpState::rts;
    attributes.timeout = 14;
    attributes.retry_count = 7;
    attributes.rnr_retry = 7;
    attributes.max_read_atomic = 16;
    modify(attributes, kQpState | kQpTimeout | kQpRetryCount | kQpRnrRetry | kQpSqPsn | kQpMaxReadAtomic);
  }

  /// A list of work requests in one call, and what it gives rise to. An acknowledgement that waited goes behind it.
  void post(nic::SendOpcode opcode, std::uint32_t bytes, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) post_send(opcode, bytes, i);
    if (nic_.holds_acknowledgements()) transmit(nic::Nic::Acknowledge::with_answer);
    if (nic_.has_work() || nic_.holds_acknowledgements()) transmit(nic::Nic::Acknowledge::at_once);
    if (link_.parts.scheduling != nullptr) link_.parts.scheduling->note_activity();
    link_.link->flush();
  }
  void post_receives(std::size_t count) {
    for (; count != 0; --count) {
      const nic::Sge sge{address(), static_cast<std::uint32_t>(buffer_.size()), mr_.lkey};
      VERBENA_ASSERT(nic_.post_receive(qp_, {.wr_id = 0, .sges = {&sge, 1}}).ok());
    }
  }
  struct Polled {
    std::size_t sent = 0;  // work requests that are complete
    std::size_t received = 0;
    std::size_t frames = 0;
  };
  /// One pass over the link, and the completions that it gives.
  Polled poll(nic::Nic::Acknowledge when) {
    link_.link->disarm();
    Polled polled;
    polled.frames = link_.link->receive(clock_.now, *this, kBudget);
    if (nic_.has_work() || (when == nic::Nic::Acknowledge::at_once && nic_.holds_acknowledgements())) transmit(when);
    link_.link->flush();
    std::array<nic::Completion, 16> completions;
    while (const std::size_t count = nic_.poll_cq(cq_, completions)) {
      for (const nic::Completion& completion : std::span(completions).first(count)) {
        VERBENA_ASSERT(completion.status == nic::CompletionStatus::success);
        ++(completion.opcode == nic::CompletionOpcode::receive ? polled.received : polled.sent);
      }
    }
    return polled;
  }
  /// What the progress thread does of the link: takes calls and answers of peers.
  Polled service() {
    link_.link->service();
    return poll(nic::Nic::Acknowledge::at_once);
  }
  std::uint64_t frames_sent() const { return counters_.get(nic::Counter::tx_packets); }
  std::uint64_t frames_resent() const { return counters_.get(nic::Counter::tx_retransmitted_packets); }

 private:
  static constexpr std::size_t kBudget = 64;  // frames, as an engine's pass
  static constexpr std::uint32_t kAccess = nic::kLocalWrite | nic::kRemoteWrite | nic::kRemoteRead;

  static host::OpenedLink open(std::uint8_t node, const std::string& fabric) {
    host::EngineConfig config;
    config.fabric = fabric;
    config.address = wire::Gid::from_ipv4(0x7f2f5b00u | node);
    config.link = "shm";
    auto opened = host::open_link(config);
    VERBENA_ASSERT(opened.ok());
    return std::move(*opened);
  }
  nic::NicConfig config_of(std::uint8_t node) const {
    nic::NicConfig config;
    config.qpn_base = host::qpn_base_of(link_.slot);
    config.qpn_bits = host::kSlotShift;
    config.ports[0].mac = link_.address.mac();
    config.gids[0] = wire::Gid::from_ipv4(0x7f2f5b00u | node);
    config.port_mtu_bytes = link_.mtu_bytes;
    config.seed = node;
    return config;
  }

  void frame(std::span<const std::byte> frame, wire::IcrcState icrc) override { nic_.receive(clock_.now, frame, icrc); }
  void transmit(nic::Nic::Acknowledge when) {
    nic_.transmit(clock_.now, *link_.link, kBudget, when);
    link_.link->publish();
  }
  void post_send(nic::SendOpcode opcode, std::uint32_t bytes, std::size_t place) {
    const std::uint64_t offset = place * bytes % buffer_.size();
    const nic::Sge sge{address() + offset, bytes, mr_.lkey};
    nic::SendRequest request;
    request.opcode = opcode;
    request.sges = {&sge, 1};
    request.operand.remote = {.address = peer_->address() + offset, .rkey = peer_->mr_.rkey};
    VERBENA_ASSERT(nic_.post_send(qp_, request, clock_.now).ok());
  }
  std::uint64_t address() { return reinterpret_cast<std::uintptr_t>(buffer_.data()); }

  VirtualClock& clock_;
  host::OpenedLink link_;
  std::vector<std::byte> buffer_;
  host::AppMemory memory_;
  nic::Counters counters_;
  nic::Nic nic_;
  nic::PdHandle pd_;
  nic::CqHandle cq_;
  nic::MemoryRegion mr_;
  nic::QpHandle qp_;
  ExchangeSide* peer_ = nullptr;
};

}  // namespace verbena::bench
