#!/usr/bin/env bash
# Writes what a release consists of into dist/: the wheel, the image's archive, the chart's package, the SBOM, and the
# checksums of them all. --local-base is build.sh's. Without docker and buildah the image is left out, and that is said.
set -euo pipefail
cd "$(dirname "$0")/../.."

version=$(sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
chart=$(sed -n 's/^version: "\{0,1\}\([^"]*\)"\{0,1\}$/\1/p' charts/reprise/Chart.yaml)
[ "$version" = "$chart" ] || { echo "release: pyproject.toml says version $version, charts/reprise/Chart.yaml says $chart" >&2; exit 1; }
[ -z "$(git status --porcelain 2>/dev/null)" ] || echo "release: there are changes that are not committed; they are part of it" >&2

mkdir -p dist
rm -f dist/*
.venv/bin/python -m hatchling build -t wheel -d dist >/dev/null
helm=$(tools/chart/build.sh)/helm
"$helm" package charts/reprise --destination dist >/dev/null
.venv/bin/python -m tools.image.sbom "dist/reprise-$version.cdx.json"
if docker version >/dev/null 2>&1 || command -v buildah >/dev/null; then
  tools/image/build.sh "$@" --archive "dist/reprise-image-$version.tar" >/dev/null
  gzip --no-name --force "dist/reprise-image-$version.tar"
else
  echo "release: neither docker nor buildah is here, so there is no image in it" >&2
fi
(cd dist && sha256sum -- * >SHA256SUMS)
ls -1 dist
