// Reachability: from which host frames can arrive at which, as the network is at one moment.
//
// Solely the answer, as a table. Network::reachability() finds it, from living cables and switches and from the pairs
// that are cut. It is as things are, not as routes believe: they may lead into what is dead for as long as
// NetworkOptions::detection.
#pragma once

#include <cstdint>
#include <vector>

namespace verbena::fabric {

class Reachability {
 public:
  explicit Reachability(std::uint32_t hosts) : hosts_(hosts), reaches_(std::size_t{hosts} * hosts) {}
  /// A host reaches itself.
  bool reaches(std::uint32_t from, std::uint32_t to) const { return reaches_[std::size_t{from} * hosts_ + to]; }
  void set(std::uint32_t from, std::uint32_t to, bool reaches) { reaches_[std::size_t{from} * hosts_ + to] = reaches; }

 private:
  std::uint32_t hosts_;
  std::vector<bool> reaches_;
};

}  // namespace verbena::fabric
