#include "cli/help/topics.h"

#include "cli/help/fault_page.h"
#include "cli/help/man_page.h"
#include "cli/style.h"
#include "cli/subcommands.h"
#include "emulator/fabric/nearest_word.h"
#include "wire/printable.h"

namespace verbena::cli::help {
namespace {

int fail(std::string_view text) {
  fmt::print(stderr, "{}: {}\n", Style(stderr).bad("verbena help"), wire::printable(text));
  return kExitUsage;
}

/// `verbena help --man [NAME]`: without NAME the names of the files that the pages belong into.
int print_man_page(const Arguments& arguments, std::string_view version) {
  if (arguments.size() == 1) {
    for (const ManPage& page : man_pages()) fmt::print("{}.{}\n", page.name, page.section);
    return 0;
  }
  if (arguments.size() > 2) return fail(fmt::format("unknown argument '{}': name one page", arguments[2]));
  const auto page = man_page(arguments[1], version);
  if (!page) return fail(fmt::format("there is no page '{}': `verbena help --man` lists them", arguments[1]));
  fmt::print("{}", *page);
  return 0;
}

}  // namespace

void print_commands() {
  std::string text =
      "verbena: a software RDMA NIC in user space\n\n"
      "Usage: verbena COMMAND [OPTIONS] ...\n\nCommands:\n";
  for (const Subcommand& subcommand : subcommands())
    text += fmt::format("  {:12}{}\n", subcommand.name, subcommand.summary);
  text +=
      "\nOptions:\n"
      "  -h,--help   this text; `verbena help COMMAND` and `verbena COMMAND --help` tell more\n"
      "  --version   the version\n\n"
      "Two shells, a working pair:\n"
      "  verbena exec --node 1 -- ib_write_bw\n"
      "  verbena exec --node 2 --wait-for-listener 1 -- ib_write_bw 127.47.91.1\n";
  fmt::print("{}", Style(stdout).headings(text));
}

int run_help(const Arguments& arguments, std::string_view version) {
  if (arguments.empty() || arguments.front() == "--help" || arguments.front() == "-h") {
    print_commands();
    return 0;
  }
  const std::string& topic = arguments.front();
  if (topic == "--man") return print_man_page(arguments, version);
  const bool is_of_faults = topic == "fault" || topic == "faults";
  const bool markdown = arguments.size() == 2 && arguments[1] == "--markdown" && is_of_faults;
  const bool json = arguments.size() == 2 && arguments[1] == "--json" && is_of_faults;
  if (arguments.size() > 1 && !markdown && !json)
    return fail(fmt::format("unknown argument '{}': name one command", arguments[1]));
  if (json) {
    fmt::print("{}\n", fault_words().dump());
    return 0;
  }
  if (is_of_faults) {
    const Page page = fault_page();
    fmt::print("{}", markdown ? page.markdown() : page.terminal());
    return 0;
  }
  if (const Subcommand* const found = find_subcommand(topic)) return found->run({"--help"});
  std::vector<std::string_view> known{"faults"};
  for (const Subcommand& subcommand : subcommands()) known.push_back(subcommand.name);
  return fail(fmt::format("there is no command '{}': {} are there{}", topic, subcommand_names(),
                          fabric::did_you_mean(topic, known)));
}

}  // namespace verbena::cli::help
