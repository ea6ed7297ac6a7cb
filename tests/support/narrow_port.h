// NarrowPort: a port that takes so many frames and no more, and shows them. For tests that ask the NIC for frames
// themselves.
#pragma once

#include <boost/test/unit_test.hpp>
#include <vector>

#include "emulator/nic/objects/transmit_port.h"
#include "wire/packet_view.h"

namespace verbena::test {

struct NarrowPort final : nic::TransmitPort {
  explicit NarrowPort(std::size_t frames) : left(frames) {}
  std::span<std::byte> reserve(const nic::Destination&, std::size_t bytes) override {
    if (left == 0) return {};
    frame.resize(bytes);
    return frame;
  }
  void commit(std::size_t bytes, wire::IcrcState) override {
    --left;
    const auto packet = wire::parse_frame(std::span(frame).first(bytes));
    BOOST_REQUIRE(packet.ok());
    psns.push_back(packet->bth().psn.value());
    operations.push_back(packet->opcode().operation);
  }
  void cancel() override {}

  std::size_t left;
  std::vector<std::byte> frame;
  std::vector<std::uint32_t> psns;
  std::vector<wire::Operation> operations;
};

}  // namespace verbena::test
