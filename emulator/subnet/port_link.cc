#include "emulator/subnet/port_link.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "emulator/subnet/number_of.h"

namespace verbena::subnet {
namespace {

constexpr std::uint8_t kMtuMost = 5;  // 4096 octets

struct Speed {
  std::string_view name;
  std::uint8_t speed;
  std::uint8_t extended;
};
constexpr std::array kSpeeds{Speed{"SDR", 1, 0}, Speed{"DDR", 2, 0}, Speed{"QDR", 4, 0}, Speed{"FDR10", 4, 0},
                             Speed{"FDR", 4, 1}, Speed{"EDR", 4, 2}, Speed{"HDR", 4, 4}, Speed{"NDR", 4, 8}};
struct Width {
  std::string_view name;
  std::uint8_t code;
};
constexpr std::array kWidths{Width{"1x", 1}, Width{"4x", 2}, Width{"8x", 4}, Width{"12x", 8}, Width{"2x", 16}};

std::string_view name_of(std::string_view option) {
  return option.substr(0, option.find('='));
}

}  // namespace

bool read_rate(std::string_view word, PortPlan& into) {
  for (const Width& width : kWidths) {
    if (!word.starts_with(width.name)) continue;
    const auto speed = std::ranges::find(kSpeeds, word.substr(width.name.size()), &Speed::name);
    if (speed == kSpeeds.end()) continue;
    into.width = width.code;
    into.speed = speed->speed;
    into.speed_extended = speed->extended;
    into.is_rate_told = true;
    return true;
  }
  return false;
}

bool looks_like_rate(std::string_view word) {
  const auto is_capital = [](char one) { return one >= 'A' && one <= 'Z'; };
  return std::ranges::any_of(kWidths, [&](const Width& width) {
    return word.starts_with(width.name) && word.size() > width.name.size() &&
           std::ranges::all_of(word.substr(width.name.size()), is_capital);
  });
}

bool is_code_of_rate(std::string_view word) {
  return word.size() > 2 && std::string_view("swv").find(word[0]) != std::string_view::npos && word[1] == '=' &&
         number_of<std::uint32_t>(word.substr(2), 10).has_value();
}

std::string speed_names() {
  std::string names;
  for (const Speed& speed : kSpeeds) names += fmt::format("{}{}", names.empty() ? "" : ", ", speed.name);
  return names;
}

bool is_port_option(std::string_view word) {
  const std::string_view name = name_of(word);
  return name != word && (name == "w" || name == "s" || name == "mtu");
}

std::string read_port_option(std::string_view word, PortPlan& plan) {
  const std::string_view name = name_of(word);
  // 0 is none of any option's values.
  const std::uint32_t value = number_of<std::uint32_t>(word.substr(name.size() + 1), 10).value_or(0);
  if (name == "w") {
    const auto width = std::ranges::find(kWidths, fmt::format("{}x", value), &Width::name);
    if (width == kWidths.end()) return "write a width as w=1, w=2, w=4, w=8 or w=12";
    plan.width = width->code;
    plan.is_rate_told = true;
  } else if (name == "s") {
    constexpr std::uint32_t kAllSpeeds = 7;
    if (value < 1 || value > kAllSpeeds)
      return "write a speed as s=1 (SDR), s=2 (DDR) or s=4 (QDR), or the sum of several; faster ones behind #, such as "
             "# 4xEDR";
    plan.speed = static_cast<std::uint8_t>(std::bit_floor(value));
    plan.speed_extended = 0;
    plan.is_rate_told = true;
  } else {
    std::uint8_t code = 1;
    while (code <= kMtuMost && wire::mtu_bytes(code) != value) ++code;
    if (code > kMtuMost) return "write an MTU as mtu=256, mtu=512, mtu=1024, mtu=2048 or mtu=4096";
    plan.mtu = code;
  }
  return "";
}

}  // namespace verbena::subnet
