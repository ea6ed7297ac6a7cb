// A NIC that has received good packets of a flow against the same packet with one bit changed, for every bit.
//
// Whatever is done to make the next packet of a known flow cheap, the octets that the ICRC covers are checked each
// time, and what it does not cover changes nothing but itself.
#include <array>
#include <boost/test/unit_test.hpp>
#include <set>
#include <vector>

#include "emulator/nic/nic.h"
#include "tests/support/frames.h"

namespace verbena::test {
namespace {

using namespace verbena::nic;

struct Flow {
  const char* name;
  bool ipv6;
  bool vlan;
};
constexpr std::array kFlows{Flow{"IPv4", false, false}, Flow{"IPv6", true, false}, Flow{"IPv4, VLAN", false, true},
                            Flow{"IPv6, VLAN", true, true}};

wire::Gid gid_of(const Flow& flow, unsigned node) {
  if (!flow.ipv6) return node_gid(node);
  wire::Gid gid;
  gid.octets = {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, static_cast<std::uint8_t>(node)};
  return gid;
}

/// Node 1, with one RC QP in RTR, whose peer is node 2.
class Target {
 public:
  static constexpr std::uint32_t kPsn = 100;
  static constexpr std::size_t kBytes = 64;

  explicit Target(const Flow& flow) : flow_(flow), nic_(config_of(flow), memory_, counters_) {
    pd_ = *nic_.allocate_pd();
    const CqHandle cq = *nic_.create_cq(16, 0);
    const auto address = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(buffer_.data()));
    region_ = *nic_.register_memory(
        {.pd = pd_, .address = address, .length = kBytes, .iova = kIova, .access = kLocalWrite | kRemoteWrite});
    QpInit init{.pd = pd_, .send_cq = cq, .recv_cq = cq, .capabilities = {.max_send_wr = 4, .max_recv_wr = 4}};
    qp_ = *nic_.create_qp(init);
    QpAttributes attributes;
    attributes.state = QpState::init;
    attributes.access = kRemoteWrite;
    BOOST_REQUIRE(nic_.modify_qp(qp_, attributes, kQpState | kQpPkeyIndex | kQpPort | kQpAccessFlags, Time{}).ok());
    attributes.state = QpState::rtr;
    attributes.address_vector.destination = gid_of(flow, 2);
    attributes.address_vector.next_hop = node_mac(2);
    attributes.path_mtu_bytes = 1024;
    attributes.dest_qpn = wire::Qpn(0x020077);
    attributes.rq_psn = wire::Psn(kPsn);
    BOOST_REQUIRE(
        nic_.modify_qp(qp_, attributes,
                       kQpState | kQpAv | kQpPathMtu | kQpDestQpn | kQpRqPsn | kQpMaxDestReadAtomic | kQpMinRnrTimer,
                       Time{})
            .ok());
  }

  /// A WRITE to the start of the buffer, each octet of this value.
  std::vector<std::byte> write(std::uint32_t psn, unsigned value, std::size_t bytes = kBytes) const {
    wire::FramePath path;
    path.from = node_mac(2);
    path.to = node_mac(1);
    path.source = gid_of(flow_, 2);
    path.destination = gid_of(flow_, 1);
    if (flow_.vlan) path.vlan = wire::Vlan{.priority = 3, .vlan_id = 7};
    PacketSpec spec{.opcode = rc(OperationCode::write_only), .psn = psn, .dest_qp = nic_.qpn(qp_)};
    spec.reth = {kIova, wire::Rkey{region_.rkey}, static_cast<std::uint32_t>(bytes)};
    spec.payload.assign(bytes, static_cast<std::byte>(value));
    return make_frame(wire::FrameTemplate(path), spec);
  }
  void receive(std::span<const std::byte> frame) {
    nic_.receive(now_, frame);
    nic_.check_invariants();
  }
  std::uint64_t count(Counter counter) const { return counters_.get(counter); }
  std::uint32_t expected_psn() const { return nic_.query_qp(qp_)->rq_psn.value(); }
  std::byte octet(std::size_t index) const { return buffer_[index]; }

  /// Ethernet, and what a router may change (annex A17): the ICRC does not cover these.
  bool is_uncovered(std::size_t octet, unsigned bit) const {
    const std::size_t ip = flow_.vlan ? 18 : 14;
    const std::size_t udp = ip + (flow_.ipv6 ? 40 : 20);
    std::set<std::size_t> masked{udp + 6, udp + 7, udp + 8 + 4};
    for (const std::size_t i : flow_.ipv6 ? std::set<std::size_t>{1, 2, 3, 7} : std::set<std::size_t>{1, 8, 10, 11})
      masked.insert(ip + i);
    return octet < ip || masked.contains(octet) || (flow_.ipv6 && octet == ip && bit < 4);
  }

 private:
  static constexpr std::uint64_t kIova = 0x10000;
  static NicConfig config_of(const Flow& flow) {
    NicConfig config;
    config.qpn_base = wire::Qpn(0x010000);
    config.ports[0].mac = node_mac(1);
    config.gids[0] = gid_of(flow, 1);
    return config;
  }

  const Flow& flow_;
  std::array<std::byte, kBytes> buffer_{};
  PlainMemory memory_;
  Counters counters_;
  Nic nic_;
  PdHandle pd_;
  MemoryRegion region_;
  QpHandle qp_;
  Time now_{1'000'000};
};

}  // namespace

BOOST_AUTO_TEST_CASE(changed_bit_in_a_known_flow_is_noticed_wherever_it_is) {
  for (const Flow& flow : kFlows) {
    Target target(flow);
    std::uint32_t psn = Target::kPsn;
    const auto good = [&](unsigned value, std::size_t bytes) {
      target.receive(target.write(psn++, value, bytes));
      BOOST_REQUIRE_EQUAL(target.expected_psn(), psn);
      BOOST_REQUIRE(target.octet(0) == static_cast<std::byte>(value));
    };
    const std::size_t octets = target.write(psn, 0).size();
    for (std::size_t octet = 0; octet < octets; ++octet) {
      for (unsigned bit = 0; bit < 8; ++bit) {
        good(0x11, Target::kBytes);  // of this size, and of another
        good(0x22, Target::kBytes / 2);
        good(0x33, Target::kBytes);
        std::vector<std::byte> frame = target.write(psn, 0x44);
        frame[octet] ^= static_cast<std::byte>(1u << bit);
        const std::uint64_t taken = target.count(Counter::rx_write_requests);
        target.receive(frame);
        const bool was_taken = target.count(Counter::rx_write_requests) != taken;
        if (was_taken) {
          BOOST_REQUIRE_MESSAGE(target.is_uncovered(octet, bit), flow.name << ": octet " << octet << " bit " << bit);
          BOOST_REQUIRE_EQUAL(target.expected_psn(), ++psn);
        } else {
          BOOST_REQUIRE_EQUAL(target.expected_psn(), psn);
          for (std::size_t i = 0; i < Target::kBytes; ++i) BOOST_REQUIRE(target.octet(i) == std::byte{0x33});
        }
      }
    }
    BOOST_TEST(target.count(Counter::rx_dropped_icrc) > 8 * Target::kBytes);
    BOOST_TEST(target.count(Counter::rx_dropped_malformed) > 0u);
    BOOST_TEST(target.count(Counter::out_of_sequence) == 0u);
  }
}

BOOST_AUTO_TEST_CASE(what_a_router_may_change_does_not_cost_a_packet) {
  for (const Flow& flow : kFlows) {
    Target target(flow);
    std::uint32_t psn = Target::kPsn;
    const std::size_t ip = flow.vlan ? 18 : 14;
    for (int round = 0; round < 3; ++round) {
      target.receive(target.write(psn++, 0x55));
      std::vector<std::byte> frame = target.write(psn++, 0x66);
      frame[ip + 1] ^= std::byte{0x03};                    // congestion experienced; IPv6: the flow label's top
      frame[ip + (flow.ipv6 ? 7 : 8)] ^= std::byte{0x0f};  // hop limit, time to live
      target.receive(frame);
      BOOST_REQUIRE_EQUAL(target.expected_psn(), psn);
    }
  }
}

}  // namespace verbena::test
