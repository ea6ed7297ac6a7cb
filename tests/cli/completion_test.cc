// Completions: what a word may become, and the scripts in the real shells, without a terminal.
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "cli/completion/answer.h"
#include "cli/completion/shells.h"
#include "cli/completion/split.h"
#include "emulator/fabric/topology.h"
#include "tests/cli/run_command.h"
#include "tests/host/fabric_process/served.h"

using namespace verbena;
using cli::completion::answer;
using test::run_command;

namespace {

using Words = std::vector<std::string>;

std::set<std::string> texts(const Words& words) {
  std::set<std::string> all;
  for (const cli::completion::Candidate& one : answer(words)) all.insert(one.text);
  return all;
}

bool offers(const Words& words, const std::string& text) {
  return texts(words).contains(text);
}

/// A folder of this test's own, in which it stands, with a few files.
class Folder {
 public:
  Folder() {
    char name[] = "/tmp/verbena-complete.XXXXXX";
    path_ = mkdtemp(name);
    before_ = std::filesystem::current_path();
    std::filesystem::current_path(path_);
    std::filesystem::create_directories("bin");
    std::filesystem::create_symlink(VERBENA_COMMAND, "bin/verbena");
    std::filesystem::create_directories("place");
    for (const char* file : {"a.pcapng", "mine.yaml", "notes.txt"}) std::ofstream{file};
  }
  ~Folder() {
    std::filesystem::current_path(before_);
    std::filesystem::remove_all(path_);
  }
  std::string bin() const { return path_ + "/bin"; }

 private:
  std::string path_;
  std::filesystem::path before_;
};

std::string script_file(const std::string& shell) {
  const std::string name = "completion." + shell;
  std::ofstream(name) << run_command({VERBENA_COMMAND, "completion", shell}).out;
  return name;
}

test::Environment with_path(const Folder& folder) {
  return {{"PATH", folder.bin() + ":" + std::getenv("PATH")}, {"HOME", folder.bin()}, {"TERM", "dumb"}};
}

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_CASE(commands_and_options_come_from_the_tables) {
  BOOST_TEST(texts({"ex"}) == (std::set<std::string>{"exec", "exhaust", "explain"}));
  BOOST_TEST(offers({"help", ""}, "faults"));
  BOOST_TEST(offers({"help", "--man", "verbena-f"}, "verbena-faults"));
  BOOST_TEST(offers({"exec", "--no"}, "--nodes"));
  BOOST_TEST(!offers({"exec", "--node", "1", "--no"}, "--node"));
  BOOST_TEST(offers({"exec", "--fault", "drop 1%", "--f"}, "--fault"));  // may be repeated
  BOOST_TEST(offers({"exec", "--icrc", ""}, "always"));
  BOOST_TEST(offers({"exec", "--wildcard", ""}, "machine"));
  BOOST_TEST(offers({"exec", "--icrc=al"}, "--icrc=always"));
  BOOST_TEST(texts({"completion", ""}) == (std::set<std::string>{"bash", "zsh", "fish"}));
  BOOST_TEST(texts({"dance", ""}).empty());
  BOOST_TEST(texts({}).empty());
  BOOST_TEST(texts({"exec", "--", "true", "--no"}).empty());
}

BOOST_AUTO_TEST_CASE(values_of_options_are_offered) {
  BOOST_TEST(offers({"exec", "--link", ""}, "udp"));
  BOOST_TEST(offers({"exec", "--link", "raw:l"}, "raw:lo"));
  BOOST_TEST(offers({"fabric", "--topology", "le"}, "leaf-spine"));
  BOOST_TEST(offers({"exec", "--wire", "ro"}, "roce-v1"));
  BOOST_TEST(offers({"fabric", "--sockets", ""}, "uncut"));
  BOOST_TEST(offers({"exec", "--nic", "mtu=1024 read"}, "mtu=1024 read-depth="));
  BOOST_TEST(offers({"exec", "--nic", "mtu=1024 perso"}, "mtu=1024 personality="));
  BOOST_TEST(offers({"exec", "--nic", "personality=rxe,conn"}, "personality=rxe,connectx-7"));
  BOOST_TEST(offers({"init", "--ci", "g"}, "gitlab"));
}

BOOST_AUTO_TEST_CASE(the_words_of_a_fault_are_offered_one_after_the_other) {
  BOOST_TEST(offers({"exec", "--fault", "dr"}, "drop"));
  BOOST_TEST(offers({"exec", "--fault", "drop ps"}, "drop psn="));
  BOOST_TEST(offers({"exec", "--fault", "delay b"}, "delay by="));
  BOOST_TEST(!offers({"exec", "--fault", "drop b"}, "drop by="));
  BOOST_TEST(!offers({"exec", "--fault", "drop psn=3 ps"}, "drop psn=3 psn="));
  BOOST_TEST(offers({"fault", "li"}, "link-down"));
  BOOST_TEST(offers({"fault", "add", "n1-s1", ""}, "drop"));
  BOOST_TEST(offers({"fault", "add", "n1-s1", "drop", "q"}, "qp="));
}

BOOST_AUTO_TEST_CASE(files_scenarios_and_programs_are_offered_where_they_belong) {
  const Folder folder;
  BOOST_TEST(offers({"explain", ""}, "a.pcapng"));
  BOOST_TEST(offers({"explain", ""}, "place/"));
  BOOST_TEST(!offers({"explain", ""}, "notes.txt"));
  BOOST_TEST(offers({"run", "mi"}, "mine.yaml"));
  BOOST_TEST(texts({"init", ""}) == (std::set<std::string>{"bin/", "place/"}));
  BOOST_TEST(offers({"exec", "--", "tru"}, "true"));
  const std::string scenarios = run_command({VERBENA_COMMAND, "complete", "fish", "run", "topology-ring"}).out;
  BOOST_TEST((scenarios.find("topology-ring-link\t") != scenarios.npos));
}

BOOST_AUTO_TEST_CASE(what_runs_at_the_moment_is_offered) {
  const host::test::Served fabric(fabric::ring(3, {}));
  const auto fault = [&](Words words) {
    words.insert(words.begin(), {"fault", "--fabric", fabric.name});
    return texts(words);
  };
  BOOST_TEST(offers({"exec", "--fabric", "fabt"}, fabric.name));
  BOOST_TEST(texts({"exec", "--fabric", fabric.name, "--node", ""}) == (std::set<std::string>{"1", "2", "3", "auto"}));
  BOOST_TEST(fault({"link-down", ""}).contains("n1-s1"));
  BOOST_TEST(fault({"link-down", "n1-"}).contains("n1->s1"));
  BOOST_TEST(fault({"link-down", "a"}).contains("all"));
  BOOST_TEST(fault({"link-down", ""}).contains("n2"));
  BOOST_TEST(fault({"link-down", ""}).contains("s1"));
  BOOST_TEST(fault({"link-down", "t"}).contains("trunks"));
  BOOST_TEST(fault({"switch-crash", ""}) == (std::set<std::string>{"s1", "s2", "s3"}));
  BOOST_TEST(fault({"partition", "n1,n"}).contains("n1,n2"));
  BOOST_TEST(fault({"partition", "n1", "n2", ""}) == (std::set<std::string>{"one-way"}));
  BOOST_TEST(fault({"remove", ""}).empty());
  fabric.ask({"add", "n1-s1", "drop", "1%"});
  BOOST_TEST(fault({"remove", ""}) == (std::set<std::string>{"1"}));
}

BOOST_AUTO_TEST_CASE(a_line_is_split_as_a_shell_does) {
  using cli::completion::as_shell;
  BOOST_TEST(as_shell("a 'b c' \"d\" e\\ f ") == (Words{"a", "b c", "d", "e f", ""}), boost::test_tools::per_element());
  BOOST_TEST(as_shell("a 'b c") == (Words{"a", "b c"}), boost::test_tools::per_element());
  BOOST_TEST(as_shell("") == (Words{""}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(bash_completes) {
  const Folder folder;
  const std::string script = script_file("bash");
  // As readline calls it: the line, the cursor at its end, and the end of the line that is replaced.
  const auto ask = [&](const std::string& line, const std::string& replaced) {
    const std::string body = "set -u; . ./" + script +
                             "; COMP_LINE=$1; COMP_POINT=${#1}; compopt() { echo nospace; };" +
                             "_verbena verbena \"$2\" x; printf '%s\\n' \"${COMPREPLY[@]}\"";
    const test::Finished finished = run_command({"bash", "-c", body, "bash", line, replaced}, with_path(folder));
    BOOST_TEST(finished.err == "");
    return finished.out;
  };
  BOOST_TEST(ask("verbena expl", "expl") == "explain\n");
  BOOST_TEST(ask("verbena exec --icrc=al", "al") == "always\n");
  BOOST_TEST(ask("verbena exec --icrc=", "=") == "offload\nalways\n");
  BOOST_TEST(ask("verbena exec --link ra", "ra") == "nospace\nraw:\n");
  BOOST_TEST(ask("verbena exec --fault 'drop psn=3 op", "'drop psn=3 op") == "nospace\ndrop psn=3 opcode=\n");
  BOOST_TEST(has_line(ask("verbena explain ", ""), "a.pcapng"));
  BOOST_TEST(has_line(ask("verbena explain pl", "pl"), "place/"));
  // bash itself, and not only the function, knows which one it is.
  const test::Finished known = run_command({"bash", "-c", ". ./" + script + "; complete -p verbena"});
  BOOST_TEST((known.out.find("-F _verbena verbena") != known.out.npos));
}

BOOST_AUTO_TEST_CASE(zsh_completes) {
  const Folder folder;
  script_file("zsh");
  // zsh's own terminal within itself: what is typed there, then a tab; the line that came of it is asked for.
  std::ofstream("drive.zsh") << R"(zmodload zsh/zpty
zpty shell 'zsh -f -i'
say() { zpty -w shell "$1"; }
hear() { local text all=; while zpty -r -m shell text "*$1*"; do all+=$text; break; done; print -r -- "$all"; }
say "PS1=; PROMPT_EOL_MARK=; unsetopt zle_bracketed_paste; autoload -U compinit; compinit -u -D; . ./completion.zsh"
say "show() { print -r -- \"[\$BUFFER]\"; BUFFER=; zle accept-line }; zle -N show; bindkey '^G' show"
say "print rea''dy"
hear ready >/dev/null
for line in "$@"; do
  zpty -w -n shell "$line"$'\t\a'
  hear ']'
done
zpty -d shell
)";
  const test::Finished finished =
      run_command({"timeout", "25", "zsh", "-f", "drive.zsh", "verbena expl", "verbena exec --icrc al",
                   "verbena exec --link ra", "verbena explain a.p"},
                  with_path(folder));
  BOOST_TEST_CONTEXT(finished.out << finished.err) {
    for (const char* line : {"[verbena explain ]", "[verbena exec --icrc always ]", "[verbena exec --link raw:]",
                             "[verbena explain a.pcapng ]"})
      BOOST_TEST((finished.out.find(line) != finished.out.npos), line);
  }
}

BOOST_AUTO_TEST_CASE(fish_completes) {
  const Folder folder;
  const std::string script = script_file("fish");
  const auto ask = [&](const std::string& line) {
    const test::Finished finished = run_command(
        {"fish", "--no-config", "-c", "source ./" + script + "; complete -C $argv[1]", line}, with_path(folder));
    BOOST_TEST(finished.err == "");
    return finished.out;
  };
  BOOST_TEST(ask("verbena expl").starts_with("explain\t"));
  BOOST_TEST(has_line(ask("verbena exec --icrc al"), "always"));
  BOOST_TEST(has_line(ask("verbena explain "), "a.pcapng"));
  BOOST_TEST(!has_line(ask("verbena explain "), "notes.txt"));
  BOOST_TEST((ask("verbena exec --fault 'drop ps").find("drop psn=") != std::string::npos));
}
