#!/usr/bin/env bash
# Builds the oracle, a program that answers the lines of `reprise evaluate --jsonl` from kube-scheduler's own plugins.
# Prints a line of progress on standard error and, last, the path of the binary on standard output.
# The folder is keyed by the sources and the pinned versions, so a second call is instant.
set -euo pipefail
cd "$(dirname "$0")"

key=$(cat go.mod go.sum ./*.go | sha256sum | cut -c1-16)
folder="${XDG_CACHE_HOME:-$HOME/.cache}/reprise/oracle/$key"
version=$(awk '$1 == "k8s.io/kubernetes" { print $2; exit }' go.mod)
binary="$folder/oracle"
[ -x "$binary" ] && { echo "$binary"; exit 0; }

command -v go >/dev/null || { echo "oracle: Go 1.26 or newer is needed to build the oracle; install it from https://go.dev/dl" >&2; exit 1; }
mkdir -p "$folder"
exec 9>"$folder/lock"
flock 9   # two test runs at once build once
[ -x "$binary" ] && { echo "$binary"; exit 0; }
began=$(date +%s)
echo "oracle: building kube-scheduler's plugins (the first time takes minutes)" >&2
# NodeDeclaredFeatures asks for its own version: what is not stamped cannot be parsed.
# The same flags as tools/control-plane/build.sh, so that the packages it has compiled are not compiled again.
GOWORK=off GOFLAGS="-mod=readonly -buildvcs=false" go build -trimpath -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$version" -o "$binary.part" .
mv "$binary.part" "$binary"
echo "oracle: built in $(($(date +%s) - began)) s" >&2
echo "$binary"
