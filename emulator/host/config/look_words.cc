#include "emulator/host/config/look_words.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <iterator>

#include "emulator/host/node/identity.h"
#include "emulator/host/os/text_list.h"

namespace verbena::host {
namespace {

constexpr std::size_t kTextBytesMax = 63;
constexpr std::size_t kPkeysMax = 8;

constexpr std::array<fabric::Named<Refusable>, kRefusables> kNames{{{"rc", Refusable::rc},
                                                                    {"uc", Refusable::uc},
                                                                    {"ud", Refusable::ud},
                                                                    {"raw", Refusable::raw},
                                                                    {"xrc", Refusable::xrc},
                                                                    {"srq", Refusable::srq},
                                                                    {"atomics", Refusable::atomics},
                                                                    {"odp", Refusable::odp},
                                                                    {"mw", Refusable::mw},
                                                                    {"dm", Refusable::dm}}};
constexpr std::array<fabric::Named<int>, 4> kErrors{
    {{"EOPNOTSUPP", EOPNOTSUPP}, {"EINVAL", EINVAL}, {"ENOSYS", ENOSYS}, {"EPERM", EPERM}}};
constexpr std::array<fabric::Named<AtomicCapability>, 3> kAtomics{
    {{"none", AtomicCapability::none}, {"hca", AtomicCapability::hca}, {"global", AtomicCapability::global}}};

/// Decimal, or hexadecimal behind 0x.
std::optional<std::uint32_t> read_number(std::string_view text) {
  const bool is_hex = text.starts_with("0x");
  if (is_hex) text.remove_prefix(2);
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, is_hex ? 16 : 10);
  return !text.empty() && error == std::errc{} && end == text.data() + text.size() ? std::optional(value)
                                                                                   : std::nullopt;
}
std::string hex(std::uint32_t value) {
  char digits[8];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), value, 16).ptr;
  return "0x" + std::string(std::begin(digits), end);
}

template <auto member>
bool take_number(std::string_view text, DeviceLook& into) {
  into.*member = read_number(text);
  return (into.*member).has_value();
}
template <auto member>
std::string number_text(const DeviceLook& of) {
  return of.*member ? std::to_string(*(of.*member)) : std::string();
}
template <auto member>
std::string hex_text(const DeviceLook& of) {
  return of.*member ? hex(*(of.*member)) : std::string();
}

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
         c == '-' || c == ':';
}
template <auto member>
bool take_text(std::string_view text, DeviceLook& into) {
  into.*member = text;
  return !text.empty() && text.size() <= kTextBytesMax && std::ranges::all_of(text, is_plain);
}
template <auto member>
std::string text(const DeviceLook& of) {
  return of.*member;
}

bool take_pci_id(std::string_view text, DeviceLook& into) {
  into.pci_id = text;
  const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return text.size() == 9 && text[4] == ':' && std::ranges::all_of(text.substr(0, 4), is_hex) &&
         std::ranges::all_of(text.substr(5), is_hex);
}

bool take_atomics(std::string_view text, DeviceLook& into) {
  into.atomics = fabric::find_named(kAtomics, text);
  return into.atomics.has_value();
}
std::string atomics_text(const DeviceLook& of) {
  for (const auto& row : kAtomics)
    if (of.atomics == row.value) return std::string(row.name);
  return {};
}

bool take_gids(std::string_view text, DeviceLook& into) {
  into.gids = text;
  return is_gid_layout(text);
}

bool take_pkeys(std::string_view text, DeviceLook& into) {
  into.pkeys.clear();
  for (std::size_t i = 0; i < plus_size(text); ++i) {
    const auto key = read_number(plus_item(text, i));
    if (!key || *key > UINT16_MAX || i == kPkeysMax) return false;
    into.pkeys.push_back(static_cast<std::uint16_t>(*key));
  }
  return !into.pkeys.empty();
}
std::string pkeys_text(const DeviceLook& of) {
  std::string text;
  for (const std::uint16_t key : of.pkeys) text += (text.empty() ? "" : "+") + hex(key);
  return text;
}

/// "uc+ud:EINVAL": an error that is not said is EOPNOTSUPP.
bool take_refusals(std::string_view text, DeviceLook& into) {
  into.refusals = {};
  for (std::size_t i = 0; i < plus_size(text); ++i) {
    const std::string_view item = plus_item(text, i);
    const std::size_t colon = std::min(item.find(':'), item.size());
    const auto what = fabric::find_named(kNames, item.substr(0, colon));
    const auto error =
        colon == item.size() ? std::optional(EOPNOTSUPP) : fabric::find_named(kErrors, item.substr(colon + 1));
    if (!what || !error) return false;
    into.refusals[static_cast<std::size_t>(*what)] = *error;
  }
  return !text.empty();
}
std::string refusals_text(const DeviceLook& of) {
  std::string text;
  for (const auto& row : kNames) {
    const int refusal = of.refusal(row.value);
    if (refusal == 0) continue;
    text += (text.empty() ? "" : "+") + std::string(row.name);
    for (const auto& error : kErrors)
      if (error.value == refusal && refusal != EOPNOTSUPP) text += ":" + std::string(error.name);
  }
  return text;
}

constexpr std::string_view kNumberIsRight = "want a number, as in 4129 or 0x2c9";
constexpr std::string_view kTextIsRight = "want up to 63 letters, digits, '.', '_', '-' or ':'";
using Look = DeviceLook;

constexpr std::array kWords{
    LookWord{"vendor-id", kNumberIsRight, take_number<&Look::vendor_id>, hex_text<&Look::vendor_id>},
    LookWord{"part-id", kNumberIsRight, take_number<&Look::part_id>, number_text<&Look::part_id>},
    LookWord{"hw-ver", kNumberIsRight, take_number<&Look::hardware_version>, hex_text<&Look::hardware_version>},
    LookWord{"firmware", kTextIsRight, take_text<&Look::firmware>, text<&Look::firmware>},
    LookWord{"board", kTextIsRight, take_text<&Look::board>, text<&Look::board>},
    LookWord{"driver", kTextIsRight, take_text<&Look::driver>, text<&Look::driver>},
    LookWord{"hca-type", kTextIsRight, take_text<&Look::hca_type>, text<&Look::hca_type>},
    LookWord{"pci-id", "want VENDOR:DEVICE, as in 15b3:1021", take_pci_id, text<&Look::pci_id>},
    LookWord{"atomic-cap", "want none, hca or global", take_atomics, atomics_text, fabric::kNamesIn<kAtomics>},
    LookWord{"cap-flags", kNumberIsRight, take_number<&Look::flags>, hex_text<&Look::flags>},
    LookWord{"max-msg-size", kNumberIsRight, take_number<&Look::message_bytes_max>,
             number_text<&Look::message_bytes_max>},
    LookWord{"gids", "want up to 4 of link-local-v1, link-local-v2, v1, v2 and empty, as in link-local-v2+v2",
             take_gids, text<&Look::gids>},
    LookWord{"pkeys", "want up to 8 P_Keys, as in 0+0xffff", take_pkeys, pkeys_text},
    LookWord{"refuse",
             "want what is refused: rc, uc, ud, raw, xrc, srq, atomics, odp, mw or dm, each with its error if that is "
             "not EOPNOTSUPP, as in uc+srq:EINVAL",
             take_refusals, refusals_text},
};

}  // namespace

std::span<const LookWord> look_words() {
  return kWords;
}

std::string text_of(const DeviceLook& look) {
  return fabric::text_of_settings(look_words(), look);
}

}  // namespace verbena::host
