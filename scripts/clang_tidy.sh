#!/usr/bin/env bash
# clang-tidy (.clang-tidy) over the sources that the preset tidy would compile: each by itself, so that what a file uses and does not
# include is an error here. A file is checked again only when it, a header, or the checks have changed since it was last found
# clean; build/clang-tidy-clean is the record of that.
#   scripts/clang_tidy.sh [FILE...]     all of them when none is named; the preset tidy is configured before
set -euo pipefail
cd "$(dirname "$0")/.."

export record=build/clang-tidy-clean
touch "$record"
export common="$(find . -path ./build -prune -o \( -name '*.h' -o -name .clang-tidy \) -type f -print0 | sort -z |
  xargs -0 cat | sha256sum)"

check_one() {
  local key output
  key="$({ echo "$common $1"; cat "$1"; } | sha256sum | cut -c1-64)"
  grep -q "$key" "$record" && return 0
  if ! output="$(clang-tidy-19 --quiet -p build/tidy --extra-arg=-Wno-unknown-warning-option "$1" 2>&1)"; then
    echo "$output" | grep -v 'warnings generated\.$'
    return 1
  fi
  echo "$key" >>"$record"
}
export -f check_one

files() {
  if [[ $# -gt 0 ]]; then
    printf './%s\0' "$@"
  else
    find . -path ./build -prune -o -path ./tests -prune -o \( -name '*.cc' -o -name '*.c' \) -print0 | sort -z
  fi
}
files "$@" |
  xargs -0 -r -n 1 -P "$(nproc)" bash -c 'grep -q "$0\"" build/tidy/compile_commands.json || exit 0; check_one "$0"'
