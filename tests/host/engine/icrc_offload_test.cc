// ICRC offload between live engines: what leaves the shared memory for a capture, a fault or an application is octet
// for octet what it is when every ICRC is computed at once.
#include <sys/stat.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "emulator/fabric/fault_rule.h"
#include "tests/host/engine/engine_node.h"
#include "wire/pcap_file.h"

using namespace verbena;
using namespace verbena::host;
using namespace verbena::host::test;

namespace {

using Frames = std::vector<std::vector<std::byte>>;

constexpr std::uint64_t kIova = 0x10000;  // so that the addresses in RETHs are the same in each run
constexpr std::uint8_t kPatientTimeout = 18;

struct Folder {
  Folder() {
    char name[] = "/tmp/verbena-icrc-XXXXXX";
    BOOST_REQUIRE(::mkdtemp(name) != nullptr);
    path = name;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string file(const std::string& name) const { return path + "/" + name; }
  std::string path;
};

Frames frames_of(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  const std::vector<char> octets((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  auto reader = wire::CaptureReader::open(std::as_bytes(std::span(octets)));
  BOOST_REQUIRE(reader.ok());
  Frames frames;
  for (;;) {
    const auto packet = reader->next();
    BOOST_REQUIRE(packet.ok());
    if (!packet->has_value()) return frames;
    frames.emplace_back((*packet)->bytes.begin(), (*packet)->bytes.end());
  }
}

std::size_t wrong_icrcs_of(const Frames& frames) {
  return static_cast<std::size_t>(std::ranges::count_if(frames, [](const auto& frame) {
    const auto packet = wire::parse_frame(frame);
    return !packet || !packet->icrc_is_valid();
  }));
}

/// Two engines, driven by one thread so that each run makes the same packets.
struct Exchange {
  Exchange(EngineConfig config_a, EngineConfig config_b) : a(1, with_seed(config_a)), b(2, with_seed(config_b)) {
    connect(a, b, kPatientTimeout);
    for (EngineNode* node : {&a, &b})
      zero_based[node == &b] = node->make([&](nic::Nic& nic) {
        const std::uint32_t access = nic::kLocalWrite | nic::kRemoteWrite | nic::kRemoteRead | nic::kRemoteAtomic;
        return nic.register_memory(
            {.pd = node->pd, .address = node->address, .length = EngineNode::kBytes, .iova = kIova, .access = access});
      });
    for (std::size_t i = 0; i < EngineNode::kBytes; ++i) a.bytes()[i] = static_cast<std::byte>(i * 13 + (i >> 8));
  }
  static EngineConfig with_seed(EngineConfig config) {
    config.seed = 7;
    return config;
  }
  nic::CompletionStatus run(nic::SendOpcode opcode, std::uint32_t bytes) {
    const nic::Sge sge{kIova, bytes, zero_based[0].lkey};
    nic::SendRequest request;
    request.opcode = opcode;
    request.sges = {&sge, 1};
    request.operand.remote.address = kIova + EngineNode::kBytes / 2;
    request.operand.remote.rkey = zero_based[1].rkey;
    request.operand.remote.compare_or_add = 1;
    BOOST_REQUIRE(a.engine->post([&](nic::Nic& nic, Time now) { return nic.post_send(a.qp, request, now).ok(); }));
    std::array<nic::Completion, 1> done;
    for (const Time end = clock_now() + seconds(60); clock_now() < end;) {
      b.engine->progress();
      a.engine->progress();
      if (a.engine->run([&](nic::Nic& nic, Time) { return nic.poll_cq(a.cq, done); }) == 1) return done[0].status;
    }
    BOOST_FAIL("the exchange does not end");
    return {};
  }
  void run_all() {
    for (const std::uint32_t bytes : {1u, 8u, 63u, 4096u, 4097u, 100'000u}) {
      for (const auto opcode : {nic::SendOpcode::rdma_write, nic::SendOpcode::rdma_read, nic::SendOpcode::send}) {
        if (opcode == nic::SendOpcode::send) BOOST_REQUIRE(b.post_receive(EngineNode::kBytes));
        BOOST_TEST((run(opcode, bytes) == nic::CompletionStatus::success));
      }
    }
    BOOST_TEST((run(nic::SendOpcode::fetch_and_add, 8) == nic::CompletionStatus::success));
  }

  EngineNode a;
  EngineNode b;
  std::array<nic::MemoryRegion, 2> zero_based;
};

EngineConfig config_of(std::uint8_t node, const std::string& run, wire::IcrcState icrc) {
  EngineConfig config = engine_config(node, "icrc." + run + "." + std::to_string(getpid()), false);
  config.icrc = icrc;
  return config;
}

}  // namespace

BOOST_AUTO_TEST_CASE(capture_is_the_same_with_and_without_icrc_offload) {
  const Folder folder;
  std::array<Frames, 2> captured;
  for (const wire::IcrcState icrc : {wire::IcrcState::present, wire::IcrcState::deferred}) {
    const std::string run = icrc == wire::IcrcState::present ? "always" : "offload";
    const std::string file = folder.file(run);
    {
      EngineConfig config = config_of(2, run, icrc);
      config.capture_path = file;
      Exchange exchange(config_of(1, run, icrc), config);
      exchange.run_all();
    }
    captured[icrc == wire::IcrcState::deferred] = frames_of(file);
  }
  BOOST_TEST(captured[0].size() > 100U);
  BOOST_TEST(wrong_icrcs_of(captured[0]) == 0U);
  BOOST_TEST((captured[0] == captured[1]));
}

BOOST_AUTO_TEST_CASE(frame_changed_by_a_fault_at_the_receiver_is_dropped) {
  EngineConfig config = config_of(2, "corrupt", wire::IcrcState::deferred);
  config.faults.push_back(*fabric::parse_fault("corrupt where=payload dir=rx psn=0 count=1"));
  Exchange exchange(config_of(1, "corrupt", wire::IcrcState::deferred), config);
  BOOST_TEST((exchange.run(nic::SendOpcode::rdma_write, 100'000) == nic::CompletionStatus::success));
  BOOST_TEST(exchange.b.engine->counters().get(nic::Counter::rx_dropped_icrc) == 1U);
  BOOST_TEST(std::equal(exchange.a.bytes(), exchange.a.bytes() + 100'000, exchange.b.bytes() + EngineNode::kBytes / 2));
}

BOOST_AUTO_TEST_CASE(a_fault_at_the_sender_does_as_well) {
  EngineConfig config = config_of(1, "sender", wire::IcrcState::deferred);
  config.faults.push_back(*fabric::parse_fault("corrupt where=payload psn=0 count=1"));
  Exchange exchange(config, config_of(2, "sender", wire::IcrcState::deferred));
  BOOST_TEST((exchange.run(nic::SendOpcode::rdma_write, 100'000) == nic::CompletionStatus::success));
  BOOST_TEST(exchange.b.engine->counters().get(nic::Counter::rx_dropped_icrc) == 1U);
}
