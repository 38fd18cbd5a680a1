#!/usr/bin/env bash
# What the comparison with Redis needs beyond Python: its server, from Debian. It is not left running as a service.
set -euo pipefail
as_root=""
[ "$(id -u)" -eq 0 ] || as_root=sudo
$as_root apt-get update -qq
RUNLEVEL=1 $as_root apt-get install -y -qq redis-server
