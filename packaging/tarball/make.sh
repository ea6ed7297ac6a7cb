#!/usr/bin/env bash
# Makes build/portable/verbena-VERSION-x86_64-linux.tar.gz: the command for any x86-64 Linux with glibc 2.31 or later, to be unpacked and
# run. This machine's compiler builds it against the libc of Debian 11; what is needed beside libc and libgcc_s is linked in.
# check.py then reads from the binaries that it is so.
set -euo pipefail
cd "$(dirname "$0")/../.."

release=bullseye
sysroot="$PWD/build/distributions/sysroot-$release"
place="$PWD/build/portable"
packaging/chroot.sh --files-only "$release" "$sysroot" libc6-dev libyaml-cpp-dev zlib1g-dev liblzma-dev libzstd-dev

# Headers that suit any libc; the folder they come from has this machine's libc's as well. Those of libibverbs and of the kernel's
# RDMA subsystem say what our ABI is.
mkdir -p "$place/headers"
for headers in fmt nlohmann CLI infiniband rdma; do
  ln -sfn "/usr/include/$headers" "$place/headers/$headers"
done

launcher=()
if command -v ccache >/dev/null; then
  launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_C_COMPILER_LAUNCHER=ccache)
  export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1
fi
log="$(cmake --preset release -B "$place/build" "${launcher[@]}" -DCMAKE_TOOLCHAIN_FILE="$PWD/packaging/tarball/toolchain.cmake" \
  -DSYSROOT="$sysroot" -DVERBENA_PORTABLE=ON -DVERBENA_HEADERS="$place/headers" -DVERBENA_TESTS=OFF -DVERBENA_BENCH=OFF 2>&1)" ||
  { echo "$log" >&2; exit 1; }
cmake --build "$place/build" --target product -j "$(nproc)"

version="$(sed -n 's/^project(verbena VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)"
name="verbena-$version-x86_64-linux"
rm -rf "${place:?}/$name" "$place"/*.tar.gz
cmake --install "$place/build" --prefix "$place/$name" --component verbena --strip > "$place/install.log"
/usr/bin/python3 -B packaging/tarball/check.py "$place/$name"
tar -C "$place" --sort=name --owner=0 --group=0 --numeric-owner -czf "$place/$name.tar.gz" "$name"
rm -rf "${place:?}/$name"
echo "$place/$name.tar.gz"
