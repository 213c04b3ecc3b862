#!/usr/bin/env bash
# Builds the image reprise:VERSION from the Dockerfile and prints its name: with docker where a daemon answers, else with
# buildah, which needs none. --archive FILE writes it to a file too. --local-base takes a base made of Debian's own packages
# (base.sh) instead of the one from a registry.
set -euo pipefail
cd "$(dirname "$0")/../.."

fail() { echo "image: $*" >&2; exit 1; }
archive='' local_base=''
while [ $# -gt 0 ]; do
  case "$1" in
    --archive) [ $# -gt 1 ] || fail "--archive needs a file"; archive=$(realpath -m "$2"); shift ;;
    --local-base) local_base=1 ;;
    *) fail "unknown argument $1; known are --archive FILE and --local-base" ;;
  esac
  shift
done

version=$(sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
[ -n "$version" ] || fail "pyproject.toml has no line 'version = \"...\"'"
image="reprise:$version"
revision=$(git rev-parse HEAD 2>/dev/null || echo unknown)
arguments=(--build-arg "VERSION=$version" --build-arg "REVISION=$revision")
[ -z "${PIP_INDEX_URL:-}" ] || arguments+=(--build-arg "PIP_INDEX_URL=$PIP_INDEX_URL")
began=$SECONDS

with_docker() {
  [ -z "$local_base" ] || {
    docker load --quiet --input "$(tools/image/base.sh)" >&2
    arguments+=(--build-arg BASE=localhost/reprise-base:latest)
  }
  echo "image: building $image with docker" >&2
  DOCKER_BUILDKIT=1 docker build --tag "$image" "${arguments[@]}" . >&2
  [ -z "$archive" ] || docker save --output "$archive" "$image"
}

with_buildah() {
  tools/image/packages.sh buildah
  local folder="${XDG_CACHE_HOME:-$HOME/.cache}/reprise/image" log
  mkdir -p "$folder"
  log="$folder/build.log"
  exec 9>"$folder/build.lock"
  flock 9 # one store, one build at a time
  # Its own store, away from the machine's, and mounts that are gone when it ends.
  local alone=()
  [ "$(id -u)" != 0 ] || alone=(unshare --mount)
  buildah() { "${alone[@]}" buildah --root "$folder/store" --runroot "$folder/run" --storage-driver "${STORAGE_DRIVER:-overlay}" "$@"; }
  # Layers of older states of the checkout pile up; some gigabytes are enough.
  [ "$(buildah images --all --quiet | wc -l)" -lt 80 ] || buildah rmi --all --force >"$log" 2>&1
  [ -z "$local_base" ] || {
    local base id
    base=$(tools/image/base.sh)
    # The name says which base it is, so that layers built on an older one are not taken again.
    id="localhost/reprise-$(basename "$base" .tar | tr - :)"
    buildah inspect --type image "$id" >/dev/null 2>&1 ||
      buildah tag "$(buildah pull --quiet "docker-archive:$base")" "$id" >&2
    arguments+=(--pull-never --build-arg "BASE=$id")
  }
  echo "image: building $image with buildah" >&2
  # chroot: no container engine, so no rights beyond root's are needed.
  buildah bud --isolation chroot --layers --tag "$image" "${arguments[@]}" . >"$log" 2>&1 </dev/null ||
    { tail -n 30 "$log" >&2; fail "the build failed; its whole log is $log"; }
  if [ -n "$archive" ]; then
    rm -f "$archive"
    buildah push --quiet "localhost/$image" "docker-archive:$archive:docker.io/library/$image" >>"$log" 2>&1 ||
      { tail -n 5 "$log" >&2; fail "the image could not be written to $archive"; }
  fi
}

if docker version >/dev/null 2>&1; then with_docker; else with_buildah; fi
echo "image: $image built in $((SECONDS - began)) s" >&2
echo "$image"
