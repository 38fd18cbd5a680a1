#!/usr/bin/env bash
# What the browser tests need beyond Python: chromium, from Debian.
set -euo pipefail
as_root=""
[ "$(id -u)" -eq 0 ] || as_root=sudo
$as_root apt-get update -qq
$as_root apt-get install -y -qq chromium
