#!/usr/bin/env bash
# Fetches the distribution's kernel package and unpacks what the guest needs of it, without installing it: a kernel that is installed
# wants to be booted, and its scripts to build an initial RAM disk for that. Needs no privileges where the package lists are fresh.
#   tests/interop/fetch_kernel.sh FOLDER      FOLDER/boot/vmlinuz-*, FOLDER/lib/modules/*, and FOLDER/package, which says which it is
# A folder that is complete is left alone; then it needs no network either.
set -euo pipefail

folder="$1"
name=linux-image-amd64
[[ -s "$folder/package" ]] && exit 0

work="$(mktemp -d "${TMPDIR:-/tmp}/verbena-kernel.XXXXXX")"
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"

# The package of this name is empty, and depends on that of the newest kernel.
fetch() {
  package="$(apt-cache depends "$name" | sed -n 's/^ *Depends: \(linux-image-[0-9][^ ]*\)$/\1/p' | head -n 1)"
  [[ -n "$package" ]] || { echo "interop: the package lists know no $name" >&2; return 1; }
  (cd "$work" && apt-get -q -y -o Acquire::Retries=3 -o APT::Sandbox::User=root download "$package" >&2)
}
refresh() {  # a list that is older than the archive names packages that are gone
  if [[ "$(id -u)" -eq 0 ]]; then apt-get -q -y update >&2; elif command -v sudo >/dev/null; then sudo apt-get -q -y update >&2; else
    echo "interop: $name cannot be fetched, and neither root nor sudo to refresh the package lists (apt-get update)" >&2
    return 1
  fi
}
echo "interop: fetching $name into $folder" >&2
fetch || { refresh && fetch; } || { echo "interop: $name could not be fetched" >&2; exit 1; }

rm -rf "$folder"
mkdir -p "$folder"
parts=(crypto drivers/char drivers/infiniband drivers/net/\*.ko drivers/virtio fs/configfs lib net)
dpkg-deb --fsys-tarfile "$work"/*.deb |
  tar -x -C "$folder" --wildcards './boot/vmlinuz-*' "${parts[@]/#/./lib/modules/*/kernel/}"
dpkg-deb -f "$work"/*.deb Package Version >"$folder/package.part"
mv "$folder/package.part" "$folder/package"
