#!/bin/sh
# Reads the disk of an iSER target through qemu-img, writes other octets over all of it, reads again: each time both sides are compared.
#   iser-compare.sh ADDRESS FOLDER     of iser-target.sh
# max-transfer: libiscsi 1.19 refuses more than 512 KiB over iSER ("supports messages smaller than 512k"), and `qemu-img convert` asks for 2 MiB.
set -eu
folder=$2
disk="driver=blkdebug,max-transfer=262144,image.driver=iscsi,image.transport=iser,image.portal=$1:3260"
disk="$disk,image.target=iqn.2026-01.org.verbena:disk,image.lun=1,image.initiator-name=iqn.2026-01.org.verbena:qemu"
compare() {
  cmp "$folder/disk" "$folder/$1"
  echo "$1: $(sha256sum <"$folder/$1" | cut -c 1-16) on both sides"
}
qemu-img convert --image-opts "$disk" -O raw "$folder/read"
compare read
head -c 16777216 /dev/urandom >"$folder/written"
qemu-img convert -n -f raw "$folder/written" --target-image-opts "$disk"
compare written
qemu-img convert --image-opts "$disk" -O raw "$folder/again"
cmp "$folder/written" "$folder/again"
compare again
