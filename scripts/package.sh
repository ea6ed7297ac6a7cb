#!/usr/bin/env bash
# Makes the Debian packages from the release build, in build/package.
# The tree that dpkg-buildpackage wants around debian/ is made anew each time and has nothing else in it.
set -euo pipefail
cd "$(dirname "$0")/.."

place="$PWD/build/package"
version="$(dpkg-parsechangelog -l packaging/debian/changelog -S Version)"
project="$(sed -n 's/^project(verbena VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)"
[[ "$version" == "$project" ]] ||
  { echo "package: packaging/debian/changelog says $version, CMakeLists.txt $project" >&2; exit 1; }
[[ -x build/verbena ]] || { echo "package: there is no release build: scripts/build.sh release product" >&2; exit 1; }

rm -rf "$place"
mkdir -p "$place/tree"
cp -r packaging/debian "$place/tree/debian"
export VERBENA_BUILD="$PWD/build"
(cd "$place/tree" && dpkg-buildpackage --build=binary --no-sign --no-check-builddeps) > "$place/log" 2>&1 ||
  { tail -40 "$place/log" >&2; exit 1; }
rm -rf "$place/tree"
ls -1 "$place"/*.deb
