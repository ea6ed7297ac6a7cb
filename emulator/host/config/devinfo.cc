// A personality from the text of `ibv_devinfo -v`.
// Tested by: tests/host/config/personality_test.cc
#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include "emulator/host/config/personality.h"

namespace verbena::host {
namespace {

struct Field {
  std::string_view name;  // of ibv_devinfo
  std::string_view word;  // of a personality
  bool is_number = true;
};
constexpr Field kFields[] = {
    {"fw_ver", "firmware", false},
    {"vendor_id", "vendor-id"},
    {"vendor_part_id", "part-id"},
    {"hw_ver", "hw-ver"},
    {"board_id", "board", false},
    {"max_qp", "max-qp"},
    {"max_qp_wr", "max-qp-wr"},
    {"max_sge", "max-sge"},
    {"max_cq", "max-cq"},
    {"max_cqe", "max-cqe"},
    {"max_mr", "max-mr"},
    {"max_mw", "max-mw"},
    {"max_pd", "max-pd"},
    {"max_ah", "max-ah"},
    {"max_srq", "max-srq"},
    {"max_srq_wr", "max-srq-wr"},
    {"max_qp_rd_atom", "read-depth"},
    {"device_cap_flags", "cap-flags"},
    {"max_msg_sz", "max-msg-size"},
    {"active_mtu", "mtu"},
};
/// What a device refuses that has none of it.
struct Missing {
  std::string_view name;
  std::string_view refused;
};
constexpr Missing kMissing[] = {{"max_srq", "srq"}, {"max_mw", "mw"}};

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
  return text.substr(0, text.find_last_not_of(kBlank) + 1);
}

/// "4129", "0x2c9", "1024 (3)".
std::optional<std::uint64_t> number_of(std::string_view text) {
  text = text.substr(0, text.find(' '));
  const bool is_hex = text.starts_with("0x");
  if (is_hex) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, is_hex ? 16 : 10);
  return !text.empty() && error == std::errc{} && end == text.data() + text.size() ? std::optional(value)
                                                                                   : std::nullopt;
}

/// "mlx5_0" is one of "mlx5_%d"; a name without a number is its own.
std::string pattern_of(std::string_view name) {
  const std::size_t digits = name.find_last_not_of("0123456789") + 1;
  return std::string(name.substr(0, digits)) + (digits == name.size() ? "" : "%d");
}

/// "fe80:..., RoCE v2" as an entry of a layout.
std::string entry_of(std::string_view gid) {
  const bool is_v2 = gid.find("RoCE v2") != gid.npos;
  const bool is_link_local = gid.starts_with("fe80");
  return std::string(is_link_local ? "link-local-" : "") + (is_v2 ? "v2" : "v1");
}

struct Making {
  std::string text;
  std::string refused;
  std::vector<std::string> gids;  // by their index
  bool has_v1 = false;
  bool has_v2 = false;
  // What a text without -v does not say; and what it says by not saying it.
  bool speaks_of_paging = false;
  bool has_paging = false;
  bool speaks_of_limits = false;
  bool has_device_memory = false;

  void say(std::string_view word, std::string_view value) {
    text += std::string(word) + ": " + std::string(value) + "  # ibv_devinfo -v\n";
  }
  void refuse(std::string_view what) { refused += (refused.empty() ? "" : "+") + std::string(what); }
};

/// False: it is no number.
bool take_field(std::string_view name, std::string_view value, Making& into) {
  constexpr std::size_t kGidsMax = 4;
  if (name.starts_with("GID[")) {
    const auto index = number_of(trim(name.substr(4, name.find(']') - 4)));
    if (!index) return false;
    if (*index >= kGidsMax) return true;
    into.gids.resize(std::max<std::size_t>(into.gids.size(), *index + 1), "empty");
    into.gids[*index] = entry_of(value);
    (into.gids[*index].ends_with("v2") ? into.has_v2 : into.has_v1) = true;
    return true;
  }
  into.speaks_of_paging |= name == "general_odp_caps";
  into.speaks_of_limits |= name == "max_qp";
  into.has_device_memory |= name == "maximum available device memory";
  if (name == "atomic_cap") {
    for (const auto& [theirs, ours] :
         {std::pair("ATOMIC_NONE", "none"), std::pair("ATOMIC_HCA", "hca"), std::pair("ATOMIC_GLOB", "global")})
      if (value.starts_with(theirs)) into.say("atomic-cap", ours);
    return true;
  }
  for (const Missing& one : kMissing)
    if (one.name == name && !value.empty() && number_of(value) == 0) into.refuse(one.refused);
  for (const Field& field : kFields) {
    if (field.name != name) continue;
    if (!field.is_number) {
      into.say(field.word, value.substr(0, value.find(' ')));
      return true;
    }
    const auto number = number_of(value);
    if (!number) return false;
    const bool is_limit = field.word.starts_with("max-") || field.word == "read-depth" || field.word == "mtu";
    if (*number == 0 && is_limit) return true;  // refused, or nothing that could be said
    constexpr std::uint64_t kReadDepthMax = 128;
    if (field.word == "read-depth")
      into.say(field.word, std::to_string(std::min(*number, kReadDepthMax)));
    else if (*number > UINT32_MAX)
      return false;
    else
      into.say(field.word, value.starts_with("0x") ? value.substr(0, value.find(' ')) : std::to_string(*number));
  }
  return true;
}

}  // namespace

Result<std::string, std::string> personality_from_devinfo(const std::string& given, const std::string& file_name) {
  const auto wrong = [&](std::size_t line, std::size_t column, const std::string& what) {
    return Failure{file_name + ":" + std::to_string(line) + ":" + std::to_string(column) + ": " + what};
  };
  Making making;
  std::string device;
  std::string_view text = given;
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::string_view whole = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(whole.size() + 1, text.size()));
    const std::size_t colon = whole.find(':');
    if (colon == whole.npos) {  // names of flags stand alone
      making.has_paging |= trim(whole) == "ODP_SUPPORT";
      continue;
    }
    const std::string_view name = trim(whole.substr(0, colon));
    const std::string_view value = trim(whole.substr(colon + 1));
    if (name == "hca_id") {
      if (!device.empty()) break;  // the next device
      device = value;
      continue;
    }
    if (device.empty()) continue;
    if (!take_field(name, value, making))
      return wrong(number, static_cast<std::size_t>(value.data() - whole.data()) + 1,
                   "'" + std::string(value) + "' is no number: want the text of `ibv_devinfo -v`");
  }
  if (device.empty()) return wrong(1, 1, "no hca_id in it: want the text of `ibv_devinfo -v`");
  std::string made = "# Made by verbena personality --from-devinfo.\nname: my\ndescription: as " + device +
                     "\ndevice-name: " + pattern_of(device) + "  # ibv_devinfo -v\n";
  if (!making.gids.empty()) {
    std::string layout;
    for (const std::string& entry : making.gids) layout += (layout.empty() ? "" : "+") + entry;
    making.say("gids", layout);
    making.say("wire", making.has_v1 && making.has_v2 ? "roce" : making.has_v1 ? "roce-v1" : "roce-v2");
  }
  if (making.speaks_of_paging && !making.has_paging) making.refuse("odp");
  if (making.speaks_of_limits && !making.has_device_memory) making.refuse("dm");
  if (!making.refused.empty()) making.say("refuse", making.refused);
  return made + making.text;
}

}  // namespace verbena::host
