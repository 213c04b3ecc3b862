#!/usr/bin/env bash
# Locks the dependencies again, for Python 3.11 to 3.13 at once, by version and hash: pyproject.toml -> requirements/.
# What is locked already stays as it is unless told otherwise: --upgrade, or --upgrade-package NAME.
set -euo pipefail
cd "$(dirname "$0")/.."

uv=$(mktemp -d)
trap 'rm -rf "$uv"' EXIT
python=.venv/bin/python
[ -x "$python" ] || python=${PYTHON:-python3}
"$python" -m venv "$uv"
"$uv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r requirements/lock.txt

compile() { "$uv/bin/uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --annotation-style line "$@"; }
compile pyproject.toml --group dev --output-file requirements/dev.txt "$@"
# The product's own lock is a part of the developers': what is tested is what is installed.
compile pyproject.toml --constraint requirements/dev.txt --output-file requirements/runtime.txt "$@"
# What builds the wheel in an image.
echo hatchling | compile - --constraint requirements/dev.txt --output-file requirements/build.txt "$@"
echo uv | compile - --output-file requirements/lock.txt "$@"
