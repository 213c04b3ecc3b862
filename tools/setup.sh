#!/usr/bin/env bash
# Makes .venv with `reprise` (this checkout, editable) and all that its tests need; at once when nothing changed.
# Only what requirements/dev.txt locks by hash is installed, and only as wheels: building one would fetch unlocked tools.
# PYTHON names the interpreter; without it the first of python3, python3.13, ... that fits is taken.
set -euo pipefail
cd "$(dirname "$0")/.."

fits='import ensurepip, sys, venv; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))'
same='import sys; print(sys.version_info[:3], sys.implementation.name)'

find_python() {
  local candidate
  for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11}; do
    if "$candidate" -c "$fits" 2>/dev/null; then echo "$candidate"; return; fi
  done
  echo "setup: no usable interpreter among: ${PYTHON:-python3 python3.13 python3.12 python3.11}." >&2
  echo "setup: Python 3.11, 3.12 or 3.13 with its venv module is needed (on Debian: apt-get install python3-venv);" >&2
  echo "setup: name it with 'make setup PYTHON=/path/to/python3'" >&2
  return 1
}

locked=$(sha256sum requirements/dev.txt)
project="$(sha256sum pyproject.toml tools/setup.sh) $PWD"
if .venv/bin/python -c "$fits" 2>/dev/null && { [ -z "${PYTHON:-}" ] || [ "$("$PYTHON" -c "$same")" = "$(.venv/bin/python -c "$same")" ]; }; then
  [ "$(cat .venv/locked 2>/dev/null)" = "$locked" ] && [ "$(cat .venv/project 2>/dev/null)" = "$project" ] && exit 0
else
  python=$(find_python)
  echo "setup: making .venv with $("$python" -V)"
  "$python" -m venv --clear .venv
fi

export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
if [ "$(cat .venv/locked 2>/dev/null)" != "$locked" ]; then
  echo "setup: installing the locked packages (the first time takes up to a minute)"
  # Not compiled here: that is half of the time, and most of it for modules that nobody imports.
  .venv/bin/python -m pip install --quiet --no-compile --require-hashes --only-binary :all: -r requirements/dev.txt
  echo "$locked" >.venv/locked
fi
.venv/bin/python -m pip install --quiet --no-index --no-deps --no-build-isolation --editable .
.venv/bin/python -m pip check >/dev/null || { .venv/bin/python -m pip check >&2; exit 1; }
# Written last: an interrupted setup is done again.
echo "$project" >.venv/project
echo "setup: .venv/bin/reprise is ready ($(.venv/bin/python -V))"
