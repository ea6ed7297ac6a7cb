#!/usr/bin/env bash
# Installs the Debian packages that the named groups need, and only those that are missing.
# When nothing is missing it needs neither root nor the network, and prints nothing.
# The group interop also has a package that is fetched and unpacked below build/, not installed: the kernel that its guest boots.
#   scripts/setup.sh build [package] [package-test] [tarball] [distributions] [ci] [arm64] [demo] [test] [bench] [site] [interop] [systems-short] [systems]
set -euo pipefail
cd "$(dirname "$0")/.."

packages_of() {
  case "$1" in
    build) echo "g++ cmake ninja-build make pkg-config libfmt-dev libyaml-cpp-dev nlohmann-json3-dev libboost-test-dev libisal-dev libpcap-dev libcli11-dev zlib1g-dev liblzma-dev libzstd-dev
                 libibverbs-dev libibverbs1 librdmacm-dev ccache python3" ;;
    package) echo "debhelper dh-python dpkg-dev" ;;
    package-test) echo "$(packages_of package) lintian perftest ibverbs-utils ibverbs-providers strace util-linux iproute2 python3 python3-seccomp python3-pytest pkg-config cmake
                   g++ make golang-github-containers-common" ;;
    tarball) echo "$(packages_of build) mmdebstrap debian-archive-keyring binutils python3" ;;
    distributions) echo "$(packages_of tarball) $(packages_of package-test)" ;;
    ci) echo "python3 python3-yaml" ;;
    arm64) echo "$(packages_of build) g++-aarch64-linux-gnu qemu-user-static mmdebstrap debian-archive-keyring" ;;
    demo)  echo "perftest ibverbs-utils ibverbs-providers" ;;
    test)  echo "perftest ibverbs-utils ibverbs-providers rdmacm-utils qperf iperf3 fio python3 python3-pyverbs python3-yaml python3-pytest
                 python3-pytest-xdist mypy tshark opensm infiniband-diags ibacm strace iproute2 git valgrind groff-base zsh fish
                 clang-19 libclang-rt-19-dev lld-19 clang-tidy-19 clang-format-19" ;;
    bench) echo "perftest ibverbs-utils ucx-utils python3 valgrind" ;;
    site)  echo "mkdocs" ;;
    interop) echo "qemu-system-x86 busybox-static perftest ibverbs-utils ibverbs-providers rdmacm-utils iproute2 python3" ;;
    systems-short) echo "ucx-utils libfabric-bin fio iperf3 librdmacm1 openmpi-bin libopenmpi-dev netpipe-openmpi gcc iproute2 util-linux python3
                     python3-yaml" ;;
    systems) echo "$(packages_of systems-short) dapl2-utils libdapl2 libfabric-dev libfabric1 golang-go libc6-dev mpich libmpich-dev netpipe-mpich2
                     hpcc tgt libiscsi-bin qemu-utils qemu-block-extra qemu-system-x86 ceph-osd ceph-mon ceph-common libgloo-dev libibverbs-dev g++
                     python3-torch" ;;
    *)     echo "setup: no group of packages is called '$1'; there are build, package, package-test, tarball, distributions, ci, arm64, demo, test, bench, site, interop, systems-short, systems" >&2; exit 2 ;;
  esac
}

is_installed() {
  [[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" == installed ]]
}

command -v dpkg-query >/dev/null || { echo "setup: this script installs Debian packages, and there is no dpkg here" >&2; exit 1; }

missing=()
for group in "$@"; do
  for package in $(packages_of "$group"); do
    is_installed "$package" || [[ " ${missing[*]-} " == *" $package "* ]] || missing+=("$package")
  done
done
fetch_packages() {
  [[ " $* " != *" interop "* ]] || tests/interop/fetch_kernel.sh build/interop/kernel
}
[[ ${#missing[@]} -eq 0 ]] && { fetch_packages "$@"; exit; }

as_root=(env)
if [[ "$(id -u)" -ne 0 ]]; then
  if ! command -v sudo >/dev/null; then
    echo "setup: missing packages, and neither root nor sudo to install them: ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo env)
fi

apt() {
  "${as_root[@]}" DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Acquire::Retries=3 -o DPkg::Lock::Timeout=120 "$@" </dev/null
}
# A mirror that is being brought up to date has lists and packages that do not fit each other, for a minute or so: each
# attempt reads the lists anew.
install_packages() {
  local wait
  for wait in 5 30 90 0; do
    apt update && apt install --no-install-recommends "$@" && return
    echo "setup: installing failed$([[ $wait -eq 0 ]] || echo "; again in $wait s")" >&2
    sleep "$wait"
  done
  return 1
}

echo "setup: installing ${missing[*]}" >&2
install_packages "${missing[@]}" >&2 || { echo "setup: apt-get could not install ${missing[*]}" >&2; exit 1; }
for package in "${missing[@]}"; do
  is_installed "$package" || { echo "setup: $package is still missing" >&2; exit 1; }
done
fetch_packages "$@"
