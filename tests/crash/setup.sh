#!/usr/bin/env bash
# What the crash tests need beyond Python: strace, from Debian.
set -euo pipefail
as_root=""
[ "$(id -u)" -eq 0 ] || as_root=sudo
$as_root apt-get update -qq
$as_root apt-get install -y -qq strace
