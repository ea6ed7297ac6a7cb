#!/usr/bin/env bash
# Cross-compiles the command for arm64 in build/arm64, and runs the tests of the wire and the NIC on an emulated processor.
set -euo pipefail
cd "$(dirname "$0")/../.."

sysroot="$PWD/build/distributions/sysroot-arm64"
packaging/chroot.sh --files-only --arch arm64 bookworm "$sysroot" libc6-dev libstdc++-12-dev libfmt-dev libboost-test-dev libyaml-cpp-dev \
  nlohmann-json3-dev libisal-dev libpcap-dev libcli11-dev zlib1g-dev liblzma-dev libzstd-dev libibverbs-dev librdmacm-dev libibverbs1 librdmacm1

launcher=()
if command -v ccache >/dev/null; then
  launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_C_COMPILER_LAUNCHER=ccache)
  export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1
fi
log="$(cmake --preset release -B build/arm64 "${launcher[@]}" -DCMAKE_TOOLCHAIN_FILE="$PWD/packaging/arm64/toolchain.cmake" \
  -DSYSROOT="$sysroot" -DVERBENA_BENCH=OFF 2>&1)" || { echo "$log" >&2; exit 1; }

targets=(product test_wire_crc32_without_isal)
for source in tests/wire/*_test.cc tests/nic/*_test.cc; do
  test="${source#tests/}"
  test="${test%_test.cc}"
  targets+=("test_${test//\//_}")
done
cmake --build build/arm64 -j "$(nproc)" --target "${targets[@]}"
machine="$(readelf --file-header build/arm64/verbena | sed -n 's/ *Machine: *//p')"
[[ "$machine" == AArch64 ]] || { echo "test-arm64: build/arm64/verbena is of $machine" >&2; exit 1; }
ctest --test-dir build/arm64 -R '^(wire|nic)_' -j "$(nproc)" --output-on-failure --no-tests=error

# The same seed gives the same run, whatever the processor: docs/usage.md shows this one.
trace="$(qemu-aarch64-static -L "$sysroot" build/arm64/verbena run topology-ring-link | awk '$1 == "trace" { print $2 }')"
grep -q "^ *trace  *$trace\$" docs/usage.md || { echo "test-arm64: the trace of topology-ring-link is $trace here" >&2; exit 1; }
echo "test-arm64: the tests passed, and topology-ring-link runs as on x86-64"
