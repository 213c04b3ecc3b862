#!/usr/bin/env bash
# Makes a stand-in for the Dockerfile's base image out of Debian's own packages, for machines that reach no image registry:
# Debian bookworm with Python 3.11, the same minor version as the default base. Prints the archive that buildah and
# containerd can read. It is kept in a cache, so a second call is instant. Needs root and debootstrap.
set -euo pipefail
cd "$(dirname "$0")/../.."

suite=bookworm
folder="${XDG_CACHE_HOME:-$HOME/.cache}/reprise/image"
key=$(cat tools/image/base.sh tools/image/archive.py | sha256sum | cut -c1-16)
archive="$folder/base-$key.tar"
[ -e "$archive" ] && { echo "$archive"; exit 0; }
[ "$(id -u)" = 0 ] || { echo "image: debootstrap needs root; run this as root" >&2; exit 1; }
tools/image/packages.sh debootstrap

mkdir -p "$folder"
exec 9>"$folder/base.lock"
flock 9 # two runs at once make it once
[ -e "$archive" ] && { echo "$archive"; exit 0; }
root=$(mktemp -d "$folder/root.XXXXXX")
trap 'rm -rf "$root"' EXIT
began=$SECONDS
# Where this machine gets its own packages from.
mirror=$(find /etc/apt \( -name '*.list' -o -name '*.sources' \) -exec \
  sed -nE 's/^(URIs:|deb( \[[^]]*\])?) *(https?:[^ ]*debian\/?)( .*)?$/\3/p' {} + | head -n 1)
echo "image: making the local base from ${mirror:-the mirror that debootstrap takes} (about a minute)" >&2
debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates "$suite" "$root" ${mirror:+"$mirror"} >"$folder/debootstrap.log" 2>&1 || {
  tail -n 20 "$folder/debootstrap.log" >&2
  echo "image: debootstrap failed; its log is $folder/debootstrap.log" >&2
  exit 1
}
rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/* "$root"/usr/share/{doc,locale,man}/*
# A build in it talks to the same package index as this machine does, and has to trust whom this machine trusts.
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
python3 tools/image/archive.py "$archive.part" localhost/reprise-base:latest --root "$root" \
  --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin --env LANG=C.UTF-8 --command python3
mv "$archive.part" "$archive"
find "$folder" -maxdepth 1 -name 'base-*.tar*' ! -path "$archive" -delete
echo "image: local base made in $((SECONDS - began)) s" >&2
echo "$archive"
