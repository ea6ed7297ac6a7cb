#!/bin/sh
# Builds gloo_check.cc where that has not been done since it changed, and becomes it.
#   gloo.sh RANK SIZE FOLDER ROUNDS
set -eu
program=build/systems/gloo_check
source=tests/systems/gloo_check.cc
mkdir -p build/systems "$3"
(
  flock 9
  if [ ! "$program" -nt "$source" ]; then
    # The loader of the emulated node is not the compiler's business.
    env -u LD_PRELOAD -u LD_LIBRARY_PATH g++ -std=c++20 -O1 -I. -o "$program.new" "$source" -lgloo -libverbs -lpthread
    mv "$program.new" "$program"
  fi
) 9>"$program.lock"
exec "$program" "$@"
