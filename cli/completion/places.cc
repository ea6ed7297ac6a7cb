#include "cli/completion/places.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "emulator/host/config/own_files.h"
#include "emulator/host/config/personality.h"
#include "wire/printable.h"

namespace verbena::cli::completion {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kEntriesMax = 5000;  // of a folder that are looked at: somebody waits for the answer

/// Sorted, so that two runs offer the same.
std::vector<fs::directory_entry> entries_of(const fs::path& folder) {
  std::vector<fs::directory_entry> all;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end && all.size() < kEntriesMax;
       at.increment(error))
    all.push_back(*at);
  std::ranges::sort(all, {}, [](const fs::directory_entry& one) { return one.path().filename(); });
  return all;
}

bool is_folder(const fs::directory_entry& entry) {
  std::error_code ignored;
  return entry.is_directory(ignored);
}

}  // namespace

Candidates files(std::string_view prefix, const std::vector<std::string_view>& endings) {
  const std::size_t slash = prefix.rfind('/');
  const std::string folder(slash == prefix.npos ? "" : prefix.substr(0, slash + 1));
  const std::string_view begin = prefix.substr(folder.size());
  Candidates all;
  for (const fs::directory_entry& entry : entries_of(folder.empty() ? "." : folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(begin) || (begin.empty() && name.starts_with('.'))) continue;
    if (wire::printable(name) != name) continue;  // an answer is a line, and a shell shows it as it is
    const bool fits = endings.empty() ||
                      std::ranges::any_of(endings, [&name](std::string_view ending) { return name.ends_with(ending); });
    if (is_folder(entry))
      all.push_back({folder + name + "/", ""});
    else if (fits)
      all.push_back({folder + name, ""});
  }
  return all;
}

Candidates folders(std::string_view prefix) {
  Candidates all = files(prefix);
  std::erase_if(all, [](const Candidate& one) { return !one.text.ends_with('/'); });
  return all;
}

Candidates programs(std::string_view prefix) {
  if (prefix.find('/') != prefix.npos) return files(prefix);
  std::set<std::string> names;
  const char* const path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "";
  while (!rest.empty() && !prefix.empty()) {  // thousands, where nothing is said yet
    const std::string folder(rest.substr(0, rest.find(':')));
    rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
    for (const fs::directory_entry& entry : entries_of(folder)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with(prefix) && access(entry.path().c_str(), X_OK) == 0) names.insert(name);
    }
  }
  Candidates all;
  for (const std::string& name : names) all.push_back({name, ""});
  return all;
}

Candidates scenarios() {
  const auto library = host::find_scenario_directory();
  Candidates all;
  if (!library) return all;
  for (const fs::directory_entry& entry : entries_of(*library))
    if (entry.path().extension() == ".yaml") all.push_back({entry.path().stem().string(), "comes with Verbena"});
  return all;
}

Candidates personalities() {
  const auto library = host::find_scenario_directory();
  Candidates all;
  if (library)
    for (const std::string& name : host::personality_names(*library)) all.push_back({name, ""});
  return all;
}

}  // namespace verbena::cli::completion
