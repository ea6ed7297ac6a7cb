#include "cli/command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <memory>
#include <set>

#include "cli/style.h"
#include "emulator/fabric/nearest_word.h"
#include "wire/printable.h"

namespace verbena::cli {

namespace {

/// The option that `token` names ("--node", "--node=3", "-n"), or null.
const CLI::Option* option_of(const CLI::App& app, const std::string& token) {
  return app.get_option_no_throw(token.substr(0, token.find('=')));
}

bool takes_value(const CLI::Option& option) {
  return option.get_items_expected_max() > 0;
}

/// CLI11 would join or reject repeated options with a text that speaks of argument counts.
std::optional<std::string> find_repeated(const CLI::App& app, const Arguments& arguments) {
  std::set<const CLI::Option*> seen;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].size() < 2 || arguments[i][0] != '-') continue;
    const CLI::Option* option = option_of(app, arguments[i]);
    if (option == nullptr) continue;
    if (option->get_expected_max() <= 1 && !seen.insert(option).second) return option->get_name();
    if (takes_value(*option) && arguments[i].find('=') == std::string::npos) ++i;
  }
  return std::nullopt;
}

/// `--out ""`, mostly an unset variable of a shell, would pass for an option that was not given.
std::optional<std::string> find_empty(const CLI::App& app, const Arguments& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].size() < 2 || arguments[i][0] != '-') continue;
    const CLI::Option* option = option_of(app, arguments[i]);
    if (option == nullptr || !takes_value(*option)) continue;
    const std::size_t equals = arguments[i].find('=');
    if (equals == std::string::npos && i + 1 == arguments.size()) continue;  // CLI11 tells
    const bool is_empty = equals == std::string::npos ? arguments[++i].empty() : equals + 1 == arguments[i].size();
    if (is_empty) return option->get_name();
  }
  return std::nullopt;
}

/// CLI11's own usage line knows nothing of a program and its arguments.
class UsageFormatter : public CLI::Formatter {
 public:
  explicit UsageFormatter(std::string usage) : usage_(std::move(usage)) {}
  std::string make_usage(const CLI::App*, std::string) const override { return "Usage: " + usage_ + "\n"; }

 private:
  std::string usage_;
};

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

/// Where describe() wants to know it: parse() tells it instead of parsing. One thread parses a command line.
help::Description* described = nullptr;

}  // namespace

struct CommandLine::Parser {
  Parser(const std::string& description, const std::string& name) : app(description, name) {
    app.set_help_flag("-h,--help", "Print this help message and exit")->group("");  // who reads it knows
  }
  CLI::App app;
};

CommandLine::CommandLine(std::string name, std::string usage, std::string description)
    : name_(std::move(name)), parser_(std::make_unique<Parser>(description, name_)) {
  description_.name = name_;
  description_.usage = usage;
  description_.text = one_line(std::move(description));
  parser_->app.formatter(std::make_shared<UsageFormatter>(std::move(usage)));
}
CommandLine::~CommandLine() = default;

void CommandLine::option(const char* option, std::string& into, const char* type, const char* text) {
  parser_->app.add_option(option, into, text)->type_name(type)->capture_default_str();
  description_.options.push_back({option, type, text, into, false});
}
void CommandLine::option(const char* option, std::vector<std::string>& into, const char* type, const char* text) {
  parser_->app.add_option(option, into, text)->type_name(type)->allow_extra_args(false);
  description_.options.push_back({option, type, text, {}, true});
}
void CommandLine::flag(const char* option, bool& into, const char* text) {
  parser_->app.add_flag(option, into, text)->disable_flag_override();
  description_.options.push_back({option, {}, text, {}, false});
}
void CommandLine::add_argument(const char* argument, const char* text, bool is_list) {
  description_.arguments.push_back({argument, argument, text, {}, is_list});
}
void CommandLine::required_argument(const char* argument, std::string& into, const char* text) {
  parser_->app.add_option(argument, into, text)->required();
  add_argument(argument, text, false);
}
void CommandLine::argument(const char* argument, std::string& into, const char* text) {
  parser_->app.add_option(argument, into, text);
  add_argument(argument, text, false);
}
void CommandLine::arguments(const char* argument, std::vector<std::string>& into, const char* text) {
  parser_->app.add_option(argument, into, text);
  add_argument(argument, text, true);
}
void CommandLine::reporting(Reporting& into, const char* quiet_text, const char* json_text) {
  flag("--json", into.json, json_text);
  flag("--quiet", into.quiet, quiet_text);
  reporting_ = &into;
}
void CommandLine::exit_status(std::string status, std::string text) {
  description_.statuses.push_back({std::move(status), std::move(text)});
}
void CommandLine::example(std::string command, std::string text) {
  description_.examples.push_back({std::move(command), std::move(text)});
}
void CommandLine::footer(std::string text) {
  description_.footer = std::move(text);
}

/// CLI11's, and what it has no place for.
std::string CommandLine::help() const {
  std::string text = parser_->app.help();
  while (text.ends_with("\n\n")) text.pop_back();
  if (!description_.footer.empty()) text += "\n" + description_.footer;
  std::string statuses;
  for (const help::StatusText& status : description_.statuses)
    statuses += fmt::format("{}{} {}", statuses.empty() ? "" : ", ", status.status, status.text);
  text += "Exit status: " + statuses + "\n";
  for (const help::ExampleText& example : description_.examples)
    text += fmt::format("Example, {}:\n  {}\n", example.text, example.command);
  return text;
}

int CommandLine::fail(int status, std::string_view text) const {
  fmt::print(stderr, "{}: {}\n", Style(stderr).bad(name_), wire::printable(text));
  return status;
}

std::optional<int> CommandLine::parse(const Arguments& arguments) {
  if (described != nullptr) {
    *described = description_;
    return 0;
  }
  CLI::App& app = parser_->app;
  if (const auto repeated = find_repeated(app, arguments))
    return fail(kExitUsage, fmt::format("{} is given more than once: leave one of them out", *repeated));
  if (const auto empty = find_empty(app, arguments))
    return fail(kExitUsage, fmt::format("{} has an empty value: give one, or leave the option out", *empty));
  Arguments reversed(arguments.rbegin(), arguments.rend());  // the order that CLI11 wants
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", Style(stdout).headings(help()));
    return 0;
  } catch (const CLI::ExtrasError&) {
    const Arguments unknown = app.remaining();
    const std::string first = unknown.empty() ? "" : unknown.back();
    std::vector<std::string_view> known{"--help"};
    for (const help::OptionText& option : description_.options) known.push_back(option.name);
    const bool is_option = first.starts_with('-');
    return fail(kExitUsage, fmt::format("unknown {} '{}' (see {} --help){}", is_option ? "option" : "argument", first,
                                        name_, is_option ? fabric::did_you_mean(first, known) : ""));
  } catch (const CLI::ParseError& error) {
    return fail(kExitUsage, fmt::format("{} (see {} --help)", one_line(error.what()), name_));
  }
  if (reporting_ != nullptr && reporting_->quiet && reporting_->json)
    return fail(kExitUsage, "--quiet and --json exclude each other: leave one of them out");
  return std::nullopt;
}

help::Description describe(int (*run)(const Arguments&)) {
  help::Description description;
  described = &description;
  run({});
  described = nullptr;
  return description;
}

SplitArguments CommandLine::split_program(const Arguments& arguments) const {
  std::size_t i = 0;
  std::size_t program = 0;
  for (; i < arguments.size(); ++i) {
    const std::string& token = arguments[i];
    if (token == "--") break;
    if (token.size() < 2 || token[0] != '-') break;
    const CLI::Option* option = option_of(parser_->app, token);
    if (option != nullptr && takes_value(*option) && token.find('=') == std::string::npos && i + 1 < arguments.size() &&
        arguments[i + 1] != "--")
      ++i;
  }
  program = i < arguments.size() && arguments[i] == "--" ? i + 1 : i;
  const auto begin = arguments.begin();
  return {Arguments(begin, begin + static_cast<std::ptrdiff_t>(i)),
          Arguments(begin + static_cast<std::ptrdiff_t>(program), arguments.end())};
}

std::optional<std::uint64_t> parse_number(std::string_view text, std::uint64_t least, std::uint64_t most) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) return std::nullopt;
  return value;
}

}  // namespace verbena::cli
