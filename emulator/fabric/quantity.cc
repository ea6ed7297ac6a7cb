#include "emulator/fabric/quantity.h"

#include <algorithm>
#include <limits>

namespace verbena::fabric {
namespace {

constexpr std::size_t kDigitsMax = 18;
constexpr std::uint64_t kValueMax = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t kBillion = 1'000'000'000;
constexpr std::array<Unit, 4> kTimeUnits{{{"ns", 0}, {"us", 3}, {"ms", 6}, {"s", 9}}};
constexpr std::uint64_t kKibi = 1024;
constexpr std::array<Unit, 6> kRateUnits{
    {{"bps", 0}, {"kbps", 3}, {"Kbps", 3}, {"Mbps", 6}, {"Gbps", 9}, {"Tbps", 12}}};
constexpr std::array<Unit, 8> kSizeUnits{{{"", 0},
                                          {"B", 0},
                                          {"KB", 3},
                                          {"MB", 6},
                                          {"GB", 9},
                                          {"KiB", 0, kKibi},
                                          {"MiB", 0, kKibi* kKibi},
                                          {"GiB", 0, kKibi* kKibi* kKibi}}};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

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

std::optional<std::uint64_t> parse_number(std::string_view text) {
  if (text.empty() || text.size() > kDigitsMax || !std::all_of(text.begin(), text.end(), is_digit)) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : text) value = value * 10 + static_cast<std::uint64_t>(c - '0');
  return value;
}

std::optional<std::uint64_t> parse_scaled(std::string_view text, int digits) {
  const std::size_t exponent_at = text.find_first_of("eE");
  if (exponent_at != text.npos) {
    std::string_view exponent = text.substr(exponent_at + 1);
    const bool negative = !exponent.empty() && exponent.front() == '-';
    if (negative) exponent.remove_prefix(1);
    const auto power = parse_number(exponent);
    if (!power || *power > 9) return std::nullopt;
    digits += negative ? -static_cast<int>(*power) : static_cast<int>(*power);
    text = text.substr(0, exponent_at);
  }
  const std::size_t point = std::min(text.find('.'), text.size());
  std::string figures(text.substr(0, point));
  std::string_view fraction = point < text.size() ? text.substr(point + 1) : std::string_view{};
  while (!fraction.empty() && fraction.back() == '0') fraction.remove_suffix(1);
  if (figures.empty() && fraction.empty()) return std::nullopt;
  if (digits < 0 || fraction.size() > static_cast<std::size_t>(digits)) return std::nullopt;
  figures += fraction;
  figures.append(static_cast<std::size_t>(digits) - fraction.size(), '0');
  figures.erase(0, std::min(figures.find_first_not_of('0'), figures.size()));
  return figures.empty() ? 0 : parse_number(figures);
}

std::optional<std::uint64_t> parse_quantity(std::string_view text, std::span<const Unit> units) {
  const auto unit_at = static_cast<std::size_t>(
      std::find_if(text.begin(), text.end(), [](char c) { return !is_digit(c) && c != '.'; }) - text.begin());
  for (const Unit& unit : units) {
    if (unit.name != text.substr(unit_at)) continue;
    const auto value = parse_scaled(text.substr(0, unit_at), unit.digits);
    if (!value || *value > kValueMax / unit.factor) return std::nullopt;
    return *value * unit.factor;
  }
  return std::nullopt;
}

std::optional<Duration> parse_duration(std::string_view text, Duration most) {
  const auto ns = parse_quantity(text, kTimeUnits);
  if (!ns || *ns > static_cast<std::uint64_t>(most.ns)) return std::nullopt;
  return nanoseconds(static_cast<std::int64_t>(*ns));
}

std::optional<std::uint64_t> parse_rate(std::string_view text) {
  return parse_quantity(text, kRateUnits);
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
