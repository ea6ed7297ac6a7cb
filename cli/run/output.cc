#include "cli/run/output.h"

#include <utility>

#include "scenarios/outcome/buffered_file.h"

namespace verbena::cli::run {

int fail_to_write(const CommandLine& line, const std::string& option, const host::FileError& error) {
  return line.fail(error.is_shortage ? kExitInternal : kExitUsage, option + " " + error.text);
}

std::optional<int> write_output(const CommandLine& line, const std::string& option, const std::string& file,
                                const std::string& text) {
  if (file == "-") {
    fmt::print("{}", text);
    return std::nullopt;
  }
  const auto written = scenarios::write_file(file, text);
  return written ? std::nullopt : std::optional(line.fail(kExitInternal, option + " " + written.error().text));
}

std::optional<int> make_report_files(const CommandLine& line, const Options& options) {
  for (const auto& [option, file] : {std::pair{"--json", options.json}, {"--junit", options.junit}})
    if (!file.empty() && file != "-")
      if (const auto made = scenarios::write_file(file, ""); !made) return fail_to_write(line, option, made.error());
  return std::nullopt;
}

}  // namespace verbena::cli::run
