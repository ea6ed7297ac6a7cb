#include "cli/exhaust/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "wire/printable.h"

namespace verbena::cli::exhaust {
namespace {

using Json = nlohmann::ordered_json;

/// What a program prints need not be UTF-8.
std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

template <class T, std::size_t kSize>
std::optional<T> named(const std::array<T, kSize>& all, const std::string& name) {
  const auto found = std::ranges::find(all, name, [](T one) { return to_string(one); });
  return found == all.end() ? std::nullopt : std::optional(*found);
}

std::optional<Judged> judged_in(const Json& json) {
  try {
    const auto kind = named(kKinds, json.at("kind"));
    const auto outcome = named(kOutcomes, json.at("outcome"));
    if (!kind || !outcome) return std::nullopt;
    return Judged{.row = {.kind = *kind,
                          .subject = json.at("subject"),
                          .effect = json.at("effect"),
                          .rules = json.at("rules"),
                          .name = json.at("row")},
                  .verdict = {.outcome = *outcome, .why = json.at("why"), .more = json.at("more")},
                  .seconds = json.at("seconds"),
                  .replay = json.at("replay")};
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace

nlohmann::ordered_json json_of(const Judged& judged) {
  return {{"row", judged.row.name},        {"kind", to_string(judged.row.kind)},
          {"subject", judged.row.subject}, {"effect", judged.row.effect},
          {"rules", judged.row.rules},     {"outcome", to_string(judged.verdict.outcome)},
          {"why", judged.verdict.why},     {"more", judged.verdict.more},
          {"seconds", judged.seconds},     {"replay", judged.replay}};
}

/// Whether there was anything.
Result<bool, std::string> Results::read(const std::string& path) {
  std::ifstream file(path);
  if (!file) return false;
  std::string line;
  std::size_t number = 0;
  while (std::getline(file, line)) {
    const bool is_cut = file.eof();  // without its line feed
    const Json json = Json::parse(line, nullptr, false);
    const auto program = json.is_object() ? json.find("program") : json.end();
    if (++number == 1) {
      if (program == json.end() || !program->is_string())
        return Failure{fmt::format("{}: not a file of verbena exhaust: name another one", wire::printable(path))};
      if (program_.empty()) program_ = *program;
      if (*program != program_)
        return Failure{fmt::format("{}: it is of {}: name another file, or remove it", wire::printable(path),
                                   wire::printable(program->get<std::string>()))};
      continue;
    }
    const auto judged = judged_in(json);
    if (judged)
      take(*judged);
    else if (!is_cut)
      return Failure{fmt::format("{}:{}: not a row: remove the line", wire::printable(path), number)};
  }
  return number > 0;
}

Result<void, std::string> Results::keep_in(const std::string& path) {
  std::error_code none;
  if (std::filesystem::exists(path, none) && !std::filesystem::is_regular_file(path, none))
    return Failure{fmt::format("{}: it is no plain file: name one", wire::printable(path))};
  const auto was_there = read(path);
  if (!was_there) return Failure{was_there.error()};
  // Written anew, so that a row that was cut off does not stand in front of the next one.
  const std::string next = path + ".new";
  file_.reset(std::fopen(next.c_str(), "we"));
  const auto fail = [&] { return Failure{fmt::format("{}: {}", wire::printable(path), std::strerror(errno))}; };
  if (!file_) return fail();
  bool is_written = std::fputs(line_of({{"program", program_}}).c_str(), file_.get()) >= 0;
  for (const Judged& judged : all_)
    is_written = is_written && std::fputs(line_of(json_of(judged)).c_str(), file_.get()) >= 0;
  if (!is_written || std::fflush(file_.get()) != 0 || std::rename(next.c_str(), path.c_str()) != 0) return fail();
  return {};
}

Result<void, std::string> Results::merge(const std::string& path) {
  const auto was_there = read(path);
  if (!was_there) return Failure{was_there.error()};
  if (!*was_there) return Failure{fmt::format("{}: there is no such file, or nothing is in it", wire::printable(path))};
  return {};
}

void Results::take(Judged judged) {
  const auto [place, is_new] = by_name_.emplace(judged.row.name, all_.size());
  if (is_new) all_.push_back(std::move(judged));
}

void Results::add(Judged judged) {
  if (file_ && (std::fputs(line_of(json_of(judged)).c_str(), file_.get()) < 0 || std::fflush(file_.get()) != 0)) {
    fmt::print(stderr, "verbena exhaust: warning: the state cannot be kept: {}\n", std::strerror(errno));
    file_.reset();
  }
  take(std::move(judged));
}

}  // namespace verbena::cli::exhaust
