// Sightings: frames that a capture has more than once because it saw them at several places: where they left and where
// they arrived (both ends in one process, or in one merged file), or where a mirror port shows what comes
// and what goes.
//
// Solely which packets are such sightings. A frame that was sent again, or that the network has copied, is seen twice
// at one place, and is none.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "captures/read/capture.h"

namespace verbena::captures {

/// What tells that it is one frame.
enum class SeenAgain : std::uint8_t {
  no,         // the first sighting, or the only one
  arrival,    // the file says of one that it left, and of the other that it arrived
  elsewhere,  // on another interface of the file
  mirrored,   // by the same interface: another hop limit, VLAN or MAC address, or each frame is there several times
};
inline constexpr std::size_t kSeenAgainKinds = 4;

struct Sighting {
  SeenAgain how = SeenAgain::no;
  std::uint32_t first = 0;  // index of the first sighting
};

class Sightings {
 public:
  explicit Sightings(const Capture& capture);
  /// By index into Capture::packets().
  const Sighting& of(std::uint32_t packet) const { return sightings_[packet]; }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr std::size_t kPlacesMax = 8;
  struct Frame {
    std::array<std::uint32_t, kPlacesMax> packets{};  // at different places
    std::uint8_t places = 0;
    std::uint32_t previous = kNone;  // in frames_: with the same octets
  };

  void look_at(const Capture& capture, std::uint32_t packet, const wire::PacketView& view, std::uint32_t& latest);
  void refuse_rare_ones(const Capture& capture);
  using Chain = std::vector<std::uint32_t>;  // packets that may be copies of its first
  std::vector<Chain> chains(const Capture& capture) const;
  void find_copies(const Capture& capture);

  std::vector<Sighting> sightings_;
  std::vector<Frame> frames_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>>
      alike_;  // in all, at one place: the later one, and the one before
};

}  // namespace verbena::captures
