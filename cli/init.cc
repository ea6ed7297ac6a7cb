// `verbena init`: puts a first scenario and a CI file into a project. What they say is init/texts.h's.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/exec/program.h"
#include "cli/init/texts.h"
#include "cli/style.h"
#include "emulator/fabric/nearest_word.h"
#include "scenarios/outcome/buffered_file.h"
#include "wire/printable.h"

namespace verbena::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kScenarioPath = "verbena/first.yaml";
constexpr const char* kGithubPath = ".github/workflows/verbena.yml";
constexpr const char* kGitlabPath = "verbena/ci/gitlab.yml";
constexpr const char* kGitlabOwnPath = ".gitlab-ci.yml";

struct InitOptions {
  std::string place = ".";
  std::string ci;
  Reporting reporting;
};

struct File {
  std::string path;  // below the project
  std::string text;
  bool is_there = false;
};

std::string ci_of(const InitOptions& options) {
  std::error_code ignored;
  if (!options.ci.empty()) return options.ci;
  return fs::exists(fs::path(options.place) / kGitlabOwnPath, ignored) ? "gitlab" : "github";
}

std::vector<File> files_for(const std::string& ci, bool has_pingpong) {
  std::vector<File> files{{kScenarioPath, init::first_scenario(has_pingpong)}};
  if (ci == "github") files.push_back({kGithubPath, init::github_workflow()});
  if (ci == "gitlab") {
    files.push_back({kGitlabPath, init::gitlab_job()});
    files.push_back({kGitlabOwnPath, init::gitlab_includes()});
  }
  return files;
}

/// What is there stays as it is, a broken link too.
Result<void, host::FileError> write(const std::string& place, File& file) {
  const fs::path path = fs::path(place) / file.path;
  std::error_code error;
  file.is_there = fs::symlink_status(path, error).type() != fs::file_type::not_found;
  if (file.is_there) return {};
  fs::create_directories(path.parent_path(), error);
  if (error) return Failure{host::file_error(path.parent_path().string(), error.value())};
  return scenarios::write_file(path.string(), file.text);
}

void tell(const InitOptions& options, const std::vector<File>& files, const std::string& ci) {
  const Style style(stdout);
  for (const File& file : files)
    fmt::print("{} {}\n", file.is_there ? style.doubt("exists ") : style.good("written"), wire::printable(file.path));
  const bool includes_by_hand = ci == "gitlab" && files.back().is_there;
  if (includes_by_hand)
    fmt::print("\n{} is left as it is; have it include the job, if it does not:\n\n{}", kGitlabOwnPath,
               init::gitlab_includes());
  fmt::print("\nNext: {}verbena run {}\n",
             options.place == "." ? "" : fmt::format("cd {} && ", wire::printable(options.place)), kScenarioPath);
}

}  // namespace

int run_init(const Arguments& arguments) {
  CommandLine line(
      "verbena init", "verbena init [OPTIONS] [DIR]",
      "Writes verbena/first.yaml, a scenario with a pair of programs to replace by your own, and a CI file "
      "into a project. Nothing that is there is overwritten.\n");
  InitOptions options;
  line.argument("DIR", options.place, "the project's folder; the one it is called in");
  line.option("--ci", options.ci, "github|gitlab|none",
              "which CI; gitlab where there is a .gitlab-ci.yml, else github");
  line.reporting(options.reporting, "print nothing", "which files were written, and which were there, as JSON");
  line.exit_status("0", "the files are there");
  line.example("verbena init && verbena run verbena/first.yaml", "in a project");
  if (const auto status = line.parse(arguments)) return *status;
  if (!options.ci.empty() && options.ci != "github" && options.ci != "gitlab" && options.ci != "none")
    return line.fail(kExitUsage, fmt::format("--ci {}: github, gitlab or none{}", options.ci,
                                             fabric::did_you_mean(options.ci, {"github", "gitlab", "none"})));
  std::error_code ignored;
  if (!fs::is_directory(options.place, ignored))
    return line.fail(kExitUsage, fmt::format("{}: no such folder: make it first", options.place));

  const bool has_pingpong = find_program("ibv_rc_pingpong").has_value();
  const bool has_any = has_pingpong || find_program("ib_write_bw").has_value();
  const std::string ci = ci_of(options);
  std::vector<File> files = files_for(ci, has_pingpong || !has_any);
  for (File& file : files)
    if (const auto written = write(options.place, file); !written)
      return line.fail(written.error().is_shortage ? kExitInternal : kExitUsage, written.error().text);
  if (!has_any && !options.reporting.quiet)
    fmt::print(stderr, "{}: the scenario's programs are not here: install the package ibverbs-utils to run it\n",
               line.name());
  if (options.reporting.json) {
    nlohmann::ordered_json json{{"written", nlohmann::ordered_json::array()},
                                {"existing", nlohmann::ordered_json::array()}};
    for (const File& file : files) json[file.is_there ? "existing" : "written"].push_back(file.path);
    fmt::print("{}\n", json.dump());
  } else if (!options.reporting.quiet) {
    tell(options, files, ci);
  }
  return 0;
}

}  // namespace verbena::cli
