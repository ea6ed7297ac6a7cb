// Frames for the link tests: built with wire's builder, numbered by PSN, and collected on the other side.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <thread>
#include <vector>

#include "emulator/host/link/link.h"
#include "emulator/host/node/node_directory.h"
#include "emulator/host/os/clock.h"
#include "emulator/host/os/neighbour.h"
#include "wire/packet_builder.h"
#include "wire/packet_view.h"

namespace verbena::host::test {

constexpr wire::Gid node(std::uint8_t last) {
  return wire::Gid::from_ipv4(0x7f2f5b00u | last);
}

struct FrameRequest {
  wire::Gid source;
  wire::Gid destination;
  wire::Qpn qpn{0x000011};
  std::uint32_t psn = 0;
  std::size_t payload_bytes = 0;
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 64;
  std::uint16_t udp_source_port = wire::kRoceUdpPort;
  std::uint16_t ipv4_identification = 0;
};

/// The payload octet at a place of the frame with this PSN.
inline std::byte payload_octet(std::uint32_t psn, std::size_t place) {
  return static_cast<std::byte>(psn * 31 + place * 7 + (place >> 8));
}

inline std::size_t build_into(std::span<std::byte> into, const wire::FrameTemplate& flow, const FrameRequest& request) {
  wire::Bth bth;
  bth.opcode = wire::make_opcode(wire::Transport::rc, wire::OperationCode::send_only);
  bth.dest_qp = request.qpn;
  bth.psn = wire::Psn(request.psn);
  std::vector<std::byte> payload(request.payload_bytes);
  for (std::size_t i = 0; i < payload.size(); ++i) payload[i] = payload_octet(bth.psn.value(), i);
  wire::PacketBuilder builder(into, flow, bth, payload.size());
  builder.append_payload(payload);
  return builder.finish();
}

inline wire::FrameTemplate flow_of(const FrameRequest& request) {
  wire::FramePath path;
  path.from = node_mac(request.source);
  path.to = request.destination.is_multicast() ? multicast_mac(request.destination) : node_mac(request.destination);
  path.source = request.source;
  path.destination = request.destination;
  path.traffic_class = request.traffic_class;
  path.hop_limit = request.hop_limit;
  path.udp_source_port = request.udp_source_port;
  path.ipv4_identification = request.ipv4_identification;
  return wire::FrameTemplate(path);
}

inline std::size_t bytes_of(const wire::FrameTemplate& flow, const FrameRequest& request) {
  const auto opcode = wire::make_opcode(wire::Transport::rc, wire::OperationCode::send_only);
  return wire::frame_bytes(flow, opcode, request.payload_bytes);
}

inline std::vector<std::byte> build(const FrameRequest& request) {
  const wire::FrameTemplate flow = flow_of(request);
  std::vector<std::byte> frame(bytes_of(flow, request));
  frame.resize(build_into(frame, flow, request));
  return frame;
}

/// Reserve, build, commit. False: back pressure.
inline bool commit(FramePort& link, const FrameRequest& request) {
  const wire::FrameTemplate flow = flow_of(request);
  std::uint32_t hint = 0;
  const std::size_t bytes = bytes_of(flow, request);
  const std::span<std::byte> room = link.reserve({request.destination, request.qpn, hint, &flow}, bytes);
  if (room.empty()) return false;
  link.commit(build_into(room, flow, request), wire::IcrcState::present);
  return true;
}

class Collector : public FrameSink {
 public:
  void frame(std::span<const std::byte> bytes, wire::IcrcState icrc) override {
    frames.emplace_back(bytes.begin(), bytes.end());
    trusted.push_back(icrc == wire::IcrcState::verified);
  }
  std::vector<std::vector<std::byte>> frames;
  std::vector<bool> trusted;
};

/// One receiving pass.
inline std::size_t pump(Link& link, FrameSink& sink, std::size_t budget = 64) {
  link.fetch(Link::kAll);
  return link.receive(clock_now(), sink, budget);
}

/// Calls `step` until `done`, for a bounded time. Returns whether it got done.
inline bool until(const std::function<bool()>& done, const std::function<void()>& step = {},
                  std::chrono::milliseconds limit = std::chrono::seconds(10)) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) return false;
    if (step)
      step();
    else
      std::this_thread::yield();
  }
  return true;
}

/// A whole, right frame with the payload that build_into() gave it.
inline bool is_intact(std::span<const std::byte> frame) {
  const auto view = wire::parse_frame(frame);
  if (!view || !view->icrc_is_valid()) return false;
  const auto payload = view->payload();
  for (std::size_t i = 0; i < payload.size(); ++i)
    if (payload[i] != payload_octet(view->bth().psn.value(), i)) return false;
  return true;
}

inline std::uint32_t psn_of(std::span<const std::byte> frame) {
  const auto view = wire::parse_frame(frame);
  return view ? view->bth().psn.value() : 0xffffffff;
}

}  // namespace verbena::host::test
