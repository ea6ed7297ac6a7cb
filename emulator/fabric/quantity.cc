#include "emulator/fabric/quantity.h"

namespace verbena::fabric {
namespace {

constexpr std::uint64_t kBillion = 1'000'000'000;
constexpr std::array<Unit, 4> kTimeUnits{{{"ns", 0}, {"us", 3}, {"ms", 6}, {"s", 9}}};
constexpr std::uint64_t kKibi = 1024;
constexpr std::array<Unit, 8> kSizeUnits{{{"", 0},
                                          {"B", 0},
                                          {"KB", 3},
                                          {"MB", 6},
                                          {"GB", 9},
                                          {"KiB", 0, kKibi},
                                          {"MiB", 0, kKibi* kKibi},
                                          {"GiB", 0, kKibi* kKibi* kKibi}}};

std::string names_of_units(std::span<const Unit> units) {
  std::string names;
  for (const Unit& unit : units)
    if (!unit.name.empty()) names += (names.empty() ? "" : ", ") + std::string(unit.name);
  return names;
}

}  // namespace

std::vector<QuantityForm> quantity_forms() {
  return {
      {"TIME", names_of_units(kTimeUnits), "A number and its unit, nothing between them.", {"500ns", "1.5us", "2ms"}},
      {"RATE", names_of_units(kRateUnits), "Bits per second.", {"10Gbps", "2.5Gbps", "100Mbps"}},
      {"SIZE", names_of_units(kSizeUnits), "Octets; without a unit octets as well.", {"60", "4KiB", "1MB"}},
      {"PROBABILITY", "%", "From 0 to 1, or in percent; down to one in a billion.", {"0.001", "1e-3", "0.1%"}},
      {"RANGE", "", "One number, two with a dash between them, or all.", {"4", "4-7", "all"}},
  };
}

std::optional<Duration> parse_duration(std::string_view text, Duration most) {
  const auto ns = parse_quantity(text, kTimeUnits);
  if (!ns || *ns > static_cast<std::uint64_t>(most.ns)) return std::nullopt;
  return nanoseconds(static_cast<std::int64_t>(*ns));
}

std::optional<std::uint64_t> parse_octets(std::string_view text) {
  return parse_quantity(text, kSizeUnits);
}

std::optional<std::uint32_t> parse_probability(std::string_view text) {
  const bool percent = !text.empty() && text.back() == '%';
  if (percent) text.remove_suffix(1);
  const auto ppb = parse_scaled(text, percent ? 7 : 9);
  if (!ppb || *ppb > kBillion) return std::nullopt;
  return static_cast<std::uint32_t>(*ppb);
}

}  // namespace verbena::fabric
