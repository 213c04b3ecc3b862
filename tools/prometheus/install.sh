#!/usr/bin/env bash
# Installs Debian's prometheus package (promtool comes with it) when it is missing, without its service being started. For CI;
# whoever has a machine of their own installs it as they like.
set -euo pipefail

if command -v prometheus >/dev/null && command -v promtool >/dev/null; then exit 0; fi

policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod +x "$policy"
  trap 'rm -f "$policy"' EXIT
fi
apt-get -qq update
DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=120 install --yes --no-install-recommends prometheus
