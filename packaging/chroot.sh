#!/usr/bin/env bash
# Makes a folder with a release of Debian and packages of it, from the mirror that this machine's apt is set up for. It stays until it is
# asked for with other packages, or is removed: a run that finds it there needs no network.
#   packaging/chroot.sh [--files-only] [--arch ARCH] SUITE FOLDER PACKAGE...
# --files-only: the packages' files and nothing else, neither set up nor able to run: what a cross compiler needs. Else it can be
# entered by chroot; that wants root, or a user with subordinate ids.
set -euo pipefail

variant=minbase
architecture=()
while [[ "${1-}" == --* ]]; do
  case "$1" in
    --files-only) variant=extract; shift ;;
    --arch) architecture=(--architectures="$2"); shift 2 ;;
    *) echo "chroot: unknown option $1" >&2; exit 2 ;;
  esac
done
[[ $# -ge 3 ]] || { echo "usage: packaging/chroot.sh [--files-only] [--arch ARCH] SUITE FOLDER PACKAGE..." >&2; exit 2; }
suite="$1"
folder="$2"
shift 2

wanted="$variant ${architecture[*]-} $suite $*"
[[ "$(cat "$folder.made" 2>/dev/null)" == "$wanted" && -d "$folder" ]] && exit 0

own="$(. /etc/os-release && echo "${VERSION_CODENAME-}")"
mirror="$(apt-get indextargets --format '$(CREATED_BY) $(CODENAME) $(COMPONENT) $(REPO_URI)' |
  awk -v own="$own" '$1 == "Packages" && $2 == own && $3 == "main" { print $4; exit }')"
[[ -n "$mirror" ]] || { echo "chroot: apt is not set up for a mirror of $own main" >&2; exit 1; }

rm -rf --one-file-system "$folder" "$folder.made"
mkdir -p "$(dirname "$folder")"
echo "chroot: $suite with $*" >&2
# mmdebstrap's filters are Python: the distribution's, not one that happens to stand first in PATH.
export PATH="/usr/sbin:/usr/bin:/sbin:/bin:$PATH"
# A mirror may be days behind, and unstable's Release file is good for a week only.
for attempt in 1 2 3; do
  timeout 900 mmdebstrap --variant="$variant" "${architecture[@]}" --components=main --include="$(IFS=,; echo "$*")" \
    --aptopt='Acquire::Retries "3"' --aptopt='Acquire::Check-Valid-Until "false"' \
    --aptopt='Apt::Install-Recommends "false"' --dpkgopt='path-exclude=/usr/share/doc/*' \
    "$suite" "$folder" "$mirror" > "$folder.log" 2>&1 && break
  tail -5 "$folder.log" >&2
  rm -rf --one-file-system "$folder"
  [[ $attempt -lt 3 ]] || exit 1
done
# For who looks at it from outside, links have to stay inside.
[[ "$variant" != extract ]] || find "$folder" -type l -lname '/*' -print0 | while IFS= read -r -d '' link; do
  ln -sfn "$(realpath -m --no-symlinks --relative-to="$(dirname "$link")" "$folder$(readlink "$link")")" "$link"
done
echo "$wanted" > "$folder.made"
