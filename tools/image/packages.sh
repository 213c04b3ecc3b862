#!/usr/bin/env bash
# Makes sure that the named commands' Debian packages are there; as root it installs what is missing, else it says what to do.
set -euo pipefail

missing=()
for package in "$@"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed$' || missing+=("$package")
done
[ ${#missing[@]} = 0 ] && exit 0
command -v apt-get >/dev/null || { echo "packages: this needs Debian's packages ${missing[*]}, and there is no apt-get here" >&2; exit 1; }
[ "$(id -u)" = 0 ] || { echo "packages: missing: ${missing[*]}; run: sudo apt-get install ${missing[*]}" >&2; exit 1; }
echo "packages: installing ${missing[*]}" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# A policy for this one call: nothing that is installed may start a daemon of its own.
policy=/usr/sbin/policy-rc.d
made=
[ -e "$policy" ] || { printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod +x "$policy" && made=1; }
code=0
{ apt-get install -y --no-install-recommends "${missing[@]}" ||
  { apt-get update && apt-get install -y --no-install-recommends "${missing[@]}"; }; } >"$log" 2>&1 </dev/null || code=$?
[ -z "$made" ] || rm -f "$policy"
[ "$code" = 0 ] || { tail -n 20 "$log" >&2; echo "packages: apt-get could not install ${missing[*]}" >&2; exit 1; }
