#!/usr/bin/env bash
# A real node up (tools/realnode), the image and the chart checked in it, the node down again, whatever happened.
# KEEP=1 leaves it up for a look: `.venv/bin/python -m tools.realnode down` ends it.
set -euo pipefail
cd "$(dirname "$0")/../.."

[ "$(id -u)" = 0 ] || { echo "test-node: needs root, as it makes namespaces and cgroups; run: sudo make test-node" >&2; exit 1; }
lock=/run/lock/reprise-node
exec 9>"$lock"
flock --nonblock 9 || { echo "test-node: waiting for the other run on this machine" >&2; flock 9; }

node() { .venv/bin/python -m tools.realnode "$@" 9>&-; }
archive=$(mktemp --suffix=.tar)
finish() {
  rm -f "$archive"
  if [ -n "${KEEP:-}" ]; then echo "test-node: left up; end it with: .venv/bin/python -m tools.realnode down"; else node down; fi
}
trap finish EXIT
trap 'exit 1' INT TERM HUP

began=$SECONDS
image=$(tools/image/build.sh --local-base --archive "$archive" 9>&-)
node down
kubeconfig=$(node up --image "$archive")
tools/e2e/checks --kubeconfig "$kubeconfig" --image "$image" --audit-log "$(dirname "$kubeconfig")/logs/audit.log" "$@" 9>&-
echo "test-node: passed in $((SECONDS - began)) s"
