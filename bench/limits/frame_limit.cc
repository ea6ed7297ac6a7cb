// What real frames cost without a NIC: RDMA WRITEs of 64 octets, built by the wire library into the ring of the
// shared-memory link on one core, parsed, their ICRC checked and their payload copied on the other.
//
// Solely responsible for two figures: frames a second one way, and the one-way time of a single frame that goes to and
// fro. There are no queues, no QPs, no acknowledgements and no verbs: a bound for whatever sends frames, not a model.
// Usage: frame_limit [rate] [latency]
#include <cstring>
#include <memory>
#include <new>
#include <thread>

#include "bench/limits/measure.h"
#include "emulator/host/link/shm/shm_ring.h"
#include "wire/frame_parser.h"
#include "wire/known_headers.h"
#include "wire/packet_builder.h"

namespace verbena::bench {
namespace {

constexpr std::size_t kPayloadBytes = 64;
constexpr std::size_t kPublishBatch = 32;
constexpr std::size_t kReadBudget = 64;

/// The memory of one direction.
class Way {
 public:
  Way() : data_(new(kPage) std::byte[host::kRingBytes]()), consumed_(new(kPage) std::uint64_t[8]()) {}
  host::RingMemory memory() const { return {data_.get(), consumed_.get()}; }

 private:
  static constexpr std::align_val_t kPage{4096};
  struct Free {
    template <class Element>
    void operator()(Element* data) const {
      operator delete[](data, kPage);
    }
  };
  std::unique_ptr<std::byte[], Free> data_;
  std::unique_ptr<std::uint64_t[], Free> consumed_;
};

class Sender {
 public:
  explicit Sender(const Way& way) : writer_(way.memory()) {
    wire::FramePath path;
    path.source = wire::Gid::from_ipv4(0x7f2f5b01);
    path.destination = wire::Gid::from_ipv4(0x7f2f5b02);
    template_ = wire::FrameTemplate(path);
  }

  void send() {
    constexpr auto kOpcode = wire::make_opcode(wire::Transport::rc, wire::OperationCode::write_only);
    const std::size_t bytes = wire::frame_bytes(template_, kOpcode, kPayloadBytes);
    std::span<std::byte> room = writer_.reserve(bytes);
    for (; room.empty(); room = writer_.reserve(bytes)) writer_.publish(false);
    wire::Bth bth;
    bth.opcode = kOpcode;
    bth.dest_qp = wire::Qpn(0x12);
    bth.psn = wire::Psn(psn_++);
    wire::PacketBuilder builder(room, template_, bth, kPayloadBytes);
    builder.append(wire::Reth{reinterpret_cast<std::uint64_t>(source_.data()), wire::Rkey(1), kPayloadBytes});
    builder.append_payload(source_);
    writer_.commit(builder.finish());
  }
  void publish() { writer_.publish(false); }

 private:
  host::RingWriter writer_;
  wire::FrameTemplate template_;
  std::uint32_t psn_ = 0;
  std::array<std::byte, kPayloadBytes> source_{};
};

class Receiver {
 public:
  explicit Receiver(const Way& way) : reader_(way.memory()) {}

  /// Returns how many good ones came.
  std::size_t receive() {
    std::size_t good = 0;
    reader_.read(kReadBudget, [&](std::span<const std::byte> frame, wire::IcrcState) {
      const auto packet = wire::FrameParser::parse(frame, {.known = &known_});
      if (!packet.ok() || !packet->icrc_is_valid() || packet->payload().size() != kPayloadBytes) return true;
      std::memcpy(target_.data(), packet->payload().data(), kPayloadBytes);
      ++good;
      return true;
    });
    return good;
  }

 private:
  host::RingReader reader_;
  wire::KnownHeaders known_;
  std::array<std::byte, kPayloadBytes> target_{};
};

double frames_per_second(std::size_t frames) {
  const Way way;
  std::thread other([&] {
    pin(kCoreB);
    Receiver receiver(way);
    for (std::size_t taken = 0; taken < frames;) taken += receiver.receive();
  });
  pin(kCoreA);
  const Stopwatch watch;
  Sender sender(way);
  for (std::size_t made = 1; made <= frames; ++made) {
    sender.send();
    if (made % kPublishBatch == 0 || made == frames) sender.publish();
  }
  other.join();
  return static_cast<double>(frames) / watch.seconds();
}

void answer(Receiver& receiver, Sender& sender) {
  while (receiver.receive() == 0) continue;
  sender.send();
  sender.publish();
}

double one_way_nanoseconds(std::size_t rounds) {
  const Way there;
  const Way back;
  std::thread other([&] {
    pin(kCoreB);
    Receiver receiver(there);
    Sender sender(back);
    for (std::size_t round = 0; round < rounds; ++round) answer(receiver, sender);
  });
  pin(kCoreA);
  Receiver receiver(back);
  Sender sender(there);
  sender.send();
  sender.publish();
  const double there_and_back = nanoseconds_a_turn(rounds, [&](std::size_t) { answer(receiver, sender); });
  other.join();
  return there_and_back / 2;
}

}  // namespace
}  // namespace verbena::bench

int main(int argc, char** argv) {
  using namespace verbena::bench;
  if (chosen(argc, argv, "rate")) report("rate_millions", frames_per_second(20'000'000) / 1e6);
  if (chosen(argc, argv, "latency")) report("latency_microseconds", one_way_nanoseconds(1'000'000) / 1e3);
}
