#include "cli/exhaust/trial.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

#include "emulator/host/node/node_directory.h"
#include "emulator/host/os/clock.h"

namespace verbena::cli::exhaust {
namespace {

constexpr Duration kLastWords = milliseconds(100);  // that a server or client has, once the program has ended
constexpr long kStepNs = 2'000'000;

std::string address(std::uint32_t node) {
  return host::address_text(host::node_address(static_cast<std::uint8_t>(node)));
}

/// Where `from` stands in the text and is no part of a longer address, `to` stands.
void replace_address(std::string& text, const std::string& from, const std::string& to) {
  const auto is_of_number = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at)) {
    const std::size_t end = at + from.size();
    const bool is_whole = (at == 0 || (!is_of_number(text[at - 1]) && text[at - 1] != '.')) &&
                          (end == text.size() || !is_of_number(text[end]));
    if (is_whole) text.replace(at, from.size(), to);
    at += is_whole ? to.size() : from.size();
  }
}

}  // namespace

/// "1" and "2" become others in one go: no address is replaced twice.
std::string Trial::own_words(std::string text) const {
  if (pair_ == 0) return text;
  for (std::uint32_t node : {1u, 2u}) replace_address(text, address(node), address(2 * pair_ + node));
  return text;
}

std::string Trial::usual_words(std::string text) const {
  if (pair_ == 0) return text;
  for (std::uint32_t node : {1u, 2u}) replace_address(text, address(2 * pair_ + node), address(node));
  return text;
}

Result<void, std::string> Trial::start_program(std::uint32_t node, const std::vector<std::string>& words,
                                               bool is_other) {
  scenarios::ProgramChild::Options child;
  for (const std::string& word : words) child.arguments.push_back(own_words(word));
  child.library_directory = setting_->library_directory;
  child.environment.fabric = fmt::format("exhaust-{}", getpid());
  child.environment.node = std::to_string(2 * pair_ + node);
  child.environment.link = "shm";
  child.environment.seed = setting_->seed;
  child.environment.nic = setting_->device.nic;
  child.environment.devices = setting_->device.devices;
  child.environment.stats_path = reports_->stats.path();
  child.environment.device_name = setting_->device.device_name;
  child.environment.crashes_path = (is_other ? reports_->other_crashes : reports_->crashes).path();
  if (!is_other) {
    child.environment.faults = faults_;
    child.environment.leaks_path = reports_->leaks.path();
  }
  auto started = scenarios::ProgramChild::start(child, host::clock_now());
  if (!started) return Failure{started.error()};
  (is_other ? other_ : program_) = std::move(*started);
  return {};
}

Result<Trial, std::string> Trial::start(const Setting& setting, std::vector<std::string> faults, std::size_t others,
                                        std::uint32_t pair, const Patience& patience) {
  Trial trial;
  trial.setting_ = &setting;
  trial.faults_ = std::move(faults);
  trial.others_ = others;
  trial.pair_ = pair;
  trial.patience_ = patience;
  trial.reports_ = std::make_unique<Reports>();
  Reports& reports = *trial.reports_;
  if (!reports.stats.open(fmt::format("exhaust-{}", getpid())) || !reports.leaks.open() || !reports.crashes.open() ||
      !reports.other_crashes.open())
    return Failure{fmt::format("cannot keep what a run says: {}", std::strerror(errno))};
  trial.started_ = trial.last_sign_ = host::clock_now();
  const auto started = setting.server.empty() ? trial.start_program(setting.program_node(), setting.program, false)
                                              : trial.start_program(1, setting.server, true);
  if (!started) return Failure{started.error()};
  return trial;
}

/// Grows with each call that is not a poll, each packet, each completion, and what is written.
std::uint64_t Trial::life() const {
  std::uint64_t life = 0;
  for (std::size_t i = others_; i < faults_.size(); ++i) life += reports_->stats.hits_of(i);
  for (const auto* const child : {&program_, &other_})
    if (*child) life += (*child)->output_bytes();
  return life;
}

bool Trial::is_over() {
  if (!program_ || !program_->ended()) return false;
  return setting_->client.empty() || !other_ || other_->ended();
}

std::optional<Ended> Trial::look() {
  const Time now = host::clock_now();
  // Whoever is served starts once the other one listens.
  const bool waits_for_server = !setting_->server.empty() && !program_;
  const bool waits_for_program = !setting_->client.empty() && !other_;
  if (waits_for_server && (other_->ended() || other_->is_ready(now))) {
    if (!start_program(2, setting_->program, false)) return end(true, true);
    last_sign_ = now;
  }
  if (waits_for_program && !program_->ended() && program_->is_ready(now)) {
    if (!start_program(2, setting_->client, true)) return end(true, true);
    last_sign_ = now;
  }
  if (is_over()) return end(false, false);
  if (const std::uint64_t signs = life(); signs != signs_) {
    signs_ = signs;
    longest_silence_ = std::max(longest_silence_, now - last_sign_);
    last_sign_ = now;
  }
  const bool silent = now - last_sign_ > patience_.silence;
  if (silent || now - started_ > patience_.whole) return end(true, silent);
  return std::nullopt;
}

Ended Trial::end(bool hung, bool silent) {
  const Time now = host::clock_now();
  Ended ended{.hung = hung, .was_silent = silent, .took = now - started_};
  ended.other_hung = hung && program_ && program_->ended();
  ended.longest_silence = std::max(longest_silence_, hung ? Duration{} : now - last_sign_);
  // A server that its client has left says its last words, which a crash may be; then it is ended.
  const timespec step{0, kStepNs};
  while (other_ && !hung && !other_->ended() && host::clock_now() - now < kLastWords) nanosleep(&step, nullptr);
  if (other_ && other_->ended()) ended.other_status = setting_->client.empty() ? 0 : other_->status();
  for (auto* const child : {&program_, &other_})
    if (*child) (*child)->send_signal(SIGKILL);
  if (program_) {
    program_->end();
    ended.status = program_->status();
    ended.out = usual_words(program_->output_of(scenarios::ProgramChild::Stream::out));
    for (const auto stream : {scenarios::ProgramChild::Stream::out, scenarios::ProgramChild::Stream::err})
      for (const std::string& line : program_->last_lines(stream)) ended.last_lines += usual_words(line) + "\n";
  }
  if (other_) other_->end();
  ended.crash = reports_->crashes.text();
  if (const std::string others = reports_->other_crashes.text(); !others.empty()) {
    ended.other_crashed = true;
    ended.crash += others;
  }
  const LeaksReport::Judged leaks = reports_->leaks.judge();
  ended.left = leaks.left;
  ended.leaks = leaks.text;
  for (std::size_t i = 0; i < faults_.size(); ++i) ended.hits.push_back(reports_->stats.hits_of(i));
  return ended;
}

}  // namespace verbena::cli::exhaust
