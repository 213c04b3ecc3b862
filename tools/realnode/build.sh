#!/usr/bin/env bash
# Builds what a real node has beyond the control plane: kubelet, kube-proxy, CoreDNS and the pause container's program.
# Prints a line of progress for each on standard error and, last, the folder of the binaries on standard output.
# The folder is keyed by the pinned versions, so a second call is instant.
set -euo pipefail
cd "$(dirname "$0")"

kubernetes=v1.37.2
stamp=k8s.io/component-base/version
key=$(cat build.sh go.mod go.sum coredns/main.go pause/main.go | sha256sum | cut -c1-16)
folder="${XDG_CACHE_HOME:-$HOME/.cache}/reprise/realnode/$key"
mkdir -p "$folder"
[ -e "$folder/complete" ] && { echo "$folder"; exit 0; }

command -v go >/dev/null || { echo "realnode: Go 1.26 or newer is needed to build a node's programs; install it from https://go.dev/dl" >&2; exit 1; }
exec 9>"$folder/lock"
flock 9 # two runs at once build once
[ -e "$folder/complete" ] && { echo "$folder"; exit 0; }

build() { # NAME PACKAGE
  local name=$1 package=$2 began=$SECONDS
  [ -x "$folder/$name" ] && return
  echo "realnode: building $name (the first time takes minutes)" >&2
  # -X: clients cannot parse the version of a node without it.
  GOWORK=off GOFLAGS="-mod=readonly -buildvcs=false" go build -trimpath \
    -ldflags "-s -w -X $stamp.gitVersion=$kubernetes -X $stamp.gitMajor=1 -X $stamp.gitMinor=37" \
    -o "$folder/$name.part" "$package"
  mv "$folder/$name.part" "$folder/$name"
  echo "realnode: $name built in $((SECONDS - began)) s" >&2
}

build kubelet k8s.io/kubernetes/cmd/kubelet
build kube-proxy k8s.io/kubernetes/cmd/kube-proxy
build coredns ./coredns
build pause ./pause
touch "$folder/complete"
echo "$folder"
