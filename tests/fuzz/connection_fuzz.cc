// A communication manager in every state of its connections against arbitrary, spoiled, doubled, late and almost valid
// management datagrams, calls of its owner and the passing of time.
//
// The input is a program of small records. The manager is its own peer: what it sends is kept, and comes back whole or
// spoiled, once or again, now or much later. Nothing may assert; every connection ends once its owner has left it.
#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <vector>

#include "emulator/cm/addressee.h"
#include "emulator/cm/connection_manager.h"
#include "tests/fuzz/input.h"
#include "wire/assert.h"
#include "wire/packet_builder.h"

namespace {

using namespace verbena;
using namespace verbena::cm;
using test::Input;

constexpr std::size_t kRecordsMax = 300;
constexpr std::size_t kFramesMax = 256;
constexpr std::size_t kIdsMax = 64;
constexpr std::uint64_t kService = 0x01060001;
constexpr std::uint64_t kListener = 1;
using Frame = std::vector<std::byte>;

class KeepingPort final : public nic::TransmitPort {
 public:
  std::span<std::byte> reserve(const nic::Destination&, std::size_t bytes) override {
    if (frames.size() >= kFramesMax) frames.erase(frames.begin());
    return std::span(scratch_).first(bytes);
  }
  void commit(std::size_t bytes, wire::IcrcState) override {
    frames.emplace_back(scratch_.begin(), scratch_.begin() + static_cast<std::ptrdiff_t>(bytes));
  }
  void cancel() override {}
  std::vector<Frame> frames;

 private:
  std::array<std::byte, 1024> scratch_{};
};

Config config() {
  Config config;
  config.address = wire::Gid::from_ipv4(0x7f2f5b01);
  config.slot = 3;
  config.first_id = 1;
  return config;
}

class Victim {
 public:
  Victim() : manager_(config()) { manager_.listeners().add(kService, kListener); }

  void run(Input& input) {
    for (std::size_t record = 0; record < kRecordsMax && !input.empty(); ++record) {
      step(input);
      look();
    }
    end();
  }

 private:
  PrivateData data(Input& input) { return PrivateData::of(input.bytes(input.u8() % 64)); }

  RequestInit request(Input& input) {
    RequestInit init;
    init.service_id = kService + input.u8() % 2;
    init.path.address = config().address;
    init.path.packet_lifetime = input.u8() % 20;
    if (input.u8() % 2 == 0) init.path.slot = config().slot;
    init.offer.qpn = wire::Qpn(input.u8() % 8);
    init.transport = static_cast<Transport>(std::array<std::uint8_t, 3>{0, 1, 3}[input.u8() % 3]);
    init.private_data = data(input);
    return init;
  }

  ConnectionId pick(Input& input) {
    const std::uint8_t which = input.u8();
    return ids_.empty() ? which : ids_[which % ids_.size()];
  }

  void know(ConnectionId id) {
    if (id == 0 || std::ranges::find(ids_, id) != ids_.end()) return;
    if (ids_.size() == kIdsMax) {
      manager_.destroy(now_, ids_.front());
      ids_.erase(ids_.begin());
    }
    ids_.push_back(id);
  }

  void deliver(const Frame& frame) {
    const auto packet = wire::parse_frame(frame);
    if (!packet.ok()) return;
    static_cast<void>(addressee_of(*packet));
    manager_.receive(now_, *packet);
  }

  const Frame* kept(Input& input) {
    const std::uint8_t age = input.u8();
    return port_.frames.empty() ? nullptr : &port_.frames[port_.frames.size() - 1 - age % port_.frames.size()];
  }

  /// A datagram to QP1 of any size.
  Frame datagram(std::span<const std::byte> payload) {
    Frame frame(1024);
    wire::FramePath path;
    path.source = path.destination = config().address;
    const wire::FrameTemplate frame_template(path);
    wire::Bth bth;
    bth.opcode = wire::make_opcode(wire::Transport::ud, wire::OperationCode::send_only);
    bth.dest_qp = wire::kGsiQpn;
    wire::PacketBuilder builder(frame, frame_template, bth, payload.size());
    builder.append(wire::Deth{wire::kGsiQkey, 0, wire::kGsiQpn});
    builder.append_payload(payload);
    frame.resize(builder.finish());
    return frame;
  }

  void deliver_made_up(Input& input) {
    wire::MadHeader header;
    constexpr std::size_t kHeaderBytes = wire::MadHeaderLayout::bytes;
    std::array<std::byte, 2 * wire::kMadBytes> mad{};
    header.attribute = static_cast<wire::CmAttribute>(0x10 + input.u8() % 16);
    wire::MadHeaderLayout::emit(header, std::span<std::byte, kHeaderBytes>(mad.data(), kHeaderBytes));
    const auto ids = [&](std::size_t at, ConnectionId id) {
      for (unsigned octet = 0; octet < 4; ++octet)
        mad[kHeaderBytes + at + octet] = static_cast<std::byte>(id >> (24 - 8 * octet));
    };
    const auto body = input.bytes(input.u8());
    std::ranges::copy(std::span(body).first(std::min(body.size(), mad.size() - kHeaderBytes)),
                      mad.begin() + kHeaderBytes);
    const std::uint8_t how = input.u8();
    if ((how & 1) != 0) ids(0, pick(input));
    if ((how & 2) != 0) ids(4, pick(input));
    // Mostly of the right size: too small and too large ones are dropped early.
    const std::size_t bytes = how >= 16 ? wire::kMadBytes : std::size_t{32} * how;
    deliver(datagram(std::span(mad).first(std::min(bytes, mad.size()))));
  }

  void step(Input& input) {
    switch (input.u8() % 20) {
      case 0:
      case 1:
        return know(manager_.request(now_, request(input)));
      case 2:
        return know(manager_.request_service(now_, request(input)));
      case 3:
        return static_cast<void>(manager_.adopt(pick(input), 5, wire::Psn(input.u8())));
      case 4:
        return static_cast<void>(manager_.reply(now_, pick(input), {.qpn = wire::Qpn(input.u8())}, data(input)));
      case 5:
        return static_cast<void>(manager_.ready(now_, pick(input), data(input)));
      case 6:
        return static_cast<void>(
            manager_.reject(now_, pick(input), static_cast<RejectReason>(input.u8()), data(input)));
      case 7:
        return static_cast<void>(manager_.disconnect(now_, pick(input)));
      case 8:
        return static_cast<void>(manager_.establish(pick(input)));
      case 9:
        return manager_.destroy(now_, pick(input));
      case 10:
        return static_cast<void>(manager_.reply_service(
            now_, pick(input), {.status = static_cast<ServiceStatus>(input.u8() % 4)}, data(input)));
      case 11:
        return pass(milliseconds(std::int64_t{1} << input.u8() % 18));
      case 12:
      case 13:
      case 14:
        if (const Frame* frame = kept(input)) deliver(Frame(*frame));
        return;
      case 15:
        if (const Frame* frame = kept(input)) {
          Frame spoiled = *frame;
          for (unsigned octets = input.u8() % 4 + 1; octets != 0; --octets)
            spoiled[(input.u8() * 2u + input.u8() % 2) % spoiled.size()] ^= static_cast<std::byte>(input.u8());
          deliver(spoiled);
        }
        return;
      case 16:
        return deliver_made_up(input);
      case 17:
        for (const cm::LastWord& word :
             manager_.last_words({config().address, static_cast<std::uint8_t>(input.u8() % 2 * 3)},
                                 manager_.peers().begin_probe().number - input.u8() % 2))
          if (const auto packet = wire::parse_frame(word)) manager_.receive(now_, *packet);
        return;
      case 18:
        return manager_.disconnect_all(now_);
      case 19:
        if (!manager_.listeners().add(kService, kListener)) manager_.listeners().remove(kService, kListener);
        return;
    }
  }

  /// The owner takes its events, and what is to be sent is.
  void look() {
    while (const auto event = manager_.events().poll()) know(event->connection);
    manager_.outbox().transmit(port_, kFramesMax);
  }

  void pass(Duration time) {
    now_ = now_ + time;
    manager_.on_deadline(now_);
  }

  void end() {
    for (const ConnectionId id : ids_) manager_.destroy(now_, id);
    // A minute of repetitions, and the longest TIMEWAIT that five bits can ask for.
    for (int turn = 0; turn < 64 && manager_.next_deadline() != kNever; ++turn) {
      pass(seconds(9000));
      look();
    }
    VERBENA_ASSERT(manager_.connections() == 0);
    VERBENA_ASSERT(manager_.peers().all().empty());
    VERBENA_ASSERT(manager_.events().empty());
  }

  ConnectionManager manager_;
  KeepingPort port_;
  std::vector<ConnectionId> ids_;
  Time now_{};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  Victim().run(input);
  return 0;
}
