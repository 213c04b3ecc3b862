#!/usr/bin/env bash
# Builds what the chart is checked with: the real helm (4, and 3 as helm3) and helm-unittest.
# Prints a line of progress for each on standard error and, last, the folder of the binaries on standard output.
# The folder is keyed by the pinned versions, so a second call is instant. REPRISE_HELM names a folder that has them already.
set -euo pipefail
cd "$(dirname "$0")"

names=(helm helm3 helm-unittest)
declare -A package=(
  [helm]=helm.sh/helm/v4/cmd/helm
  [helm3]=helm.sh/helm/v3/cmd/helm
  [helm-unittest]=github.com/helm-unittest/helm-unittest/cmd/helm-unittest
)
# Helm says its version only when it was stamped, and takes the cluster it renders for, when there is none, from two numbers.
stamped() {
  local module=$1 kubernetes
  kubernetes=$(awk '$1 == "k8s.io/client-go" { print $2; exit }' go.mod)
  local minor=${kubernetes#v0.}
  minor=${minor%%.*}
  echo "-X $module/internal/version.version=$(awk -v m="$module" '$1 == m { print $2; exit }' go.mod)" \
    "-X $module/pkg/lint/rules.k8sVersionMajor=1 -X $module/pkg/lint/rules.k8sVersionMinor=$minor" \
    "-X $module/pkg/chartutil.k8sVersionMajor=1 -X $module/pkg/chartutil.k8sVersionMinor=$minor"
}

if [ -n "${REPRISE_HELM:-}" ]; then
  for name in "${names[@]}"; do
    [ -x "$REPRISE_HELM/$name" ] || {
      echo "chart: REPRISE_HELM is $REPRISE_HELM, which has no $name; unset it to build the pinned one" >&2
      exit 1
    }
  done
  echo "$REPRISE_HELM"
  exit 0
fi

key=$(cat go.mod go.sum build.sh | sha256sum | cut -c1-16)
folder="${XDG_CACHE_HOME:-$HOME/.cache}/reprise/helm/$key"
mkdir -p "$folder"
[ -e "$folder/complete" ] && { echo "$folder"; exit 0; }

command -v go >/dev/null || { echo "chart: Go 1.26 or newer is needed to build helm; install it from https://go.dev/dl" >&2; exit 1; }
exec 9>"$folder/lock"
flock 9   # two test runs at once build once
[ -e "$folder/complete" ] && { echo "$folder"; exit 0; }
for name in "${names[@]}"; do
  [ -x "$folder/$name" ] && continue
  began=$(date +%s)
  echo "chart: building $name (the first time takes minutes)" >&2
  module=${package[$name]%/cmd/*}
  CGO_ENABLED=0 GOWORK=off GOFLAGS="-mod=readonly -buildvcs=false" go build -trimpath \
    -ldflags "-s -w $(stamped "$module")" -o "$folder/$name.part" "${package[$name]}"
  mv "$folder/$name.part" "$folder/$name"
  echo "chart: $name built in $(($(date +%s) - began)) s" >&2
done
touch "$folder/complete"
echo "$folder"
