// `verbena personality`: the NICs that a device can be like; one of them as text; a new one from `ibv_devinfo -v`.
// Tested by: tests/cli/personality_test.cc
#include "emulator/host/config/personality.h"

#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include "cli/command.h"
#include "emulator/host/config/device_words.h"
#include "emulator/host/config/own_files.h"
#include "wire/printable.h"

namespace verbena::cli {
namespace {

constexpr std::size_t kTextBytesMax = std::size_t{1} << 20;  // more is nothing that ibv_devinfo prints

/// "-" is standard input.
std::optional<std::string> read_all(const std::string& path) {
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  const std::unique_ptr<std::FILE, Close> opened(path == "-" ? nullptr : std::fopen(path.c_str(), "re"));
  std::FILE* const file = path == "-" ? stdin : opened.get();
  if (file == nullptr) return std::nullopt;
  char buffer[4096];
  std::string all;
  for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, file)) != 0;)
    if (all.append(buffer, got).size() > kTextBytesMax) return std::nullopt;
  return std::ferror(file) == 0 ? std::optional(std::move(all)) : std::nullopt;
}

int list(const CommandLine& line, const std::string& library) {
  for (const std::string& name : host::personality_names(library)) {
    const auto one = host::read_personality(name, library);
    if (!one) return line.fail(kExitInternal, one.error());
    const std::string refused(host::nic_word(one->words, "refuse"));
    fmt::print("{:<15} {:<12} {}{}\n", name, one->device_name, one->description,
               refused.empty() ? "" : "; refuses " + refused);
  }
  return 0;
}

}  // namespace

int run_personality(const Arguments& arguments) {
  CommandLine line("verbena personality", "verbena personality [NAME] [--from-devinfo FILE]",
                   "Lists the NICs that a device can be like (verbena exec --nic personality=NAME), or prints one of "
                   "them: its values with their sources.\n");
  std::string name;
  std::string devinfo;
  line.argument("NAME", name, "print this one, or that of a path with a '/'");
  line.option("--from-devinfo", devinfo, "FILE",
              "print one that is made from what `ibv_devinfo -v` has printed of a device; - is standard input");
  line.exit_status("0", "printed");
  line.example("verbena personality mana > my.yaml", "a copy to change, for --nic personality=./my.yaml");
  line.example("ibv_devinfo -v | verbena personality --from-devinfo - > my.yaml", "of the NIC of a machine");
  if (const auto status = line.parse(arguments)) return *status;
  if (!name.empty() && !devinfo.empty())
    return line.fail(kExitUsage, "NAME and --from-devinfo exclude each other: leave one of them out");
  if (!devinfo.empty()) {
    const auto text = read_all(devinfo);
    if (!text) return line.fail(kExitUsage, fmt::format("--from-devinfo {}: it cannot be read", devinfo));
    const auto made = host::personality_from_devinfo(*text, devinfo == "-" ? "standard input" : devinfo);
    if (!made) return line.fail(kExitUsage, wire::printable(made.error()));
    fmt::print("{}", *made);
    return 0;
  }
  const auto library = host::find_scenario_directory();
  if (!library) return line.fail(kExitInternal, library.error());
  if (name.empty()) return list(line, *library);
  const auto one = host::read_personality(name, *library);
  if (!one) return line.fail(kExitUsage, wire::printable(one.error()));
  fmt::print("{}", one->text);
  return 0;
}

}  // namespace verbena::cli
