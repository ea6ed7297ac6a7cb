#include "scenarios/language/random_scenario.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "emulator/fabric/chance.h"

namespace verbena::scenarios {
namespace {

using fabric::Dice;

std::string number(std::uint64_t value) {
  return std::to_string(value);
}

/// The pieces of a braced list come about in the order in which they are written; those of a sum do not.
std::string joined(std::initializer_list<std::string> pieces) {
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  return text;
}

constexpr std::uint64_t kCongestion = 0xcc;
constexpr std::uint64_t kLossRecovery = 0x5ac4;
constexpr std::uint64_t kClasses = 0x905;
constexpr std::uint64_t kFlows = 0xf10;
constexpr std::uint64_t kLatencies = 0x1a7;

class Writer {
 public:
  explicit Writer(std::uint64_t seed)
      : dice_(seed),
        congestion_dice_(fabric::mix_all({seed, kCongestion})),
        recovery_dice_(fabric::mix_all({seed, kLossRecovery})),
        qos_dice_(fabric::mix_all({seed, kClasses})),
        flow_dice_(fabric::mix_all({seed, kFlows})),
        latency_dice_(fabric::mix_all({seed, kLatencies})),
        seed_(seed) {
    is_congestion_controlled_ = congestion_dice_.below(100) < 30;
    has_qos_ = qos_dice_.below(100) < 30;
    policy_ = congestion_dice_.below(5);
  }

  std::string write() {
    text_ = "name: random-" + number(seed_) + "\nseed: " + number(seed_ % 1'000'000) + "\ntimeout: 60s\n";
    topology();
    nic();
    workloads();
    flows();
    faults();
    expectations();
    return text_;
  }

 private:
  template <std::size_t n>
  std::string_view one_of(const std::array<std::string_view, n>& words) {
    return words[dice_.below(n)];
  }
  std::uint64_t between(std::uint64_t least, std::uint64_t most) { return least + dice_.below(most - least + 1); }
  bool chance(std::uint64_t percent) { return dice_.below(100) < percent; }
  std::string node() { return joined({"n", number(between(1, hosts_))}); }

  void shape(std::string_view name, std::string_view sizes) {
    text_ += "topology:\n  shape: " + std::string(name) + "\n" + std::string(sizes);
  }

  void topology() {
    hosts_ = between(3, 6);
    const std::string hosts = "  hosts: " + number(hosts_) + "\n";
    switch (dice_.below(7)) {
      case 0:
        shape("star", hosts);
        is_tree_ = true;
        break;
      case 1:
        shape("line", hosts);
        is_tree_ = true;
        break;
      case 2:
        shape("ring", hosts);
        break;
      case 3:
        shape("full-mesh", hosts);
        break;
      case 4:
        shape("dumbbell", "  hosts: 2\n");
        hosts_ = 4;
        is_tree_ = true;
        break;
      case 5:
        shape("leaf-spine", "  leaves: 2\n  spines: 2\n  hosts-per-leaf: 2\n");
        hosts_ = 4;
        break;
      default:
        shape("fat-tree", "  k: 2\n");
        hosts_ = 2;
        break;
    }
    constexpr std::array<std::string_view, 4> kRates{"1Gbps", "10Gbps", "25Gbps", "100Gbps"};
    text_ += joined({"  link: {rate: ", std::string(one_of(kRates)), ", delay: ", number(between(100, 5000)),
                     "ns, queue: ", number(queue_kib_ = between(64, 1024)), "KiB", ecn(), "}\n", qos()});
  }

  /// With dice of its own, as ecn(). Lossless classes only where pauses cannot wait for each other in a ring, whatever
  /// way packets take. Six ports, two classes: 2.1 MB of headroom at most.
  std::string qos() {
    if (!has_qos_) return {};
    std::string text;
    if (!is_tree_ && qos_dice_.below(2) == 0) text += "  spread: packet\n";
    text += joined({"  qos: {buffer: ", number(3 + qos_dice_.below(6)), "MB, strict: ", number(4 + qos_dice_.below(4)),
                    ", weights: {0: ", number(1 + qos_dice_.below(4)), ", 3: ", number(1 + qos_dice_.below(8)), "}"});
    if (is_tree_)
      text += joined({", lossless: ", qos_dice_.below(2) == 0 ? "3" : "[0, 3]",
                      ", xoff: ", number(20 + qos_dice_.below(200)), "KB, xon-offset: ", number(qos_dice_.below(20)),
                      "KB, pause-quanta: ", number(200 + qos_dice_.below(65'000)),
                      ", reaction: ", number(qos_dice_.below(3000)), "ns"});
    if (is_tree_ && qos_dice_.below(3) == 0)
      text += joined({", watchdog: ", number(1 + qos_dice_.below(20)),
                      "ms, watchdog-restore: ", number(qos_dice_.below(10)),
                      "ms, watchdog-action: ", qos_dice_.below(2) == 0 ? "drop" : "forward"});
    return text + "}\n";
  }
  std::string dscp() { return has_qos_ && qos_dice_.below(2) == 0 ? ", dscp: 26, cnp-dscp: 48" : ""; }
  std::string own_dscp() {
    return has_qos_ && qos_dice_.below(3) == 0 ? joined({"    dscp: ", number(qos_dice_.below(64)), "\n"}) : "";
  }
  std::string pause_storm() {
    if (!has_qos_ || !is_tree_ || qos_dice_.below(3) != 0) return {};
    return joined({"  - {pause-storm: n", number(1 + qos_dice_.below(hosts_)), ", class: 3, at: ",
                   number(1 + qos_dice_.below(400)), "us, for: ", number(1 + qos_dice_.below(100)), "ms}\n"});
  }

  /// With dice of its own, so that a seed's network and traffic are the same with and without it.
  std::string ecn() {
    if (!is_congestion_controlled_) return {};
    const std::uint64_t kmin = congestion_dice_.below(32);
    const std::uint64_t kmax = kmin + 1 + congestion_dice_.below(30);
    return joined({", ecn: {kmin: ", number(kmin), "KiB, kmax: ", number(kmax), "KiB, pmax: ",
                   number(1 + congestion_dice_.below(100)), policy_ == kHpcc ? "%}, telemetry: true" : "%}"});
  }
  std::string congestion_control() {
    if (!is_congestion_controlled_) return {};
    switch (policy_) {
      case 0:
        return timely();
      case 1:
        return swift();
      case 2:
        return joined({", congestion-control: dctcp, dctcp-g: 1/", number(1 + congestion_dice_.below(64)),
                       ", dctcp-additive-increase: ", number(1 + congestion_dice_.below(4))});
      case kHpcc:
        return joined({", congestion-control: hpcc, hpcc-base-rtt: ", number(2 + congestion_dice_.below(40)),
                       "us, hpcc-eta: ", number(50 + congestion_dice_.below(50)),
                       "%, hpcc-max-stage: ", number(congestion_dice_.below(8))});
      default:
        return dcqcn();
    }
  }
  std::string dcqcn() {
    constexpr std::array<std::string_view, 3> kScopes{"qp", "destination", "port"};
    return joined({", congestion-control: dcqcn, cnp-interval: ", number(1 + congestion_dice_.below(50)),
                   "us, cnp-scope: ", std::string(kScopes[congestion_dice_.below(3)]),
                   ", dcqcn-timer: ", number(10 + congestion_dice_.below(300)),
                   "us, dcqcn-byte-counter: ", number(16 + congestion_dice_.below(4096)),
                   "KiB, dcqcn-min-rate: ", number(20 + congestion_dice_.below(200)),
                   "Mbps, dcqcn-clamp-target-rate: ", congestion_dice_.below(2) == 0 ? "true" : "false"});
  }
  std::string timely() {
    const std::uint64_t t_low = 5 + congestion_dice_.below(100);
    return joined({", congestion-control: timely, timely-t-low: ", number(t_low),
                   "us, timely-t-high: ", number(t_low + congestion_dice_.below(500)),
                   "us, timely-min-rtt: ", number(2 + congestion_dice_.below(50)),
                   "us, timely-additive-increase: ", number(10 + congestion_dice_.below(200)),
                   "Mbps, timely-min-rate: ", number(20 + congestion_dice_.below(200)), "Mbps"});
  }
  /// With a least window that a message gets through with long before the run's timeout.
  std::string swift() {
    return joined({", congestion-control: swift, swift-base-target: ", number(5 + congestion_dice_.below(50)),
                   "us, swift-hops: ", number(congestion_dice_.below(6)),
                   ", swift-fs-range: ", number(congestion_dice_.below(200)),
                   "us, swift-additive-increase: ", number(1 + congestion_dice_.below(4)),
                   ", swift-min-window: ", number(10 + congestion_dice_.below(90)), "%"});
  }

  std::string loss_recovery() {
    if (recovery_dice_.below(100) >= 30) return {};
    const std::uint64_t rto_low = 20 + recovery_dice_.below(500);
    std::string text = joined({", loss-recovery: selective-repeat, rto-low: ", number(rto_low),
                               "us, rto-high: ", number(rto_low + recovery_dice_.below(3000)),
                               "us, rto-low-packets: ", number(recovery_dice_.below(8)),
                               ", recovery-negotiation: ", recovery_dice_.below(2) == 0 ? "true" : "false"});
    if (recovery_dice_.below(2) == 0) text += ", bdp-window: " + number(1 + recovery_dice_.below(200));
    return text;
  }

  /// Of a NIC that takes its time where something is lost.
  std::string latencies() {
    if (latency_dice_.below(4) != 0) return {};
    return joined({", nak-latency: ", number(latency_dice_.below(20)), "us, acknowledge-latency: ",
                   number(latency_dice_.below(5000)), "ns, nak-reaction-latency: ", number(latency_dice_.below(300)),
                   "us, implied-nak-latency: ", number(latency_dice_.below(300)), "us"});
  }

  void nic() {
    constexpr std::array<std::string_view, 5> kMtus{"256", "512", "1024", "2048", "4096"};
    // The largest timeout code here is 137 ms.
    text_ += joined({"nic: {mtu: ", std::string(one_of(kMtus)), ", timeout: ", number(between(14, 15)),
                     ", retry-count: 7, rnr-retry: 7, min-rnr-timer: ", number(between(1, 14)),
                     ", read-depth: ", number(read_depth_ = between(1, 16)), congestion_control(), loss_recovery(),
                     latencies(), dscp(), "}\n"});
  }

  // -- Traffic

  void sides() {
    Traffic& traffic = traffic_.back();
    if (hosts_ > 2 && chance(30)) {
      text_ += "    pattern: all-to-all\n    among: all\n";
      traffic.pairs_of_host = hosts_ - 1;
      traffic.pairs = hosts_ * (hosts_ - 1);
    } else if (hosts_ > 2 && chance(20)) {
      text_ += "    pattern: permutation\n    among: all\n";
      traffic.pairs = hosts_;
    } else if (hosts_ > 2 && chance(20)) {
      text_ += "    pattern: incast\n    from: [n2, n3]\n    to: n1\n";
      traffic.pairs = 2;
    } else {
      const std::uint64_t from = between(1, hosts_);
      const std::uint64_t to = (from + between(0, hosts_ - 2)) % hosts_ + 1;
      text_ += "    from: n" + number(from) + "\n    to: n" + number(to) + "\n";
    }
  }

  void size() {
    std::uint64_t& octets = traffic_.back().octets;
    if (chance(30)) {
      text_ += joined({"    size: [{size: 64, weight: 3}, {from: 1, to: ", number(between(1, 8192)),
                       "}, {size: 16KiB, weight: 1}]\n"});
      octets = 16'384;
    } else {
      text_ += joined({"    size: ", number(octets = between(0, 20'000)), "\n"});
    }
  }

  void workloads() {
    constexpr std::array<std::string_view, 7> kVerbs{"send", "write", "write-imm", "read", "cas", "fetch-add", "mixed"};
    text_ += "workloads:\n";
    workloads_ = between(1, 3);
    for (std::uint64_t i = 1; i <= workloads_; ++i) {
      const std::string_view verb = one_of(kVerbs);
      text_ += "  - name: w" + number(i) + "\n    verb: " + std::string(verb) + "\n";
      traffic_.push_back({.name = "w" + number(i), .reads = verb == "read" || verb == "mixed"});
      Traffic& traffic = traffic_.back();
      sides();
      if (verb != "cas" && verb != "fetch-add") size();
      text_ += joined({"    count: ", number(between(1, 40)), "\n    depth: ", number(traffic.depth = between(1, 16)),
                       "\n    qps: ", number(traffic.qps = between(1, 3)), "\n", own_dscp()});
      if (chance(20)) text_ += joined({"    rate: ", number(between(10'000, 200'000)), "\n"});
      if (chance(30)) text_ += joined({"    start: ", number(between(1, 500)), "us\n"});
      // Fewer receives than requests in flight: RNR NAKs, which rnr-retry: 7 outlasts.
      if (chance(30))
        text_ += joined(
            {"    receive-depth: ", number(between(1, 8)), "\n    receive-delay: ", number(between(0, 20)), "us\n"});
    }
  }

  std::string flow_sizes() {
    const std::uint64_t small = flow_dice_.below(500);
    const std::uint64_t middle = small + 1 + flow_dice_.below(5000);
    switch (flow_dice_.below(3)) {
      case 0:
        return number(1 + flow_dice_.below(20'000));
      case 1:
        return joined({"{from: ", number(small), ", to: ", number(middle), "}"});
      default:
        return joined({"{cdf: [[", number(small), ", ", number(flow_dice_.below(50)), "%], [", number(middle), ", ",
                       number(50 + flow_dice_.below(50)), "%], [", number(middle + 1 + flow_dice_.below(30'000)),
                       ", 100%]]}"});
    }
  }
  /// Flows that arrive at a load, in one scenario of four; with dice of their own, behind the other workloads.
  void flows() {
    if (flow_dice_.below(4) != 0) return;
    traffic_.push_back({.name = "flows"});
    constexpr std::array<std::string_view, 3> kVerbs{"send", "write", "write-imm"};
    text_ += joined({"  - name: flows\n    verb: ", std::string(kVerbs[flow_dice_.below(3)]), "\n"});
    if (hosts_ > 2 && flow_dice_.below(2) == 0)
      text_ += "    pattern: all-to-all\n    among: all\n";
    else
      text_ += "    from: n1\n    to: n2\n";
    text_ += joined({"    load: ", number(1 + flow_dice_.below(90)), "%\n    size: ", flow_sizes(), "\n    count: ",
                     number(1 + flow_dice_.below(30)), "\n    qps: ", number(1 + flow_dice_.below(3)), "\n"});
    const bool reuses_qps = flow_dice_.below(2) == 0;
    if (!reuses_qps)
      text_ += "    qp-reuse: no\n";
    else if (flow_dice_.below(2) == 0)
      text_ += joined({"    depth: ", number(1 + flow_dice_.below(8)), "\n"});
    if (flow_dice_.below(3) == 0) text_ += joined({"    start: ", number(1 + flow_dice_.below(500)), "us\n"});
  }

  // -- Faults

  std::string packet_fault() {
    constexpr std::array<std::string_view, 6> kKinds{
        "", " opcode=ack", " opcode=nak", " opcode=data", " opcode=read-response", " part=last"};
    const std::string kind(one_of(kKinds));
    const std::string percent = number(between(1, 20)) + "e-3";
    switch (dice_.below(9)) {
      case 0:
        return "burst-loss p=" + percent + " r=0.3 count=20" + kind;
      case 1:
        return "duplicate p=" + percent + kind;
      case 2:
        return joined(
            {"delay by=", number(between(1, 50)), "us jitter=", number(between(0, 20)), "us p=", percent, kind});
      case 3:
        return joined({"reorder by=", number(between(1, 5)), " within=100us p=", percent, kind});
      case 4:
        return "corrupt p=" + percent + kind;
      case 5:
        return joined({"truncate to=", number(between(14, 60)), " p=", percent, kind});
      case 6:
        return "mark p=" + percent;
      case 7:
        return joined({"drop qp=0 psn=", number(between(0, 10)), " iter=", number(between(1, 2))});
      default:
        return "drop p=" + percent + kind;
    }
  }

  std::string place() { return chance(50) ? "all" : node(); }

  void element_fault() {
    const std::string at = joined({", at: ", number(between(1, 400)), "us, for: ", number(between(1, 300)), "ms}\n"});
    switch (dice_.below(4)) {
      case 0:
        text_ += "  - {link-down: " + (hosts_ > 2 ? node() : std::string("hosts")) + at;
        break;
      case 1:
        text_ += joined({"  - {partition: ", node(), at});
        break;
      case 2:
        text_ += joined({"  - {node-freeze: ", node(), at});
        break;
      default:
        text_ += joined({"  - {rnr-storm: ", node(), at});
        break;
    }
  }

  void faults() {
    const std::uint64_t many = between(0, 3);
    const std::string storm = pause_storm();
    if (many == 0 && storm.empty()) return;
    text_ += "faults:\n" + storm;
    for (std::uint64_t i = 0; i < many; ++i) {
      if (!is_interrupted_ && chance(20)) {  // two in a row could outlast the retries
        element_fault();
        is_interrupted_ = true;
      } else if (chance(15)) {
        text_ += joined({"  - data-pkt-events: [{qpn: 0, psn: ", number(between(0, 5)), ", type: drop, iter: 1}]\n"});
      } else {
        // Seven losses of one packet in a row are out of reach: the fault ends.
        text_ += joined(
            {"  - {packet: ", packet_fault(), ", link: ", place(), ", until: ", number(between(1, 50)), "ms}\n"});
      }
    }
  }

  // -- What is to come of it

  /// Of a workload, what its expectation depends on.
  struct Traffic {
    std::string name;
    bool reads = false;
    std::uint64_t pairs = 1;          // of hosts
    std::uint64_t pairs_of_host = 1;  // that it is the initiator of
    std::uint64_t octets = 0;         // of a message, at most
    std::uint64_t depth = 1;
    std::uint64_t qps = 1;
  };

  /// All QPs of a node that was interrupted ask for their READs at one time, and when the answers do not fit into the
  /// queue of its port, they do so again together, for their timers are equal: the same answers may be lost each time.
  /// A missing answer takes a retry, as its timeout does (IBTA 9.7.5.2.8): seven are soon over.
  bool may_lose_answers(const Traffic& traffic) const {
    const std::uint64_t answers =
        traffic.pairs_of_host * traffic.qps * std::min(traffic.depth, read_depth_) * traffic.octets;
    return is_interrupted_ && traffic.reads && answers > queue_kib_ * 1024;
  }

  /// Frozen or cut off for less than a second: seven retries of 67 ms and more outlast it.
  void expectations() {
    text_ += "expect:\n";
    if (std::ranges::none_of(traffic_, [this](const Traffic& traffic) { return may_lose_answers(traffic); })) {
      text_ += "  - finished\n";
    } else {
      for (const Traffic& traffic : traffic_)
        text_ += may_lose_answers(traffic) ? joined({"  - {survivors: ", traffic.name,
                                                     ", min: ", number((traffic.pairs * traffic.qps + 1) / 2), "}\n"})
                                           : joined({"  - {finished: ", traffic.name, "}\n"});
    }
    text_ += "  - data-intact\n";
  }

  Dice dice_;
  Dice congestion_dice_;
  Dice recovery_dice_;
  Dice qos_dice_;
  Dice flow_dice_;
  Dice latency_dice_;
  bool is_congestion_controlled_ = false;
  bool has_qos_ = false;
  bool is_tree_ = false;  // the topology: there is one way from each host to each other
  static constexpr std::uint64_t kHpcc = 3;
  std::uint64_t policy_ = 0;
  std::uint64_t seed_;
  std::uint64_t hosts_ = 2;
  std::uint64_t workloads_ = 1;
  std::uint64_t queue_kib_ = 0;
  std::uint64_t read_depth_ = 1;
  bool is_interrupted_ = false;
  std::vector<Traffic> traffic_;
  std::string text_;
};

}  // namespace

std::string random_scenario(std::uint64_t seed) {
  return Writer(seed).write();
}

}  // namespace verbena::scenarios
