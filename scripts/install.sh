#!/usr/bin/env bash
# Puts what the release build has made below a prefix, and takes it away again. What was put there is listed in
# PREFIX/lib/verbena/installed-files, relative to PREFIX: `uninstall` needs neither this build folder nor the old place of a moved tree.
#   scripts/install.sh install|uninstall PREFIX [DESTDIR]
set -euo pipefail
cd "$(dirname "$0")/.."

usage() { echo "usage: scripts/install.sh install|uninstall PREFIX [DESTDIR]" >&2; exit 2; }
[[ $# -eq 2 || $# -eq 3 ]] || usage
prefix="${2%/}"
destination="${3-}"
[[ "$prefix" == /?* ]] || { echo "install: PREFIX '$2' is not an absolute folder below /" >&2; exit 2; }
root="$destination$prefix"
list="$root/lib/verbena/installed-files"

take_away() {
  local path
  while IFS= read -r path; do
    case "/$path/" in
      */../* | *//*) echo "uninstall: $list names '$path', which is not below $root" >&2; exit 1 ;;
    esac
    rm -f -- "$root/$path"
  done < "$list"
  rm -f -- "$list"
  # Folders that others use stay, even when they are empty: bin, lib and share are the prefix's.
  local folder modules="$root/lib/python3/dist-packages"
  rm -rf -- "$modules/verbena/__pycache__"  # what Python has made of the files that are gone
  for folder in lib/verbena lib/cmake/Verbena share/verbena share/doc/verbena include/verbena "${modules#"$root/"}/verbena"; do
    [[ ! -d "$root/$folder" ]] || find "$root/$folder" -depth -type d -empty -delete
  done
  [[ ! -d "$modules" ]] || find "$modules" -maxdepth 1 -name 'verbena-*.dist-info' -type d -empty -delete
}

case "$1" in
  install)
    [[ ! -e "$list" ]] || take_away  # of an earlier version, which may have had other files
    installed=""
    for component in verbena libverbena dev python; do
      log="$(DESTDIR="$destination" cmake --install build --prefix "$prefix" --component "$component" --strip 2>&1)" ||
        { echo "$log" >&2; exit 1; }
      installed+="$(cat "build/install_manifest_$component.txt")"$'\n'
    done
    sed "s|^$prefix/||; /^\$/d" <<< "$installed" > "$list"
    echo "installed $(wc -l < "$list") files below $root" ;;
  uninstall)
    [[ -f "$list" ]] || { echo "uninstall: nothing of Verbena's is installed below $root: there is no $list" >&2; exit 1; }
    files="$(wc -l < "$list")"
    take_away
    echo "took away $files files below $root" ;;
  *) usage ;;
esac
