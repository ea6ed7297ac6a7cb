#!/usr/bin/env bash
# Runs a program in a release of Debian that packaging/chroot.sh has made: in namespaces of its own, with loopback alone, a /dev without
# InfiniBand and 64 MiB of /dev/shm. What it writes is kept in memory and lost at its end, as are its processes and mounts: the
# release stays as it was made. Needs root, for the folders of a release are root's; what the program does with that is its own choice.
#   enter.sh RELEASE_FOLDER FILES PLACE PROGRAM [ARGUMENTS ...]
# FILES is seen as /opt/verbena, PLACE is an empty folder.
set -euo pipefail

if [[ "${1-}" != --inside ]]; then
  exec unshare --mount --pid --fork --kill-child --ipc --net "$0" --inside "$@"
fi
release="$2"
files="$3"
place="$4"
shift 4
mount --make-rprivate /
mount -t tmpfs tmpfs "$place"
root="$place/root"
mkdir "$place/new" "$place/work" "$root"
mount -t overlay -o "lowerdir=$release,upperdir=$place/new,workdir=$place/work" overlay "$root"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for device in null zero random urandom; do
  touch "$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir "$root/dev/shm"
mount -t tmpfs -o size=64m,mode=1777 tmpfs "$root/dev/shm"
ln -s /proc/self/fd "$root/dev/fd"
mkdir -p "$root/opt/verbena"
mount --bind -o ro "$files" "$root/opt/verbena"
# An installation has it; libfabric 1.x looks for a host's name in it.
echo "127.0.0.1 localhost" > "$root/etc/hosts"
ip link set lo up
exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp "$@"
