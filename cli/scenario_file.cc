#include "cli/scenario_file.h"

#include <filesystem>

#include "emulator/host/config/own_files.h"

namespace verbena::cli {
namespace {

namespace files = std::filesystem;

/// The file that is meant; the name as it was given, if there is none.
std::string find_scenario(const std::string& name, const std::string& library) {
  std::error_code ignored;
  if (name.empty() || files::exists(name, ignored) || files::path(name).is_absolute()) return name;
  for (const char* suffix : {"", ".yaml"}) {
    const files::path candidate = files::path(library) / (name + suffix);
    if (files::is_regular_file(candidate, ignored)) return candidate.string();
  }
  return name;
}

}  // namespace

Result<scenarios::Scenario, scenarios::ReadError> read_named_scenario(const std::string& name) {
  const auto library = host::find_scenario_directory();
  if (!library) return scenarios::read_scenario_file(name);  // it may need nothing of ours
  return scenarios::read_scenario_file(find_scenario(name, *library), {.profile_folders = {*library + "/profiles"}});
}

}  // namespace verbena::cli
