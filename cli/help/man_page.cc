#include "cli/help/man_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/help/fault_page.h"
#include "cli/help/roff.h"
#include "cli/subcommands.h"

namespace verbena::cli::help {
namespace {

constexpr std::string_view kPrefix = "verbena-";
constexpr std::string_view kFaults = "verbena-faults";

constexpr std::string_view kEnvironment =
    "NO_COLOR (anything): no colours; CLICOLOR_FORCE (not 0): colours where there is no terminal as well. "
    "VERBENA_QUIET "
    "(anything): no remarks about peers that cannot be reached.";

std::string all_pages_but(std::string_view own) {
  std::string text;
  for (const ManPage& page : man_pages())
    if (page.name != own) text += fmt::format("{}`{}`({})", text.empty() ? "" : ", ", page.name, page.section);
  return text;
}

void add_statuses(Roff& roff, const std::vector<StatusText>& own) {
  roff.heading("Exit status");
  for (const StatusText& status : own) roff.item(status.status, "", status.text + ".");
  roff.item(std::to_string(kExitUsage), "",
            "The command line, or a file that it names, is wrong: one line on stderr says what.");
  roff.item(std::to_string(kExitInternal), "", "Verbena itself failed: a full disk, for example.");
}

std::string of_command(std::string_view version) {
  Roff roff("verbena", '1', version);
  roff.heading("Name");
  roff.paragraph("verbena - a software RDMA NIC in user space, and the test harness around it");
  roff.heading("Synopsis");
  roff.paragraph("`verbena` COMMAND [OPTIONS] ...");
  roff.heading("Description");
  roff.paragraph(
      "An unmodified RDMA program runs on an emulated node without an RDMA NIC, without root and without a kernel "
      "module; each packet that it sends is a true RoCE v2 packet. Packets, cables, ports and nodes fail when one says "
      "so, and again from the same seed.");
  roff.heading("Commands");
  for (const Subcommand& subcommand : subcommands()) roff.item(subcommand.name, "", std::string(subcommand.summary));
  roff.item("help", "[COMMAND|faults]", "The help of a command, or all that can be made to go wrong.");
  roff.heading("Options");
  roff.item("-h, --help", "", "The commands, in short.");
  roff.item("--version", "", "The version.");
  roff.heading("Examples");
  roff.paragraph("Two shells, a working pair:");
  roff.lines(
      "verbena exec --node 1 -- ib_write_bw\nverbena exec --node 2 --wait-for-listener 1 -- ib_write_bw 127.47.91.1");
  add_statuses(roff, {{"0", "It is done, and nothing is wrong"}, {"1", "What was looked at is not as it should be"}});
  roff.heading("Environment");
  roff.paragraph(kEnvironment);
  roff.heading("See also");
  roff.paragraph(all_pages_but("verbena"));
  return roff.text();
}

std::string of_faults(std::string_view version) {
  Roff roff(kFaults, '7', version);
  roff.heading("Name");
  roff.paragraph(std::string(kFaults) + " - all that can be made to go wrong with packets, cables and nodes");
  fault_page().add_to(roff);
  roff.heading("See also");
  roff.paragraph("`verbena-exec`(1), `verbena-fault`(1), `verbena-run`(1)");
  return roff.text();
}

}  // namespace

std::vector<ManPage> man_pages() {
  std::vector<ManPage> pages{{"verbena", '1'}};
  for (const Subcommand& subcommand : subcommands())
    pages.push_back({std::string(kPrefix) + std::string(subcommand.name), '1'});
  pages.push_back({std::string(kFaults), '7'});
  return pages;
}

std::optional<std::string> man_page(std::string_view name, std::string_view version) {
  if (name == "verbena") return of_command(version);
  if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
  if (name == kFaults.substr(kPrefix.size())) return of_faults(version);
  const Subcommand* const found = find_subcommand(name);
  if (found == nullptr) return std::nullopt;
  return man_page_of(describe(found->run), found->summary, version);
}

std::string man_page_of(const Description& description, std::string_view summary, std::string_view version) {
  std::string name = description.name;
  std::ranges::replace(name, ' ', '-');
  Roff roff(name, '1', version);
  roff.heading("Name");
  roff.paragraph(fmt::format("{} - {}", name, summary));
  roff.heading("Synopsis");
  roff.paragraph(description.usage);
  roff.heading("Description");
  roff.paragraph(description.text);
  if (!description.arguments.empty()) roff.heading("Arguments");
  for (const OptionText& argument : description.arguments)
    roff.item(argument.name, argument.is_list ? "..." : "", argument.text + ".");
  roff.heading("Options");
  roff.item("-h, --help", "", "All this, in short.");
  for (const OptionText& option : description.options) {
    std::string text = option.text + ".";
    if (!option.fallback.empty()) text += " [" + option.fallback + "]";
    roff.item(option.name, option.type, text);
  }
  if (!description.footer.empty())
    roff.lines(description.footer.substr(0, description.footer.find_last_not_of('\n') + 1));
  if (!description.examples.empty()) roff.heading("Examples");
  for (const ExampleText& example : description.examples) {
    roff.paragraph(example.text + ":");
    roff.lines(example.command);
  }
  add_statuses(roff, description.statuses);
  roff.heading("Environment");
  roff.paragraph(kEnvironment);
  roff.heading("See also");
  roff.paragraph(all_pages_but(name));
  return roff.text();
}

}  // namespace verbena::cli::help
