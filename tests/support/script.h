// Script: one NIC (node 1) against a peer that the test plays packet by packet (node 2).
//
//   script.peer({.opcode = rc(send_only), .psn = 100, .ack_request = true});
//   script.expect(rc(acknowledge), 100);
//   script.expect_silence(milliseconds(1));
#pragma once

#include <deque>

#include "tests/support/endpoint.h"

namespace verbena::test {

class Script {
 public:
  static constexpr std::uint32_t kPeerQpn = 0x020077;

  explicit Script(const QpOptions& options = {}, std::size_t buffer_bytes = 1 << 16,
                  WorldOptions world_options = {.latency = nanoseconds(0)})
      : world(std::move(world_options)), end(world, 1, options), buffer(end.nic(), end.pd, buffer_bytes) {
    // Node 2 is not a NIC here: what goes to it is taken off and shown to the test.
    world.filter = [this](const Traced& traced, std::vector<std::byte>& frame) {
      sent_.push_back({traced, std::move(frame)});
      return false;
    };
    end.connect(2, wire::Qpn(kPeerQpn));
    buffer.fill(3);
  }

  /// The peer sends one packet to the NIC's QP.
  void peer(PacketSpec spec) {
    spec.dest_qp = end.qpn();
    raw(make_frame(2, 1, spec));
  }
  /// The same, and nobody asks the NIC for frames.
  void deliver(PacketSpec spec) {
    spec.dest_qp = end.qpn();
    end.nic().receive(world.now(), make_frame(2, 1, spec));
  }
  /// Several packets that arrive in one batch.
  void peer_batch(const std::vector<PacketSpec>& specs) {
    for (PacketSpec spec : specs) {
      spec.dest_qp = end.qpn();
      world.inject(1, make_frame(2, 1, spec));
    }
    world.run_until(world.now());
  }
  void raw(std::vector<std::byte> frame) {
    world.inject(1, std::move(frame));
    world.run_until(world.now());
  }

  /// The next packet that the NIC sends, waiting at most `within`. Fails the test if there is none.
  Traced next(Duration within = nanoseconds(0)) {
    world.run_while_not([&] { return !sent_.empty(); }, within);
    BOOST_REQUIRE_MESSAGE(!sent_.empty(), "the NIC is silent");
    last_frame = std::move(sent_.front().frame);
    const Traced traced = sent_.front().traced;
    sent_.pop_front();
    return traced;
  }
  Traced expect(wire::Opcode opcode, std::uint32_t psn, Duration within = nanoseconds(0)) {
    const Traced traced = next(within);
    BOOST_TEST(wire::opcode_info(traced.opcode).name == wire::opcode_info(opcode).name);
    BOOST_TEST(traced.psn == (psn & wire::Psn::kMask));
    return traced;
  }
  void expect_acknowledge(std::uint32_t psn) {
    const Traced traced = expect(rc(OperationCode::acknowledge), psn);
    BOOST_CHECK(wire::Syndrome::decode(traced.syndrome).kind == wire::Syndrome::Kind::ack);
  }
  void expect_rnr_nak(std::uint8_t timer_code, std::uint32_t psn) {
    const Traced traced = expect(rc(OperationCode::acknowledge), psn);
    BOOST_TEST(traced.syndrome == wire::rnr_syndrome(timer_code));
  }
  void expect_nak(wire::NakCode code, std::uint32_t psn) {
    const Traced traced = expect(rc(OperationCode::acknowledge), psn);
    BOOST_TEST(traced.syndrome == wire::nak_syndrome(code));
  }
  void expect_silence(Duration time = nanoseconds(0)) {
    world.run_for(time);
    BOOST_TEST(sent_.empty(), "the NIC sent "
                                  << (sent_.empty() ? "" : wire::opcode_info(sent_.front().traced.opcode).name)
                                  << " unasked, psn " << (sent_.empty() ? 0 : sent_.front().traced.psn));
  }
  void acknowledge(std::uint32_t psn, std::uint32_t msn = 0, std::uint8_t syndrome = wire::ack_syndrome(31)) {
    peer({.opcode = rc(OperationCode::acknowledge), .psn = psn, .aeth = {syndrome, msn}});
  }

  World world;
  Endpoint end;
  Buffer buffer;
  std::vector<std::byte> last_frame;

 private:
  struct Sent {
    Traced traced;
    std::vector<std::byte> frame;
  };
  std::deque<Sent> sent_;
};

}  // namespace verbena::test
