#!/bin/sh
# checker.sh openmpi|mpich [ARGUMENTS ...]: a rank of the checker of MPI, which is compiled with that MPI's mpicc where it is not yet,
# or older than its source.
set -eu
mpi=$1
shift
top=$(dirname "$0")/../../..
program=$top/build/systems/mpi_checker.$mpi
mkdir -p "$top/build/systems"
(
  flock 9
  if [ -z "$(find "$program" -newer "$0" 2>/dev/null)" ] || [ -n "$(find "$top/tests/systems/mpi" -newer "$program")" ]; then
    # The headers of MPI make gcc warn of MPI_STATUSES_IGNORE.
    env -u LD_PRELOAD "mpicc.$mpi" -O1 -w -o "$program.$$" "$top"/tests/systems/mpi/*.c
    mv "$program.$$" "$program"
  fi
) 9>"$program.lock"
exec "$program" "$@"
