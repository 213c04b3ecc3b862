#!/usr/bin/env bash
# kind.sh up|checks|down: a cluster of kind with three workers.
#   up      the cluster, the image, the chart and an example Deployment, to try Reprise
#   checks  the cluster and the image, then the checks that make test-node runs too, then down
#   down    deletes the cluster
# Needs Docker and kind. DRY_RUN=1 prints the commands and runs none.
set -euo pipefail
cd "$(dirname "$0")/../.."

cluster=reprise
kubeconfig=${KIND_KUBECONFIG:-${XDG_CACHE_HOME:-$HOME/.cache}/reprise/kind.kubeconfig}
image=reprise:$(sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
workload=docker.io/library/busybox:1.36
dry=${DRY_RUN:-}

fail() { echo "kind: $*" >&2; exit 1; }

run() { if [ -n "$dry" ]; then echo "$*"; else "$@"; fi; }

need() {
  [ -z "$dry" ] || return 0
  docker version >/dev/null 2>&1 || fail "Docker is needed, and no daemon of it answers; make test-node needs none"
  command -v kind >/dev/null || fail "kind is needed: go install sigs.k8s.io/kind@latest, or https://kind.sigs.k8s.io"
}

# The user's own, or the one that the tests build.
program() { # NAME SCRIPT
  if [ -n "$dry" ]; then echo "$1"; else command -v "$1" || echo "$("$2")/$1"; fi
}

there() { [ -z "$dry" ] && kind get clusters 2>/dev/null | grep -qx "$cluster"; }

cluster() {
  run tools/image/build.sh
  # What is there already stays.
  there || run kind create cluster --config deploy/kind/cluster.yaml --name "$cluster" --kubeconfig "$kubeconfig" --wait 120s
  run docker pull --quiet "$workload"
  run kind load docker-image "$image" "$workload" --name "$cluster"
}

up() {
  local helm kubectl
  cluster
  helm=$(program helm tools/chart/build.sh)
  kubectl=$(program kubectl tools/control-plane/build.sh)
  run "$helm" upgrade --install reprise charts/reprise --kubeconfig "$kubeconfig" --namespace reprise --create-namespace \
    --set "image.repository=${image%:*}" --set "image.tag=${image#*:}" --wait --timeout 120s
  run "$kubectl" --kubeconfig "$kubeconfig" apply -f deploy/examples/spread-deployment.yaml
  run "$kubectl" --kubeconfig "$kubeconfig" rollout status deployment/spread-example --timeout 120s
  echo "kind: ready; export KUBECONFIG=$kubeconfig"
}

checks() {
  there && fail "there is a cluster $cluster already, with a release in it perhaps; make kind-down deletes it"
  trap down EXIT
  cluster
  run tools/e2e/checks --kubeconfig "$kubeconfig" --image "$image" --workload-image "$workload"
}

down() { run kind delete cluster --name "$cluster" --kubeconfig "$kubeconfig"; }

need
case "${1:-}" in
  up | checks | down) "$1" ;;
  *) fail "say up, checks or down" ;;
esac
