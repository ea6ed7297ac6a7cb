#include "wire/encapsulation.h"

#include <algorithm>

#include "wire/frame_template.h"
#include "wire/headers.h"

namespace verbena::wire {

const Encapsulation* find_encapsulation(std::uint16_t ether_type) {
  if (ether_type == 0) return nullptr;  // a row without a second type has 0 there
  const auto rows = encapsulations();
  const auto row = std::ranges::find_if(rows, [&](const Encapsulation* one) {
    return std::ranges::find(one->ether_types, ether_type) != one->ether_types.end();
  });
  return row != rows.end() ? *row : nullptr;
}

void begin_ethernet(const FramePath& path, std::uint16_t ether_type, FrameHeaders& into) {
  into.append(EthernetLayout::emit({path.to.mac(), path.from.mac(), path.vlan ? kEtherTypeVlan : ether_type}));
  if (path.vlan) {
    Vlan vlan = *path.vlan;
    vlan.ether_type = ether_type;
    into.append(VlanLayout::emit(vlan));
  }
  into.network_at = into.bytes;
}

std::optional<FramePlaces> find_places(std::span<const std::byte> frame) {
  constexpr unsigned kPriorityShift = 13;
  const auto load = [&](std::size_t at) {
    return static_cast<std::uint16_t>(layout_detail::load_big_endian<2>(frame.data() + at));
  };
  std::size_t network_at = EthernetLayout::bytes;
  std::uint8_t priority = 0;
  if (frame.size() < network_at) return std::nullopt;
  std::uint16_t ether_type = load(network_at - 2);
  if (ether_type == kEtherTypeVlan && frame.size() >= network_at + VlanLayout::bytes) {
    priority = static_cast<std::uint8_t>(load(network_at) >> kPriorityShift);
    network_at += VlanLayout::bytes;
    ether_type = load(network_at - 2);
  }
  const Encapsulation* const row = find_encapsulation(ether_type);
  if (row == nullptr) return std::nullopt;
  auto places = row->find(frame, network_at, ether_type);
  if (places) places->priority = priority;
  return places;
}

std::optional<FramePlaces> find_places(std::span<const std::byte> frame, Medium medium) {
  return medium == Medium::ethernet ? find_places(frame) : kInfiniBand.find(frame, 0, 0);
}

}  // namespace verbena::wire
