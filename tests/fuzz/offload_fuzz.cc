// Frames whose ICRC is deferred through a network that loses, copies, holds, changes, marks and shows them: whoever
// sees one sees its ICRC, and one that comes out without is unchanged.
//
// The input is a program of small records: frames of any kind, octets that are no frame, faults, time. Each frame is
// built as the NIC builds it, deferred or not.
#include <array>
#include <vector>

#include "emulator/fabric/fault_plan.h"
#include "emulator/fabric/network.h"
#include "emulator/fabric/network_control.h"
#include "tests/fuzz/input.h"
#include "tests/support/frames.h"
#include "wire/assert.h"
#include "wire/icrc.h"

namespace {

using namespace verbena;
using namespace verbena::fabric;
using test::Input;

constexpr std::size_t kRecordsMax = 300;
constexpr std::array kFaults{"corrupt 30%",
                             "corrupt where=payload repair=yes 30%",
                             "truncate to=60 20%",
                             "duplicate 30%",
                             "delay by=5us 30%",
                             "reorder by=2 30%",
                             "drop 10%",
                             "mark 50%",
                             "corrupt where=psn 50%",
                             "truncate to=200 part=first"};

bool has_icrc(std::span<const std::byte> frame) {
  const auto packet = wire::parse_frame(frame);
  return packet && packet->icrc_is_valid();
}

class Victim final : Sink, Observer {
 public:
  explicit Victim(Input& input) : input_(input), network_(star(3, {}), {.seed = input.u32() | 1}) {
    for (std::uint32_t host = 0; host < 3; ++host) network_.add_address(host, test::node_gid(host + 1));
    if (input.u8() % 4 != 0) network_.observe(this);
  }

  void run() {
    for (std::size_t record = 0; record < kRecordsMax && !input_.empty(); ++record) {
      switch (input_.u8() % 6) {
        case 0:
          set_faults();
          break;
        case 1:
          now_ = now_ + microseconds(input_.u8());
          network_.run(now_, *this);
          break;
        case 2:  // what a peer says has no ICRC yet, and is no packet
          network_.submit(now_, input_.u8() % 3, input_.bytes(input_.u8()), wire::IcrcState::deferred);
          break;
        default:
          send();
      }
    }
    network_.run(now_ + seconds(10), *this);
  }

 private:
  void set_faults() {
    std::vector<FaultRule> rules;
    for (int i = input_.u8() % 4; i > 0; --i) rules.push_back(*parse_fault(kFaults[input_.u8() % kFaults.size()]));
    const std::uint32_t cable = input_.u8() % static_cast<std::uint32_t>(network_.topology().cables.size());
    NetworkControl(network_).set_faults({cable, input_.u8() % 2 == 0}, rules);
  }

  void send() {
    const unsigned from = input_.u8() % 3;
    const unsigned to = input_.u8() % 3;
    const bool is_deferred = input_.u8() % 4 != 0;
    test::PacketSpec spec{.psn = input_.u32()};
    const std::size_t payload = input_.u32() % (wire::kPayloadBytesMax + 1);
    if (payload == 0)
      spec.opcode = test::rc(wire::OperationCode::acknowledge);
    else
      spec.payload.assign(payload, static_cast<std::byte>(input_.u8()));
    auto frame = test::make_frame(from + 1, to + 1, spec);
    if (is_deferred) std::fill(frame.end() - wire::kIcrcBytes, frame.end(), std::byte{0});
    network_.submit(now_, from, frame, is_deferred ? wire::IcrcState::deferred : wire::IcrcState::present);
  }

  bool arrived(const Arrival& arrival) override {
    if (arrival.icrc == wire::IcrcState::deferred) VERBENA_ASSERT(!arrival.corrupted);
    if (!arrival.corrupted && wire::parse_frame(arrival.frame)) {
      wire::CompletedFrame completed;
      const bool is_deferred = arrival.icrc == wire::IcrcState::deferred;
      VERBENA_ASSERT(has_icrc(is_deferred ? completed.copy_of(arrival.frame) : arrival.frame));
    }
    return true;
  }
  void observe(const ObservedFrame& observed) override {
    VERBENA_ASSERT(observed.corrupted || !wire::parse_frame(observed.frame) || has_icrc(observed.frame));
  }

  Input& input_;
  Network network_;
  Time now_{0};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  Victim(input).run();
  return 0;
}
