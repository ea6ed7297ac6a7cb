// `verbena completion`: prints the script by which a shell completes `verbena`.
#include "cli/command.h"
#include "cli/completion/shells.h"
#include "emulator/fabric/nearest_word.h"

namespace verbena::cli {

int run_completion(const Arguments& arguments) {
  CommandLine line("verbena completion", "verbena completion bash|zsh|fish",
                   "Prints the script by which a shell completes commands, options, fabrics, nodes, scenarios and the "
                   "words of faults.\n");
  std::string shell;
  line.required_argument("SHELL", shell, "bash, zsh or fish");
  line.exit_status("0", "printed");
  line.example(". <(verbena completion bash)", "in ~/.bashrc");
  line.example(". <(verbena completion zsh)", "in ~/.zshrc, behind compinit");
  line.example("verbena completion fish > ~/.config/fish/completions/verbena.fish", "fish, once");
  if (const auto status = line.parse(arguments)) return *status;
  const auto script = completion::script_of(shell);
  if (!script)
    return line.fail(kExitUsage, fmt::format("there is no script for '{}': bash, zsh and fish have one{}", shell,
                                             fabric::did_you_mean(shell, {"bash", "zsh", "fish"})));
  fmt::print("{}", *script);
  return 0;
}

}  // namespace verbena::cli
