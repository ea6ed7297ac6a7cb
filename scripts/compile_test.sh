#!/usr/bin/env bash
# Compiles what clang compiles of the tests (cmake/tests.cmake), and anything else as it was said. CMake puts this before the
# compiler's command.
#   scripts/compile_test.sh COMPILER ARGUMENT...
set -euo pipefail
# Warnings are those that g++ gives.
as_gcc=(-Wno-unknown-warning-option -Wno-sign-conversion -Wno-deprecated-enum-enum-conversion)

cache=()
if command -v ccache >/dev/null; then cache=(ccache); fi
case " $* " in
  *" c++-header "*)
    # The cache knows compiled headers by their suffix, and by their text (CCACHE_PCH_EXTSUM in scripts/build.sh): their octets name
    # this folder.
    clang++-19 "${@:2}" "${as_gcc[@]}" -fpch-instantiate-templates
    [[ "$*" =~ " -o "([^ ]+)".o" ]]
    compiled="${BASH_REMATCH[1]}.pch"
    ln -f "${BASH_REMATCH[1]}.o" "$compiled"
    # What it prints is the text alone: neither the output nor the file of dependencies is this command's.
    text=()
    skipped=0
    for argument in "${@:2}"; do
      if ((skipped)); then skipped=0; continue; fi
      case "$argument" in
        -o | -MF | -MT) skipped=1 ;;
        -MD | -c) ;;
        *) text+=("$argument") ;;
      esac
    done
    clang++-19 "${text[@]}" "${as_gcc[@]}" -E -P -o - | sha256sum >"$compiled.sum"
    ;;
  *" -include-pch "*) exec "${cache[@]}" clang++-19 "${@:2}" "${as_gcc[@]}" ;;
  *) exec "${cache[@]}" "$@" ;;
esac
