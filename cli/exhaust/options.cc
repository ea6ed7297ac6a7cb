#include "cli/exhaust/options.h"

#include <algorithm>
#include <cstddef>
#include <thread>
#include <utility>

#include "emulator/host/config/own_node.h"
#include "emulator/host/config/variables.h"
#include "emulator/host/os/text_list.h"
#include "wire/crc32.h"

namespace verbena::cli::exhaust {
namespace {

constexpr std::uint64_t kJobsMax = 60;  // each has a pair of nodes at a time, and others to go on to
constexpr std::uint64_t kPlacesMax = 1'000'000;
constexpr std::uint64_t kSecondsMax = 86'400;

/// Whose variables say both, in the order in which they count (host/config/own_node.h).
struct Launcher {
  const char* rank;
  const char* size;
};
constexpr Launcher kLaunchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, {"PMI_RANK", "PMI_SIZE"}, {host::kTaskVariable, "SLURM_NTASKS"}};

std::optional<Kind> kind_named(std::string_view name) {
  const auto* const found = std::ranges::find(kKinds, name, [](Kind kind) { return to_string(kind); });
  return found == kKinds.end() ? std::nullopt : std::optional(*found);
}

std::vector<std::string_view> items_of(const std::string& list) {
  std::vector<std::string_view> items;
  for (std::uint32_t i = 0; i < host::list_size(list); ++i) items.push_back(host::list_item(list, i));
  return items;
}

std::optional<Share> share_in(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == text.npos) return std::nullopt;
  const auto of = parse_number(std::string_view(text).substr(slash + 1), 1, kPlacesMax);
  const auto number = of ? parse_number(std::string_view(text).substr(0, slash), 1, *of) : std::nullopt;
  return number ? std::optional(Share{*number, *of}) : std::nullopt;
}

/// By the rule of completion::as_shell().
bool has_open_quote(std::string_view command) {
  char quote = '\0';
  for (std::size_t i = 0; i < command.size(); ++i) {
    if (command[i] == '\\' && quote != '\'')
      ++i;
    else if (quote == '\0' && (command[i] == '\'' || command[i] == '"'))
      quote = command[i];
    else if (command[i] == quote)
      quote = '\0';
  }
  return quote != '\0';
}

struct NumberOption {
  const char* name;
  const std::string& text;
  std::uint64_t least;
  std::uint64_t most;
};

}  // namespace

void declare(CommandLine& line, Options& options) {
  line.option("--server", options.server, "COMMAND",
              "runs on node 1 without faults; PROGRAM, on node 2, starts once it listens");
  line.option("--client", options.client, "COMMAND", "runs on node 2 without faults once PROGRAM, on node 1, listens");
  line.option("--only", options.only, "KINDS",
              "verbs, completions, packets, cm (messages of the connection manager), some of them by commas");
  line.option("--at-most", options.at_most, "N|all",
              "of each verb, kind of packet and so on try so many places, spread over all that there are");
  line.option("--pairs", options.pairs, "N", "then N pairs of faults at one time, drawn by the seed");
  line.option("--check", options.check, "COMMAND",
              "after each run that ended with 0: a status other than 0 says that its data are wrong");
  line.option("--jobs", options.jobs, "J", "so many runs at one time; the number of processors");
  line.option("--silence", options.silence, "SECONDS",
              "a run hangs that does nothing for so long; learned from the clean run");
  line.option("--limit", options.limit, "SECONDS", "a run hangs that takes so long; learned from the clean run");
  line.option("--state", options.state, "FILE", "keep what is known in FILE; what is in it is not run again");
  line.option("--share", options.share, "R/N",
              "only the R-th of N shares, for N machines; the rank's under mpirun and srun, with FILE.R for --state");
  line.option("--merge", options.merge, "FILE", "runs nothing: one report of what is in such files; may be repeated");
  line.option("--row", options.row, "ROW", "of a scenario only this row, with the report of its run");
  line.option("--seed", options.seed, "N", "seed of the runs, and of --pairs");
  line.option("--nic", options.nic, "SETTINGS", "of all NICs, as with verbena exec");
  line.option("--junit", options.junit, "FILE", "write the rows to FILE, as JUnit's XML");
  line.reporting(options.reporting, "print nothing unless a row is bad",
                 "the rows, with the command that replays each");
  line.exit_status("0", "under each fault the program passed, or ended with an error of its own");
  line.exit_status("1", "it hung, crashed, left objects or had wrong data");
  line.exit_status("3", "nothing was judged: the clean run failed, or no fault hit");
  line.exit_status("130", "Ctrl-C");
  line.example("verbena exhaust consistency-write.yaml", "a scenario, one of Verbena's own or a file of yours");
  line.example("verbena exhaust --server 'ib_write_bw -n 20' -- ib_write_bw -n 20 127.47.91.1",
               "a client; its server's addresses are those of nodes 1 and 2, or of the run's own");
}

std::optional<std::string> find_error(const Options& options) {
  if (!options.server.empty() && !options.client.empty())
    return "--server and --client exclude each other: the one of the two that is to fail is PROGRAM";
  for (const auto& [name, command] : {std::pair{"--server", &options.server}, {"--client", &options.client}})
    if (has_open_quote(*command)) return fmt::format("{} {}: a quote is not closed", name, *command);
  for (const std::string_view item : options.only.empty() ? std::vector<std::string_view>{} : items_of(options.only))
    if (!kind_named(item))
      return fmt::format("--only {}: {} is not one of verbs, completions, packets, cm", options.only, item);
  if (options.at_most != "all" && !parse_number(options.at_most, 1, kPlacesMax))
    return fmt::format("--at-most {}: not a number from 1 to {}, or all", options.at_most, kPlacesMax);
  const NumberOption numbers[] = {{"--pairs", options.pairs, 1, kPlacesMax},
                                  {"--jobs", options.jobs, 1, kJobsMax},
                                  {"--silence", options.silence, 1, kSecondsMax},
                                  {"--limit", options.limit, 1, kSecondsMax},
                                  {"--seed", options.seed, 0, UINT64_MAX}};
  for (const NumberOption& number : numbers)
    if (!number.text.empty() && !parse_number(number.text, number.least, number.most))
      return fmt::format("{} {}: not a number from {} to {}", number.name, number.text, number.least, number.most);
  if (!options.share.empty() && !share_in(options.share))
    return fmt::format("--share {}: not a share such as 1/4", options.share);
  return std::nullopt;
}

std::vector<Kind> kinds_of(const Options& options) {
  if (options.only.empty()) return {kKinds.begin(), kKinds.end()};
  std::vector<Kind> kinds;
  for (const std::string_view item : items_of(options.only)) kinds.push_back(*kind_named(item));
  return kinds;
}

unsigned job_count(const Options& options) {
  if (const auto jobs = parse_number(options.jobs, 1, kJobsMax)) return static_cast<unsigned>(*jobs);
  return std::clamp(std::thread::hardware_concurrency(), 1u, static_cast<unsigned>(kJobsMax));
}

std::uint64_t places_at_most(const Options& options) {
  return parse_number(options.at_most, 1, kPlacesMax).value_or(UINT64_MAX);
}

bool Share::has(const std::string& row_name) const {
  return wire::crc32(0, reinterpret_cast<const std::byte*>(row_name.data()), row_name.size()) % of == number - 1;
}

Share share_of(const Options& options) {
  if (const auto said = share_in(options.share)) return *said;
  for (const Launcher& launcher : kLaunchers) {
    const char* const rank = host::variable(launcher.rank);
    const char* const size = host::variable(launcher.size);
    if (rank == nullptr || size == nullptr) continue;
    const auto of = parse_number(size, 1, kPlacesMax);
    const auto number = of ? parse_number(rank, 0, *of - 1) : std::nullopt;
    if (number) return {*number + 1, *of};
  }
  return {};
}

}  // namespace verbena::cli::exhaust
