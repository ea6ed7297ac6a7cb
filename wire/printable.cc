#include "wire/printable.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace verbena::wire {
namespace {

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};
/// Unicode, beside the controls of ASCII: categories Cc, Cf, Zl and Zp.
constexpr std::array<Range, 12> kHidden{{{0x80, 0x9f},
                                         {0xad, 0xad},
                                         {0x0600, 0x0605},
                                         {0x061c, 0x061c},
                                         {0x06dd, 0x06dd},
                                         {0x070f, 0x070f},
                                         {0x180e, 0x180e},
                                         {0x200b, 0x200f},
                                         {0x2028, 0x202e},
                                         {0x2060, 0x206f},
                                         {0xfeff, 0xfeff},
                                         {0xfff9, 0xfffb}}};
constexpr Range kTags{0xe0000, 0xe0fff};

bool is_hidden(std::uint32_t character) {
  const auto holds = [=](const Range& range) { return character >= range.first && character <= range.last; };
  return std::any_of(kHidden.begin(), kHidden.end(), holds) || holds(kTags);
}

bool is_plain(char c) {
  const auto octet = static_cast<unsigned char>(c);
  return octet >= 0x20 && octet < 0x7f;
}

/// Octets of the character that `text` begins with, if it is well-formed UTF-8 and not ASCII (RFC 3629) and may be
/// shown; else 0.
std::size_t shown_octets(std::string_view text) {
  const auto octet = [&](std::size_t at) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[at])); };
  const std::uint32_t lead = octet(0);
  const std::size_t octets = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < octets) return 0;
  std::uint32_t character = lead & (0x7fu >> octets);
  for (std::size_t i = 1; i < octets; ++i) {
    if ((octet(i) & 0xc0) != 0x80) return 0;
    character = character << 6 | (octet(i) & 0x3f);
  }
  const bool is_overlong = (octets == 3 && character < 0x800) || (octets == 4 && character < 0x10000);
  const bool is_surrogate = character >= 0xd800 && character <= 0xdfff;
  return is_overlong || is_surrogate || character > 0x10ffff || is_hidden(character) ? 0 : octets;
}

}  // namespace

std::string printable(std::string_view text) {
  if (std::all_of(text.begin(), text.end(), is_plain)) return std::string(text);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string shown;
  while (!text.empty()) {
    const std::size_t octets = is_plain(text[0])                            ? 1
                               : static_cast<unsigned char>(text[0]) < 0x80 ? 0
                                                                            : shown_octets(text);
    if (octets == 0) {
      const auto octet = static_cast<unsigned char>(text[0]);
      shown += {'\\', 'x', kDigits[octet >> 4], kDigits[octet & 0xf]};
    }
    shown += text.substr(0, octets);
    text.remove_prefix(std::max<std::size_t>(1, octets));
  }
  return shown;
}

}  // namespace verbena::wire
