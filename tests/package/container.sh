#!/usr/bin/env bash
# Runs a program in a rootless container made of this machine's own files and what a package adds to /usr: the namespaces of a user
# without privileges, a /dev without InfiniBand, 64 MiB of /dev/shm, loopback alone, containers' default filter of system calls.
# The program is uid 1000 there and has no capability. Everything in it ends with it.
#   container.sh USR_OF_PACKAGE PLACE PROGRAM [ARGUMENTS ...]        PLACE: an empty folder that the user may write
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"

if [[ "${1-}" != --inside ]]; then
  as_user=()
  [[ "$(id -u)" -ne 0 ]] || as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
  exec "${as_user[@]}" unshare --user --map-root-user --mount --pid --fork --kill-child --ipc --net "$0" --inside "$@"
fi

usr="$2"
place="$3"
shift 3
mount -t proc proc /proc
mount -t overlay -o "lowerdir=$usr:/usr" overlay /usr
mount -t tmpfs -o mode=755 tmpfs "$place"
for device in null zero random urandom tty; do
  touch "$place/$device"
  mount --bind "/dev/$device" "$place/$device"
done
mkdir "$place/shm"
mount -t tmpfs -o size=64m,mode=1777 tmpfs "$place/shm"
ln -s /proc/self/fd "$place/fd"
mount --rbind "$place" /dev
ip link set lo up
cd /
unset TMPDIR  # may be a folder that only who starts this can reach
exec unshare --user --map-user=1000 --map-group=1000 /usr/bin/python3 -B "$here/seccomp_exec.py" "$@"
