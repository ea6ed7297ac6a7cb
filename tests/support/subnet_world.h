// A small subnet for tests of its agents: two adapters and a switch, and a manager's steps by hand from the first one.
#pragma once

#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <optional>
#include <span>
#include <vector>

#include "emulator/subnet/smp.h"
#include "emulator/subnet/subnet.h"

namespace verbena::test {

using namespace subnet;

inline constexpr std::string_view kTopology = R"(Hca 1 "a"
[1] "s"[1]
Switch 4 "s"
[1] "a"[1]
[2] "b"[1]
Hca 1 "b"
[1] "s"[2]
)";
inline constexpr PortEnd kA{0, 1};
inline constexpr PortEnd kB{2, 1};

class SubnetWorld : public Receiver {
 public:
  SubnetWorld() : subnet(*read_topology(kTopology, "x"), *this) {}
  bool receive(PortEnd at, const Datagram& datagram) override {
    got.push_back({at, datagram});
    return is_wanted;
  }
  bool is_wanted = true;  // by a program of the node
  void changed(PortEnd) override {}

  /// The answer to a directed route from "a"; nothing: there was none.
  std::optional<Datagram> ask(std::vector<std::uint8_t> path, std::uint8_t method, std::uint16_t attribute,
                              std::uint32_t modifier = 0, std::span<const std::byte> data = {}, std::uint64_t key = 0) {
    Datagram datagram = made(wire::kClassSubnetDirected, method, attribute, modifier, data, key);
    datagram.source = datagram.destination = wire::kLidPermissive;
    datagram.octets[7] = static_cast<std::byte>(path.size());
    for (std::size_t i = 0; i < path.size(); ++i) datagram.octets[wire::kSmpInitialPathAt + 1 + i] = std::byte{path[i]};
    for (std::size_t i = 32; i < 36; ++i) datagram.octets[i] = std::byte{0xff};
    return exchanged(datagram);
  }
  std::optional<Datagram> ask_lid(wire::Lid lid, std::uint8_t management_class, std::uint16_t attribute,
                                  std::span<const std::byte> data = {}, std::uint8_t method = wire::kMethodGet) {
    Datagram datagram = made(management_class, method, attribute, 0, {}, 0);
    std::ranges::copy(data, datagram.octets.begin() + wire::kPerformanceDataAt);
    datagram.source = subnet.nodes()[0].ports[1].info.base_lid;
    datagram.destination = lid;
    datagram.destination_qp = datagram.source_qp = wire::Qpn(management_class == wire::kClassSubnetLid ? 0 : 1);
    return exchanged(datagram);
  }
  wire::PortInfo port_info(std::vector<std::uint8_t> path, std::uint32_t port) {
    const auto answer = ask(std::move(path), wire::kMethodGet, wire::kAttributePortInfo, port);
    BOOST_REQUIRE(answer.has_value());
    return Smp(answer->octets).read_data<wire::PortInfoLayout>();
  }
  std::uint16_t set_port(std::vector<std::uint8_t> path, std::uint32_t port, const wire::PortInfo& info,
                         std::uint64_t key = 0) {
    const auto answer =
        ask(std::move(path), wire::kMethodSet, wire::kAttributePortInfo, port, wire::PortInfoLayout::emit(info), key);
    return answer ? Smp(answer->octets).header().status & 0x7fff : 0xffff;
  }
  /// What a manager does: LIDs, states, the switch's table.
  void bring_up() {
    const auto raise = [this](std::vector<std::uint8_t> path, std::uint32_t port, std::uint16_t lid) {
      for (const wire::PortState state : {wire::PortState::armed, wire::PortState::active}) {
        wire::PortInfo info = port_info(path, port);
        if (lid != 0) info.base_lid = wire::Lid(lid);
        if (lid != 0) info.master_sm_lid = wire::Lid(1);
        info.state = port == 0 ? wire::PortState::no_change : state;
        info.physical_state = wire::PortPhysicalState::no_change;
        BOOST_REQUIRE(set_port(path, port, info) == 0);
      }
    };
    raise({}, 1, 1);
    raise({1}, 0, 2);
    raise({1}, 1, 0);
    raise({1}, 2, 0);
    raise({1, 2}, 1, 3);
    std::array<std::byte, wire::kSmpDataBytes> table;
    table.fill(std::byte{kNoPort});
    table[1] = std::byte{1};
    table[2] = std::byte{0};
    table[3] = std::byte{2};
    BOOST_REQUIRE(ask({1}, wire::kMethodSet, wire::kAttributeLinearForwarding, 0, table).has_value());
    BOOST_REQUIRE(ask({1}, wire::kMethodSet, wire::kAttributeSwitchInfo, 0,
                      wire::SwitchInfoLayout::emit({.linear_top = 3, .port_state_change = true}))
                      .has_value());
    got.clear();
  }

  struct Got {
    PortEnd at;
    Datagram datagram;
  };
  std::vector<Got> got;
  Subnet subnet;

 private:
  Datagram made(std::uint8_t management_class, std::uint8_t method, std::uint16_t attribute, std::uint32_t modifier,
                std::span<const std::byte> data, std::uint64_t key) {
    Datagram datagram;
    datagram.octets.resize(wire::kMadBytes);
    Smp smp(datagram.octets);
    smp.set_header({.management_class = management_class,
                    .class_version = 1,
                    .method = method,
                    .transaction_id = ++transaction_,
                    .attribute = attribute,
                    .attribute_modifier = modifier});
    for (std::size_t i = 0; i < 8; ++i)
      datagram.octets[wire::kSmpKeyAt + i] = static_cast<std::byte>(key >> (56 - 8 * i));
    std::ranges::copy(data, smp.data().begin());
    return datagram;
  }
  std::optional<Datagram> exchanged(const Datagram& datagram) {
    got.clear();
    subnet.send(kA, datagram);
    for (const Got& one : got)
      if (one.at == kA && Smp(one.datagram.octets).header().transaction_id == transaction_) return one.datagram;
    return std::nullopt;
  }
  std::uint64_t transaction_ = 0;
};

}  // namespace verbena::test
