#include "cli/completion/shells.h"

namespace verbena::cli::completion {
namespace {

// readline replaces only what follows a break such as ':' or '=': $2, to which the answer is cut. `-o nosort`: in the
// order of the answer.
constexpr std::string_view kBash = R"(# Completion of verbena for bash.
_verbena() {
  mapfile -t COMPREPLY < <("$1" complete bash "${COMP_LINE:0:COMP_POINT}" "$2" 2>/dev/null)
  [[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *[/=:] ]] || compopt -o nospace
}
complete -o nosort -F _verbena verbena
)";

constexpr std::string_view kZsh = R"(#compdef verbena
# Completion of verbena for zsh.
_verbena() {
  local line
  local -a ends texts opens beginnings
  for line in "${(@f)$("${(Q)words[1]}" complete zsh "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -n $line ]] || continue
    if [[ ${line%%$'\t'*} == *[/=:] ]]; then
      beginnings+=("${line%%$'\t'*}") opens+=("${line/$'\t'/  -- }")
    else
      texts+=("${line%%$'\t'*}") ends+=("${line/$'\t'/  -- }")
    fi
  done
  compadd -l -V ends -d ends -a texts
  compadd -l -V opens -S '' -d opens -a beginnings
}
if [[ ${funcstack[1]} == _verbena ]]; then _verbena "$@"; else compdef _verbena verbena; fi
)";

constexpr std::string_view kFish = R"(# Completion of verbena for fish.
function __verbena_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct | string unescape)
    $words[1] complete fish $words[2..-1] "$word" 2>/dev/null
end
complete -c verbena -f -k -a '(__verbena_complete)'
)";

}  // namespace

Candidates shells() {
  return {{"bash", ""}, {"zsh", ""}, {"fish", ""}};
}

std::optional<std::string_view> script_of(std::string_view shell) {
  if (shell == "bash") return kBash;
  if (shell == "zsh") return kZsh;
  if (shell == "fish") return kFish;
  return std::nullopt;
}

}  // namespace verbena::cli::completion
