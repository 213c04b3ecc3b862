#!/usr/bin/env bash
# Builds the real etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kubectl and kwok that tests run against.
# Prints a line of progress for each on standard error and, last, the folder of the binaries on standard output.
# The folder is keyed by the pinned versions, so a second call is instant. KUBEBUILDER_ASSETS names another folder.
set -euo pipefail
cd "$(dirname "$0")"

kubernetes=v1.37.2
stamp=k8s.io/component-base/version
packages=(
  go.etcd.io/etcd/server/v3
  k8s.io/kubernetes/cmd/kube-apiserver
  k8s.io/kubernetes/cmd/kube-controller-manager
  k8s.io/kubernetes/cmd/kube-scheduler
  k8s.io/kubernetes/cmd/kubectl
  sigs.k8s.io/kwok/cmd/kwok
)
# Etcd's main package is named after its major version.
name_of() { case "$1" in go.etcd.io/etcd/server/v3) echo etcd ;; *) basename "$1" ;; esac; }

if [ -n "${KUBEBUILDER_ASSETS:-}" ]; then
  for package in "${packages[@]}"; do
    [ -x "$KUBEBUILDER_ASSETS/$(name_of "$package")" ] || {
      echo "control-plane: KUBEBUILDER_ASSETS is $KUBEBUILDER_ASSETS, which has no $(name_of "$package"); unset it to build the pinned one" >&2
      exit 1
    }
  done
  echo "$KUBEBUILDER_ASSETS"
  exit 0
fi

key=$(cat go.mod go.sum build.sh | sha256sum | cut -c1-16)
folder="${XDG_CACHE_HOME:-$HOME/.cache}/reprise/control-plane/$key"
mkdir -p "$folder"
[ -e "$folder/complete" ] && { echo "$folder"; exit 0; }

command -v go >/dev/null || { echo "control-plane: Go 1.26 or newer is needed to build the real control plane; install it from https://go.dev/dl" >&2; exit 1; }
exec 9>"$folder/lock"
flock 9   # two test runs at once build once
[ -e "$folder/complete" ] && { echo "$folder"; exit 0; }
for package in "${packages[@]}"; do
  name=$(name_of "$package")
  [ -x "$folder/$name" ] && continue
  began=$(date +%s)
  echo "control-plane: building $name (the first time takes minutes)" >&2
  GOWORK=off GOFLAGS="-mod=readonly -buildvcs=false" go build -trimpath \
    -ldflags "-s -w -X $stamp.gitVersion=$kubernetes -X $stamp.gitMajor=1 -X $stamp.gitMinor=37" \
    -o "$folder/$name.part" "$package"
  mv "$folder/$name.part" "$folder/$name"
  echo "control-plane: $name built in $(($(date +%s) - began)) s" >&2
done
touch "$folder/complete"
echo "$folder"
