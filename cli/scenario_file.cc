#include "cli/scenario_file.h"

#include <algorithm>
#include <filesystem>

#include "emulator/fabric/nearest_word.h"
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

std::vector<LibraryScenario> library_scenarios() {
  std::vector<LibraryScenario> all;
  const auto library = host::find_scenario_directory();
  if (!library) return all;
  std::error_code error;
  for (files::directory_iterator at(*library, error), end; !error && at != end; at.increment(error))
    if (at->path().extension() == ".yaml") all.push_back({at->path().stem().string(), at->path().string()});
  std::ranges::sort(all, {}, &LibraryScenario::name);
  return all;
}

Result<scenarios::Scenario, scenarios::ReadError> read_named_scenario(const std::string& name) {
  const auto library = host::find_scenario_directory();
  if (!library) return scenarios::read_scenario_file(name);  // it may need nothing of ours
  auto read =
      scenarios::read_scenario_file(find_scenario(name, *library), {.profile_folders = {*library + "/profiles"}});
  if (!read && read.error().is_missing) {
    const std::vector<LibraryScenario> all = library_scenarios();
    std::vector<std::string_view> known;
    for (const LibraryScenario& one : all) known.push_back(one.name);
    scenarios::ReadError error = read.error();
    error.text += ", nor a scenario of Verbena's own with this name (verbena run --list)" +
                  fabric::did_you_mean(files::path(name).stem().string(), known);
    return Failure{std::move(error)};
  }
  return read;
}

}  // namespace verbena::cli
