#!/usr/bin/env bash
# clang-format over every C++ file of the tree: `check` says what differs and fails, `write` changes the files.
set -euo pipefail
cd "$(dirname "$0")/.."

case "${1-check}" in
  check) arguments=(--dry-run -Werror) ;;
  write) arguments=(-i) ;;
  *) echo "usage: scripts/format.sh [check|write]" >&2; exit 2 ;;
esac
find . -path ./build -prune -o -path ./.git -prune -o \( -name '*.cc' -o -name '*.h' -o -name '*.c' \) -print0 |
  xargs -0 -r -n 32 -P "$(nproc)" clang-format-19 "${arguments[@]}"
