// Pair: two NICs in one thread, joined by the rings of the shared-memory link, with one RC connection between them.
//
// Solely responsible for the set-up and for carrying frames. The parts are the product's: Nic, AppMemory, RingWriter
// and RingReader. What a process has besides (the engine's lock, routes and doorbells of the link) is not there, so
// that the same instructions run every time. Set-up aborts when a verb fails.
#pragma once

#include <array>
#include <cstring>
#include <memory>
#include <new>

#include "emulator/host/engine/app_memory.h"
#include "emulator/host/link/shm/shm_ring.h"
#include "emulator/nic/nic.h"
#include "wire/assert.h"

namespace verbena::bench {

/// Aligned to a page: what memcpy does depends on where the bytes lie.
class PageMemory {
 public:
  explicit PageMemory(std::size_t bytes) : bytes_(bytes), data_(static_cast<std::byte*>(operator new[](bytes, kPage))) {
    std::memset(data_.get(), 0, bytes);
  }
  std::span<std::byte> bytes() const { return {data_.get(), bytes_}; }
  std::uint64_t address() const { return reinterpret_cast<std::uintptr_t>(data_.get()); }

 private:
  static constexpr std::align_val_t kPage{4096};
  struct Free {
    void operator()(std::byte* data) const { operator delete[](data, kPage); }
  };
  std::size_t bytes_;
  std::unique_ptr<std::byte[], Free> data_;
};

/// One direction: a ring, and both of its ends.
class Cable final : public nic::TransmitPort {
 public:
  std::span<std::byte> reserve(const nic::Destination& /*destination*/, std::size_t bytes) override {
    return writer_.reserve(bytes);
  }
  void commit(std::size_t bytes, wire::IcrcState icrc) override { writer_.commit(bytes, icrc); }
  void cancel() override {}
  void publish() { writer_.publish(true); }

  std::size_t deliver(nic::Nic& to, Time now) {
    return reader_.read(kFramesMax, [&](std::span<const std::byte> frame, wire::IcrcState icrc) {
      to.receive(now, frame, icrc);
      return true;
    });
  }

 private:
  static constexpr std::size_t kFramesMax = 1024;
  PageMemory data_{host::kRingBytes};
  PageMemory consumed_{64};
  host::RingMemory memory_{data_.bytes().data(), reinterpret_cast<std::uint64_t*>(consumed_.bytes().data())};
  host::RingWriter writer_{memory_};
  host::RingReader reader_{memory_};
};

struct End {
  End(std::uint8_t number, std::size_t buffer_bytes) : nic(config_of(number), memory, counters), buffer(buffer_bytes) {
    pd = *nic.allocate_pd();
    cq = *nic.create_cq(kQueueDepth * 2, 0);
    constexpr std::uint32_t kAccess = nic::kLocalWrite | nic::kRemoteWrite;
    const std::uint64_t address = buffer.address();
    mr = *nic.register_memory(
        {.pd = pd, .address = address, .length = buffer_bytes, .iova = address, .access = kAccess});
    nic::QpInit init;
    init.pd = pd;
    init.send_cq = init.recv_cq = cq;
    init.capabilities = {.max_send_wr = kQueueDepth, .max_recv_wr = kQueueDepth, .max_send_sge = 1, .max_recv_sge = 1};
    qp = *nic.create_qp(init);
  }

  void connect(const End& peer) {
    using namespace nic;
    const auto modify = [&](const QpAttributes& attributes, std::uint32_t mask) {
      VERBENA_ASSERT(nic.modify_qp(qp, attributes, mask, Time{}).ok());
    };
    QpAttributes attributes;
    attributes.state = QpState::init;
    attributes.access = kRemoteWrite;
    modify(attributes, kQpState | kQpPkeyIndex | kQpPort | kQpAccessFlags);
    attributes.state = QpState::rtr;
    attributes.address_vector.destination = peer.nic.config().gids[0].gid;
    attributes.address_vector.next_hop = peer.nic.config().ports[0].mac;
    attributes.path_mtu_bytes = 4096;
    attributes.dest_qpn = peer.nic.qpn(peer.qp);
    attributes.rq_psn = wire::Psn(0);
    attributes.min_rnr_timer = 12;
    modify(attributes, kQpState | kQpAv | kQpPathMtu | kQpDestQpn | kQpRqPsn | kQpMaxDestReadAtomic | kQpMinRnrTimer);
    attributes.state = QpState::rts;
    attributes.sq_psn = wire::Psn(0);
    attributes.timeout = 14;
    attributes.retry_count = 7;
    attributes.rnr_retry = 7;
    modify(attributes, kQpState | kQpTimeout | kQpRetryCount | kQpRnrRetry | kQpSqPsn | kQpMaxReadAtomic);
  }

  static nic::NicConfig config_of(std::uint8_t number) {
    nic::NicConfig config;
    config.ports[0].mac.octets = {0x02, 0x56, 0x7f, 0x2f, 0x5b, number};
    config.gids[0] = wire::Gid::from_ipv4(0x7f2f5b00u | number);
    config.seed = number;
    return config;
  }

  static constexpr std::uint32_t kQueueDepth = 64;
  host::AppMemory memory;
  nic::Counters counters;
  nic::Nic nic;
  PageMemory buffer;
  nic::PdHandle pd;
  nic::CqHandle cq;
  nic::MemoryRegion mr;
  nic::QpHandle qp;
  Cable out;
};

struct Pair {
  explicit Pair(std::size_t buffer_bytes) : initiator(1, buffer_bytes), target(2, buffer_bytes) {
    initiator.connect(target);
    target.connect(initiator);
  }
  End initiator;
  End target;
};

}  // namespace verbena::bench
