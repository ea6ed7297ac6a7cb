#!/bin/sh
# A small Ceph over its RDMA messenger, with all it has in the folder $2 and nothing from the system: no cephx, objects in memory.
#   ceph.sh make FOLDER MONITOR            the configuration; MONITOR is its address
#   ceph.sh mon|osd0|osd1 FOLDER ADDRESS   that daemon, in the foreground
#   ceph.sh check FOLDER                   a pool, rados bench, objects that are put and got and compared
set -eu
role=$1
folder=$(realpath -m "$2")
export CEPH_CONF="$folder/ceph.conf"
# With one seed all the short-lived commands below would begin with the same QPN, and Ceph with the same PSN: no checker could tell their
# connections apart.
unset VERBENA_SEED
fsid=3c6d0a9c-5d0e-4a0c-9d64-6d2f6b1f7a10
uuid0=3c6d0a9c-5d0e-4a0c-9d64-000000000000
uuid1=3c6d0a9c-5d0e-4a0c-9d64-000000000001

make_configuration() {
  rm -rf "$folder"
  mkdir -p "$folder/mon" "$folder/osd0" "$folder/osd1"
  cat >"$CEPH_CONF" <<END
[global]
fsid = $fsid
mon host = [v2:$1:3300]
ms bind msgr1 = false
ms type = async+rdma
ms async rdma device name = verbena0
; The default registers 4 GiB for each process.
ms async rdma receive buffers = 1024
ms async rdma send buffers = 512
ms async rdma receive queue len = 256
auth cluster required = none
auth service required = none
auth client required = none
osd pool default size = 2
osd pool default min size = 1
osd pool default pg num = 8
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
osd objectstore = memstore
memstore device bytes = 536870912
osd heartbeat interval = 1
osd heartbeat grace = 6
mon osd min down reporters = 1
mon osd adjust heartbeat grace = false
mon data avail crit = 1
mon data avail warn = 2
osd class update on start = true
osd op queue = wpq
run dir = $folder
log file =
mon cluster log file = /dev/null
[mon.a]
mon data = $folder/mon
[osd.0]
osd data = $folder/osd0
[osd.1]
osd data = $folder/osd1
END
  monmaptool --create --fsid "$fsid" --addv a "[v2:$1:3300]" "$folder/monmap"
  ceph-mon --mkfs -i a --monmap "$folder/monmap" --mon-data "$folder/mon"
}

# $1: the number, $2: its uuid, $3: its address
osd() {
  until ceph --connect-timeout 5 osd new "$2" "$1" 2>/dev/null || ceph --connect-timeout 5 osd find "$1" >/dev/null 2>&1; do sleep 0.2; done
  ceph-osd -i "$1" --mkfs --osd-uuid "$2" 2>&1
  exec ceph-osd -f -i "$1" --public-addr "$3" --cluster-addr "$3"
}

wait_for_osds() {
  tries=100
  until ceph --connect-timeout 5 osd stat 2>/dev/null | grep -q "2 up"; do
    tries=$((tries - 1))
    [ $tries -gt 0 ] || { echo "the OSDs do not come up" >&2; exit 1; }
    sleep 0.2
  done
}

case "$role" in
  make) make_configuration "$3" >/dev/null 2>&1 ;;  # who says something is taken to be ready
  mon)  exec ceph-mon -f -i a --public-addr "$3" ;;
  osd0) osd 0 "$uuid0" "$3" ;;
  osd1) osd 1 "$uuid1" "$3" ;;
  check)
    wait_for_osds
    ceph osd pool create data 8
    rados -p data bench 3 write -b 65536 -t 4 --no-cleanup
    for size in 1 4096 1000000 8000000; do
      head -c "$size" /dev/urandom >"$folder/put.$size"
      rados -p data put "object.$size" "$folder/put.$size"
      rados -p data get "object.$size" "$folder/got.$size"
      cmp "$folder/put.$size" "$folder/got.$size"
    done
    echo "4 objects are what was put" ;;
esac
