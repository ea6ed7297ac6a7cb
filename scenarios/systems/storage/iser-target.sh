#!/bin/sh
# An iSER target: tgtd on the address $2, with what it has in the folder $3 (in the foreground, nothing of it goes through files of the system).
#   iser-target.sh serve ADDRESS FOLDER
#   iser-target.sh export FOLDER NAME...  gives that tgtd one target with one disk of 16 MiB of random octets, for the initiators NAME...
# tgt 1.0.85 admits an iSER initiator only by its name: one that was admitted by address alone is told "target not found".
set -eu
action=$1
shift
if [ "$action" = serve ]; then
  folder=$(realpath -m "$2")
  rm -rf "$folder"
  mkdir -p "$folder"
  export TGT_IPC_SOCKET="$folder/ipc"
  exec tgtd -f --iscsi "portal=$1:3260"
fi
folder=$(realpath -m "$1")
shift
export TGT_IPC_SOCKET="$folder/ipc"
tries=50
until tgtadm --lld iser --mode target --op show >/dev/null 2>&1; do
  tries=$((tries - 1))
  [ $tries -gt 0 ] || { echo "tgtd does not answer" >&2; exit 1; }
  sleep 0.1
done
head -c 16777216 /dev/urandom >"$folder/disk"
tgtadm --lld iser --mode target --op new --tid 1 --targetname iqn.2026-01.org.verbena:disk
tgtadm --lld iser --mode logicalunit --op new --tid 1 --lun 1 --backing-store "$folder/disk"
tgtadm --lld iser --mode target --op bind --tid 1 --initiator-address ALL
for name in "$@"; do
  tgtadm --lld iser --mode target --op bind --tid 1 --initiator-name "$name"
done
