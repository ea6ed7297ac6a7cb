#!/usr/bin/env bash
# Configures and builds one preset of CMakePresets.json, with ccache where it is installed.
#   scripts/build.sh PRESET [--configure-only | TARGET...]
set -euo pipefail
cd "$(dirname "$0")/.."

preset="$1"
shift
launcher=()
if command -v ccache >/dev/null; then
  launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_C_COMPILER_LAUNCHER=ccache)
  export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1  # a miss is compiled, not preprocessed before
  export CCACHE_PCH_EXTSUM=1 CCACHE_SLOPPINESS=pch_defines,time_macros  # for scripts/compile_test.sh
fi

log="$(cmake --preset "$preset" "${launcher[@]}" 2>&1)" || { echo "$log" >&2; exit 1; }
[[ "${1-}" == --configure-only ]] && exit 0

targets=()
[[ $# -gt 0 ]] && targets=(--target "$@")
exec cmake --build --preset "$preset" "${targets[@]}"
